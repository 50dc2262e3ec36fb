use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::newtypes::{FormError, read_in_thousands, whole_number};
use crate::{Rate, Timestamp, ValveSchedule};

/// How many more one order releases: a whole number of visitors from 1 to 270,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct ExtraSize(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a release is a whole number of visitors, from 1 to {}", ExtraSize::MAX.get())]
pub struct ExtraSizeError;

impl ExtraSize {
    /// They come within a minute, so no more than the highest rate.
    pub const MAX: Self = Self(Rate::MAX.get());
}

whole_number!(ExtraSize(u32), ExtraSize::MAX.0, ExtraSizeError);
read_in_thousands!(ExtraSize, ExtraSizeError);

/// So many more are released than the rate allows, spread over a minute.
///
/// It raises the [valve](crate::Valve) for that minute, and both changes of the valve are scheduled with the order. So it ends
/// wherever the room is read, and plans, slices and consumers know nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extra {
    pub visitors: ExtraSize,
    /// When the rate counts alone again: a minute after the order was in force.
    pub until: Timestamp,
}

impl Extra {
    const MALFORMED: FormError = FormError("an extra release has the form <visitors>/<until>");
    pub const LASTS: Duration = Duration::from_mins(1);
    /// Only the store knows from when on an order is in force.
    const NOT_IN_FORCE: Timestamp = Timestamp::from_millis(u64::MAX);

    pub(crate) fn ordered(visitors: ExtraSize) -> Self {
        Self { visitors, until: Self::NOT_IN_FORCE }
    }

    /// Whether it can be in force now, or soon. One that would end later was ordered by a clock that was ahead, and may long be over.
    pub(crate) fn is_of_this_time(&self, now: Timestamp) -> bool {
        self.is_ordered() || self.until <= now + ValveSchedule::FARTHEST + Self::LASTS
    }

    /// Whether the store has yet to say it.
    pub(crate) fn is_ordered(&self) -> bool {
        self.until == Self::NOT_IN_FORCE
    }

    /// How many, and until when.
    pub fn told(&self) -> String {
        format!("{} more until {}", self.visitors, self.until)
    }

    /// In force from this instant on.
    pub(crate) fn begun(self, from: Timestamp) -> Self {
        Self { until: from + Self::LASTS, ..self }
    }
}

impl fmt::Display for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.visitors, self.until.as_millis())
    }
}

impl FromStr for Extra {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let (visitors, until) = text.split_once('/').ok_or(Self::MALFORMED)?;
        let visitors = visitors.parse().map_err(|_| Self::MALFORMED)?;
        Ok(Self { visitors, until: Timestamp::from_millis(until.parse().map_err(|_| Self::MALFORMED)?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extra_release_is_displayed_and_parsed() {
        let until = Timestamp::from_millis(1_700_000_060_000);
        let extra = Extra { visitors: ExtraSize::new(50).unwrap(), until };
        assert_eq!(extra.to_string().parse(), Ok(extra));
        assert_eq!(serde_json::to_string(&extra).unwrap(), r#"{"visitors":50,"until":1700000060000}"#);
        for wrong in ["", "50", "50/", "/17", "0/17", "-1/17", "270001/17", "5/17/1"] {
            assert_eq!(wrong.parse::<Extra>(), Err(Extra::MALFORMED), "{wrong}");
        }
    }

    #[test]
    fn a_size_is_written_in_thousands_too() {
        for (text, size) in [("1", 1), ("5k", 5000), ("270k", 270_000)] {
            assert_eq!(text.parse::<ExtraSize>().map(ExtraSize::get), Ok(size));
        }
        for wrong in ["", "0", "-1", "270001", "10000000000", "1.5", "all"] {
            assert_eq!(wrong.parse::<ExtraSize>(), Err(ExtraSizeError), "{wrong}");
        }
    }
}
