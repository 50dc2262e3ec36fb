//! Reads settings one by one, and collects the mistakes in them.

use crate::nearest::nearest;
use crate::{ConfigValue, Setting, SettingRow, SettingValue};

/// The entries of a configuration file. An entry that no setting reads is reported as unknown.
pub(crate) struct EntryReader<'a> {
    entries: Vec<(&'a str, ConfigValue<'a>)>,
    mistakes: Vec<String>,
}

impl<'a> EntryReader<'a> {
    pub(crate) fn new(entries: impl IntoIterator<Item = (&'a str, ConfigValue<'a>)>) -> Self {
        Self { entries: entries.into_iter().collect(), mistakes: Vec::new() }
    }

    pub(crate) fn required<T: SettingValue>(&mut self, setting: &Setting<T>) -> Option<T> {
        let key = setting.row.key;
        if !self.entries.iter().any(|(entry, _)| *entry == key) {
            self.mistakes.push(format!("{key}: is missing"));
        }
        self.optional(setting)
    }

    pub(crate) fn optional<T: SettingValue>(&mut self, setting: &Setting<T>) -> Option<T> {
        let key = setting.row.key;
        let at = self.entries.iter().position(|(entry, _)| *entry == key)?;
        let (_, value) = self.entries.remove(at);
        T::from_value(value).map_err(|mistake| self.mistakes.push(format!("{key}: {mistake}"))).ok()
    }

    pub(crate) fn finish(mut self, rows: &[SettingRow]) -> Vec<String> {
        self.mistakes.extend(self.entries.iter().map(|(key, _)| {
            match nearest(key, rows.iter().map(|row| row.key)) {
                Some(meant) => format!("{key}: is not a setting; did you mean {meant}?"),
                None => format!("{key}: is not a setting; remove the line, or correct the name"),
            }
        }));
        self.mistakes
    }
}

/// The parameters that a stack passes on, all of them strings. An empty one counts as missing, as in templates.
pub(crate) struct ParameterReader<F> {
    given: F,
    mistakes: Vec<String>,
}

impl<'a, F: Fn(&str) -> Option<&'a str>> ParameterReader<F> {
    pub(crate) fn new(given: F) -> Self {
        Self { given, mistakes: Vec::new() }
    }

    pub(crate) fn required<T: SettingValue>(&mut self, setting: &Setting<T>) -> Option<T> {
        let name = setting.row.parameter_name();
        if self.given(name).is_none() {
            self.mistakes.push(format!("{name}: is missing"));
        }
        self.optional(setting)
    }

    pub(crate) fn optional<T: SettingValue>(&mut self, setting: &Setting<T>) -> Option<T> {
        let name = setting.row.parameter?;
        let read = T::from_parameter(self.given(name)?);
        read.map_err(|mistake| self.mistakes.push(format!("{name}: {mistake}"))).ok().flatten()
    }

    fn given(&self, name: &str) -> Option<&'a str> {
        (self.given)(name).filter(|text| !text.is_empty())
    }

    pub(crate) fn finish(self) -> Vec<String> {
        self.mistakes
    }
}
