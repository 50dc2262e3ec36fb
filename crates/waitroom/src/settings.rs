//! What the operator decides about a room, and the TOML file in which they write it down.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::Value;

use crate::entries::{self, Entries, Mistakes, parsed};
use crate::{Message, Rate, RoomId, Title, WebUrl};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub room: RoomId,
    pub title: Title,
    pub shop: WebUrl,
    /// What the throttle asks instead of the shop's own URL.
    pub health: Option<WebUrl>,
    pub rate: Rate,
    pub message: Message,
    pub lifetimes: Lifetimes,
}

/// How long what a visitor was given is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetimes {
    /// How long an admitted visitor may come back for another pass.
    pub claim: Duration,
    /// How long the shop accepts a pass.
    pub pass: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        let hour = Duration::from_hours(1);
        Self { claim: hour, pass: hour }
    }
}

impl Settings {
    /// A room with defaults for everything that can be left out.
    pub fn new(room: RoomId, title: Title, shop: WebUrl, rate: Rate) -> Self {
        let (health, message, lifetimes) = (None, Message::default(), Lifetimes::default());
        Self { room, title, shop, health, rate, message, lifetimes }
    }

    /// How long a claim or a pass may last.
    pub const MINUTES: RangeInclusive<u32> = 1..=14 * 24 * 60;

    /// Reads a settings file. `room`, `title`, `shop` and `rate` are needed, the rest has defaults.
    pub fn from_toml(text: &str) -> Result<Self, Mistakes> {
        let mut entries = Entries::of_toml(text)?;
        let room = entries.needed("room", parsed);
        let title = entries.needed("title", parsed);
        let shop = entries.needed("shop", parsed);
        let rate = entries.needed("rate", entries::rate);
        let health = entries.optional("health", parsed);
        let message = entries.optional("message", parsed);
        let claim = entries.optional("claim_minutes", minutes);
        let pass = entries.optional("pass_minutes", minutes);
        let mistakes = entries.finish();
        let (Some(room), Some(title), Some(shop), Some(rate), true) =
            (room, title, shop, rate, mistakes.is_empty())
        else {
            return Err(mistakes.into());
        };
        let usual = Lifetimes::default();
        let lifetimes = Lifetimes { claim: claim.unwrap_or(usual.claim), pass: pass.unwrap_or(usual.pass) };
        Ok(Self { room, title, shop, health, rate, message: message.unwrap_or_default(), lifetimes })
    }
}

fn minutes(value: &Value) -> Result<Duration, String> {
    let minutes = entries::whole("minutes", Settings::MINUTES)(value)?;
    Ok(Duration::from_secs(60 * u64::from(minutes)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALLEST: &str = r#"
        room = "spring-sale"
        title = "Seal Brewing"
        shop = "https://shop.example/sale"
        rate = 300
    "#;

    #[test]
    fn four_entries_make_a_room() {
        let settings = Settings::from_toml(SMALLEST).unwrap();
        assert_eq!(settings.rate.get(), 300);
        assert_eq!(settings.message, Message::default());
        assert_eq!(settings.lifetimes, Lifetimes::default());
    }

    #[test]
    fn everything_can_be_set() {
        let text = format!(
            "{SMALLEST}\nhealth = \"https://shop.example/up\"\nmessage = \"Soon\"\nclaim_minutes = 30\npass_minutes = 5"
        );
        let settings = Settings::from_toml(&text).unwrap();
        assert_eq!(settings.health.unwrap().to_string(), "https://shop.example/up");
        assert_eq!(settings.message.as_str(), "Soon");
        assert_eq!(settings.lifetimes.claim, Duration::from_mins(30));
        assert_eq!(settings.lifetimes.pass, Duration::from_mins(5));
    }

    #[test]
    fn every_mistake_is_reported_at_once() {
        let mistakes = Settings::from_toml(
            "room = \"Spring Sale\"\nrate = 0\nshop = 7\nclaim_minutes = \"an hour\"\ncolour = \"red\"",
        )
        .unwrap_err();
        assert_eq!(
            mistakes.iter().collect::<Vec<_>>(),
            [
                "room: a room's name is 1 to 30 lower-case letters, digits and hyphens, begins with a letter and does not end with a hyphen",
                "title: is missing",
                "shop: is a text, in quotation marks",
                "rate: a rate is a whole number of visitors a minute, from 1 to 270000",
                "claim_minutes: is a whole number of minutes, from 1 to 20160",
                "colour: is not a setting; look for a typing error",
            ]
        );
    }

    #[test]
    fn what_is_not_toml_is_shown_with_its_line() {
        let mistakes = Settings::from_toml("room = \n").unwrap_err().to_string();
        assert!(mistakes.contains("line 1"), "{mistakes}");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".*") {
            let _ = Settings::from_toml(&text);
        }

        #[test]
        fn any_value_is_survived(
            key in "room|title|shop|rate|health|message|claim_minutes|pass_minutes",
            value in prop_oneof!["-?[0-9]{1,20}", "\"[a-z:/ ]{0,40}\"", "true|\\[\\]|\\{\\}|1e9|nan|2020-01-01"],
        ) {
            let others = SMALLEST.lines().filter(|line| !line.trim_start().starts_with(&key)).collect::<Vec<_>>().join("\n");
            if let Err(mistakes) = Settings::from_toml(&format!("{others}\n{key} = {value}")) {
                prop_assert!(mistakes.iter().all(|mistake| mistake.starts_with(&format!("{key}: ")) || mistake.contains("TOML")), "{}", mistakes);
            }
        }
    }
}
