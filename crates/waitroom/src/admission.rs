use crate::{SliceId, Ticket, Timestamp};

/// The ledger's record that a visitor may enter. Written only if the visitor has none yet, and never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    pub ticket: Ticket,
    pub by: AdmittedBy,
    pub at: Timestamp,
    /// Until when the visitor may enter. Stores delete expired admissions late, so readers must compare it with the time.
    pub expires: Timestamp,
}

impl Admission {
    pub fn is_valid(&self, now: Timestamp) -> bool {
        now < self.expires
    }
}

/// Who admitted a visitor, and therefore who counts the visitor as released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdmittedBy {
    Slice(SliceId),
    /// The door, while the room was off, or observed and this visitor had a place in line from before; or the operator, by hand. They
    /// are not counted as released.
    Door,
    /// The door, with a permit, while nobody waited: [`DoorPermits`](crate::DoorPermits). Or in a room that
    /// [observes](crate::Room::observes), where nobody needs one.
    Permit,
}
