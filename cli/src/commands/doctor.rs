//! `beekeeper doctor`: is this room ready for its crowd?

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use doctor::{Examined, FoundRoom, RunningCheck};
use probe::HttpProbe;
use rooms::{ConfigFolder, custom_page};
use server::DemoDoor;
use setup::examine;

use crate::arguments::{ExamineRoom, GUARD_FILE, NGINX_CONF, ROOM_FILE};
use crate::doctor_screen::DoctorScreen;
use crate::ending::advice_for;
use crate::room::RoomHandle;
use crate::runtime::block_on;
use crate::shop_services::shop_services;
use crate::unreached::hangs;

/// A room on this machine tells its status within milliseconds, unless it hangs. An order may take longer.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: &ExamineRoom, json: bool) -> Result<()> {
    block_on(async {
        match crate::aws::examine(arguments, json).await {
            Some(done) => done,
            None => here(arguments, json).await,
        }
    })
}

async fn here(arguments: &ExamineRoom, json: bool) -> Result<()> {
    let mut screen = DoctorScreen::new(json);
    let line = screen.waits_for("room");
    let asked = Box::pin(async {
        let handle = RoomHandle::find(&arguments.which).await?;
        let status = handle.room.status().await?;
        anyhow::Ok((handle, status))
    });
    let (handle, status) =
        tokio::time::timeout(ROOM_TIMEOUT, asked).await.map_err(|_| hangs(ROOM_TIMEOUT))??;
    drop(line);
    // Without HOME there is no configuration directory, and so no file.
    let folder = ConfigFolder::of_this_user().ok();
    let config = folder.map_or(Ok(None), |folder| folder.find(&handle.room.name))?;
    let custom_page = config.as_ref().map_or(Ok(None), custom_page);
    let socket = handle.on_this_machine().cloned();
    let RoomHandle { room, as_typed, .. } = handle;
    let [conf, room_file, guard_file] = [NGINX_CONF, ROOM_FILE, GUARD_FILE].map(Path::new);
    // Whatever cannot be read tells nothing of the guard.
    let services = shop_services(room_file, guard_file).ok();
    let examined = Examined {
        name: room.name.clone(),
        as_typed,
        config,
        custom_page: custom_page.map_err(|error| format!("{error:#}")),
        refused_page: None,
        found: Some(FoundRoom { room, socket, endpoint: None, other_url: None }),
        room: status.room.clone(),
        has_demo_shop: DemoDoor::is_at(&status.room.settings.shop),
        guard: services.and_then(|services| examine::guard(conf, &services, &status.room)),
        status: Ok(Some(status)),
        visitors: arguments.visitors,
        probe: HttpProbe::new()?,
        advise: advice_for,
    };
    let mut checks = doctor::of_room(&examined);
    if arguments.visitors.is_some() {
        checks.push(RunningCheck::new("nginx", async { examine::crowd(conf, &examined.room) }));
    }
    screen.run(checks).await;
    screen.end(&examined)
}
