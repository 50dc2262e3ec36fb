//! `beekeeper doctor` for a room on AWS.

use anyhow::Result;
use cloud::{Account, CloudError, CloudErrorKind};
use config::RoomConfig;
use waitroom::RoomId;

use super::doctor::{account, checks, refused_page};
use super::rooms::{access, config_of, handle};
use crate::arguments::ExamineRoom;
use crate::doctor::{self, DoctorReport, Examined, RunningCheck};
use crate::room::RoomHandle;

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
    let mut examined = Box::new(Examined::undeployed(&config, arguments.visitors)?);
    examined.refused_page = examined.custom_page().and_then(refused_page);
    let mut report = DoctorReport::new(json);
    let line = report.waits_for("credentials");
    let signed_in = Box::pin(Account::sign_in(&access(&config)?)).await;
    drop(line);
    let account = match signed_in {
        Ok(account) => account,
        Err(error) => {
            let error = anyhow::Error::new(error);
            report.add(account::no_credentials(&error));
            report.run(doctor::of_room(&examined)).await;
            // The summary is less than what is wrong: the exit code says that access was denied.
            drop(report.end(&examined));
            return Err(error);
        }
    };
    let line = report.waits_for("room");
    let not_found = Box::pin(find(&account, &config.room, &mut examined)).await.err();
    drop(line);
    let (page, visitors) = (examined.custom_page(), examined.visitors);
    let forecast_for = RoomConfig { rate: examined.room.settings.rate, ..config.clone() };
    let opens = examined.status().and_then(|status| status.room.opens);
    let deployed = examined.handle().and_then(RoomHandle::on_aws);
    let forecast = account::forecast(&account, &forecast_for, page, visitors, deployed);
    let mut all = vec![
        RunningCheck::new("credentials", account::credentials(&account, examined.now(), opens)),
        RunningCheck::new("stack", account::stack(&account, &config, not_found.as_ref())),
        RunningCheck::new("limits", forecast),
    ];
    all.extend(doctor::of_room(&examined));
    all.extend(checks(&examined));
    report.run(all).await;
    report.end(&examined)
}

/// Finds the room and asks it for its status. An error if AWS says that there is no room, or only a part of one.
async fn find(account: &Account, room: &RoomId, examined: &mut Examined) -> Result<(), CloudError> {
    let deployed = match account.room(room).await {
        Ok(deployed) => deployed,
        Err(error) if error.kind() == CloudErrorKind::NotFound => return Err(error),
        Err(error) => {
            examined.status = Err(error.into());
            return Ok(());
        }
    };
    // What everybody outside sees is checked even if the operator may not ask for the status.
    if let Some(Ok(url)) = deployed.urls.room.strip_suffix("/beekeeper").map(str::parse) {
        examined.room.url = url;
    }
    let handle = handle(deployed);
    examined.status = handle.room.status().await.map(Some).map_err(Into::into);
    if let Ok(Some(status)) = &examined.status {
        examined.room = status.room.clone();
    }
    examined.handle = Some(handle);
    Ok(())
}
