use std::fmt;

use crate::Timestamp;

/// What a room turns to by itself at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turning {
    Opens,
    Closes,
    Ends,
}

impl Turning {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opens => "opens",
            Self::Closes => "closes",
            Self::Ends => "ends",
        }
    }

    /// Those that have an instant, in order of time.
    pub(crate) fn in_order(
        [opens, closes, ends]: [Option<Timestamp>; 3],
    ) -> impl Iterator<Item = (Self, Timestamp)> {
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
