use std::fmt;

use crate::Timestamp;

/// What a room does by itself at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turning {
    Opens,
    Closes,
    Ends,
}

impl Turning {
    /// In the order in which they can follow.
    pub const ALL: [Self; 3] = [Self::Opens, Self::Closes, Self::Ends];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opens => "opens",
            Self::Closes => "closes",
            Self::Ends => "ends",
        }
    }

    /// Those that have an instant, in order of time.
    pub(crate) fn in_order(instants: [Option<Timestamp>; 3]) -> impl Iterator<Item = (Self, Timestamp)> {
        let [opens, closes, ends] = instants;
        let mut ahead = [(Self::Opens, opens), (Self::Closes, closes), (Self::Ends, ends)];
        // Stable: of two at the same instant, the earlier kind is first.
        ahead.sort_by_key(|(_, at)| *at);
        ahead.into_iter().filter_map(|(turning, at)| Some((turning, at?)))
    }
}

impl fmt::Display for Turning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
