//! Whether a room's stack is complete, and whether it is what this program and this configuration would deploy.

use aws_sdk_sts::config::ProvideCredentials;
use config::RoomConfig;
use waitroom::Timestamp;

use crate::deploy::Deployment;
use crate::setting_change::SettingChange;
use crate::stack::{NextStep, RoomStack, next_step};
use crate::{Account, Bundle, CloudError};

/// A room's stack, compared with this program and the room's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackCheck {
    /// CloudFormation's word.
    pub status: String,
    pub progress: StackProgress,
    /// Whether functions and template are those of this program. `None` if it contains no functions for this room.
    pub is_of_this_program: Option<bool>,
    /// The settings in the configuration file that the stack was not deployed with.
    pub not_deployed: Vec<SettingChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackProgress {
    Complete,
    UnderWay,
    /// It failed half-way, and has to be deployed again.
    Broken,
}

impl Account {
    /// Compares the room's stack. `None` if there is none.
    pub async fn check_stack(
        &self,
        config: &RoomConfig,
        bundle: &Bundle,
    ) -> Result<Option<StackCheck>, CloudError> {
        let stack = RoomStack::new(self, &config.room);
        let Some(found) = stack.find().await? else { return Ok(None) };
        let progress = match next_step(Some(&found.status)) {
            NextStep::Create => return Ok(None),
            NextStep::Update => StackProgress::Complete,
            NextStep::Wait => StackProgress::UnderWay,
            NextStep::Remove | NextStep::ContinueRollback | NextStep::Unknown => StackProgress::Broken,
        };
        let not_deployed = SettingChange::of(config, &found)?;
        // The page is not compared here: it is no part of the template.
        let is_of_this_program = match Deployment::new(self, config, None, bundle) {
            Ok(deployment) => Some(deployment.is_of(&found).await?),
            Err(_) => None,
        };
        let status = found.status.to_string();
        Ok(Some(StackCheck { status, progress, is_of_this_program, not_deployed }))
    }

    /// When the credentials expire. `None` for keys that do not expire.
    pub(crate) async fn credentials_expire(&self) -> Option<Timestamp> {
        let credentials = self.config.credentials_provider()?.provide_credentials().await.ok()?;
        let since_1970 = credentials.expiry()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Timestamp::from_millis(u64::try_from(since_1970.as_millis()).ok()?))
    }
}
