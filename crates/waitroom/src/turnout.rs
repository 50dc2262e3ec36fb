//! How many of those who are let in come, and how many more are let in for that.
//!
//! A visitor who closed the page keeps their place in line, and the shop gets one fewer when their turn comes. A room that
//! *oversubscribes* therefore releases more than its rate, by the share that has come lately, so that as many come as the rate says.
//! Nobody loses their turn for it: whoever comes late is let in as long as their admission lasts.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::newtypes::{FormError, stored_as_text, whole_number};
use crate::{Rate, Timestamp, Window};

/// By how many percent more than its rate a room may release: a whole number from 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Oversubscription(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is a whole number of percent, from 1 to {}", Oversubscription::MAX.get())]
pub struct OversubscriptionError;

impl Oversubscription {
    pub const MAX: Self = Self(100);

    /// The most that may be let in instead of this rate.
    pub fn above(self, rate: Rate) -> Rate {
        rate.increased_by(self.get())
    }
}

whole_number!(Oversubscription(u32), Oversubscription::MAX.0, OversubscriptionError);

/// How many the windows of some minutes have released, and how many of them have come for their pass so far.
///
/// In text: `4800/6000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turnout {
    pub came: u64,
    pub released: u64,
}

impl Turnout {
    const MALFORMED: FormError = FormError("a turnout has the form <came>/<released>");
    /// How many minutes a visitor has before they count as somebody who has not come. A page in a hidden tab asks once a minute.
    const CLAIM_MINUTES: u32 = 3;
    /// How many minutes are counted.
    const COUNTED_MINUTES: u32 = 10;
    /// Fewer say too little.
    const ENOUGH: u64 = 100;

    /// In which time the windows have ended that count now. No window itself.
    pub fn counted_at(now: Timestamp, minute: Duration) -> Window {
        let end = now - minute * Self::CLAIM_MINUTES;
        Window { start: end - minute * Self::COUNTED_MINUTES, end }
    }

    /// Whether it says anything: enough were released, and somebody came. Where nobody does, something else is wrong.
    pub fn tells(self) -> bool {
        self.released >= Self::ENOUGH && self.came > 0
    }

    /// By how many percent more have to be released for as many to come as the rate says.
    pub fn missing_percent(self) -> u32 {
        if !self.tells() {
            return 0;
        }
        let released = (self.released.saturating_mul(100) + self.came / 2) / self.came;
        u32::try_from(released.saturating_sub(100)).unwrap_or(u32::MAX)
    }
}

stored_as_text!(Turnout);

impl fmt::Display for Turnout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.came, self.released)
    }
}

impl FromStr for Turnout {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let (came, released) = text.split_once('/').ok_or(Self::MALFORMED)?;
        let came = came.parse().map_err(|_| Self::MALFORMED)?;
        let released = released.parse().map_err(|_| Self::MALFORMED)?;
        Ok(Self { came, released })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turnout_is_displayed_and_parsed() {
        let turnout = Turnout { came: 4800, released: 6000 };
        assert_eq!((turnout.to_string().as_str(), "4800/6000".parse()), ("4800/6000", Ok(turnout)));
        for wrong in ["", "5", "5/", "/17", "-1/17", "5/17/1"] {
            assert_eq!(wrong.parse::<Turnout>(), Err(Turnout::MALFORMED), "{wrong}");
        }
    }

    #[test]
    fn as_many_more_are_released_as_did_not_come() {
        let missing = |came, released| Turnout { came, released }.missing_percent();
        assert_eq!([missing(4800, 6000), missing(4200, 6000), missing(6000, 6000)], [25, 43, 0]);
        assert_eq!(missing(6100, 6000), 0, "a record of what was released may be missing");
        assert_eq!([missing(80, 99), missing(0, 6000)], [0, 0], "it says too little, or something is wrong");
        assert_eq!(missing(1, u64::MAX), u32::MAX);
    }

    #[test]
    fn a_window_counts_once_everybody_had_time_to_come() {
        let at = |seconds: u64| Timestamp::from_millis(seconds * 1000);
        let counted = Turnout::counted_at(at(3600), Duration::from_mins(1));
        assert_eq!(counted, Window { start: at(3600 - 780), end: at(3600 - 180) });
    }

    #[test]
    fn a_room_oversubscribes_by_up_to_100_percent() {
        assert_eq!(Oversubscription::new(30).map(Oversubscription::get), Ok(30));
        for wrong in [0, 101] {
            assert_eq!(Oversubscription::new(wrong), Err(OversubscriptionError));
        }
    }
}
