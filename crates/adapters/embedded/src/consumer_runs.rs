use std::collections::{BTreeMap, HashSet};

use waitroom::ports::ConsumerRun;

/// The consumers of this process that have taken a slice, by plan. A slice with another run was taken by an
/// earlier process, which no longer runs.
#[derive(Debug, Default)]
pub(crate) struct ConsumerRuns(BTreeMap<u64, HashSet<ConsumerRun>>);

impl ConsumerRuns {
    /// A consumer takes its slice once, at the start of its window, and at most two plans overlap.
    const PLANS: usize = 4;

    pub(crate) fn add(&mut self, plan: u64, consumer_run: ConsumerRun) {
        self.0.entry(plan).or_default().insert(consumer_run);
        while self.0.len() > Self::PLANS {
            self.0.pop_first();
        }
    }

    pub(crate) fn contains(&self, plan: u64, consumer_run: ConsumerRun) -> bool {
        self.0.get(&plan).is_some_and(|consumer_runs| consumer_runs.contains(&consumer_run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_plans_are_remembered() {
        let mut consumer_runs = ConsumerRuns::default();
        for plan in 1..=10 {
            consumer_runs.add(plan, ConsumerRun(plan.into()));
        }
        assert!(!consumer_runs.contains(6, ConsumerRun(6)));
        assert!(consumer_runs.contains(7, ConsumerRun(7)) && consumer_runs.contains(10, ConsumerRun(10)));
        assert!(!consumer_runs.contains(10, ConsumerRun(9)));
    }
}
