use std::str::FromStr;

use crate::{Allowed, ConfigValue, SettingValue};

/// A whole number within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const FROM: u32, const TO: u32>(u32);

impl<const FROM: u32, const TO: u32> Whole<FROM, TO> {
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<const FROM: u32, const TO: u32> FromStr for Whole<FROM, TO> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_value(text.parse().map_or(ConfigValue::Text(text), ConfigValue::Number))
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

macro_rules! numbers {
    ($($(#[$meaning:meta])* struct $type:ident: $allowed:expr, $read:expr;)*) => {$(
        $(#[$meaning])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type(u32);

        impl SettingValue for $type {
            const ALLOWED: Allowed = $allowed;

            fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
                $read(value).map(Self)
            }

            fn to_value(&self) -> ConfigValue<'_> {
                ConfigValue::Number(self.0.into())
            }
        }
    )*};
}

numbers! {
    /// For how many days logs are kept.
    struct LogDays: Allowed::OneNumber(DAYS), |value| one_of(DAYS, value);
    /// In how many seconds the firewall counts the requests of an address.
    struct WindowSeconds: Allowed::OneNumber(SECONDS), |value| one_of(SECONDS, value);
    // The template's parameters of these two are strings. So a pattern can allow 0 and reject 1 to 9, and no challenge is an
    // empty one.
    /// How many requests one address may send in a window; 0 for no limit.
    struct AddressLimit: Allowed::Text, zero_or_limit;
    /// From how many requests of an address on the firewall challenges its browsers; 0 for all browsers.
    struct ChallengeAbove: Allowed::Text, zero_or_limit;
}

/// CloudWatch also accepts longer times.
const DAYS: &[u32] = &[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365];
const SECONDS: &[u32] = &[60, 120, 300, 600];

impl LogDays {
    pub fn get(self) -> u32 {
        self.0
    }
}

impl AddressLimit {
    pub fn is_limited(self) -> bool {
        self.0 > 0
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
