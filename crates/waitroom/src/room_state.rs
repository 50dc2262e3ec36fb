use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::newtypes::FormError;

/// The name of a combination of [`Switches`]. It is what operators order, what polls show and what stores keep. Whoever
/// decides something asks the one switch that it means, for example with [`Room::releases`](crate::Room::releases).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoomState {
    /// Visitors join, and are released at the rate.
    On,
    /// Visitors join and keep their places. Nobody is released.
    Paused,
    /// Nobody new joins. Visitors who wait are released at the rate.
    Closed,
    /// Nobody new joins. Visitors who wait keep their places, and nobody is released.
    ClosedPaused,
    /// Nobody new joins, and nobody is released any more. Visitors who wait keep their places, in case it goes on after all.
    Ended,
    /// Everybody goes straight to the shop.
    Off,
}

/// What a room does, whatever that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Whether newcomers get a place in the line.
    pub joins: bool,
    /// Whether visitors who wait are released.
    pub releases: bool,
    pub way: WayToShop,
}

/// How visitors get from the door to the shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayToShop {
    /// Whoever was released goes there.
    ThroughLine,
    /// Everybody goes there at once.
    Straight,
    /// Nobody goes there any more, but for those who were released before.
    Over,
}

impl RoomState {
    const MALFORMED: FormError = FormError("a room is on, paused, closed, closed-paused, ended or off");
    pub const ALL: [Self; 6] =
        [Self::On, Self::Paused, Self::Closed, Self::ClosedPaused, Self::Ended, Self::Off];

    /// The table in ARCHITECTURE.md: each state's name and switches.
    const fn row(self) -> (&'static str, Switches) {
        use WayToShop::{Over, Straight, ThroughLine};
        match self {
            Self::On => ("on", Switches { joins: true, releases: true, way: ThroughLine }),
            Self::Paused => ("paused", Switches { joins: true, releases: false, way: ThroughLine }),
            Self::Closed => ("closed", Switches { joins: false, releases: true, way: ThroughLine }),
            Self::ClosedPaused => {
                ("closed-paused", Switches { joins: false, releases: false, way: ThroughLine })
            }
            Self::Ended => ("ended", Switches { joins: false, releases: false, way: Over }),
            Self::Off => ("off", Switches { joins: false, releases: false, way: Straight }),
        }
    }

    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    pub const fn switches(self) -> Switches {
        self.row().1
    }

    /// Whether nobody is let in any more.
    pub fn is_over(self) -> bool {
        self.switches().way == WayToShop::Over
    }

    /// Whether somebody without a place reads that they come too late.
    pub fn turns_newcomers_away(self) -> bool {
        !self.switches().joins && !self.lets_everybody_through()
    }

    /// Where `pause` leads from here: it stops the releases, and does not let newcomers in whom the room turned away.
    #[must_use]
    pub fn paused(self) -> Self {
        if self.turns_newcomers_away() { Self::ClosedPaused } else { Self::Paused }
    }

    /// Whether everybody goes straight to the shop.
    pub fn lets_everybody_through(self) -> bool {
        self.switches().way == WayToShop::Straight
    }
}

impl fmt::Display for RoomState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RoomState {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(Self::MALFORMED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_draws_every_state_with_its_switches() {
        let drawn = include_str!("../../../ARCHITECTURE.md");
        for state in RoomState::ALL {
            let Switches { joins, releases, way } = state.switches();
            let word = |switch| if switch { "yes" } else { "no" };
            let way = match way {
                WayToShop::ThroughLine => "through the line",
                WayToShop::Straight => "straight",
                WayToShop::Over => "none",
            };
            let row = format!("| `{state}` | {} | {} | {way} |", word(joins), word(releases));
            assert!(drawn.contains(&row), "ARCHITECTURE.md lacks {row}");
        }
    }

    #[test]
    fn a_state_has_one_name_in_text_and_in_json() {
        for state in RoomState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }
}
