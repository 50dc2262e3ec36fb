use crate::{SliceId, Ticket, Timestamp};

/// The ledger's record that a visitor may enter. Written once, on the condition that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    pub ticket: Ticket,
    pub by: AdmittedBy,
    pub at: Timestamp,
    /// When the claim ends. Stores delete late, so whoever reads this compares it with the time.
    pub expires: Timestamp,
}

impl Admission {
    pub fn is_valid(&self, now: Timestamp) -> bool {
        now < self.expires
    }
}

/// Who let a visitor in, and so who counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdmittedBy {
    Slice(SliceId),
    /// The door itself, while the room was off; counted by nobody.
    Door,
}
