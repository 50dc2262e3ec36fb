use serde::{Deserialize, Serialize};

use crate::{Rate, Room, Ticket};

/// How far the line has come in this epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineProgress {
    /// The ticket that the line has reached: the highest [estimate](crate::ReachEstimate) of a slice.
    #[serde(rename = "served")]
    pub reached: u64,
    /// Visitors with lower tickets were [overtaken](crate::overtaken_before).
    #[serde(default, rename = "passed")]
    pub overtaken: u64,
    /// How many visitors were released.
    pub released: u64,
    /// How many places from their turn visitors leave the line: the latest [estimate](crate::DisorderEstimate) of the first
    /// slice.
    #[serde(default)]
    pub disorder: u64,
}

/// The part of the progress that tells visitors where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineReach {
    pub reached: u64,
    pub overtaken: u64,
    pub disorder: u64,
}

impl LineProgress {
    pub fn reach(&self) -> LineReach {
        LineReach { reached: self.reached, overtaken: self.overtaken, disorder: self.disorder }
    }
}

/// What polls publish about the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineStatus {
    #[serde(rename = "served")]
    pub reached: u64,
    #[serde(default, rename = "passed")]
    pub overtaken: u64,
    /// How many places from their turn visitors leave the line.
    #[serde(default)]
    pub disorder: u64,
    pub waiting: u64,
    /// At how many a minute the line moves: the rate in force, or what a full shop leaves of it.
    pub rate: Rate,
    /// Whether the line moves slower than the operator wants. [`Room::slowdown`] says why.
    pub slow: bool,
    /// How many more are let in before the room ends, if it has a [stock](crate::Stock).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u32>,
}

impl LineStatus {
    pub fn of(room: &Room, reach: LineReach, waiting: u64, left: Option<u32>) -> Self {
        let LineReach { reached, overtaken, disorder } = reach;
        Self {
            reached,
            overtaken,
            disorder,
            waiting,
            rate: room.pace_of_line(),
            slow: room.slowdown().is_some(),
            left,
        }
    }

    /// About how many are ahead of this number in line.
    pub fn ahead_of(&self, ticket: Ticket) -> u64 {
        let numbers = ticket.get().saturating_sub(self.reached.saturating_add(1));
        numbers.min(self.waiting.saturating_sub(1))
    }

    /// What is left, if nothing may be by the turn of this number: so many are ahead.
    pub fn scarce_for(&self, ticket: Ticket) -> Option<u32> {
        self.left.filter(|left| u64::from(*left) <= self.ahead_of(ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_is_scarce_for_those_who_have_as_many_ahead_of_them() {
        let (slow, rate) = (false, Rate::MIN);
        let line =
            LineStatus { reached: 100, overtaken: 0, disorder: 0, waiting: 500, rate, slow, left: Some(20) };
        let of = |number| {
            let ticket = Ticket::new(number).unwrap();
            (line.ahead_of(ticket), line.scarce_for(ticket))
        };
        assert_eq!([50, 101, 120, 121].map(of), [(0, None), (0, None), (19, None), (20, Some(20))]);
        assert_eq!(of(9000), (499, Some(20)), "no more than wait");
        let without = LineStatus { left: None, ..line };
        assert_eq!(without.scarce_for(Ticket::new(9000).unwrap()), None);
    }
}
