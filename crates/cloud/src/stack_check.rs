//! Whether a room's stack is complete, and whether it is what this program and this configuration would deploy.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_sts::config::ProvideCredentials;
use config::RoomConfig;
use waitroom::Timestamp;

use crate::deploy::Deployment;
use crate::deployed_room::sign_of_newer;
use crate::setting_change::SettingChange;
use crate::stack::{NextStep, RoomStack, StackState, next_step};
use crate::{Account, Bundle, CloudError};

/// A room's stack, compared with this program and the room's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackCheck {
    /// CloudFormation's word.
    pub status: String,
    pub progress: StackProgress,
    pub deployed_by: DeployedBy,
    /// The settings in the configuration file that the stack was not deployed with.
    pub not_deployed: Vec<SettingChange>,
}

/// Whose functions and template a stack has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeployedBy {
    ThisProgram,
    AnotherVersion,
    /// Which alone may update the stack.
    NewerVersion,
    /// This program contains no functions for the room to compare with.
    Unknown,
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
        let deployed_by = self.deployed_by(&found, config, bundle).await?;
        Ok(Some(StackCheck { status: found.status.to_string(), progress, deployed_by, not_deployed }))
    }

    async fn deployed_by(
        &self,
        found: &StackState,
        config: &RoomConfig,
        bundle: &Bundle,
    ) -> Result<DeployedBy, CloudError> {
        if sign_of_newer(found)?.is_some() {
            return Ok(DeployedBy::NewerVersion);
        }
        // The page is not compared here: it is no part of the template.
        let Ok(deployment) = Deployment::new(self, config, None, bundle) else {
            return Ok(DeployedBy::Unknown);
        };
        Ok(if deployment.is_of(found).await? { DeployedBy::ThisProgram } else { DeployedBy::AnotherVersion })
    }

    pub(crate) async fn credentials_expire(&self) -> Expiry {
        let Some(provider) = self.config.credentials_provider() else { return Expiry::Never };
        let Ok(credentials) = provider.provide_credentials().await else { return Expiry::Never };
        Expiry::of(credentials.expiry(), credentials.session_token().is_some())
    }
}

/// When credentials expire, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    Never,
    At(Timestamp),
    /// Temporary keys that somebody copied. Only who gave them out knows until when they are valid.
    Sometime,
}

impl Expiry {
    fn of(known: Option<SystemTime>, is_temporary: bool) -> Self {
        let since_1970 = known.and_then(|known| known.duration_since(UNIX_EPOCH).ok());
        match since_1970.and_then(|since| u64::try_from(since.as_millis()).ok()) {
            Some(at) => Self::At(Timestamp::from_millis(at)),
            None if is_temporary => Self::Sometime,
            None => Self::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn keys_with_a_session_token_expire_even_if_nobody_says_when() {
        let at = UNIX_EPOCH + Duration::from_secs(1_804_000_000);
        let expected = Expiry::At(Timestamp::from_millis(1_804_000_000_000));
        for (known, is_temporary, expected) in [
            (Some(at), true, expected),
            (Some(at), false, expected),
            (None, true, Expiry::Sometime),
            (None, false, Expiry::Never),
        ] {
            assert_eq!(Expiry::of(known, is_temporary), expected);
        }
    }
}
