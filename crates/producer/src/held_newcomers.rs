use waitroom::Timestamp;

/// Newcomers whom this door has counted, and who have not come yet.
#[derive(Debug, Default)]
pub(crate) struct HeldNewcomers {
    slot: Timestamp,
    left: u32,
}

impl HeldNewcomers {
    /// Takes one of them, if one of this slot is left.
    pub(crate) fn take(&mut self, slot: Timestamp) -> bool {
        let has_one = self.left > 0 && self.slot == slot;
        self.left = if has_one { self.left - 1 } else { 0 };
        has_one
    }

    /// Keeps what is left of so many, of whom one has come.
    pub(crate) fn keep_rest(&mut self, slot: Timestamp, counted: u32) {
        (self.slot, self.left) = (slot, counted.saturating_sub(1));
    }
}
