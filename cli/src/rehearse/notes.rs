//! What the visitors saw, written down while they visit, so that nothing is lost when they are stopped.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use operator::Status;
use waitroom::{Timestamp, Token};

use crate::plot::thousands;

use super::wire::{VisitFault, VisitRoute};

/// What one visitor saw.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each may be true with any other")]
pub(crate) struct VisitNote {
    pub(crate) has_come: bool,
    pub(crate) place: Option<NotedPlace>,
    /// The door said that it is busy, and nothing else so far.
    pub(crate) was_refused: bool,
    /// When the first poll said that it is this visitor's turn.
    pub(crate) called: Option<Timestamp>,
    /// When the room admitted the visitor, by its clock.
    pub(crate) admitted: Option<Timestamp>,
    pub(crate) has_entered: bool,
    /// The room did not know the place any more.
    pub(crate) is_lost: bool,
    /// The ticket of the pass was another one than the visitor's.
    pub(crate) has_other_pass: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotedPlace {
    pub(crate) ticket: u64,
    pub(crate) token: Token,
    pub(crate) since: Timestamp,
}

/// What all visitors saw.
#[derive(Debug, Default)]
pub(crate) struct VisitNotes {
    pub(crate) visits: Vec<VisitNote>,
    /// How long each request took, in microseconds, by route.
    pub(crate) latencies: BTreeMap<VisitRoute, Vec<u32>>,
    pub(crate) faults: BTreeMap<(VisitRoute, VisitFault), u64>,
    /// The longest time that a visitor came later than planned, because this machine was busy.
    pub(crate) latest_start: Duration,
}

impl VisitNotes {
    pub(crate) fn measured(&mut self, route: VisitRoute, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.latencies.entry(route).or_default().push(micros);
    }

    pub(crate) fn failed(&mut self, route: VisitRoute, fault: VisitFault) {
        *self.faults.entry((route, fault)).or_default() += 1;
    }

    pub(crate) fn progress(&self) -> CrowdProgress {
        let count = |is: &dyn Fn(&VisitNote) -> bool| self.visits.iter().filter(|visit| is(visit)).count();
        CrowdProgress {
            all: self.visits.len(),
            come: count(&|visit| visit.has_come),
            waiting: count(&|visit| visit.place.is_some() && !visit.has_entered && !visit.is_lost),
            entered: count(&|visit| visit.has_entered),
            lost: count(&|visit| visit.is_lost),
            faults: self.faults.values().sum(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CrowdProgress {
    pub(crate) all: usize,
    pub(crate) come: usize,
    pub(crate) waiting: usize,
    pub(crate) entered: usize,
    pub(crate) lost: usize,
    pub(crate) faults: u64,
}

impl fmt::Display for CrowdProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, come, waiting, entered] =
            [self.all, self.come, self.waiting, self.entered].map(|count| thousands(count as f64));
        write!(f, "{come} of {all} came, {waiting} waiting, {entered} entered")?;
        if self.lost > 0 {
            write!(f, ", {} lost", self.lost)?;
        }
        if self.faults > 0 {
            write!(f, ", {} errors", self.faults)?;
        }
        Ok(())
    }
}

/// What the operator saw of the room's windows meanwhile.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowNotes(BTreeMap<u64, operator::WindowCount>);

impl WindowNotes {
    pub(crate) fn note(&mut self, status: &Status) {
        for window in &status.windows {
            let noted = self.0.entry(window.number).or_insert(*window);
            noted.released = noted.released.max(window.released);
            noted.planned = noted.planned.max(window.planned);
        }
    }

    /// Oldest first.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &operator::WindowCount> {
        self.0.values()
    }
}
