use serde::{Deserialize, Serialize};

use crate::newtypes::{read_in_thousands, whole_number};

/// How many visitors are released in a minute: a whole number from 1 to 270,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Rate(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rate is a whole number of visitors a minute, from {} to {}", Rate::MIN.get(), Rate::MAX.get())]
pub struct RateError;

impl Rate {
    pub const MIN: Self = Self(1);
    pub const MAX: Self = Self(270_000);

    /// Half of the rate, rounded up, so that it never becomes 0.
    #[must_use]
    pub const fn halved(self) -> Self {
        Self(self.0.div_ceil(2))
    }

    /// How many seconds so many visitors take at this rate. Rounded up, because who is told a wait should not wait longer.
    pub fn seconds_for(self, visitors: u64) -> u64 {
        visitors.saturating_mul(60).div_ceil(self.0.into())
    }

    /// So many percent more, rounded down.
    #[must_use]
    pub fn increased_by(self, percent: u32) -> Self {
        let more = u64::from(self.0) * u64::from(percent) / 100;
        self.plus(u32::try_from(more).unwrap_or(u32::MAX))
    }

    /// So many more, up to the highest rate.
    #[must_use]
    pub fn plus(self, more: u32) -> Self {
        Self(self.0.saturating_add(more)).min(Self::MAX)
    }

    /// The rate, raised by a quarter of the difference to `wanted`. The step is rounded up, so that repeated calls
    /// reach `wanted`. The result is never more than `wanted`.
    #[must_use]
    pub(crate) fn eased_towards(self, wanted: Self) -> Self {
        let missing = wanted.0.saturating_sub(self.0);
        Self(self.0 + missing.div_ceil(4)).min(wanted)
    }
}

whole_number!(Rate(u32), Rate::MAX.0, RateError);
read_in_thousands!(Rate, RateError);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rates_from_1_to_270000_are_valid() {
        assert_eq!("1".parse(), Ok(Rate::MIN));
        assert_eq!("270000".parse(), Ok(Rate::MAX));
        assert_eq!("3k".parse(), Rate::new(3000));
        assert_eq!("270K".parse(), Ok(Rate::MAX));
        for wrong in
            ["0", "270001", "271k", "k", "3 k", "3kk", "4294968k", "-1", "1.5", "", "many", "4294967297"]
        {
            assert_eq!(wrong.parse::<Rate>(), Err(RateError), "{wrong}");
        }
        assert_eq!(RateError.to_string(), "a rate is a whole number of visitors a minute, from 1 to 270000");
    }

    #[test]
    fn percent_more_are_rounded_down_and_never_above_the_most() {
        let rate = |rate| Rate::new(rate).unwrap();
        assert_eq!(rate(600).increased_by(25), rate(750));
        assert_eq!((rate(3).increased_by(30), rate(3).increased_by(34)), (rate(3), rate(4)));
        assert_eq!(Rate::MAX.increased_by(u32::MAX), Rate::MAX);
    }

    #[test]
    fn the_time_for_visitors_is_rounded_up() {
        let rate = Rate::new(300).unwrap();
        assert_eq!([0, 1, 5, 7, 300].map(|visitors| rate.seconds_for(visitors)), [0, 1, 1, 2, 60]);
        assert_eq!(Rate::MIN.seconds_for(u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn halving_ends_at_1_and_easing_ends_at_the_wanted_rate(wanted in 1..=270_000u32) {
            let wanted = Rate::new(wanted).unwrap();
            let mut rate = wanted;
            for _ in 0..20 {
                prop_assert!(rate.halved() <= rate);
                rate = rate.halved();
            }
            prop_assert_eq!(rate, Rate::MIN);
            for _ in 0..60 {
                let eased = rate.eased_towards(wanted);
                prop_assert!(eased > rate || rate == wanted);
                rate = eased;
            }
            prop_assert_eq!(rate, wanted);
        }
    }
}
