//! In what a room's configuration file differs from what its stack was deployed with.

use std::collections::BTreeMap;
use std::fmt;

use config::{Allowed, Architecture, ConfigValue, ROWS, RoomConfig, SettingRow};
use serde::Serialize;
use waitroom::RoomId;

use crate::stack::StackState;
use crate::{CloudError, CloudErrorKind, bundle};

/// What a deployment decides by itself, or an order changes later: no difference from the configuration file.
const NOT_COMPARED: &[&str] =
    &["Architecture", "Mode", "PageVersion", "Rate", "ReservedConsumers", "WarmReads", "WarmWrites"];

/// A setting that a deployment would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingChange {
    /// Its key in the configuration file.
    pub setting: &'static str,
    /// What is deployed; `None` if there is nothing, or no limit.
    pub before: Option<String>,
    pub after: Option<String>,
}

impl SettingChange {
    /// What would change if the stack were deployed with this configuration.
    pub(crate) fn of(config: &RoomConfig, stack: &StackState) -> Result<Vec<Self>, CloudError> {
        // Any architecture will do: it is not compared.
        let architecture = config.architecture.unwrap_or(Architecture::Arm64);
        let wanted = bundle::with_defaults(&bundle::parameters(config, architecture))?;
        Ok(different(&wanted, stack))
    }

    /// An error if a person who confirmed those changes would make more of them than they read.
    pub(crate) fn refuse_more(changes: &[Self], confirmed: &[Self], room: &RoomId) -> Result<(), CloudError> {
        let more = changes.iter().filter(|change| !confirmed.contains(change));
        let more: Vec<_> = more.map(ToString::to_string).collect();
        if more.is_empty() {
            return Ok(());
        }
        let attempt = format!("update the room {room}");
        let reason = format!(
            "it's no longer as it was when you read the plan, and this would also change {}",
            more.join(", ")
        );
        Err(CloudError::new(CloudErrorKind::Other, attempt, reason).with_advice(
            "somebody may have deployed meanwhile: get their configuration file if it's newer than yours, and run the same command again",
        ))
    }
}

impl fmt::Display for SettingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
        write!(f, "{}: {} -> {}", self.setting, shown(&self.before), shown(&self.after))
    }
}

fn different(wanted: &BTreeMap<String, String>, stack: &StackState) -> Vec<SettingChange> {
    let compared = ROWS.iter().filter_map(|row| Some((row, row.parameter?)));
    let compared = compared.filter(|(_, parameter)| !NOT_COMPARED.contains(parameter));
    let changes = compared.filter_map(|(row, name)| {
        // The stack of an older version lacks a parameter. That is a matter of the version.
        let (wanted, deployed) = (wanted.get(name)?, stack.parameters.get(name)?);
        let differs = wanted != deployed && as_shown(wanted) != *deployed;
        let (before, after) = (in_file(row, deployed), in_file(row, wanted));
        differs.then_some(SettingChange { setting: row.key, before, after })
    });
    changes.collect()
}

/// A parameter's value as the configuration file has it.
fn in_file(row: &SettingRow, value: &str) -> Option<String> {
    match (value, row.example) {
        // Where 0 is the default, it means that there is none.
        ("", _) | ("0", ConfigValue::Number(0)) => None,
        _ if row.allowed == Allowed::Flag => Some((value == "yes").to_string()),
        _ => Some(value.to_owned()),
    }
}

/// A parameter as CloudFormation shows it. It uses every character, and shows a question mark for each one beyond ASCII:
/// <https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/814>
fn as_shown(value: &str) -> String {
    value.chars().map(|character| if character.is_ascii() { character } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::room_config;

    fn parameters(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        values.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// What would change from one to the other.
    fn changes(deployed: &[(&str, &str)], wanted: &[(&str, &str)]) -> Vec<String> {
        let stack = StackState::with(parameters(deployed));
        different(&parameters(wanted), &stack).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_setting_that_was_edited_and_not_deployed_is_found() {
        let deployed = [("Title", "Sale"), ("Shop", "https://a.example"), ("Rate", "300"), ("Mode", "line")];
        let wanted = [
            ("Title", "Late Sale"),
            ("Shop", "https://a.example"),
            ("Rate", "600"),
            ("Mode", "overflow"),
            ("PassMinutes", "9"),
        ];
        let expected = ["title: Sale -> Late Sale"];
        assert_eq!(changes(&deployed, &wanted), expected, "rate and mode are what the orders say");

        let shown = [("Title", "Fr?hling")];
        assert_eq!(changes(&shown, &[("Title", "Frühling")]), [""; 0]);
        assert_eq!(changes(&shown, &[("Title", "Frühlingssale")]), ["title: Fr?hling -> Frühlingssale"]);
    }

    #[test]
    fn a_setting_that_an_older_file_lacks_is_told_in_the_words_of_the_file() {
        let config = room_config("sale");
        let stack = StackState::with(parameters(&[
            ("Title", "Sale"),
            ("Throttling", "yes"),
            ("ActiveVisitors", "500"),
            ("DomainName", "queue.shop.example"),
            ("DoorRequestsPerAddress", "5000"),
            ("DoorChallengeAbove", "0"),
            ("LogDays", "30"),
            ("Page", "custom"),
        ]));
        let told: Vec<_> =
            SettingChange::of(&config, &stack).unwrap().iter().map(ToString::to_string).collect();
        let expected = [
            "throttle: true -> false",
            "active_visitors: 500 -> none",
            "page: custom -> built-in",
            "domain: queue.shop.example -> none",
            "log_days: 30 -> 14",
            "door_requests_per_address: 5000 -> none",
            "door_challenge_above: 0 -> none",
        ];
        assert_eq!(told, expected);
    }
}
