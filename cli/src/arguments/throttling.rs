use clap::Args;

/// The two flags that answer whether a room has a throttle.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct Throttling {
    /// Lower the rate while the shop is slow or fails
    #[arg(long, conflicts_with = "no_throttle")]
    throttle: bool,
    /// Keep the rate, whatever the state of the shop
    #[arg(long, conflicts_with = "throttle")]
    no_throttle: bool,
}

impl Throttling {
    pub(crate) fn of(throttle: bool) -> Self {
        Self { throttle, no_throttle: !throttle }
    }

    /// The answer; none without a flag.
    pub(crate) fn wanted(&self) -> Option<bool> {
        match (self.throttle, self.no_throttle) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}
