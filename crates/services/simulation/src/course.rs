//! What is counted while a simulation runs.

use waitroom::Timestamp;

/// An instant, or none, in four bytes: there may be ten million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaybeAt(u32);

impl MaybeAt {
    pub(crate) const NEVER: Self = Self(u32::MAX);

    pub(crate) fn at(millis: u32) -> Self {
        Self(millis)
    }

    pub(crate) fn get(self) -> Option<u32> {
        (self != Self::NEVER).then_some(self.0)
    }
}

/// What visitors did in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountedSecond {
    pub(crate) joins: u32,
    pub(crate) polls: u32,
    /// Polls that an edge answered.
    pub(crate) shared: u32,
    /// Visitors whose turn it was, and who came to the door once more.
    pub(crate) turns: u32,
    /// Newcomers whom the door let straight in.
    pub(crate) straight: u32,
    /// Requests that the room refused.
    pub(crate) refused: u32,
    /// Those of them that came to the door, and for which no function was free.
    pub(crate) refused_visits: u32,
    /// How many waited when it ended.
    pub(crate) waiting: u32,
    /// How many were in the shop when it ended, in a room with a limit.
    pub(crate) in_shop: u32,
    /// Whether the full shop held the line up when it ended.
    pub(crate) is_full: bool,
    /// How many were released in it: counted at the end, because the ledger knows it.
    pub(crate) released: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct CountedCourse {
    /// Since the beginning, without gaps.
    pub(crate) seconds: Vec<CountedSecond>,
}

impl CountedCourse {
    /// The second of this instant, in milliseconds since the beginning.
    pub(crate) fn at(&mut self, at: u32) -> &mut CountedSecond {
        let second = (at / 1000) as usize;
        if second >= self.seconds.len() {
            self.seconds.resize(second + 1, CountedSecond::default());
        }
        &mut self.seconds[second]
    }

    /// The sum over all seconds.
    pub(crate) fn total(&self, count: impl Fn(&CountedSecond) -> u32) -> u64 {
        self.seconds.iter().map(|second| u64::from(count(second))).sum()
    }
}

/// The whole part of a number of visitors, of requests, or of milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative, and at most ten million, or some weeks"
)]
pub(crate) fn whole(number: f64) -> u32 {
    number as u32
}

/// As far as a simulation reaches.
pub(crate) fn millis_between(zero: Timestamp, at: Timestamp) -> u32 {
    u32::try_from(at.since(zero).as_millis()).unwrap_or(u32::MAX)
}
