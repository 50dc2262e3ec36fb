use std::collections::BTreeMap;

/// The lowest ticket that the line delivered in the window of each plan.
///
/// Kept in memory only. After a restart it is not known, so nobody is found to be overtaken for two windows.
#[derive(Debug, Default)]
pub(crate) struct LowestTickets(BTreeMap<u64, u64>);

impl LowestTickets {
    /// The trigger reads the latest two plans.
    const PLANS: usize = 4;

    pub(crate) fn add(&mut self, plan: u64, ticket: u64) {
        self.0.entry(plan).and_modify(|lowest| *lowest = ticket.min(*lowest)).or_insert(ticket);
        while self.0.len() > Self::PLANS {
            self.0.pop_first();
        }
    }

    pub(crate) fn of(&self, plan: u64) -> Option<u64> {
        self.0.get(&plan).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_of_the_latest_plans_is_remembered() {
        let mut tickets = LowestTickets::default();
        for (plan, ticket) in [(1, 50), (1, 40), (1, 45), (2, 60)] {
            tickets.add(plan, ticket);
        }
        assert_eq!([1, 2, 3].map(|plan| tickets.of(plan)), [Some(40), Some(60), None]);
        (3..=5).for_each(|plan| tickets.add(plan, 70));
        assert_eq!((tickets.of(1), tickets.of(2)), (None, Some(60)));
    }
}
