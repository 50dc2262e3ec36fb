//! One row of the table of settings.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use waitroom::{Mode, Rate, RoomId, Title, WebUrl};

use crate::{ConfigValue, Region};

/// A row of the table, with the type of its value.
#[derive(Debug)]
pub struct Setting<T> {
    pub row: SettingRow,
    value: PhantomData<fn() -> T>,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingRow {
    /// The setting's name in the configuration file.
    pub key: &'static str,
    /// The parameter of the stack; none if only the `beekeeper` command needs the setting.
    pub parameter: Option<&'static str>,
    pub allowed: Allowed,
    /// The value that a new file shows. If the template has a default, the two are the same.
    pub example: ConfigValue<'static>,
    pub explanation: &'static str,
    pub presence: Presence,
}

impl SettingRow {
    pub(crate) fn parameter_name(&self) -> &'static str {
        self.parameter.unwrap_or(self.key)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A file without it is refused.
    Required,
    /// A file may leave it out, but `beekeeper` always writes it.
    Defaulted,
    /// A new file shows it as a comment.
    Optional,
    /// The same, and a room on one machine has no use for it.
    OnAws,
}

/// The values that a setting can have, as far as a stack template can express it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// A text with its own rules.
    Text,
    OneText(&'static [&'static str]),
    Number {
        from: u32,
        to: u32,
    },
    OneNumber(&'static [u32]),
    /// `true` or `false` in the file, `yes` or `no` as a parameter.
    Flag,
}

/// The value of a setting.
///
/// Errors complete a sentence that begins with the setting's name: `log_days: must be …`.
pub trait SettingValue: Sized {
    const ALLOWED: Allowed;

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String>;

    fn to_value(&self) -> ConfigValue<'_>;

    /// Reads a parameter, which is a string whatever the setting's type. `None` if it says that there is no such setting.
    fn from_parameter(text: &str) -> Result<Option<Self>, String> {
        let number = || text.parse().ok().map(ConfigValue::Number);
        let value = match Self::ALLOWED {
            Allowed::Number { .. } | Allowed::OneNumber(_) => number(),
            _ => None,
        };
        Self::from_value(value.unwrap_or(ConfigValue::Text(text))).map(Some)
    }

    /// The parameter's value; if none, the template's default applies.
    fn to_parameter(value: Option<&Self>) -> Option<String> {
        value.map(|value| value.to_value().to_string())
    }
}

impl<T: SettingValue> Setting<T> {
    pub(crate) const fn new(
        key: &'static str,
        presence: Presence,
        example: ConfigValue<'static>,
        parameter: Option<&'static str>,
        explanation: &'static str,
    ) -> Self {
        let row = SettingRow { key, parameter, allowed: T::ALLOWED, example, explanation, presence };
        Self { row, value: PhantomData }
    }
}

pub(crate) fn text_of(value: ConfigValue<'_>) -> Result<&str, String> {
    value.as_text().ok_or_else(|| "must be a text in quotation marks".into())
}

pub(crate) fn parsed<T: FromStr<Err: fmt::Display>>(value: ConfigValue<'_>) -> Result<T, String> {
    text_of(value)?.parse().map_err(|error: T::Err| error.to_string())
}

macro_rules! parsed_texts {
    ($($type:ident: $allowed:expr, $as_str:expr;)*) => {$(
        impl SettingValue for $type {
            const ALLOWED: Allowed = $allowed;

            fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
                parsed(value)
            }

            fn to_value(&self) -> ConfigValue<'_> {
                let as_str: fn(&Self) -> &str = $as_str;
                ConfigValue::Text(as_str(self))
            }
        }
    )*};
}

pub(crate) use parsed_texts;

parsed_texts! {
    Mode: Allowed::OneText(&[Self::Line.as_str(), Self::Overflow.as_str(), Self::Observe.as_str()]),
        |mode| mode.as_str();
    Region: Allowed::Text, Self::as_str;
    RoomId: Allowed::Text, Self::as_str;
    Title: Allowed::Text, Self::as_str;
    WebUrl: Allowed::Text, |url| url.as_url().as_str();
}

impl SettingValue for Rate {
    const ALLOWED: Allowed = Allowed::Number { from: Rate::MIN.get(), to: Rate::MAX.get() };

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        let number = value.as_number().ok_or(waitroom::RateError);
        number.and_then(Self::new).map_err(|error| error.to_string())
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Number(self.get().into())
    }
}

impl SettingValue for bool {
    const ALLOWED: Allowed = Allowed::Flag;

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        match value {
            ConfigValue::Flag(flag) => Ok(flag),
            _ => Err("must be true or false, without quotation marks".into()),
        }
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Flag(*self)
    }

    fn from_parameter(text: &str) -> Result<Option<Self>, String> {
        match text {
            "yes" => Ok(Some(true)),
            "no" => Ok(Some(false)),
            _ => Err("must be yes or no".into()),
        }
    }

    fn to_parameter(value: Option<&Self>) -> Option<String> {
        value.map(|&flag| if flag { "yes" } else { "no" }.to_owned())
    }
}
