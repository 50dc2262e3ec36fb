use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::newtypes::whole_number;

/// The factor by which every waiting page polls less often. The operator raises it when there are too many polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Stretch(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stretch is a whole number from {} to {}", Stretch::USUAL.get(), Stretch::MAX.get())]
pub struct StretchError;

impl Stretch {
    pub const USUAL: Self = Self(1);
    /// The longest time between two polls is five minutes. With this factor it becomes an hour. A page notices a
    /// change of the factor within that time.
    pub const MAX: Self = Self(12);
}

whole_number!(Stretch(u32), Stretch::MAX.0, StretchError);

impl Default for Stretch {
    fn default() -> Self {
        Self::USUAL
    }
}

impl FromStr for Stretch {
    type Err = StretchError;

    fn from_str(text: &str) -> Result<Self, StretchError> {
        text.parse().map_err(|_| StretchError).and_then(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_from_1_to_12_are_valid() {
        assert_eq!("1".parse(), Ok(Stretch::USUAL));
        assert_eq!("12".parse(), Ok(Stretch::MAX));
        for wrong in ["0", "13", "-1", "1.5", "", "x"] {
            assert_eq!(wrong.parse::<Stretch>(), Err(StretchError), "{wrong}");
        }
        assert_eq!(StretchError.to_string(), "a stretch is a whole number from 1 to 12");
    }
}
