//! When each visitor does something next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The visitors by the instant of their next step, in milliseconds since the beginning.
///
/// Most steps are at most a few minutes ahead, so they lie in slots of time, each of which is put in order when its time has
/// come. A heap would compare each of them twenty times. Only what is added to the present slot goes into one.
#[derive(Debug)]
pub(crate) struct Agenda {
    slots: Vec<Vec<(u32, u32)>>,
    /// The steps of the present slot, the next one last.
    present: Vec<(u32, u32)>,
    /// Those that were added to it since it was put in order.
    added: BinaryHeap<Reverse<(u32, u32)>>,
    slot: u32,
    len: usize,
}

impl Agenda {
    const SLOT: u32 = 128;
    /// All slots together are nine minutes. What is further ahead is looked at once in every round.
    const SLOTS: u32 = 4096;

    pub(crate) fn new() -> Self {
        Self {
            slots: vec![Vec::new(); Self::SLOTS as usize],
            present: Vec::new(),
            added: BinaryHeap::new(),
            slot: 0,
            len: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A visitor's next step. Steps at the same instant are taken in the order of the visitors.
    pub(crate) fn add(&mut self, at: u32, visitor: u32) {
        self.len += 1;
        if at / Self::SLOT <= self.slot {
            self.added.push(Reverse((at, visitor)));
        } else {
            self.slots[(at / Self::SLOT % Self::SLOTS) as usize].push((at, visitor));
        }
    }

    /// Takes the next step, if it is at `until` or before.
    pub(crate) fn next(&mut self, until: u32) -> Option<(u32, u32)> {
        loop {
            let present = self.present.last().copied();
            let added = self.added.peek().map(|Reverse(step)| *step);
            if let Some(next) = present.into_iter().chain(added).min() {
                if next.0 > until {
                    return None;
                }
                self.len -= 1;
                if added == Some(next) {
                    self.added.pop();
                } else {
                    self.present.pop();
                }
                return Some(next);
            }
            if self.slot >= until / Self::SLOT {
                return None;
            }
            self.slot += 1;
            let slot = &mut self.slots[(self.slot % Self::SLOTS) as usize];
            self.present.extend(slot.extract_if(.., |(at, _)| *at / Self::SLOT == self.slot));
            self.present.sort_unstable_by(|one, other| other.cmp(one));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn steps_are_taken_in_order_however_far_ahead_they_are() {
        let mut rng = StdRng::seed_from_u64(5);
        let (mut agenda, mut expected) = (Agenda::new(), BTreeSet::new());
        for visitor in 0..1000 {
            let at = rng.random_range(0..100_000);
            agenda.add(at, visitor);
            expected.insert((at, visitor));
        }
        let mut until = 0;
        while !agenda.is_empty() {
            until += rng.random_range(1..5_000);
            while let Some((at, visitor)) = agenda.next(until) {
                assert_eq!(expected.pop_first(), Some((at, visitor)));
                assert!(at <= until);
                if expected.len() > 100 && at < 3_000_000 {
                    // Half of them soon, mostly in the same slot.
                    let most = if rng.random() { 100 } else { 2_000_000 };
                    let next = at + rng.random_range(0..most);
                    agenda.add(next, visitor);
                    expected.insert((next, visitor));
                }
            }
            assert!(expected.first().is_none_or(|(at, _)| *at > until));
        }
        assert!(expected.is_empty());
    }
}
