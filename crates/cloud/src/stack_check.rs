//! Whether a room's stack is complete, and whether it is what this program and this configuration would deploy.

use std::collections::BTreeMap;

use aws_sdk_sts::config::ProvideCredentials;
use config::{Architecture, ROWS, RoomConfig};
use waitroom::Timestamp;

use crate::deploy::Deployment;
use crate::stack::{NextStep, RoomStack, StackState, next_step};
use crate::{Account, Bundle, CloudError, bundle};

/// What a deployment decides by itself, or an order changes later: no difference from the configuration file.
const NOT_COMPARED: &[&str] =
    &["Architecture", "PageVersion", "Rate", "ReservedConsumers", "WarmReads", "WarmWrites"];

/// A room's stack, compared with this program and the room's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackCheck {
    /// CloudFormation's word.
    pub status: String,
    pub progress: StackProgress,
    /// Whether functions and template are those of this program. `None` if it contains no functions for this room.
    pub is_of_this_program: Option<bool>,
    /// The settings in the configuration file that the stack was not deployed with.
    pub not_deployed: Vec<&'static str>,
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
        // Any architecture will do: it is not compared.
        let architecture = config.architecture.unwrap_or(Architecture::Arm64);
        let wanted = bundle::with_defaults(&bundle::parameters(config, architecture))?;
        let not_deployed = different(&wanted, &found);
        // The page is not compared here: it is no part of the template.
        let is_of_this_program = match Deployment::new(self, config, None, bundle) {
            Ok(deployment) => Some(deployment.is_of(&found).await?),
            Err(_) => None,
        };
        let status = found.status.to_string();
        Ok(Some(StackCheck { status, progress, is_of_this_program, not_deployed }))
    }

    /// When the credentials expire. `None` for keys that do not expire.
    pub async fn credentials_expire(&self) -> Option<Timestamp> {
        let credentials = self.config.credentials_provider()?.provide_credentials().await.ok()?;
        let since_1970 = credentials.expiry()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Timestamp::from_millis(u64::try_from(since_1970.as_millis()).ok()?))
    }
}

/// The keys of the configuration file whose values the stack does not have.
fn different(wanted: &BTreeMap<String, String>, stack: &StackState) -> Vec<&'static str> {
    let compared = ROWS.iter().filter_map(|row| Some((row.key, row.parameter?)));
    let compared = compared.filter(|(_, parameter)| !NOT_COMPARED.contains(parameter));
    let differ = compared.filter(|(_, name)| match (wanted.get(*name), stack.parameters.get(*name)) {
        (Some(wanted), Some(deployed)) => wanted != deployed && as_shown(wanted) != *deployed,
        // The stack of an older version lacks a parameter. That is a matter of the version.
        _ => false,
    });
    differ.map(|(key, _)| key).collect()
}

/// A parameter as CloudFormation shows it. It uses every character, and shows a question mark for each one beyond ASCII:
/// <https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/814>
fn as_shown(value: &str) -> String {
    value.chars().map(|character| if character.is_ascii() { character } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use aws_sdk_cloudformation::types::StackStatus;

    use super::*;

    fn parameters(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        values.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_setting_that_was_edited_and_not_deployed_is_found() {
        let stack = StackState {
            id: "1".into(),
            status: StackStatus::UpdateComplete,
            reason: None,
            outputs: BTreeMap::new(),
            parameters: parameters(&[("Title", "Sale"), ("Shop", "https://a.example"), ("Rate", "300")]),
            room: None,
        };
        let wanted = parameters(&[
            ("Title", "Late Sale"),
            ("Shop", "https://a.example"),
            ("Rate", "600"),
            ("PassMinutes", "9"),
        ]);
        assert_eq!(different(&wanted, &stack), ["title"], "the rate is what set-rate says");

        let shown = StackState { parameters: parameters(&[("Title", "Fr?hling")]), ..stack };
        assert_eq!(different(&parameters(&[("Title", "Frühling")]), &shown), [""; 0]);
        assert_eq!(different(&parameters(&[("Title", "Frühlingssale")]), &shown), ["title"]);
    }
}
