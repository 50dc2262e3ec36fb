use std::time::Duration;

/// How a line differs from one that is in order.
#[derive(Clone, Copy, Debug)]
pub struct LineBehaviour {
    /// On how many hosts the visitors lie.
    pub hosts: usize,
    /// A visitor is delivered before at most this many who joined earlier, and after at most this many who joined later.
    pub disorder: u64,
    /// The count is as old as this.
    pub count_lag: Duration,
    /// The share of the ticket numbers that nobody gets: those that producers reserve and drop.
    pub unused: f64,
    /// The share of removed messages that are delivered once more.
    pub duplicates: f64,
    /// While this many messages are in flight, nobody is delivered.
    pub most_in_flight: usize,
}

impl Default for LineBehaviour {
    /// In order, with an exact count.
    fn default() -> Self {
        Self {
            hosts: 16,
            disorder: 0,
            count_lag: Duration::ZERO,
            unused: 0.0,
            duplicates: 0.0,
            most_in_flight: Self::SQS_IN_FLIGHT,
        }
    }
}

impl LineBehaviour {
    /// The limit of a standard queue. Beyond it, long polling returns nothing instead of an error.
    pub const SQS_IN_FLIGHT: usize = 120_000;
}
