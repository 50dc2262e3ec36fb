//! What is counted while a simulation runs.

/// What visitors did in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountedSecond {
    pub(crate) joins: u32,
    pub(crate) polls: u32,
    /// Visitors whose turn it was, and who came to the door once more.
    pub(crate) turns: u32,
    /// Requests that the room refused.
    pub(crate) refused: u32,
    /// How many waited when it ended.
    pub(crate) waiting: u32,
    /// How many were released in it.
    pub(crate) released: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct CountedCourse {
    /// Since the beginning, without gaps.
    pub(crate) seconds: Vec<CountedSecond>,
    /// Requests that were refused because no function was free. They are among the refused ones.
    pub(crate) refused_by_functions: u64,
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
