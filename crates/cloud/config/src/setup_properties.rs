//! The input of the stack's setup function: parameters of the stack, and the room's URL.

use waitroom::{Mistakes, WebUrl};

use crate::read::ParameterReader;
use crate::{ConfigValue, Presence, RoomConfig, SETTINGS, Setting};

/// The URL at which visitors reach the room. The template computes it.
const URL: Setting<WebUrl> =
    Setting::new("url", Presence::Required, ConfigValue::Text("https://room.example/prod"), Some("Url"), "");

/// The properties of the custom resource that sets up a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupProperties {
    /// What the stack passes on. All other settings are not set.
    pub config: RoomConfig,
    pub url: WebUrl,
}

impl SetupProperties {
    /// Reads the properties, which are strings. Reports every mistake, with the parameter's name.
    pub fn read<'a>(given: impl Fn(&str) -> Option<&'a str>) -> Result<Self, Mistakes> {
        let mut reader = ParameterReader::new(given);
        let config = RoomConfig::from_parameters(&mut reader);
        let url = reader.required(&URL);
        // Only AWS needs it, and the pages of such a room too.
        let edge = reader.optional(&SETTINGS.edge);
        let mistakes = reader.finish();
        match (config, url) {
            (Some(config), Some(url)) if mistakes.is_empty() => {
                Ok(Self { config: RoomConfig { edge, ..config }, url })
            }
            _ => Err(mistakes.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(changes: &[(&str, &str)]) -> Result<SetupProperties, Mistakes> {
        let usual = [
            ("Room", "sale"),
            ("Title", "Seal's \"Brewing\""),
            ("Shop", "https://shop.example/sale"),
            ("Rate", "300"),
            ("Url", "https://room.example/prod"),
            ("AdmissionMinutes", "90"),
            ("PassMinutes", "30"),
        ];
        let given: std::collections::BTreeMap<_, _> =
            usual.into_iter().chain(changes.iter().copied()).collect();
        SetupProperties::read(|name| given.get(name).copied())
    }

    #[test]
    fn a_room_is_read_from_texts() {
        let properties = read(&[]).unwrap();
        assert_eq!(properties.config.settings().title.as_str(), "Seal's \"Brewing\"");
        assert_eq!(properties.config.settings().rate.get(), 300);
        assert_eq!(properties.config.settings().lifetimes.admission.as_secs(), 90 * 60);
        assert_eq!(properties.config.settings().health, None);
        assert!(!properties.config.settings().edge);
        assert!(read(&[("Edge", "moving")]).unwrap().config.settings().edge);
        let properties = read(&[("Title", "2026"), ("Health", "")]).unwrap();
        assert_eq!(properties.config.settings().title.as_str(), "2026", "a title may be a number");
        assert_eq!(properties.config.settings().health, None, "an empty parameter is left out");
    }

    #[test]
    fn every_mistake_is_named_by_its_parameter() {
        let mistakes = read(&[
            ("Rate", "many"),
            ("Shop", "shop.example"),
            ("PassMinutes", "0"),
            ("Url", ""),
            ("Throttling", "maybe"),
            ("Page", "mine"),
        ]);
        assert_eq!(
            mistakes.unwrap_err().iter().collect::<Vec<_>>(),
            [
                "Shop: not a URL, because it has no https://; write it in full, such as https://shop.example/sale",
                "Rate: a rate is a whole number of visitors a minute, from 1 to 270000",
                "Throttling: must be yes or no",
                "PassMinutes: must be a whole number from 1 to 20160",
                "Page: must be built-in or custom",
                "Url: is missing",
            ]
        );
    }
}
