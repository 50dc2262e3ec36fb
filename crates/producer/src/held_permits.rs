use waitroom::{DoorPermits, Timestamp};

/// Permits that this door has taken and not used yet.
#[derive(Debug, Default)]
pub(crate) struct HeldPermits {
    /// Of which change of the valve.
    since: Timestamp,
    /// Until when they are good.
    until: Timestamp,
    left: u32,
}

impl HeldPermits {
    /// Takes one of them, if one is left that is good.
    pub(crate) fn take(&mut self, of: &DoorPermits, now: Timestamp) -> bool {
        let has_one = self.left > 0 && self.since == of.since && now < self.until;
        self.left = if has_one { self.left - 1 } else { 0 };
        has_one
    }

    /// Keeps what is left of a portion from which one was used.
    pub(crate) fn keep_rest(&mut self, of: &DoorPermits, now: Timestamp) {
        (self.since, self.until, self.left) = (of.since, now + of.good_for(), of.portion() - 1);
    }
}
