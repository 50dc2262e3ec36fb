//! What an account needs, to keep a rate up: the numbers of a table in docs/crowd.md.

use aws_model::{AccountLimits, Capacity, Limit, ModelledRoom, Traffic, facts};
use waitroom::Rate;

/// What visitors need who come at a rate, wait ten minutes and go.
pub(crate) struct Need {
    pub(crate) requests_per_second: f64,
    pub(crate) concurrency: f64,
    pub(crate) reads: f64,
    /// What `warm_reads` has to be for that. It is more than is read, because the copies of the status are hot.
    pub(crate) warm_reads: f64,
    pub(crate) writes: f64,
}

impl Need {
    pub(crate) fn to_keep_up(rate: Rate) -> Self {
        /// The most that the template takes, in partitions.
        const MOST: u32 = 333;
        let limits = AccountLimits::default_in("");
        let default = ModelledRoom::new(rate);
        let usage = Traffic::kept_up(rate, false).usage(&limits, &default);
        let used = |limit| usage.iter().find(|usage| usage.limit == limit).map_or(0.0, |usage| usage.used);
        let with = |partitions: u32| f64::from(partitions) * facts().fixed.key_reads.value;
        let serves = |warm_reads: &f64| {
            let room = ModelledRoom { warm_reads: *warm_reads, ..default.clone() };
            let is_of_reads = |limit| matches!(limit, Limit::StatusCopies | Limit::WarmReads);
            let mut usage = Traffic::kept_up(rate, false).usage(&limits, &room).into_iter();
            usage.all(|usage| !is_of_reads(usage.limit) || usage.used <= usage.available)
        };
        let warm_reads = (default.partitions()..=MOST).map(with).find(serves).unwrap_or(with(MOST));
        Self {
            warm_reads,
            requests_per_second: used(Limit::ApiRequests),
            concurrency: used(Limit::Concurrency),
            reads: used(Limit::TableReads),
            writes: used(Limit::TableWrites),
        }
    }
}

#[test]
fn what_a_rate_needs_is_what_it_can_be_kept_up_with() {
    let rate = Rate::new(100_000).unwrap();
    let need = Need::to_keep_up(rate);
    let mut limits = AccountLimits::default_in("us-east-1");
    limits.api_requests = need.requests_per_second + 1.0;
    limits.concurrency = need.concurrency + 1.0;
    limits.table_reads = need.reads + 1.0;
    let room = ModelledRoom::new(Rate::new(1000).unwrap());
    let warm = ModelledRoom { warm_reads: need.warm_reads, warm_writes: need.writes + 1.0, ..room };
    assert!(Capacity::of(&limits, &warm, 0).kept_up.most >= 100_000);
    let colder = ModelledRoom { warm_reads: need.warm_reads - 3000.0, ..warm.clone() };
    assert_eq!(Capacity::of(&limits, &colder, 0).kept_up.limit, Limit::StatusCopies);
    limits.api_requests = need.requests_per_second * 0.9;
    assert!(Capacity::of(&limits, &warm, 0).kept_up.most < 100_000);
}
