//! Ticket numbers, leased in blocks.
//!
//! One counter numbers the whole line, and DynamoDB allows about 1,000 writes a second to one item. So a producer leases
//! a block of numbers with one write and assigns them itself. The block's size follows the need of the last seconds: one
//! number when few visitors join, up to 64 when many do. Numbers that are not used within two seconds are dropped, so
//! that numbers rise in order of arrival to within two seconds. The gaps are harmless; at a steady load they are less
//! than a third of all numbers.

use std::ops::Range;
use std::time::Duration;

use crate::time::millis;
use crate::{Ticket, Timestamp};

/// A block of leased numbers, and how many numbers are needed.
#[derive(Debug)]
pub struct TicketBlock {
    block: Range<u64>,
    leased_at: Timestamp,
    /// How many numbers were used since `counted_since`. The next block's size is computed from both.
    used: u32,
    counted_since: Timestamp,
}

impl TicketBlock {
    const LIFETIME: Duration = Duration::from_secs(2);
    const MAX_SIZE: u64 = 64;

    pub const fn new() -> Self {
        let never = Timestamp::from_millis(0);
        Self { block: 0..0, leased_at: never, used: 0, counted_since: never }
    }

    /// The next number, or `None` if a new block must be leased first.
    pub fn take(&mut self, now: Timestamp) -> Option<Ticket> {
        if now < self.leased_at {
            // The clock was set back, so nothing tells how long ago that was.
            *self = Self::new();
        }
        if now.since(self.leased_at) >= Self::LIFETIME {
            self.block = 0..0;
        }
        let ticket = Ticket::new(self.block.next()?).ok()?;
        self.used += 1;
        Some(ticket)
    }

    /// How many numbers to lease now: about as many as are used in a second.
    pub fn wanted(&self, now: Timestamp) -> u32 {
        let counted_for = millis(now.since(self.counted_since)).max(1);
        let a_second = u64::from(self.used) * 1000 / counted_for;
        // At most 64, so it fits.
        u32::try_from(a_second.clamp(1, Self::MAX_SIZE).next_power_of_two()).unwrap_or(1)
    }

    /// Replaces the block by numbers that were just leased.
    pub fn fill(&mut self, block: Range<u64>, now: Timestamp) {
        if self.leased_at == Timestamp::from_millis(0) {
            self.counted_since = now;
        }
        self.block = block;
        self.leased_at = now;
        // Older use is halved, so that about the last two to four seconds count. With a shorter period, two
        // visitors who happen to join together would cause a large block, and most of its numbers would be dropped.
        let counted_for = now.since(self.counted_since);
        if counted_for > Self::LIFETIME {
            self.used /= 2;
            self.counted_since = self.counted_since + counted_for / 2;
        }
    }
}

impl Default for TicketBlock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// The counter and the producer environments that lease from it.
    struct Producers {
        next: u64,
        counter_writes: u32,
        environments: Vec<TicketBlock>,
    }

    impl Producers {
        fn new(environments: usize) -> Self {
            Self {
                next: 1,
                counter_writes: 0,
                environments: (0..environments).map(|_| TicketBlock::new()).collect(),
            }
        }

        fn join(&mut self, environment: usize, now: Timestamp) -> u64 {
            let block = &mut self.environments[environment];
            if let Some(ticket) = block.take(now) {
                return ticket.get();
            }
            let wanted = u64::from(block.wanted(now));
            block.fill(self.next..self.next + wanted, now);
            self.next += wanted;
            self.counter_writes += 1;
            block.take(now).expect("a new block has numbers").get()
        }
    }

    #[test]
    fn a_thousand_new_environments_at_10000_joins_a_second() {
        for seed in 0..5 {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut producers = Producers::new(1000);
            let mut seen = HashSet::new();
            let mut first_after_warm_up = 0;
            for second in 0..20u64 {
                producers.counter_writes = 0;
                if second == 5 {
                    first_after_warm_up = producers.next;
                }
                for join in 0..10_000u64 {
                    let now = Timestamp::from_millis(1_000_000 + second * 1000 + join / 10);
                    let ticket = producers.join(rng.random_range(0..1000), now);
                    assert!(seen.insert(ticket), "ticket {ticket} was used twice");
                }
                let most = if second == 0 { 2500 } else { 1000 };
                assert!(
                    producers.counter_writes <= most,
                    "seed {seed}: {} counter writes in second {second}",
                    producers.counter_writes
                );
            }
            let (given, used) = (producers.next - first_after_warm_up, 15 * 10_000);
            assert!(used * 3 >= given * 2, "seed {seed}: {given} numbers leased for {used} visitors");
        }
    }

    #[test]
    fn gaps_are_less_than_a_third_at_every_steady_load() {
        for a_second in [0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0, 100.0] {
            let mut rng = StdRng::seed_from_u64(9);
            let mut producers = Producers::new(1);
            let mut joins = 0;
            let mut given_before = 0;
            for now in 0..600_000u64 {
                if now == 20_000 {
                    (joins, given_before) = (0, producers.next);
                }
                if rng.random_bool(a_second / 1000.0) {
                    producers.join(0, Timestamp::from_millis(100_000 + now));
                    joins += 1;
                }
            }
            let given = producers.next - given_before;
            assert!(joins * 3 >= given * 2, "{a_second}/s: {given} numbers leased for {joins} visitors");
        }
    }

    #[test]
    fn numbers_rise_in_order_of_arrival_within_two_seconds() {
        let mut rng = StdRng::seed_from_u64(3);
        let mut producers = Producers::new(50);
        let mut highest_by = Vec::new();
        let mut highest = 0;
        for now in 0..30_000u64 {
            for _ in 0..rng.random_range(0..3) {
                let ticket = producers.join(rng.random_range(0..50), Timestamp::from_millis(100_000 + now));
                if let Some(&long_ago) =
                    now.checked_sub(2000).and_then(|then| highest_by.get(usize::try_from(then).unwrap()))
                {
                    assert!(
                        ticket > long_ago,
                        "ticket {ticket} is lower than {long_ago}, which is two seconds older"
                    );
                }
                highest = highest.max(ticket);
            }
            highest_by.push(highest);
        }
    }

    #[test]
    fn one_visitor_a_second_leaves_no_gaps() {
        let mut producers = Producers::new(1);
        let tickets: Vec<_> =
            (0..100u64).map(|n| producers.join(0, Timestamp::from_millis(50_000 + n * 1000))).collect();
        assert_eq!(tickets, (1..=100).collect::<Vec<_>>());
    }

    #[test]
    fn after_the_clock_was_set_back_as_many_are_leased_as_are_needed() {
        let mut producers = Producers::new(1);
        let at = |second: u64| Timestamp::from_millis(50_000 + second * 1000);
        (300..320).for_each(|second| _ = producers.join(0, at(second)));
        let before = producers.next;
        (0..100).for_each(|second| _ = producers.join(0, at(second)));
        assert_eq!(producers.next, before + 100);
    }

    #[test]
    fn unused_numbers_are_dropped_after_two_seconds() {
        let mut block = TicketBlock::new();
        let at = |millis: u64| Timestamp::from_millis(10_000 + millis);
        block.fill(5..9, at(0));
        assert_eq!(block.take(at(1999)).map(Ticket::get), Some(5));
        assert_eq!(block.take(at(2000)), None);
    }
}
