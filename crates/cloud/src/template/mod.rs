//! Reads `infra/template.yaml` as CloudFormation does, without AWS.
//!
//! [`TEMPLATE`] is the text, [`parse`] converts it to JSON, and [`Stack`] fills in parameters and evaluates conditions.

mod edge_firewall;
mod resolved;
mod without;
mod yaml;

pub use edge_firewall::EdgeFirewall;
pub use resolved::Stack;
pub(crate) use without::without;
pub use yaml::parse;

/// The template that is deployed.
pub const TEMPLATE: &str = include_str!("../../../../infra/template.yaml");

/// The template is invalid, or uses something that this module does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not read the template: {0}")]
pub struct TemplateError(pub(crate) String);

type Result<T> = std::result::Result<T, TemplateError>;

#[cfg(test)]
mod tests {
    use config::{AddressLimit, Allowed, ChallengeAbove, ConfigValue, ROWS, SettingRow, SettingValue};
    use serde_json::{Value, json};

    use super::*;

    /// The row's example, written as the value of a parameter.
    fn default_of(row: &SettingRow) -> String {
        match row.example {
            ConfigValue::Flag(flag) => if flag { "yes" } else { "no" }.to_owned(),
            value => value.to_string(),
        }
    }

    fn text(value: &Value) -> String {
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    #[test]
    fn the_parameters_are_those_of_the_configuration() {
        let template = parse(TEMPLATE).unwrap();
        let mut declared = template["Parameters"].as_object().unwrap().clone();
        for (other, why) in [
            ("Room", "the name of the file"),
            ("PageVersion", "set by whoever deploys, for each version"),
            ("ReservedConsumers", "computed from the rate and what the account has left"),
            ("EdgeFirewallArn", "known when the second stack is deployed"),
        ] {
            assert!(declared.remove(other).is_some(), "{other}: {why}");
        }
        for row in ROWS {
            let Some(name) = row.parameter else { continue };
            let Some(parameter) = declared.remove(name) else { panic!("{name} is not in the template") };
            let bounds = (&parameter["MinValue"], &parameter["MaxValue"], &parameter["AllowedValues"]);
            let none = &Value::Null;
            let (from, to, choices);
            let expected = match row.allowed {
                Allowed::Text => (none, none, none),
                Allowed::Number { from: least, to: most } => {
                    (from, to) = (json!(least), json!(most));
                    (&from, &to, none)
                }
                Allowed::OneText(texts) => {
                    choices = json!(texts);
                    (none, none, &choices)
                }
                Allowed::OneNumber(numbers) => {
                    choices = json!(numbers);
                    (none, none, &choices)
                }
                Allowed::Flag => {
                    choices = json!(["yes", "no"]);
                    (none, none, &choices)
                }
            };
            assert_eq!(bounds, expected, "{name}");
            let is_number = matches!(row.allowed, Allowed::Number { .. } | Allowed::OneNumber(_));
            assert_eq!(parameter["Type"], if is_number { "Number" } else { "String" }, "{name}");
            // The configuration file names the page's folder. The parameter only says whether there is one.
            match parameter.get("Default").map(text).filter(|default| !default.is_empty()) {
                Some(default) if name == "Page" => assert_eq!(default, "built-in"),
                Some(default) => assert_eq!(default_of(row), default, "{name}"),
                None => assert_eq!(
                    parameter.get("Default").is_none(),
                    row.presence == config::Presence::Required,
                    "{name}"
                ),
            }
        }
        assert_eq!(
            declared.keys().collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "parameters without a setting"
        );
    }

    #[test]
    fn the_setup_gets_every_setting_that_a_room_on_one_machine_has_too() {
        let template = parse(TEMPLATE).unwrap();
        let mut properties = template["Resources"]["RoomSetup"]["Properties"].as_object().unwrap().clone();
        for (other, why) in [
            ("ServiceToken", "where the function is"),
            ("ServiceTimeout", "how long it may take"),
            ("Room", "the name of the file"),
            ("Url", "known when the stack is deployed"),
            ("Edge", "decides what pages ask"),
            ("PageVersion", "set by whoever deploys, for each version"),
        ] {
            assert!(properties.remove(other).is_some(), "{other}: {why}");
        }
        let of_rooms = ROWS.iter().filter(|row| row.presence != config::Presence::OnAws);
        for name in of_rooms.filter_map(|row| row.parameter) {
            let passed = properties.remove(name).map(|value| value.to_string());
            let reference = format!("{{\"Ref\":\"{name}\"}}");
            assert!(
                passed.is_some_and(|passed| passed.contains(&reference)),
                "{name} is not passed to RoomSetup"
            );
        }
        assert!(properties.is_empty(), "without a setting: {properties:?}");
    }

    #[test]
    fn the_limits_for_an_address_have_the_same_bounds() {
        let template = parse(TEMPLATE).unwrap();
        let allowed = "0, or a whole number from 10 to 999999999";
        for (name, described) in [
            ("RequestsPerAddress", format!("{allowed}.")),
            ("DoorRequestsPerAddress", format!("{allowed}.")),
            ("DoorChallengeAbove", format!("Empty, {allowed}.")),
        ] {
            assert_eq!(template["Parameters"][name]["ConstraintDescription"], described);
        }
        let refused = [
            AddressLimit::from_value(ConfigValue::Number(9)).unwrap_err(),
            ChallengeAbove::from_value(ConfigValue::Number(9)).unwrap_err(),
        ];
        assert_eq!(refused, [format!("must be {allowed}"), format!("must be {allowed}")]);
    }
}
