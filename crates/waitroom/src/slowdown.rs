/// What makes the line move slower than the operator wants. Pages hear only that it does: [`LineStatus::slow`](crate::LineStatus::slow).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slowdown {
    /// The throttle holds the rate down, because the shop is slow or fails.
    Throttle,
    /// The shop has as many active visitors as it may, and others enter as these leave.
    FullShop,
    /// Both do.
    Both,
}
