use std::fmt;
use std::str::FromStr;

use crate::newtypes::{FormError, stored_as_text};

/// Whether newcomers wait in line also while there is room for them in the shop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every newcomer joins the line.
    #[default]
    Line,
    /// While nobody waits, newcomers go straight in, as many as the rate allows. Only beyond that a line forms.
    Overflow,
    /// Everybody goes straight in, and the room counts what the line would have been.
    Observe,
}

impl Mode {
    const MALFORMED: FormError = FormError("a mode is line, overflow or observe");
    pub const ALL: [Self; 3] = [Self::Line, Self::Overflow, Self::Observe];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Overflow => "overflow",
            Self::Observe => "observe",
        }
    }
}

stored_as_text!(Mode);

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or(Self::MALFORMED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_written_as_they_are_read() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert_eq!("queue".parse::<Mode>(), Err(Mode::MALFORMED));
    }
}
