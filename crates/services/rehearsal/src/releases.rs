//! When the visitors were admitted: in which second, in which window, and in which order.

use std::collections::BTreeMap;

use control::WindowCount;
use serde::Serialize;
use waitroom::{BATCH, SLICE_BATCHES, Timestamp, most_in_a_second};

use crate::notes::{RoomNotes, VisitNote};

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReleasedSecond {
    /// In milliseconds since 1970.
    pub at: u64,
    pub released: u32,
}

/// A window of the room, as its plan has it and as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RehearsedWindow {
    pub number: u64,
    pub start: Timestamp,
    pub end: Timestamp,
    pub planned: u32,
    /// As the room counted.
    pub released: u64,
    /// How many of our visitors say that they were admitted then.
    pub seen: u64,
    /// As many of our visitors as it planned waited when it began, and no order stopped it. So the line did not run empty.
    pub is_full: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct RehearsedReleases {
    pub seconds: Vec<ReleasedSecond>,
    pub windows: Vec<RehearsedWindow>,
    /// The most that were admitted within one second.
    pub highest_second: u32,
    /// The most that may be. Zero if nobody was admitted in a window that is known.
    pub highest_allowed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RehearsedOrder {
    /// How many were admitted before somebody with a lower ticket.
    pub early: u64,
    /// How many places anybody was admitted from their turn, at most.
    pub most_places: u64,
    /// How many places are in order still: a batch of each slice, which release at the same time. None on AWS, where a
    /// standard queue keeps the order only roughly.
    pub allowed: Option<u64>,
}

impl RehearsedWindow {
    /// A full window releases exactly what it planned, and no other one more.
    pub(crate) fn is_as_planned(&self) -> bool {
        let planned = u64::from(self.planned);
        if self.is_full { self.released == planned } else { self.released <= planned }
    }
}

pub(crate) fn releases(visits: &[VisitNote], room: &RoomNotes) -> RehearsedReleases {
    let mut admitted: Vec<_> = visits.iter().filter_map(|visit| visit.admitted).collect();
    admitted.sort_unstable();
    let mut seconds = BTreeMap::<u64, u32>::new();
    for at in &admitted {
        *seconds.entry(at.as_secs() * 1000).or_default() += 1;
    }
    let windows = windows(visits, &admitted, room);
    let highest_allowed = windows.iter().filter(|window| window.planned > 0).map(|window| {
        let RehearsedWindow { planned, start, end, .. } = *window;
        most_in_a_second(planned, end.since(start))
    });
    let highest_allowed = highest_allowed.max().unwrap_or_default();
    RehearsedReleases {
        highest_second: seconds.values().copied().max().unwrap_or_default(),
        seconds: seconds.into_iter().map(|(at, released)| ReleasedSecond { at, released }).collect(),
        windows,
        highest_allowed,
    }
}

/// From the first window that admitted a visitor of ours, or had to, until the last one. `admitted` is sorted.
fn windows(visits: &[VisitNote], admitted: &[Timestamp], room: &RoomNotes) -> Vec<RehearsedWindow> {
    let within = |start: Timestamp, end: Timestamp| {
        let before = |limit: Timestamp| admitted.partition_point(|at| *at < limit);
        before(end).saturating_sub(before(start))
    };
    // Without those who were never admitted: somebody may have reset the room.
    let waited = |at: Timestamp| {
        let had_place = |visit: &VisitNote| visit.place.is_some_and(|place| place.since <= at);
        let admitted_later = |visit: &VisitNote| visit.admitted.is_some_and(|admitted| admitted >= at);
        visits.iter().filter(|visit| had_place(visit) && admitted_later(visit)).count()
    };
    let never = Timestamp::from_millis(u64::MAX);
    let next_starts = room.windows().skip(1).map(|next| next.count.start).chain([never]);
    let windows: Vec<_> = room
        .windows()
        .zip(next_starts)
        .map(|(window, next_start)| {
            let WindowCount { number, released, planned, start, end } = window.count;
            let stops = window.stops.unwrap_or(never).min(next_start);
            let is_full = window.is_over && stops >= end && planned > 0 && waited(start) >= planned as usize;
            RehearsedWindow {
                number,
                start,
                end,
                planned,
                released,
                seen: within(start, end.min(stops)) as u64,
                is_full,
            }
        })
        .collect();
    let is_ours = |window: &RehearsedWindow| window.seen > 0 || window.is_full;
    let first = windows.iter().position(is_ours).unwrap_or(windows.len());
    let last = windows.iter().rposition(is_ours).map_or(first, |last| last + 1);
    windows[first..last].to_vec()
}

/// `here` are the releases of a room on this machine.
pub(crate) fn order(visits: &[VisitNote], here: Option<&RehearsedReleases>) -> RehearsedOrder {
    let mut admitted: Vec<_> =
        visits.iter().filter_map(|visit| Some((visit.admitted?, visit.place?.ticket))).collect();
    admitted.sort_unstable();
    let mut tickets: Vec<_> = admitted.iter().map(|(_, ticket)| *ticket).collect();
    tickets.sort_unstable();
    let places = admitted.iter().enumerate().map(|(place, (_, ticket))| {
        let turn = tickets.partition_point(|other| other < ticket);
        place.abs_diff(turn)
    });
    let most_places = places.max().unwrap_or_default() as u64;
    // From the last to the first: whether anybody later, and not at the same instant, had a lower ticket.
    let (mut early, mut lowest, mut lowest_later) = (0, u64::MAX, u64::MAX);
    let mut instant = None;
    for (at, ticket) in admitted.iter().rev() {
        if instant != Some(*at) {
            (instant, lowest_later) = (Some(*at), lowest);
        }
        if lowest_later < *ticket {
            early += 1;
        }
        lowest = lowest.min(*ticket);
    }
    let allowed = here.map(|releases| {
        let planned = releases.windows.iter().map(|window| window.planned).max().unwrap_or_default();
        let slices = planned.div_ceil(BATCH * SLICE_BATCHES);
        u64::from(BATCH * slices.max(1))
    });
    RehearsedOrder { early, most_places, allowed }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use control::Status;

    use super::*;
    use crate::fixture::{BEGAN, room_with_windows, visit};

    /// Two were admitted in each of three minutes.
    fn six() -> Vec<VisitNote> {
        let seconds = [1, 2, 61, 62, 121, 122];
        (1..=6).zip(seconds).map(|(ticket, second)| visit(ticket, second * 1000)).collect()
    }

    fn noted(status: &Status, minutes_later: u64) -> RoomNotes {
        let mut room = RoomNotes::default();
        room.note(status, BEGAN + Duration::from_mins(minutes_later));
        room
    }

    /// Of each window, whether it is full and as planned.
    fn judged(room: &RoomNotes) -> Vec<(bool, bool)> {
        let releases = releases(&six(), room);
        releases.windows.iter().map(|window| (window.is_full, window.is_as_planned())).collect()
    }

    #[test]
    fn a_window_before_which_enough_visitors_wait_releases_exactly_what_it_planned() {
        let exact = room_with_windows(&[(2, 2), (2, 2), (2, 2)]);
        assert_eq!(judged(&noted(&exact, 4)), [(true, true); 3]);
        let fewer = room_with_windows(&[(2, 2), (2, 1), (2, 3)]);
        assert_eq!(judged(&noted(&fewer, 4)), [(true, true), (true, false), (true, false)]);
        // Four wait when the second one begins, and two when the third one does.
        let larger = room_with_windows(&[(2, 2), (5, 2), (3, 2)]);
        assert_eq!(judged(&noted(&larger, 4)), [(true, true), (false, true), (false, true)]);
    }

    #[test]
    fn a_window_that_is_not_over_or_was_stopped_may_release_fewer() {
        let mut room = room_with_windows(&[(2, 2), (2, 1), (2, 1)]);
        assert_eq!(judged(&noted(&room, 3)), [(true, true), (true, false), (false, true)]);
        // The room is paused from the middle of the second window on.
        room.room.valves = "0=2 1800000090000=closed".parse().unwrap();
        assert_eq!(judged(&noted(&room, 4)), [(true, true), (false, true), (true, false)]);
    }

    #[test]
    fn a_window_that_released_nobody_is_not_left_out() {
        let third_begins = BEGAN + Duration::from_mins(2);
        let late = |visit: &VisitNote| visit.admitted > Some(third_begins);
        let late: Vec<_> = six().into_iter().filter(late).collect();
        let room = room_with_windows(&[(2, 0), (2, 0), (2, 2), (2, 0)]);
        let releases = releases(&late, &noted(&room, 5));
        let found: Vec<_> =
            releases.windows.iter().map(|window| (window.number, window.is_as_planned())).collect();
        assert_eq!(found, [(1, false), (2, false), (3, true)]);
    }

    #[test]
    fn a_second_in_which_two_windows_meet_may_release_two_batches() {
        let room = room_with_windows(&[(240, 240), (240, 240), (0, 0)]);
        assert_eq!(releases(&six(), &noted(&room, 4)).highest_allowed, 20);
    }

    #[test]
    fn disorder_is_counted_in_visitors_and_in_places() {
        let reversed: Vec<_> = (1..=30).map(|n| visit(n, u64::from(31 - n) * 1000)).collect();
        let found = order(&reversed, None);
        assert_eq!((found.early, found.most_places), (29, 29));
        let at_once: Vec<_> = (1..=30).rev().map(|n| visit(n, 0)).collect();
        let found = order(&at_once, None);
        assert_eq!((found.early, found.most_places), (0, 0));
    }
}
