use std::fmt;

use serde::Serialize;

use crate::{Allowed, ConfigValue, SettingValue};

/// The processor architecture that the functions are built for and run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Architecture {
    /// Costs a fifth less than the other.
    #[serde(rename = "arm64")]
    Arm64,
    #[serde(rename = "x86_64")]
    X86,
}

impl Architecture {
    const NAMES: &[&str] = &["arm64", "x86_64"];

    pub fn named(name: &str) -> Option<Self> {
        [Self::Arm64, Self::X86].into_iter().find(|architecture| architecture.name() == name)
    }

    /// Lambda's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86 => "x86_64",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl SettingValue for Architecture {
    const ALLOWED: Allowed = Allowed::OneText(Self::NAMES);

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        let named = value.as_text().and_then(Self::named);
        named.ok_or_else(|| "must be \"arm64\" or \"x86_64\"".into())
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Text(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_an_architecture() {
        for name in Architecture::NAMES {
            assert_eq!(Architecture::named(name).unwrap().to_string(), *name);
        }
    }
}
