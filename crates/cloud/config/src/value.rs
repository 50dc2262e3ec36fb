use std::fmt;

/// A value of a configuration file, whatever the format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum ConfigValue<'a> {
    Text(&'a str),
    Number(i64),
    Flag(bool),
    /// A value of a type that no setting has: a list, a date, a fraction.
    Other,
}

impl<'a> ConfigValue<'a> {
    pub fn as_text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_number(self) -> Option<u32> {
        match self {
            Self::Number(number) => u32::try_from(number).ok(),
            _ => None,
        }
    }
}

/// The value itself, without quotation marks.
impl fmt::Display for ConfigValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Other => f.write_str("?"),
        }
    }
}
