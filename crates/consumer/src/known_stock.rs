use waitroom::Slice;

/// What a slice knows of the stock that it takes from.
#[derive(Debug, Default)]
pub(crate) struct KnownStock {
    /// How many are left, if the other slices took as many as this one since it asked.
    pub(crate) left: u32,
    /// Nothing is left.
    pub(crate) is_sold_out: bool,
}

impl KnownStock {
    pub(crate) fn take(&mut self, people: u32, slice: Slice) {
        self.left = self.left.saturating_sub(people.saturating_mul(slice.slices()));
    }
}
