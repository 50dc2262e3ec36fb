//! The room as the template describes it.

use std::collections::BTreeMap;

use serde_json::Value;
use toml::Table;
use waitroom::{Settings, WebUrl};

type Read = fn(&Value) -> Option<toml::Value>;

/// What a deployment decides about a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Properties {
    pub(crate) settings: Settings,
    pub(crate) url: WebUrl,
    /// Whether the page in the bucket is ours to put there.
    pub(crate) our_page: bool,
    /// Whether there is a throttle that may hold the rate down, and lift it again.
    pub(crate) throttling: bool,
}

impl Properties {
    /// Each property, what it is called in a settings file, whose rules hold here too, and how it is read.
    const NAMES: [(&str, &str, Read); 7] = [
        ("Room", "room", text),
        ("Title", "title", text),
        ("Shop", "shop", text),
        ("Health", "health", text),
        ("Rate", "rate", number),
        ("AdmissionMinutes", "claim_minutes", number),
        ("PassMinutes", "pass_minutes", number),
    ];

    /// Says everything that is wrong with them.
    pub(crate) fn read(given: &BTreeMap<String, Value>) -> Result<Self, String> {
        let mut file = Table::new();
        for (property, entry, read) in Self::NAMES {
            if let Some(value) = given.get(property).and_then(read) {
                file.insert(entry.into(), value);
            }
        }
        let settings = Settings::from_toml(&file.to_string());
        let url = given.get("Url").and_then(Value::as_str).unwrap_or_default().parse::<WebUrl>();
        match (settings, url) {
            (Ok(settings), Ok(url)) => {
                let says = |property, word| given.get(property).and_then(Value::as_str) == Some(word);
                let (our_page, throttling) = (!says("Page", "custom"), says("Throttling", "yes"));
                Ok(Self { settings, url, our_page, throttling })
            }
            (settings, url) => {
                let mistakes =
                    settings.err().map(|mistakes| mistakes.iter().map(property).collect::<Vec<_>>());
                let url = url.err().map(|error| format!("Url: {error}"));
                let all: Vec<_> = mistakes.into_iter().flatten().chain(url).collect();
                Err(all.join("; "))
            }
        }
    }
}

/// An empty text is how a template leaves a parameter out.
fn text(value: &Value) -> Option<toml::Value> {
    value.as_str().filter(|text| !text.is_empty()).map(Into::into)
}

/// Numbers arrive as texts. One that is not a number stays a text, and is refused as such.
fn number(value: &Value) -> Option<toml::Value> {
    let given = text(value)?;
    Some(given.as_str().and_then(|text| text.parse().ok()).map_or(given, toml::Value::Integer))
}

/// A mistake in a settings file, named as the template names it.
fn property(mistake: &str) -> String {
    let named = Properties::NAMES.iter().find_map(|(property, entry, _)| {
        mistake.strip_prefix(&format!("{entry}:")).map(|rest| format!("{property}:{rest}"))
    });
    named.unwrap_or_else(|| mistake.to_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn given() -> BTreeMap<String, Value> {
        let given = json!({
            "ServiceToken": "arn:aws:lambda:eu-central-1:000000000000:function:setup", "Room": "sale",
            "Title": "Seal's \"Brewing\"", "Shop": "https://shop.example/sale", "Rate": "300",
            "Url": "https://room.example/prod", "AdmissionMinutes": "90", "PassMinutes": "30",
        });
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn a_room_is_read_from_texts() {
        let properties = Properties::read(&given()).unwrap();
        assert_eq!(properties.settings.title.as_str(), "Seal's \"Brewing\"");
        assert_eq!(properties.settings.rate.get(), 300);
        assert_eq!(properties.settings.lifetimes.claim.as_secs(), 90 * 60);
        assert_eq!(properties.settings.health, None);
        let mut numbered = given();
        numbered.insert("Title".into(), json!("2026"));
        numbered.insert("Health".into(), json!(""));
        let properties = Properties::read(&numbered);
        assert_eq!(properties.unwrap().settings.title.as_str(), "2026", "a title may be a number");
    }

    #[test]
    fn every_mistake_is_named_as_the_template_names_it() {
        let mut given = given();
        given.extend([
            ("Rate".into(), json!("many")),
            ("Shop".into(), json!("shop.example")),
            ("PassMinutes".into(), json!("0")),
            ("Url".into(), json!("")),
            ("Title".into(), json!(["a", "list"])),
        ]);
        let mistakes = Properties::read(&given).unwrap_err();
        for mistake in [
            "Rate: a rate is a whole number",
            "Shop: not a URL",
            "PassMinutes: is a whole",
            "Url: not a URL",
            "Title: is missing",
        ] {
            assert!(mistakes.contains(mistake), "{mistake} in {mistakes}");
        }
    }
}
