use std::collections::BTreeMap;

/// What this process knows of the latest plans, by their number.
///
/// Kept in memory only. After a restart it is not known.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentPlans<T>(BTreeMap<u64, T>);

impl<T: Default> RecentPlans<T> {
    /// Consumers are started for the slices of the latest two plans, and of those that a run of the trigger writes: eight at most.
    /// Twice as many, because two runs may overlap.
    const KEPT: usize = 20;

    pub(crate) fn note(&mut self, plan: u64, note: impl FnOnce(&mut T)) {
        note(self.0.entry(plan).or_default());
        while self.0.len() > Self::KEPT {
            self.0.pop_first();
        }
    }

    pub(crate) fn of(&self, plan: u64) -> Option<&T> {
        self.0.get(&plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_plans_are_remembered() {
        let mut plans = RecentPlans::default();
        for plan in [1, 2].into_iter().chain(2..=21) {
            plans.note(plan, |noted| *noted += 1);
        }
        assert_eq!([1, 2, 3, 22].map(|plan| plans.of(plan)), [None, Some(&2), Some(&1), None]);
    }
}
