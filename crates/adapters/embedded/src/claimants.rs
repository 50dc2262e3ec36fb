use std::collections::{BTreeMap, HashSet};

use waitroom::ports::Claimant;

/// The consumers of this process that have claimed a slice, by plan. A slice with another claimant was claimed by an
/// earlier process, which no longer runs.
#[derive(Debug, Default)]
pub(crate) struct Claimants(BTreeMap<u64, HashSet<Claimant>>);

impl Claimants {
    /// A consumer claims its slice once, at the start of its window, and at most two plans overlap.
    const PLANS: usize = 4;

    pub(crate) fn add(&mut self, plan: u64, claimant: Claimant) {
        self.0.entry(plan).or_default().insert(claimant);
        while self.0.len() > Self::PLANS {
            self.0.pop_first();
        }
    }

    pub(crate) fn contains(&self, plan: u64, claimant: Claimant) -> bool {
        self.0.get(&plan).is_some_and(|claimants| claimants.contains(&claimant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_plans_are_remembered() {
        let mut claimants = Claimants::default();
        for plan in 1..=10 {
            claimants.add(plan, Claimant(plan.into()));
        }
        assert!(!claimants.contains(6, Claimant(6)));
        assert!(claimants.contains(7, Claimant(7)) && claimants.contains(10, Claimant(10)));
        assert!(!claimants.contains(10, Claimant(9)));
    }
}
