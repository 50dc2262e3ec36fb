//! The checks of `beekeeper doctor` that need the account.

mod account;
mod alarm_checks;
mod cookies;

use std::sync::Arc;

use config::RoomConfig;
use control::{ControlError, OperatedRoom};
use doctor::{Examined, FoundRoom, RunningCheck};

pub use account::{no_credentials, no_functions};

use crate::{Account, Bundle, CloudError, CloudErrorKind, DeployedRoom};

/// What AWS said of a room that is examined.
#[derive(Debug)]
pub struct ExaminedStack<'a> {
    account: &'a Account,
    config: &'a RoomConfig,
    bundle: &'a Bundle,
    deployed: Option<Arc<DeployedRoom>>,
    /// Why there is no room, or only a part of one.
    not_found: Option<CloudError>,
}

impl<'a> ExaminedStack<'a> {
    /// Finds the room, and asks it for its status.
    pub async fn find(
        account: &'a Account,
        config: &'a RoomConfig,
        bundle: &'a Bundle,
        examined: &mut Examined,
    ) -> Self {
        let mut stack = Self { account, config, bundle, deployed: None, not_found: None };
        match account.room(&config.room).await {
            Ok(deployed) => stack.deployed = Some(stack.ask(deployed, examined).await),
            Err(error) if error.kind() == CloudErrorKind::NotFound => stack.not_found = Some(error),
            Err(error) => examined.status = Err(ControlError::Unreached(error.into())),
        }
        stack
    }

    /// What everybody outside sees is checked even if the operator may not ask for the status.
    async fn ask(&self, deployed: DeployedRoom, examined: &mut Examined) -> Arc<DeployedRoom> {
        let deployed = Arc::new(deployed);
        if let Some(Ok(url)) = deployed.urls.room.strip_suffix("/beekeeper").map(str::parse) {
            examined.room.url = url;
        }
        let room = OperatedRoom { name: deployed.room.clone(), transport: deployed.clone() };
        examined.status = room.status().await.map(Some);
        if let Ok(Some(status)) = &examined.status {
            examined.room = status.room.clone();
        }
        let other_url = deployed.urls.stage.parse().ok();
        examined.found = Some(FoundRoom { room, socket: None, endpoint: self.account.endpoint(), other_url });
        deployed
    }

    /// All checks of the room.
    pub fn checks(&self, examined: &'a Examined) -> Vec<RunningCheck<'_>> {
        let deployed = self.deployed.as_deref();
        let mut checks = vec![
            RunningCheck::new("credentials", account::credentials(self.account, examined)),
            RunningCheck::new(
                "stack",
                account::stack(self.account, self.config, self.bundle, self.not_found.as_ref()),
            ),
            RunningCheck::new("limits", account::forecast(self.account, self.config, examined, deployed)),
        ];
        checks.extend(doctor::of_room(examined));
        checks.push(RunningCheck::new("cookies", cookies::check(deployed)));
        checks.push(RunningCheck::new("alarms", alarm_checks::check(deployed, examined)));
        checks
    }
}
