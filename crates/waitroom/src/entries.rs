//! A TOML file that a person wrote, read entry by entry, so that every mistake in it is named at once.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use toml::{Table, Value};

use crate::Rate;

/// Everything that is wrong with what the operator wrote, not only the first thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(Vec<String>);

impl From<Vec<String>> for Mistakes {
    fn from(mistakes: Vec<String>) -> Self {
        Self(mistakes)
    }
}

impl Mistakes {
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Mistakes {}

/// The file's entries, taken out one by one so that what is left over is unknown.
#[derive(Debug)]
pub struct Entries {
    table: Table,
    mistakes: Vec<String>,
}

impl Entries {
    pub fn of_toml(text: &str) -> Result<Self, Mistakes> {
        let table =
            text.parse::<Table>().map_err(|error| Mistakes(vec![error.to_string().trim_end().into()]))?;
        Ok(Self { table, mistakes: Vec::new() })
    }

    pub fn needed<T>(&mut self, key: &str, read: impl FnOnce(&Value) -> Result<T, String>) -> Option<T> {
        if !self.table.contains_key(key) {
            self.mistakes.push(format!("{key}: is missing"));
        }
        self.optional(key, read)
    }

    pub fn optional<T>(&mut self, key: &str, read: impl FnOnce(&Value) -> Result<T, String>) -> Option<T> {
        let value = self.table.remove(key)?;
        read(&value).map_err(|mistake| self.mistakes.push(format!("{key}: {mistake}"))).ok()
    }

    /// Everything that was wrong, entries that nobody asked for included. Nothing if all is well.
    pub fn finish(mut self) -> Vec<String> {
        let unknown =
            self.table.keys().map(|key| format!("{key}: is not a setting; look for a typing error"));
        self.mistakes.extend(unknown);
        self.mistakes
    }
}

/// Reads a text that has rules of its own.
pub fn parsed<T: FromStr<Err: fmt::Display>>(value: &Value) -> Result<T, String> {
    let text = value.as_str().ok_or("is a text, in quotation marks")?;
    text.parse().map_err(|error: T::Err| error.to_string())
}

pub fn rate(value: &Value) -> Result<Rate, String> {
    let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
    number.ok_or(crate::RateError).and_then(Rate::new).map_err(|error| error.to_string())
}

pub fn yes_or_no(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "is true or false, without quotation marks".into())
}

/// Reads a whole number of something.
pub fn whole(of: &str, allowed: RangeInclusive<u32>) -> impl Fn(&Value) -> Result<u32, String> {
    move |value| {
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| allowed.contains(number)).ok_or_else(|| {
            format!("is a whole number of {of}, from {} to {}", allowed.start(), allowed.end())
        })
    }
}
