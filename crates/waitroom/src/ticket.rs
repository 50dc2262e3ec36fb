use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::newtypes::whole_number;

/// A visitor's number in line: 1, 2, 3 … in each epoch.
///
/// Later visitors get higher numbers, and no number is used twice. Some numbers are never used, see
/// [`TicketBlock`](crate::TicketBlock).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Ticket(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a ticket is a whole number from 1 to {}, without leading zeros", Ticket::MAX)]
pub struct TicketError;

impl Ticket {
    pub const FIRST: Self = Self(1);
    /// The largest whole number that JavaScript represents exactly, because the page computes with tickets.
    pub const MAX: u64 = (1 << 53) - 1;
}

whole_number!(Ticket(u64), Ticket::MAX, TicketError);

impl FromStr for Ticket {
    type Err = TicketError;

    fn from_str(text: &str) -> Result<Self, TicketError> {
        // Parsing a `u64` would also accept "+7" and "007". Each ticket has only one spelling.
        if !text.bytes().all(|byte| byte.is_ascii_digit()) || text.starts_with('0') {
            return Err(TicketError);
        }
        Self::new(text.parse().map_err(|_| TicketError)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ticket_has_one_spelling() {
        assert_eq!("1".parse(), Ticket::new(1));
        assert_eq!("9007199254740991".parse(), Ticket::new(Ticket::MAX));
        for wrong in ["", "0", "01", "+1", "-1", " 1", "1.0", "9007199254740992", "99999999999999999999999"] {
            assert_eq!(wrong.parse::<Ticket>(), Err(TicketError), "{wrong}");
        }
    }
}
