//! Ticket numbers, leased in blocks.
//!
//! One counter numbers the whole line, and a counter item bears about a thousand writes a second. So a
//! producer leases a block of numbers with one write and hands them out itself. The block follows what
//! it needed in the last seconds: one number at a time when quiet, up to 64 in a rush. A number that is not used within
//! two seconds is dropped, so that numbers keep rising with arrival; the gap it leaves harms nobody.

use std::ops::Range;
use std::time::Duration;

use crate::time::millis;
use crate::{Ticket, Timestamp};

#[derive(Debug)]
pub struct TicketBlock {
    block: Range<u64>,
    leased_at: Timestamp,
    /// How many were used since when; the basis for judging the need.
    used: u32,
    counted_since: Timestamp,
}

impl TicketBlock {
    const FRESH: Duration = Duration::from_secs(2);
    const LARGEST: u64 = 64;

    pub const fn new() -> Self {
        let never = Timestamp::from_millis(0);
        Self { block: 0..0, leased_at: never, used: 0, counted_since: never }
    }

    /// The next number, unless a new block has to be leased first.
    pub fn take(&mut self, now: Timestamp) -> Option<Ticket> {
        if now.since(self.leased_at) >= Self::FRESH {
            self.block = 0..0;
        }
        let ticket = Ticket::new(self.block.next()?).ok()?;
        self.used += 1;
        Some(ticket)
    }

    /// How many numbers to lease now: about a second's need.
    pub fn wanted(&self, now: Timestamp) -> u32 {
        let counted_for = millis(now.since(self.counted_since)).max(1);
        let a_second = u64::from(self.used) * 1000 / counted_for;
        // At most 64.
        u32::try_from(a_second.clamp(1, Self::LARGEST).next_power_of_two()).unwrap_or(1)
    }

    /// Takes over a block of numbers that the counter has just granted.
    pub fn fill(&mut self, block: Range<u64>, now: Timestamp) {
        if self.leased_at == Timestamp::from_millis(0) {
            self.counted_since = now;
        }
        self.block = block;
        self.leased_at = now;
        // Half of what was long ago is forgotten, so that two to four seconds count. A shorter memory would
        // take two visitors who happen to come together for a rush, and drop most of a large block.
        let counted_for = now.since(self.counted_since);
        if counted_for > Self::FRESH {
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

    /// The one counter, and the producer environments that lease from it.
    struct Fleet {
        next: u64,
        adds: u32,
        environments: Vec<TicketBlock>,
    }

    impl Fleet {
        fn of(environments: usize) -> Self {
            Self { next: 1, adds: 0, environments: (0..environments).map(|_| TicketBlock::new()).collect() }
        }

        fn join(&mut self, environment: usize, now: Timestamp) -> u64 {
            let leases = &mut self.environments[environment];
            if let Some(ticket) = leases.take(now) {
                return ticket.get();
            }
            let wanted = u64::from(leases.wanted(now));
            leases.fill(self.next..self.next + wanted, now);
            self.next += wanted;
            self.adds += 1;
            leases.take(now).expect("a block just leased has a number").get()
        }
    }

    #[test]
    fn a_thousand_cold_environments_at_ten_thousand_joins_a_second() {
        for seed in 0..5 {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut fleet = Fleet::of(1000);
            let mut seen = HashSet::new();
            let mut first_after_warm_up = 0;
            for second in 0..20u64 {
                fleet.adds = 0;
                if second == 5 {
                    first_after_warm_up = fleet.next;
                }
                for join in 0..10_000u64 {
                    let now = Timestamp::from_millis(1_000_000 + second * 1000 + join / 10);
                    let ticket = fleet.join(rng.random_range(0..1000), now);
                    assert!(seen.insert(ticket), "ticket {ticket} was given twice");
                }
                let most = if second == 0 { 2500 } else { 1000 };
                assert!(fleet.adds <= most, "seed {seed}: {} counter writes in second {second}", fleet.adds);
            }
            let (given, used) = (fleet.next - first_after_warm_up, 15 * 10_000);
            assert!(used * 3 >= given * 2, "seed {seed}: {given} numbers leased for {used} visitors");
        }
    }

    #[test]
    fn gaps_are_under_a_third_at_any_steady_load() {
        for a_second in [0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0, 100.0] {
            let mut rng = StdRng::seed_from_u64(9);
            let mut fleet = Fleet::of(1);
            let mut joins = 0;
            let mut given_before = 0;
            for now in 0..600_000u64 {
                if now == 20_000 {
                    (joins, given_before) = (0, fleet.next);
                }
                if rng.random_bool(a_second / 1000.0) {
                    fleet.join(0, Timestamp::from_millis(100_000 + now));
                    joins += 1;
                }
            }
            let given = fleet.next - given_before;
            assert!(joins * 3 >= given * 2, "{a_second}/s: {given} numbers leased for {joins} visitors");
        }
    }

    #[test]
    fn numbers_rise_with_arrival_to_within_two_seconds() {
        let mut rng = StdRng::seed_from_u64(3);
        let mut fleet = Fleet::of(50);
        let mut highest_by = Vec::new();
        let mut highest = 0;
        for now in 0..30_000u64 {
            for _ in 0..rng.random_range(0..3) {
                let ticket = fleet.join(rng.random_range(0..50), Timestamp::from_millis(100_000 + now));
                if let Some(&long_ago) =
                    now.checked_sub(2000).and_then(|then| highest_by.get(usize::try_from(then).unwrap()))
                {
                    assert!(
                        ticket > long_ago,
                        "ticket {ticket} is older than {long_ago} of two seconds before"
                    );
                }
                highest = highest.max(ticket);
            }
            highest_by.push(highest);
        }
    }

    #[test]
    fn one_visitor_a_second_gets_1_2_3() {
        let mut fleet = Fleet::of(1);
        let tickets: Vec<_> =
            (0..100u64).map(|n| fleet.join(0, Timestamp::from_millis(50_000 + n * 1000))).collect();
        assert_eq!(tickets, (1..=100).collect::<Vec<_>>());
    }

    #[test]
    fn a_number_is_dropped_after_two_seconds() {
        let mut leases = TicketBlock::new();
        let at = |millis: u64| Timestamp::from_millis(10_000 + millis);
        leases.fill(5..9, at(0));
        assert_eq!(leases.take(at(1999)).map(Ticket::get), Some(5));
        assert_eq!(leases.take(at(2000)), None);
    }
}
