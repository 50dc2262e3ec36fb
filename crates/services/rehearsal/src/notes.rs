//! What the visitors saw, written down while they visit, so that nothing is lost when they are stopped.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use control::{Status, WindowCount};
use document::words;
use serde::Serialize;
use waitroom::{Epoch, Rate, Slowdown, Timestamp, Token};

use crate::wire::{VisitFault, VisitRoute};

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
    /// The room let the visitor in without an admission, as a room that is off does.
    pub(crate) is_unadmitted: bool,
    /// The room did not know the place any more.
    pub(crate) is_lost: bool,
    /// The room was closed or ended before they were let in.
    pub(crate) came_too_late: bool,
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

    /// Of how many visits this is so.
    pub(crate) fn count(&self, is: impl Fn(&VisitNote) -> bool) -> u64 {
        self.visits.iter().filter(|visit| is(visit)).count() as u64
    }

    /// How many places they got.
    pub(crate) fn places(&self) -> u64 {
        self.count(|visit| visit.place.is_some())
    }

    /// How many they say were admitted.
    pub(crate) fn admitted(&self) -> u64 {
        self.count(|visit| visit.admitted.is_some())
    }

    pub(crate) fn failed(&mut self, route: VisitRoute, fault: VisitFault) {
        *self.faults.entry((route, fault)).or_default() += 1;
    }

    pub(crate) fn progress(&self) -> CrowdProgress {
        CrowdProgress {
            all: self.visits.len() as u64,
            come: self.count(|visit| visit.has_come),
            waiting: self.count(|visit| {
                visit.place.is_some() && !visit.has_entered && !visit.is_lost && !visit.came_too_late
            }),
            entered: self.count(|visit| visit.has_entered),
            lost: self.count(|visit| visit.is_lost),
            faults: self.faults.values().sum(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrowdProgress {
    pub all: u64,
    pub come: u64,
    pub waiting: u64,
    pub entered: u64,
    pub lost: u64,
    pub faults: u64,
}

impl fmt::Display for CrowdProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, come, waiting, entered] =
            [self.all, self.come, self.waiting, self.entered].map(words::count);
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

/// What the operator saw of the room meanwhile.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoomNotes {
    /// At first, and last.
    totals: Option<[(Epoch, RoomTotals); 2]>,
    windows: BTreeMap<u64, NotedWindow>,
    /// The lowest rate to which the throttle held the room down, if it did.
    slowed_to: Option<Rate>,
}

/// How many have joined and were released in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RoomTotals {
    pub joined: u64,
    pub released: u64,
}

/// A window, as the room counted it last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotedWindow {
    pub(crate) count: WindowCount,
    /// When the valve changed after its start, if that was seen.
    pub(crate) stops: Option<Timestamp>,
    /// The room counted it after its end.
    pub(crate) is_over: bool,
}

impl RoomNotes {
    /// A consumer records at the end of its window what it released last.
    const RECORDED_WITHIN: Duration = Duration::from_secs(2);

    /// `now` is by the room's clock.
    pub(crate) fn note(&mut self, status: &Status, now: Timestamp) {
        let totals = RoomTotals { joined: status.joined, released: status.released };
        let latest = (status.room.epoch, totals);
        self.totals = Some([self.totals.map_or(latest, |[first, _]| first), latest]);
        match status.room.slowdown() {
            Some(Slowdown::Throttle | Slowdown::Both) => {
                let held = status.room.shop_rate();
                self.slowed_to = Some(self.slowed_to.map_or(held, |lowest| lowest.min(held)));
            }
            // No limit of active visitors holds up a rehearsal: the shop was full before it.
            Some(Slowdown::FullShop) | None => {}
        }
        for window in &status.windows {
            let noted = NotedWindow { count: *window, stops: None, is_over: false };
            let noted = self.windows.entry(window.number).or_insert(noted);
            noted.count.released = noted.count.released.max(window.released);
            noted.count.planned = noted.count.planned.max(window.planned);
            let change = status.room.valves.after(window.start);
            noted.stops = noted.stops.or(change.map(|change| change.from));
            noted.is_over |= window.end + Self::RECORDED_WITHIN <= now;
        }
    }

    pub(crate) fn slowed_to(&self) -> Option<Rate> {
        self.slowed_to
    }

    /// How many joined and were released meanwhile. None if the room was reset.
    pub(crate) fn counted(&self) -> Option<RoomTotals> {
        let [(epoch, first), (last_epoch, last)] = self.totals?;
        (epoch == last_epoch).then(|| RoomTotals {
            joined: last.joined.saturating_sub(first.joined),
            released: last.released.saturating_sub(first.released),
        })
    }

    /// The last totals of the epoch, with those from before the rehearsal.
    pub(crate) fn in_epoch(&self) -> Option<RoomTotals> {
        self.totals.map(|[_, (_, last)]| last)
    }

    /// Oldest first.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &NotedWindow> {
        self.windows.values()
    }
}

#[cfg(test)]
mod tests {
    use control::example;
    use waitroom::{LineReach, LineStatus};

    use super::*;

    #[test]
    fn only_the_throttle_is_told_as_having_slowed_a_rehearsal() {
        let slowed_to = |throttled: Option<u32>| {
            let mut status = example::suffering();
            let rate = |rate| Rate::new(rate).unwrap();
            // As a full shop left it before the rehearsal: the trigger takes it away within a minute.
            (status.room.throttled, status.room.while_full) = (throttled.map(rate), Some(rate(40)));
            status.line = LineStatus::of(&status.room, LineReach::default(), 0, None);
            let mut notes = RoomNotes::default();
            notes.note(&status, Timestamp::default());
            notes.slowed_to().map(Rate::get)
        };
        assert_eq!((slowed_to(None), slowed_to(Some(300))), (None, Some(300)));
    }
}
