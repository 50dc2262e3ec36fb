//! When each visitor does something next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use page::visitor::{Ask, AskedFor};

use crate::arrivals::Arrivals;
use crate::scenario::Scenario;

/// A visitor's next step: what their browser asks for, and how often in a row the room has refused it. Whoever is refused comes
/// again without being looked up: of ten million outside, most steps are of this kind.
///
/// In one number, from its highest bit: the instant, the visitor, the refusals, what is asked for. So steps in order are numbers
/// in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SimulatedStep(u64);

impl SimulatedStep {
    const VISITOR_BITS: u32 = 24;
    const REFUSALS_BITS: u32 = 7;
    const ASKED_BITS: u32 = 2;
    const VISITOR: u32 = Self::REFUSALS_BITS + Self::ASKED_BITS;
    const AT: u32 = Self::VISITOR + Self::VISITOR_BITS;
    /// The last instant that fits, in milliseconds: 24 days. A simulation ends before.
    pub(crate) const LAST: u32 = u32::MAX >> 1;
    pub(crate) const MOST_REFUSALS: u8 = (1 << Self::REFUSALS_BITS) - 1;

    pub(crate) fn new(at: u32, visitor: u32, ask: Ask) -> Self {
        let at = u64::from(at.min(Self::LAST)) << Self::AT;
        let refusals = u64::from(ask.refusals.min(Self::MOST_REFUSALS)) << Self::ASKED_BITS;
        Self(at | u64::from(visitor) << Self::VISITOR | refusals | ask.what as u64)
    }

    pub(crate) fn at(self) -> u32 {
        low_bits(self.0 >> Self::AT, 31)
    }

    pub(crate) fn visitor(self) -> u32 {
        low_bits(self.0 >> Self::VISITOR, Self::VISITOR_BITS)
    }

    #[expect(clippy::cast_possible_truncation, reason = "seven bits")]
    pub(crate) fn ask(self) -> Ask {
        let what = match low_bits(self.0, Self::ASKED_BITS) {
            0 => AskedFor::Door,
            1 => AskedFor::Document,
            2 => AskedFor::Poll,
            _ => AskedFor::Status,
        };
        Ask { what, refusals: low_bits(self.0 >> Self::ASKED_BITS, Self::REFUSALS_BITS) as u8 }
    }
}

const _: () = assert!(Arrivals::MOST < 1 << SimulatedStep::VISITOR_BITS);
const _: () =
    assert!(Scenario::LONGEST.as_millis() < Duration::from_millis(SimulatedStep::LAST as u64).as_millis());

#[expect(clippy::cast_possible_truncation, reason = "at most 31 bits")]
const fn low_bits(number: u64, bits: u32) -> u32 {
    (number & ((1 << bits) - 1)) as u32
}

/// The next steps of all visitors.
///
/// Most steps are at most a few minutes ahead, so they lie in slots of time, each of which is put in order when its time has
/// come. A heap would compare each of them twenty times. Only what is added to the present slot goes into one.
#[derive(Debug)]
pub(crate) struct Agenda {
    slots: Vec<Vec<SimulatedStep>>,
    /// The steps of the present slot, the next one last.
    present: Vec<SimulatedStep>,
    /// Those that were added to it since it was put in order.
    added: BinaryHeap<Reverse<SimulatedStep>>,
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

    /// Steps at the same instant are taken in the order of the visitors.
    pub(crate) fn add(&mut self, step: SimulatedStep) {
        self.len += 1;
        let slot = step.at() / Self::SLOT;
        if slot <= self.slot {
            self.added.push(Reverse(step));
        } else {
            self.slots[(slot % Self::SLOTS) as usize].push(step);
        }
    }

    /// When the next step is, if it is at `until` or before.
    pub(crate) fn next_at(&mut self, until: u32) -> Option<SimulatedStep> {
        loop {
            let present = self.present.last().copied();
            let added = self.added.peek().map(|Reverse(step)| *step);
            if let Some(next) = present.into_iter().chain(added).min() {
                return (next.at() <= until).then_some(next);
            }
            if self.slot >= until / Self::SLOT {
                return None;
            }
            self.slot += 1;
            self.present = self.take_slot();
        }
    }

