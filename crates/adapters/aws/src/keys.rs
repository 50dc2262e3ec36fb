//! Which items there are in the ledger.

use std::fmt;

use waitroom::{SliceId, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Visitor(Token),
    Room,
    /// One of sixteen copies of what polls show; a poll reads the one that its token's first digit names.
    Status(u8),
    Progress,
    Tickets,
    /// A minute's plan.
    Minute(u64),
    /// What sixteen of its slices have claimed and recorded.
    Page(u64, u16),
    Throttle,
    /// What signs passes.
    Private,
    /// What verifies them.
    Public,
}

impl Key {
    /// With 270 slices in one item, each record would rewrite 16 KB and together they would cost twice what one
    /// partition bears. Sixteen slices fit into the kilobyte that one write costs anyway.
    pub(crate) const SLICES_A_PAGE: u16 = 16;

    pub(crate) const STATUS: std::ops::Range<u8> = 0..16;

    /// The page of this slice.
    pub(crate) fn page(slice: SliceId) -> Self {
        Self::Page(slice.plan, slice.index / Self::SLICES_A_PAGE)
    }

    pub(crate) fn id(self) -> String {
        match self {
            Self::Visitor(token) => format!("visitor/{token}"),
            Self::Status(digit) => format!("status/{digit:x}"),
            Self::Minute(number) => format!("minute/{number}"),
            Self::Page(number, page) => format!("minute/{number}/{page}"),
            Self::Room => "room".into(),
            Self::Progress => "progress".into(),
            Self::Tickets => "tickets".into(),
            Self::Throttle => "throttle".into(),
            Self::Private => "key/private".into(),
            Self::Public => "key/public".into(),
        }
    }
}

/// For messages and logs, which must not hold a token.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Visitor(_) => f.write_str("visitor/…"),
            other => f.write_str(&other.id()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_what_mapping_templates_and_roles_expect() {
        let token: Token = "000102030405060708090a0b0c0d0e0f".parse().unwrap();
        let ids = [
            (Key::Visitor(token), "visitor/000102030405060708090a0b0c0d0e0f"),
            (Key::Room, "room"),
            (Key::Status(15), "status/f"),
            (Key::Minute(28), "minute/28"),
            (Key::page(SliceId { plan: 28, index: 15 }), "minute/28/0"),
            (Key::page(SliceId { plan: 28, index: 269 }), "minute/28/16"),
            (Key::Public, "key/public"),
        ];
        for (key, id) in ids {
            assert_eq!(key.id(), id);
        }
        assert_eq!(Key::Visitor(token).to_string(), "visitor/…");
    }
}
