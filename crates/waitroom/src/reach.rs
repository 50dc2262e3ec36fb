//! How far the line has come, from the tickets of those who leave it.
//!
//! A line that is not in order delivers visitors before and after their turn. So the ticket of one visitor, or of one
//! batch, says little: the highest would run ahead of the line for good, and the lowest would stay behind it. Here each
//! visitor who leaves moves the estimate a little, and only forward:
//!
//! - A visitor with a higher ticket moves it up to two numbers. While the line is in order, it is exact, because most
//!   numbers are used (see [`TicketBlock`](crate::TicketBlock)).
//! - A visitor with a lower ticket does not move it. So it rests where about half of those who leave have a higher ticket:
//!   in the middle of the disorder. A batch from far behind moves it by twenty numbers.
//! - If a hundred visitors in a row are all further ahead, the numbers in between are not in the line, and it jumps to the
//!   lowest of the hundred.
//!
//! How far from the estimate visitors leave the line is the line's [disorder](DisorderEstimate).

use crate::{BATCH, DisorderEstimate, Ticket};

/// The ticket that the line has reached, as one of several slices sees it that release visitors side by side.
#[derive(Clone, Copy, Debug)]
pub struct ReachEstimate {
    reached: u64,
    disorder: DisorderEstimate,
    /// How far one visitor moves the estimate.
    step: u64,
    /// How many visitors in a row were further ahead than a step, and the lowest of their tickets.
    ahead: u32,
    lowest_ahead: u64,
}

impl ReachEstimate {
    /// At most a third of the numbers of a steady crowd are not used.
    const NUMBERS_PER_VISITOR: u64 = 2;
    const JUMP_AFTER: u32 = 100;

    /// `reached` is what the line has reached so far, and `disorder` how far out of order it was. The plan has this many `slices`, so while this one releases one
    /// visitor, the others release one each.
    pub fn new(reached: u64, disorder: u64, slices: u32) -> Self {
        let step = Self::NUMBERS_PER_VISITOR * u64::from(slices.max(1));
        let disorder = DisorderEstimate::new(disorder);
        Self { reached, disorder, step, ahead: 0, lowest_ahead: u64::MAX }
    }

    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// How many places from their turn visitors leave the line.
    pub fn disorder(&self) -> u64 {
        self.disorder.places()
    }

    /// Visitors with these tickets have left the line together.
    pub fn leave(&mut self, mut tickets: Vec<Ticket>) {
        tickets.sort_unstable();
        for ticket in tickets {
            self.leave_one(ticket.get());
        }
    }

    fn leave_one(&mut self, ticket: u64) {
        let reachable = self.reached.saturating_add(self.step);
        // Until its next batch, the others release one batch each. Those are in order.
        let next_batch = self.reached.saturating_add(self.step * u64::from(BATCH));
        self.disorder.see(self.reached.saturating_sub(ticket).max(ticket.saturating_sub(next_batch)));
        self.reached = self.reached.max(ticket.min(reachable));
        if ticket <= reachable {
            self.ahead = 0;
            self.lowest_ahead = u64::MAX;
            return;
        }
        self.ahead += 1;
        self.lowest_ahead = self.lowest_ahead.min(ticket);
        if self.ahead >= Self::JUMP_AFTER {
            self.reached = self.reached.max(self.lowest_ahead);
            self.ahead = 0;
            self.lowest_ahead = u64::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn leave(estimate: &mut ReachEstimate, tickets: impl IntoIterator<Item = u64>) {
        estimate.leave(tickets.into_iter().map(|ticket| Ticket::new(ticket).unwrap()).collect());
    }

    fn after(tickets: impl IntoIterator<Item = u64>) -> u64 {
        let mut estimate = ReachEstimate::new(0, 0, 1);
        for ticket in tickets {
            leave(&mut estimate, [ticket]);
        }
        estimate.reached()
    }

    #[test]
    fn a_line_in_order_is_followed_exactly_whatever_the_rate() {
        assert_eq!(after([1]), 1);
        assert_eq!(after(1..=7), 7);
        assert_eq!(
            after((1..=3000).filter(|ticket| ticket % 3 != 0)),
            2999,
            "a third of the numbers is not used"
        );
        for slices in [1, 3, 270] {
            let mut mine = ReachEstimate::new(0, 0, slices);
            for batch in (0..10_000).filter(|batch| batch % u64::from(slices) == 0) {
                leave(&mut mine, (1..=10).map(|n| 10 * batch + n));
                assert_eq!(
                    mine.reached(),
                    10 * batch + 10,
                    "of {slices} slices, each releases every so many batches"
                );
                assert_eq!(mine.disorder(), 0, "of {slices} slices");
            }
        }
    }

    #[test]
    fn a_batch_of_strays_does_not_move_it() {
        let mut estimate = ReachEstimate::new(0, 0, 1);
        leave(&mut estimate, 1..=1000);
        leave(&mut estimate, 50_001..=50_010);
        assert_eq!(estimate.reached(), 1020);
        leave(&mut estimate, 1001..=1010);
        leave(&mut estimate, [1]);
        assert_eq!(estimate.reached(), 1020, "and it never goes back");
        leave(&mut estimate, 1011..=1100);
        assert_eq!(estimate.reached(), 1100, "the line catches up");
    }

    #[test]
    fn it_jumps_over_numbers_that_nobody_has() {
        assert_eq!(after((1..=100).chain(50_001..=50_099)), 100 + 2 * 99);
        assert_eq!(after((1..=100).chain(50_001..=50_100)), 50_001);
        assert_eq!(after((1..=100).chain(50_001..=50_300)), 50_300);
    }

    #[test]
    fn it_rests_in_the_middle_of_the_disorder_although_a_third_are_strays() {
        let mut rng = StdRng::seed_from_u64(7);
        let mut tickets: Vec<u64> = (1..=30_000).collect();
        for block in tickets.chunks_mut(1000) {
            block.shuffle(&mut rng);
        }
        let mut estimate = ReachEstimate::new(0, 0, 1);
        for (turn, ticket) in (1_u64..).zip(&tickets) {
            let stray = rng.random_bool(1.0 / 3.0).then_some(ticket + 20_000);
            leave(&mut estimate, [stray.unwrap_or(*ticket)]);
            assert!(estimate.reached() <= turn + 2000, "{} after {turn}", estimate.reached());
            assert!(turn < 5000 || estimate.reached() >= turn - 2000, "{} after {turn}", estimate.reached());
        }
    }

    proptest! {
        #[test]
        fn it_never_goes_back_and_never_beyond_the_highest_ticket(
            tickets in prop::collection::vec(1..2000_u64, 1..500), start in 0..1000_u64, slices in 1..300_u32,
        ) {
            let mut estimate = ReachEstimate::new(start, 0, slices);
            let mut highest = start;
            for ticket in tickets {
                let before = estimate.reached();
                leave(&mut estimate, [ticket]);
                highest = highest.max(ticket);
                prop_assert!((before..=highest).contains(&estimate.reached()));
            }
        }
    }
}
