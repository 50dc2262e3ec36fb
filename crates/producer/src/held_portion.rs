use waitroom::Timestamp;

/// What this door has taken of the ledger at once, and has not used yet: most visitors then cost no call.
#[derive(Debug, Default)]
pub(crate) struct HeldPortion {
    /// Since when there is what it is a portion of.
    of: Timestamp,
    /// Until when it is good.
    until: Timestamp,
    left: u32,
}

impl HeldPortion {
    /// Takes one, if one is left that is of this and good.
    pub(crate) fn take(&mut self, of: Timestamp, now: Timestamp) -> bool {
        let has_one = self.left > 0 && self.of == of && now < self.until;
        self.left = if has_one { self.left - 1 } else { 0 };
        has_one
    }

    /// Keeps what is left of a portion from which one was used.
    pub(crate) fn keep_rest(&mut self, of: Timestamp, until: Timestamp, portion: u32) {
        (self.of, self.until, self.left) = (of, until, portion.saturating_sub(1));
    }
}
