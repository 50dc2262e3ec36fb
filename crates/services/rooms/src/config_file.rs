//! A room's configuration file, in TOML.
//!
//! Writing keeps what a person edited: comments, the order, and how a value is written if it stays the same.

use std::fmt::Write;

use config::{ConfigValue, Presence, RoomConfig, SettingRow};
use toml_edit::{DocumentMut, Item, TomlError, Value};
use waitroom::{Mistakes, RoomId};

/// Reads a file, and reports every mistake in it.
pub fn read(room: &RoomId, text: &str) -> Result<RoomConfig, Mistakes> {
    let file: DocumentMut =
        text.parse().map_err(|error: TomlError| vec![error.to_string().trim_end().to_owned()])?;
    RoomConfig::from_entries(room.clone(), file.iter().map(|(key, item)| (key, config_value(item))))
}

/// The new text of the file: the present text, updated to this configuration. One that is new and not `for_aws` leaves out what
/// only a room there has.
pub(crate) fn updated(
    config: &RoomConfig,
    existing: Option<&str>,
    for_aws: bool,
) -> Result<String, TomlError> {
    let mut file: DocumentMut =
        existing.map_or_else(|| new_file(config, for_aws), ToOwned::to_owned).parse()?;
    for (row, value) in config.entries() {
        let Some(value) = value else {
            file.remove(row.key);
            continue;
        };
        match file.get_mut(row.key) {
            Some(item) if config_value(item) == value => {}
            Some(item) => match item.as_value_mut() {
                Some(old) => {
                    let decor = old.decor().clone();
                    *old = toml_value(value);
                    *old.decor_mut() = decor;
                }
                None => *item = toml_value(value).into(),
            },
            None => drop(file.insert(row.key, toml_value(value).into())),
        }
    }
    Ok(file.to_string())
}

/// What another configuration has otherwise: `rate: 300 -> 600`.
pub fn changes(before: &RoomConfig, after: &RoomConfig) -> Vec<String> {
    let shown = |value: Option<ConfigValue<'_>>| {
        value.map_or_else(|| "not set".into(), |value| toml_value(value).to_string())
    };
    let pairs = before.entries().into_iter().zip(after.entries());
    let pairs = pairs.map(|((row, before), (_, after))| (row.key, shown(before), shown(after)));
    pairs
        .filter(|(_, before, after)| before != after)
        .map(|(key, before, after)| format!("{key}: {before} -> {after}"))
        .collect()
}

fn toml_value(value: ConfigValue<'_>) -> Value {
    match value {
        ConfigValue::Text(text) => text.into(),
        ConfigValue::Number(number) => number.into(),
        ConfigValue::Flag(flag) => flag.into(),
        ConfigValue::Other => value.to_string().into(),
    }
}

fn config_value(item: &Item) -> ConfigValue<'_> {
    match item.as_value() {
        Some(Value::String(text)) => ConfigValue::Text(text.value()),
        Some(Value::Integer(number)) => ConfigValue::Number(*number.value()),
        Some(Value::Boolean(flag)) => ConfigValue::Flag(*flag.value()),
        _ => ConfigValue::Other,
    }
}

/// A new file: the settings that this room has, and all others as comments.
fn new_file(config: &RoomConfig, for_aws: bool) -> String {
    let room = &config.room;
    let applied =
        if for_aws { "run: beekeeper deploy" } else { "start it again with its flags: beekeeper local" };
    let mut text =
        format!("# The configuration of the waiting room {room}. After a change, {applied} {room}\n");
    let shown = |row: &SettingRow| for_aws || row.presence != Presence::OnAws;
    let entries = config.entries().into_iter().filter(|(row, _)| shown(row));
    let (written, optional): (Vec<_>, Vec<_>) = entries.partition(|(_, value)| value.is_some());
    for (row, _) in written {
        add_setting(&mut text, row, "");
    }
    text.push_str("\n# Optional settings. Uncomment a line to set it. Unless its text says otherwise, a number or `false` is the default.\n");
    for (row, _) in optional {
        add_setting(&mut text, row, "# ");
    }
    text
}

fn add_setting(text: &mut String, row: &SettingRow, comment: &str) {
    let (explanation, key, example) = (row.explanation.trim(), row.key, toml_value(row.example));
    // Writing to a string cannot fail.
    let _ = write!(text, "\n# {explanation}\n{comment}{key} = {example}\n");
}

#[cfg(test)]
mod tests {
    use config::ROWS;
    use waitroom::Rate;

    use super::*;

    const SMALLEST: &str = r#"
        title = "Seal's Spring Sale"
        region = "eu-central-1"
        shop = "https://shop.example/sale"
        rate = 300
    "#;

    fn read(text: &str) -> Result<RoomConfig, Mistakes> {
        super::read(&"spring-sale".parse().unwrap(), text)
    }

    #[test]
    fn values_keep_their_types() {
        let mistakes = read(&format!("{SMALLEST}\nlog_days = \"14\"\npass_minutes = 1.5\naccount = []"));
        assert_eq!(
            mistakes.unwrap_err().iter().collect::<Vec<_>>(),
            [
                "pass_minutes: must be a whole number from 1 to 20160",
                "account: must be a text in quotation marks",
                "log_days: must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365",
            ]
        );
    }

    #[test]
    fn invalid_toml_is_shown_with_its_line() {
        let mistakes = read("room = \n").unwrap_err().to_string();
        assert!(mistakes.contains("line 1"), "{mistakes}");
    }

    #[test]
    fn a_written_file_can_be_read() {
        let mut config = read(SMALLEST).unwrap();
        config.title = "\"Robben\" \\ #1 🦭".parse().unwrap();
        let written = updated(&config, None, true).unwrap();
        assert_eq!(read(&written).unwrap(), config, "{written}");
    }

    #[test]
    fn a_new_file_explains_every_setting_and_each_can_be_uncommented() {
        let written = updated(&read(SMALLEST).unwrap(), None, true).unwrap();
        snapbox::assert_data_eq!(written.as_str(), snapbox::file!["new_file.toml"].raw());
        let uncommented = written.lines().map(|line| {
            let setting = line.strip_prefix("# ").filter(|rest| {
                rest.split_once(" = ").is_some_and(|(key, _)| ROWS.iter().any(|row| row.key == key))
            });
            setting.unwrap_or(line).to_owned() + "\n"
        });
        let text: String = uncommented.collect();
        let config = read(&text).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
        for (row, value) in config.entries() {
            assert!(value.is_some(), "{} is not explained in a new file", row.key);
        }
    }

    #[test]
    fn manual_edits_are_kept() {
        let own = "# Ours.\nrate = 300 # agreed with Kim\ntitle = 'Sale'\nregion = \"eu-central-1\"\n\n# the new one\nshop = \"https://shop.example/\"\nlog_days = 30\n";
        let mut config = read(own).unwrap();
        config.rate = Rate::new(500).unwrap();
        config.log_days = None;
        config.account = Some("012345678901".parse().unwrap());
        let written = updated(&config, Some(own), true).unwrap();
        let expected = "# Ours.\nrate = 500 # agreed with Kim\ntitle = 'Sale'\nregion = \"eu-central-1\"\n\n# the new one\nshop = \"https://shop.example/\"\nthrottle = false\naccount = \"012345678901\"\n";
        assert_eq!(written, expected);
    }
}
