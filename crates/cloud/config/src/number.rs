use crate::{Allowed, ConfigValue, SettingValue};

/// A whole number within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const FROM: u32, const TO: u32>(u32);

impl<const FROM: u32, const TO: u32> Whole<FROM, TO> {
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<const FROM: u32, const TO: u32> SettingValue for Whole<FROM, TO> {
    const ALLOWED: Allowed = Allowed::Number { from: FROM, to: TO };

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        let number = value.as_number().filter(|number| (FROM..=TO).contains(number));
        number.map(Self).ok_or_else(|| format!("must be a whole number from {FROM} to {TO}"))
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Number(self.0.into())
    }
}

/// For how many days logs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogDays(u32);

impl LogDays {
    /// CloudWatch also accepts longer times.
    const CHOICES: &[u32] = &[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365];

    pub fn get(self) -> u32 {
        self.0
    }
}

impl SettingValue for LogDays {
    const ALLOWED: Allowed = Allowed::OneNumber(Self::CHOICES);

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        one_of(Self::CHOICES, value).map(Self)
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Number(self.0.into())
    }
}

/// In how many seconds the firewall counts the requests of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSeconds(u32);

impl WindowSeconds {
    const CHOICES: &[u32] = &[60, 120, 300, 600];
}

impl SettingValue for WindowSeconds {
    const ALLOWED: Allowed = Allowed::OneNumber(Self::CHOICES);

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        one_of(Self::CHOICES, value).map(Self)
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Number(self.0.into())
    }
}

fn one_of(choices: &[u32], value: ConfigValue<'_>) -> Result<u32, String> {
    value.as_number().filter(|number| choices.contains(number)).ok_or_else(|| {
        let choices: Vec<_> = choices.iter().map(ToString::to_string).collect();
        format!("must be one of {}", choices.join(", "))
    })
}

/// The firewall counts no fewer requests of an address than this. It allows a higher limit than the most.
const LEAST_LIMIT: u32 = 10;
const MOST_LIMIT: u32 = 999_999_999;

/// 0, or as many requests as the firewall can count.
fn zero_or_limit(value: ConfigValue<'_>) -> Result<u32, String> {
    let valid = |number: &u32| *number == 0 || (LEAST_LIMIT..=MOST_LIMIT).contains(number);
    let number = value.as_number().filter(valid);
    number.ok_or_else(|| format!("must be 0, or a whole number from {LEAST_LIMIT} to {MOST_LIMIT}"))
}

/// How many requests one address may send in a window; 0 for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressLimit(u32);

impl AddressLimit {
    pub fn is_limited(self) -> bool {
        self.0 > 0
    }
}

impl SettingValue for AddressLimit {
    // The template's parameter is a string, so that a pattern can allow 0 and reject 1 to 9.
    const ALLOWED: Allowed = Allowed::Text;

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        zero_or_limit(value).map(Self)
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Number(self.0.into())
    }
}

/// From how many requests of an address on the firewall challenges its browsers; 0 for all browsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChallengeAbove(u32);

impl SettingValue for ChallengeAbove {
    // The template's parameter is a string, so that it can also be empty: no challenge.
    const ALLOWED: Allowed = Allowed::Text;

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        zero_or_limit(value).map(Self)
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Number(self.0.into())
    }
}
