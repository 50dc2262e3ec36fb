//! `beekeeper doctor` for a room on AWS.

use anyhow::{Context, Result};
use cloud::{Account, ExaminedStack, check_page, no_credentials, no_functions};
use doctor::Examined;
use probe::HttpProbe;
use rooms::custom_page;

use super::progress::bundle;
use super::rooms::{access, config_of};
use crate::arguments::ExamineRoom;
use crate::doctor_screen::DoctorScreen;
use crate::ending::advice_for;

/// Examines the room on AWS, unless one on this machine is meant.
pub(crate) async fn examine(arguments: &ExamineRoom, json: bool) -> Option<Result<()>> {
    if arguments.which.here.is_meant() {
        return None;
    }
    Some(examine_deployed(arguments, json).await)
}

/// A room on AWS, deployed or not. If nobody can sign in, the shop is looked at all the same.
async fn examine_deployed(arguments: &ExamineRoom, json: bool) -> Result<()> {
    let config = config_of(&arguments.which)?;
    let page = custom_page(&config).map_err(|error| format!("{error:#}"));
    let refused = |page| check_page(page).err().map(Into::into);
    let mut examined = Box::new(Examined {
        name: config.room.clone(),
        as_typed: config.room.to_string(),
        refused_page: page.as_ref().ok().and_then(Option::as_ref).and_then(refused),
        custom_page: page,
        config: Some(config.clone()),
        found: None,
        status: Ok(None),
        room: config.undeployed_room().context("the room's domain cannot be part of a URL")?,
        has_demo_shop: false,
        guard: None,
        visitors: arguments.visitors,
        probe: HttpProbe::new().context("could not prepare requests")?,
        advise: advice_for,
    });
    let mut screen = DoctorScreen::new(json);
    let bundle = bundle();
    let line = screen.waits_for("credentials");
    let signed_in = Box::pin(Account::sign_in(&access(&config)?)).await;
    drop(line);
    let account = match signed_in {
        Ok(account) => account,
        Err(error) => {
            if let Some(check) = no_functions(&bundle, &config) {
                screen.add(check);
            }
            screen.add(no_credentials(&error));
            screen.run(doctor::of_room(&examined)).await;
            // The summary is less than what is wrong: the exit code says that access was denied.
            drop(screen.end(&examined));
            return Err(error.into());
        }
    };
    let line = screen.waits_for("room");
    // Boxed, because the futures of the SDK are large.
    let stack = Box::pin(ExaminedStack::find(&account, &config, &bundle, &mut examined)).await;
    drop(line);
    screen.run(stack.checks(&examined)).await;
    screen.end(&examined)
}