    /// Takes the step that [`Self::next_at`] has found.
    pub(crate) fn take(&mut self, next: SimulatedStep) {
        self.len -= 1;
        if self.present.last() == Some(&next) {
            self.present.pop();
        } else {
            self.added.pop();
        }
    }

    /// What is still to come, in any order.
    pub(crate) fn all(&self) -> impl Iterator<Item = SimulatedStep> {
        let added = self.added.iter().map(|Reverse(step)| *step);
        self.slots.iter().flatten().chain(&self.present).copied().chain(added)
    }

    /// The steps of the slot whose time has come, last first. What is a round or more ahead stays. Its memory goes with it:
    /// four thousand slots, each as large as in the worst rush, would be a gigabyte.
    fn take_slot(&mut self) -> Vec<SimulatedStep> {
        let place = &mut self.slots[(self.slot % Self::SLOTS) as usize];
        let mut slot = std::mem::take(place);
        place.extend(slot.extract_if(.., |step| step.at() / Self::SLOT != self.slot));
        slot.sort_unstable_by(|one, other| other.cmp(one));
        slot
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use page::visitor::Step;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn door(at: u32, visitor: u32) -> SimulatedStep {
        SimulatedStep::new(at, visitor, Step::FIRST.ask)
    }

    #[test]
    fn a_step_keeps_all_that_it_is_given() {
        for what in [AskedFor::Door, AskedFor::Document, AskedFor::Poll, AskedFor::Status] {
            for (at, visitor, refusals) in
                [(0, 0, 0), (1, 2, 3), (SimulatedStep::LAST, Arrivals::MOST, SimulatedStep::MOST_REFUSALS)]
            {
                let ask = Ask { what, refusals };
                let step = SimulatedStep::new(at, visitor, ask);
                assert_eq!((step.at(), step.visitor(), step.ask()), (at, visitor, ask));
            }
        }
        assert_eq!(door(u32::MAX, 1).at(), SimulatedStep::LAST);
    }

    #[test]
    fn a_rush_that_is_over_takes_no_memory() {
        let mut agenda = Agenda::new();
        for visitor in 0..100_000 {
            agenda.add(door(1000 + visitor, visitor));
        }
        while let Some(step) = agenda.next_at(200_000) {
            agenda.take(step);
        }
        let kept: usize = agenda.slots.iter().map(Vec::capacity).sum();
        assert!(agenda.is_empty() && kept == 0, "{kept} steps have room");
    }

    #[test]
    fn steps_are_taken_in_order_however_far_ahead_they_are() {
        let mut rng = StdRng::seed_from_u64(5);
        let (mut agenda, mut expected) = (Agenda::new(), BTreeSet::new());
        for visitor in 0..1000 {
            let at = rng.random_range(0..100_000);
            agenda.add(door(at, visitor));
            expected.insert((at, visitor));
        }
        let mut until = 0;
        while !agenda.is_empty() {
            assert_eq!(agenda.all().count(), expected.len());
            until += rng.random_range(1..5_000);
            while let Some(step) = agenda.next_at(until) {
                agenda.take(step);
                let (at, visitor) = (step.at(), step.visitor());
                assert_eq!(expected.pop_first(), Some((at, visitor)));
                assert!(at <= until);
                if expected.len() > 100 && at < 3_000_000 {
                    // Half of them soon, mostly in the same slot.
                    let most = if rng.random() { 100 } else { 2_000_000 };
                    let next = at + rng.random_range(0..most);
                    agenda.add(door(next, visitor));
                    expected.insert((next, visitor));
                }
            }
            assert!(expected.first().is_none_or(|(at, _)| *at > until));
        }
        assert!(expected.is_empty());
    }
}
