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
        let days = value.as_number().filter(|days| Self::CHOICES.contains(days));
        days.map(Self).ok_or_else(|| {
            let choices: Vec<_> = Self::CHOICES.iter().map(ToString::to_string).collect();
            format!("must be one of {}", choices.join(", "))
        })
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Number(self.0.into())
    }
}

/// How many requests one address may send in five minutes; 0 for no limit. The firewall takes no limit below 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressLimit(u32);

impl AddressLimit {
    const LEAST: u32 = 10;
    const MOST: u32 = 999_999_999;

    pub fn is_limited(self) -> bool {
        self.0 > 0
    }
}

impl SettingValue for AddressLimit {
    // The template's parameter is a string, so that a pattern can allow 0 and reject 1 to 9.
    const ALLOWED: Allowed = Allowed::Text;

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        let valid = |number: &u32| *number == 0 || (Self::LEAST..=Self::MOST).contains(number);
        value
            .as_number()
            .filter(valid)
            .map(Self)
            .ok_or_else(|| format!("must be 0, or a whole number from {} to {}", Self::LEAST, Self::MOST))
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Number(self.0.into())
    }
}
