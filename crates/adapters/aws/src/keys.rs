//! The keys of the ledger's items.
//!
//! `infra/frozen-names.txt` lists them: a key that is written is never renamed.

use std::fmt;

use waitroom::{AuditEntry, HelpCode, SliceId, Token};

/// How many copies of the status polls share.
pub const STATUS_COPIES: u8 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Admission(Token),
    Room,
    /// One of sixteen copies of the status. A poll reads the copy that the first digit of its token names.
    Status(u8),
    Progress,
    Tickets,
    /// The permits of those who go straight in.
    Permits,
    /// The plan of a window, by the plan's number.
    Window(u64),
    /// Who took up to sixteen slices, and their records of a plan: the plan's number, and the group that the slices share.
    Slices(u64, u16),
    Throttle,
    /// How many came of those whom a slice has released: the plan's number, and the slice's index.
    Came(u64, u16),
    /// How many were taken of one of the sixteen shares of a stock, by the order that it is counted from.
    Stock(u64, u8),
    /// What the shop's guards report.
    Guards,
    /// A visitor in line who asked for help.
    Help(HelpCode),
    /// An entry of the audit trail, by its number. A new entry replaces the oldest one.
    Audit(u64),
    /// The record of a minute, by its number.
    Minute(u64),
    /// The key that signs passes, in rooms that were deployed before it was in a secret.
    Private,
    /// The keys that verify passes, and the record of them.
    Public,
    /// The key that proves places, in rooms that were deployed before it was in a secret.
    Proof,
}

impl Key {
    /// DynamoDB charges a write by the size of the whole item. With 270 slices in one item, each record would rewrite
    /// 16 KB, and together they would need twice what one partition can write. Sixteen slices fit into 1 KB, the
    /// smallest unit that a write is charged by.
    pub(crate) const SLICES_PER_ITEM: u16 = 16;

    pub(crate) const STATUS: std::ops::Range<u8> = 0..STATUS_COPIES;

    /// The item that this slice shares with up to fifteen others.
    pub(crate) fn slices_with(slice: SliceId) -> Self {
        Self::Slices(slice.plan, slice.index / Self::SLICES_PER_ITEM)
    }

    pub(crate) fn id(self) -> String {
        match self {
            Self::Admission(token) => format!("admission/{token}"),
            Self::Status(digit) => format!("status/{digit:x}"),
            Self::Window(number) => format!("window/{number}"),
            Self::Slices(number, group) => format!("window/{number}/{group}"),
            Self::Came(plan, index) => format!("came/{plan}/{index}"),
            Self::Stock(order, share) => format!("stock/{order}/{share}"),
            Self::Help(code) => format!("help/{}", code.digits()),
            Self::Audit(number) => format!("audit/{}", number % u64::from(AuditEntry::KEPT)),
            Self::Minute(number) => format!("minute/{number}"),
            Self::Room => "room".into(),
            Self::Progress => "progress".into(),
            Self::Tickets => "tickets".into(),
            Self::Permits => "permits".into(),
            Self::Guards => "guards".into(),
            Self::Throttle => "throttle".into(),
            Self::Private => "key/private".into(),
            Self::Public => "key/public".into(),
            Self::Proof => "key/proof".into(),
        }
    }
}

/// For errors and logs. They must not contain a token.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admission(_) => f.write_str("admission/…"),
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
            (Key::Admission(token), "admission/000102030405060708090a0b0c0d0e0f"),
            (Key::Room, "room"),
            (Key::Status(15), "status/f"),
            (Key::Window(28), "window/28"),
            (Key::slices_with(SliceId { plan: 28, index: 15 }), "window/28/0"),
            (Key::slices_with(SliceId { plan: 28, index: 269 }), "window/28/16"),
            (Key::Came(28, 269), "came/28/269"),
            (Key::Stock(17, 15), "stock/17/15"),
            (Key::Help("7K3M-Q01X".parse().unwrap()), "help/7K3MQ01X"),
            (Key::Audit(499), "audit/499"),
            (Key::Audit(1001), "audit/1"),
            (Key::Minute(29_557_968), "minute/29557968"),
            (Key::Public, "key/public"),
        ];
        for (key, id) in ids {
            assert_eq!(key.id(), id);
        }
        assert_eq!(Key::Admission(token).to_string(), "admission/…");
    }
}
