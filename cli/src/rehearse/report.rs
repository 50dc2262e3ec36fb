//! What a rehearsal found: every visitor accounted for, and what the room kept of its promises.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use simulation::WaitSpread;
use waitroom::{BATCH, SLICE_BATCHES, Timestamp};

use super::crowd::CrowdEnd;
use super::measured::RouteLatency;
use super::notes::{VisitNote, VisitNotes, WindowNotes};
use super::wire::{VisitFault, VisitRoute};

/// What was rehearsed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RehearsalFacts {
    pub(crate) room: String,
    pub(crate) url: String,
    /// Whether the room is on this machine. Only such a room keeps the order exactly.
    pub(crate) is_here: bool,
    /// Visitors a minute, as the operator set it.
    pub(crate) rate: u32,
    pub(crate) visitors: usize,
    /// How they came.
    pub(crate) arrivals: String,
    pub(crate) seed: u64,
    /// In milliseconds since 1970.
    pub(crate) began: Timestamp,
    pub(crate) seconds: f64,
    pub(crate) end: CrowdEnd,
}

/// How the visits ended. They add up to all visitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct VisitEnds {
    pub(crate) entered: usize,
    /// They had their places when the rehearsal ended.
    pub(crate) waiting: usize,
    /// The room did not know their places any more.
    pub(crate) lost: usize,
    /// The door was busy until the end.
    pub(crate) refused: usize,
    /// They got neither a place nor an answer that can be used.
    pub(crate) failed: usize,
    /// The rehearsal ended before they came.
    pub(crate) not_come: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LetInTwice {
    /// Tickets that more than one visitor had.
    pub(crate) tickets: usize,
    /// Visitors whose pass was not for their ticket, or not signed by the room.
    pub(crate) passes: usize,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct RehearsedWaits {
    /// From the answer with the place to the first poll that said that it is this visitor's turn.
    pub(crate) called: Option<WaitSpread>,
    /// From the answer with the place to the admission, by the room's clock.
    pub(crate) admitted: Option<WaitSpread>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct ReleasedSecond {
    /// In milliseconds since 1970.
    pub(crate) at: u64,
    pub(crate) released: u32,
}

/// A window of the room, as its plan has it and as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RehearsedWindow {
    pub(crate) number: u64,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) planned: u32,
    /// As the room counted.
    pub(crate) released: u64,
    /// How many of our visitors say that they were admitted then.
    pub(crate) seen: usize,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct RehearsedReleases {
    pub(crate) seconds: Vec<ReleasedSecond>,
    pub(crate) windows: Vec<RehearsedWindow>,
    /// The most that were admitted within one second.
    pub(crate) highest_second: u32,
    /// The most that may be: twice an even share, and a batch. Zero if no window is known.
    pub(crate) highest_allowed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RehearsedOrder {
    /// How many were admitted before somebody with a lower ticket.
    pub(crate) early: usize,
    /// How many places anybody was admitted from their turn, at most.
    pub(crate) most_places: usize,
    /// How many places are in order still: a batch of each slice, which release at the same time. None on AWS, where a
    /// standard queue keeps the order only roughly.
    pub(crate) allowed: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CountedFault {
    pub(crate) route: VisitRoute,
    pub(crate) kind: String,
    pub(crate) count: u64,
}

/// One promise, and whether it was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RehearsalCheck {
    pub(crate) name: &'static str,
    pub(crate) is_kept: bool,
    pub(crate) found: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct RehearsalReport {
    pub(crate) passed: bool,
    #[serde(flatten)]
    pub(crate) facts: RehearsalFacts,
    pub(crate) ends: VisitEnds,
    pub(crate) twice: LetInTwice,
    pub(crate) waits: RehearsedWaits,
    pub(crate) releases: RehearsedReleases,
    pub(crate) order: RehearsedOrder,
    pub(crate) latency: Vec<RouteLatency>,
    pub(crate) errors: Vec<CountedFault>,
    /// How much later than planned a visitor came at most, in seconds, because this machine was busy.
    pub(crate) latest_start: f64,
    pub(crate) checks: Vec<RehearsalCheck>,
}

impl RehearsalReport {
    pub(crate) fn of(facts: RehearsalFacts, notes: &VisitNotes, windows: &WindowNotes) -> Self {
        let visits = &notes.visits;
        let releases = releases(visits, windows);
        let order = order(visits, facts.is_here.then_some(&releases));
        let latencies = notes.latencies.iter();
        let errors = notes.faults.iter().map(|((route, fault), count)| CountedFault {
            route: *route,
            kind: fault.to_string(),
            count: *count,
        });
        let mut report = Self {
            passed: false,
            ends: ends(visits),
            twice: twice(visits),
            waits: waits(visits),
            releases,
            order,
            latency: latencies.filter_map(|(route, micros)| RouteLatency::of(*route, micros)).collect(),
            errors: errors.collect(),
            latest_start: notes.latest_start.as_secs_f64(),
            checks: Vec::new(),
            facts,
        };
        report.checks = report.checks();
        report.passed = report.checks.iter().all(|check| check.is_kept);
        report
    }

    fn checks(&self) -> Vec<RehearsalCheck> {
        let VisitEnds { entered, waiting, lost, refused, failed, not_come } = self.ends;
        let all = self.facts.visitors;
        let above: Vec<_> = self
            .releases
            .windows
            .iter()
            .filter(|window| window.released > u64::from(window.planned))
            .collect();
        let LetInTwice { tickets, passes } = self.twice;
        let counted = entered + waiting + lost + refused + failed + not_come;
        let RehearsedReleases { highest_second, highest_allowed, .. } = self.releases;
        let mut checks = vec![
            RehearsalCheck {
                name: "every visitor is accounted for",
                is_kept: counted == all,
                found: format!("{counted} of {all}"),
            },
            RehearsalCheck {
                name: "everybody entered",
                is_kept: entered == all,
                found: format!(
                    "{entered} of {all}; {waiting} waiting, {refused} refused, {failed} failed, {not_come} not come"
                ),
            },
            RehearsalCheck { name: "nobody lost a place", is_kept: lost == 0, found: format!("{lost} lost") },
            RehearsalCheck {
                name: "nobody was let in twice",
                is_kept: tickets + passes == 0,
                found: format!("{tickets} tickets given twice, {passes} passes that are not the visitor's"),
            },
            RehearsalCheck {
                name: "no window released more than planned",
                is_kept: above.is_empty(),
                found: format!("{} of {} windows", above.len(), self.releases.windows.len()),
            },
            RehearsalCheck {
                name: "no second released more than twice its share",
                is_kept: highest_second <= highest_allowed || highest_allowed == 0,
                found: format!("at most {highest_second}, {highest_allowed} with a batch"),
            },
        ];
        if let Some(allowed) = self.order.allowed {
            checks.push(RehearsalCheck {
                name: "admitted in the order of the tickets",
                is_kept: self.order.most_places <= allowed,
                found: format!("at most {} places from a turn, {allowed} allowed", self.order.most_places),
            });
        }
        checks
    }
}

fn ends(visits: &[VisitNote]) -> VisitEnds {
    let mut ends = VisitEnds::default();
    for visit in visits {
        let end = match visit {
            VisitNote { has_come: false, .. } => &mut ends.not_come,
            VisitNote { is_lost: true, .. } => &mut ends.lost,
            VisitNote { has_entered: true, .. } => &mut ends.entered,
            VisitNote { place: Some(_), .. } => &mut ends.waiting,
            VisitNote { was_refused: true, .. } => &mut ends.refused,
            VisitNote { .. } => &mut ends.failed,
        };
        *end += 1;
    }
    ends
}

fn twice(visits: &[VisitNote]) -> LetInTwice {
    let (mut tickets, mut tokens) = (HashMap::<_, usize>::new(), HashMap::<_, usize>::new());
    for place in visits.iter().filter_map(|visit| visit.place) {
        *tickets.entry(place.ticket).or_default() += 1;
        *tokens.entry(place.token).or_default() += 1;
    }
    let repeated = tickets.values().filter(|had| **had > 1).count();
    let of_tokens = tokens.values().filter(|had| **had > 1).count();
    let passes = visits.iter().filter(|visit| visit.has_other_pass).count();
    LetInTwice { tickets: repeated.max(of_tokens), passes }
}

fn waits(visits: &[VisitNote]) -> RehearsedWaits {
    let since = |until: fn(&VisitNote) -> Option<Timestamp>| {
        let waits = visits.iter().filter_map(|visit| {
            let wait = until(visit)?.since(visit.place?.since);
            u32::try_from(wait.as_millis()).ok()
        });
        WaitSpread::of(waits.collect())
    };
    RehearsedWaits { called: since(|visit| visit.called), admitted: since(|visit| visit.admitted) }
}

fn releases(visits: &[VisitNote], windows: &WindowNotes) -> RehearsedReleases {
    let mut admitted: Vec<_> = visits.iter().filter_map(|visit| visit.admitted).collect();
    admitted.sort_unstable();
    let mut seconds = BTreeMap::<u64, u32>::new();
    for at in &admitted {
        *seconds.entry(at.as_secs() * 1000).or_default() += 1;
    }
    let within = |start: Timestamp, end: Timestamp| {
        admitted.partition_point(|at| *at < end) - admitted.partition_point(|at| *at < start)
    };
    // Those before the first admission were of others, and those after the last release nobody.
    // An order stops a window where the next one begins.
    let stops = windows.windows().skip(1).map(|next| next.start).chain([Timestamp::from_millis(u64::MAX)]);
    let windows: Vec<_> = windows
        .windows()
        .zip(stops)
        .map(|(window, stop)| RehearsedWindow {
            number: window.number,
            start: window.start,
            end: window.end,
            planned: window.planned,
            released: window.released,
            seen: within(window.start, window.end.min(stop)),
        })
        .filter(|window| window.seen > 0)
        .collect();
    let shares = windows.iter().map(|window| {
        let seconds = window.end.since(window.start).as_secs_f64();
        if seconds > 0.0 { (2.0 * f64::from(window.planned) / seconds).ceil() } else { 0.0 }
    });
    let most = shares.fold(0.0, f64::max);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of visitors")]
    let highest_allowed = if most > 0.0 { most as u32 + BATCH } else { 0 };
    RehearsedReleases {
        highest_second: seconds.values().copied().max().unwrap_or_default(),
        seconds: seconds.into_iter().map(|(at, released)| ReleasedSecond { at, released }).collect(),
        windows,
        highest_allowed,
    }
}

/// `here` are the releases of a room on this machine.
fn order(visits: &[VisitNote], here: Option<&RehearsedReleases>) -> RehearsedOrder {
    let mut admitted: Vec<_> =
        visits.iter().filter_map(|visit| Some((visit.admitted?, visit.place?.ticket))).collect();
    admitted.sort_unstable();
    let mut tickets: Vec<_> = admitted.iter().map(|(_, ticket)| *ticket).collect();
    tickets.sort_unstable();
    let places = admitted.iter().enumerate().map(|(place, (_, ticket))| {
        let turn = tickets.partition_point(|other| other < ticket);
        place.abs_diff(turn)
    });
    let most_places = places.max().unwrap_or_default();
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
        let batch = BATCH as usize;
        let slices = (planned as usize).div_ceil(batch * SLICE_BATCHES as usize);
        batch * slices.max(1)
    });
    RehearsedOrder { early, most_places, allowed }
}

impl RehearsalReport {
    /// The result in a sentence.
    pub(crate) fn heading(&self) -> String {
        let result = if self.passed { "passed" } else { "failed" };
        let end = match self.facts.end {
            CrowdEnd::AllDone => "",
            CrowdEnd::TimeOver => "; the time was over before all had entered",
            CrowdEnd::Interrupted => "; it was interrupted",
            CrowdEnd::MarkLost => "; it stopped because the room does not show its mark any more",
        };
        format!("Rehearsal of {} {result}, after {:.0} s{end}", self.facts.room, self.facts.seconds)
    }

    /// How many requests were refused because the room was busy.
    pub(crate) fn busy(&self) -> u64 {
        let is_busy = |error: &&CountedFault| {
            [429, 503].iter().any(|status| error.kind == VisitFault::Status(*status).to_string())
        };
        self.errors.iter().filter(is_busy).map(|error| error.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use operator::WindowCount;
    use waitroom::Token;

    use super::*;
    use crate::fixture::suffering;
    use crate::rehearse::notes::NotedPlace;

    const BEGAN: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn visit(ticket: u8, admitted: u64) -> VisitNote {
        let place =
            NotedPlace { ticket: ticket.into(), token: Token::from_bytes([ticket; 16]), since: BEGAN };
        let admitted = Some(BEGAN + Duration::from_millis(admitted));
        VisitNote {
            has_come: true,
            place: Some(place),
            called: admitted,
            admitted,
            has_entered: true,
            ..VisitNote::default()
        }
    }

    fn report(visits: Vec<VisitNote>, released: u64) -> RehearsalReport {
        let facts = RehearsalFacts {
            room: "sale".into(),
            url: "http://localhost:8080/".into(),
            is_here: true,
            rate: 60,
            visitors: visits.len(),
            arrivals: "evenly over 1s".into(),
            seed: 1,
            began: BEGAN,
            seconds: 60.0,
            end: CrowdEnd::AllDone,
        };
        let mut windows = WindowNotes::default();
        let mut status = suffering();
        let end = BEGAN + Duration::from_mins(1);
        status.windows = vec![WindowCount { number: 1, released, planned: 60, start: BEGAN, end }];
        windows.note(&status);
        RehearsalReport::of(facts, &VisitNotes { visits, ..VisitNotes::default() }, &windows)
    }

    fn broken(report: &RehearsalReport) -> Vec<&str> {
        report.checks.iter().filter(|check| !check.is_kept).map(|check| check.name).collect()
    }

    #[test]
    fn a_room_that_kept_its_promises_passes() {
        let report = report((1..=5).map(|n| visit(n, u64::from(n) * 1000)).collect(), 5);
        assert!(report.passed, "{:?}", broken(&report));
        assert_eq!((report.ends.entered, report.order.early, report.order.most_places), (5, 0, 0));
        let longest = report.waits.admitted.unwrap().longest;
        assert!((longest - 5.0).abs() < 1e-9, "{longest}");
        assert_eq!((report.releases.windows[0].seen, report.releases.highest_second), (5, 1));
    }

    #[test]
    fn every_visitor_is_in_one_end_and_each_loss_is_found() {
        let come = VisitNote { has_come: true, ..VisitNote::default() };
        let mut waiting = visit(2, 0);
        (waiting.has_entered, waiting.admitted, waiting.called) = (false, None, None);
        let lost = VisitNote { is_lost: true, ..visit(3, 0) };
        let refused = VisitNote { was_refused: true, ..come };
        let report = report(vec![visit(1, 0), waiting, lost, refused, come, VisitNote::default()], 61);
        let expected = VisitEnds { entered: 1, waiting: 1, lost: 1, refused: 1, failed: 1, not_come: 1 };
        assert_eq!(report.ends, expected);
        assert!(!report.passed);
        assert_eq!(
            broken(&report),
            ["everybody entered", "nobody lost a place", "no window released more than planned"]
        );
    }

    #[test]
    fn a_ticket_of_two_visitors_and_a_pass_of_another_are_found() {
        let other = VisitNote { has_other_pass: true, ..visit(1, 0) };
        let report = report(vec![visit(1, 0), other], 2);
        assert_eq!(report.twice, LetInTwice { tickets: 1, passes: 1 });
        assert_eq!(broken(&report), ["nobody was let in twice"]);
    }

    #[test]
    fn disorder_is_counted_in_visitors_and_in_places() {
        let reversed: Vec<_> = (1..=30).map(|n| visit(n, u64::from(31 - n) * 1000)).collect();
        let report = report(reversed, 30);
        assert_eq!((report.order.early, report.order.most_places), (29, 29));
        assert_eq!(broken(&report), ["admitted in the order of the tickets"]);
        let same_instant = self::report((1..=30).rev().map(|n| visit(n, 0)).collect(), 30);
        assert_eq!((same_instant.order.early, same_instant.order.most_places), (0, 0));
        assert_eq!(broken(&same_instant), ["no second released more than twice its share"]);
    }
}
