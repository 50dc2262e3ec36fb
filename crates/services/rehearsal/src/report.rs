//! What a rehearsal found: every visitor accounted for, and what the room kept of its promises.

use std::collections::HashMap;
use std::time::Duration;

use document::words::count;
use serde::Serialize;
use simulation::WaitSpread;
use waitroom::{Rate, Timestamp};

use crate::crowd::CrowdEnd;
use crate::measured::RouteLatency;
use crate::notes::{RoomNotes, RoomTotals, VisitNote, VisitNotes};
use crate::planned::PlannedRehearsal;
use crate::releases::{RehearsedOrder, RehearsedReleases, order, releases};
use crate::wire::{VisitFault, VisitRoute};

/// What was rehearsed.
#[derive(Clone, Debug, Serialize)]
pub struct RehearsalFacts {
    pub room: String,
    pub url: String,
    /// Whether the room is on this machine. Only such a room keeps the order exactly.
    pub is_here: bool,
    /// Visitors a minute, as the operator set it.
    pub rate: u32,
    pub visitors: u64,
    /// How they came.
    pub arrivals: String,
    pub seed: u64,
    /// Whether the visitors followed to the shop.
    pub enters_shop: bool,
    /// From when on visitors could come, by the room's clock.
    pub began: Timestamp,
    /// From then until the last visitor was done, or all were stopped.
    pub seconds: f64,
    pub end: CrowdEnd,
}

/// How the visits ended. They add up to all visitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VisitEnds {
    pub entered: u64,
    /// They had their places when the rehearsal ended.
    pub waiting: u64,
    /// The room did not know their places any more.
    pub lost: u64,
    /// The door was busy until the end.
    pub refused: u64,
    /// They got neither a place nor an answer that can be used.
    pub failed: u64,
    /// The room was closed or ended before they were let in.
    pub too_late: u64,
    /// The rehearsal ended before they came.
    pub not_come: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LetInTwice {
    /// Tickets that more than one visitor had.
    pub tickets: u64,
    /// Visitors whose pass was not for their ticket, or not signed by the room.
    pub passes: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct RehearsedWaits {
    /// From the answer with the place to the first poll that said that it is this visitor's turn.
    pub called: Option<WaitSpread>,
    /// From the answer with the place to the admission, by the room's clock.
    pub admitted: Option<WaitSpread>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CountedFault {
    pub route: VisitRoute,
    pub kind: String,
    pub count: u64,
}

/// One promise, and whether it was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RehearsalCheck {
    pub name: &'static str,
    pub is_kept: bool,
    pub found: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct RehearsalReport {
    pub passed: bool,
    #[serde(flatten)]
    pub facts: RehearsalFacts,
    pub ends: VisitEnds,
    /// The lowest rate to which the throttle held the room down meanwhile, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed_to: Option<Rate>,
    /// How many the room counted since it was marked. None on AWS, which counts late, and if the room was reset meanwhile.
    pub counted: Option<RoomTotals>,
    /// How many of those who joined were certainly not ours. The reset takes their places. None like `counted`.
    pub others: Option<u64>,
    pub twice: LetInTwice,
    pub waits: RehearsedWaits,
    pub releases: RehearsedReleases,
    pub order: RehearsedOrder,
    pub latency: Vec<RouteLatency>,
    pub errors: Vec<CountedFault>,
    /// How much later than planned a visitor came at most, in seconds, because this machine was busy.
    pub latest_start: f64,
    pub checks: Vec<RehearsalCheck>,
}

impl RehearsalReport {
    pub(crate) fn of(facts: RehearsalFacts, notes: &VisitNotes, room: &RoomNotes) -> Self {
        let visits = &notes.visits;
        let releases = releases(visits, room);
        let order = order(visits, facts.is_here.then_some(&releases));
        let counted = room.counted().filter(|_| facts.is_here);
        let latencies = notes.latencies.iter();
        let errors = notes.faults.iter().map(|((route, fault), count)| CountedFault {
            route: *route,
            kind: fault.to_string(),
            count: *count,
        });
        let mut report = Self {
            passed: false,
            ends: ends(visits),
            slowed_to: room.slowed_to(),
            counted,
            others: counted.map(|counted| counted.joined.saturating_sub(most_joined(notes))),
            twice: twice(notes),
            waits: waits(visits),
            releases,
            order,
            latency: latencies.filter_map(|(route, micros)| RouteLatency::of(*route, micros)).collect(),
            errors: errors.collect(),
            latest_start: notes.latest_start.as_secs_f64(),
            checks: Vec::new(),
            facts,
        };
        report.checks = report.checks(notes, room);
        report.passed =
            report.facts.end != CrowdEnd::Interrupted && report.checks.iter().all(|check| check.is_kept);
        report
    }

    /// The promises that were not kept, with what was found.
    pub fn broken(&self) -> String {
        let broken = self.checks.iter().filter(|check| !check.is_kept);
        let broken = broken.map(|check| format!("{}: {}", check.name, check.found));
        broken.collect::<Vec<_>>().join("; ")
    }

    /// The promises, in the order in which they are shown. One list, so it is longer than a screen.
    fn checks(&self, notes: &VisitNotes, room: &RoomNotes) -> Vec<RehearsalCheck> {
        let VisitEnds { entered, waiting, lost, refused, failed, too_late, not_come } = self.ends;
        let all = self.facts.visitors;
        let unadmitted = notes.count(|visit| visit.has_entered && visit.is_unadmitted);
        let LetInTwice { tickets, passes } = self.twice;
        let RehearsedReleases { highest_second, highest_allowed, windows, .. } = &self.releases;
        let full = windows.iter().filter(|window| window.is_full).count();
        let unplanned = windows.iter().filter(|window| !window.is_as_planned()).count();
        let mut checks = vec![
            self.accounted_for(notes, room),
            RehearsalCheck {
                name: "nobody entered without an admission",
                is_kept: unadmitted == 0,
                found: format!("{} of {} did, as while a room is off", count(unadmitted), count(entered)),
            },
            RehearsalCheck { name: "nobody lost a place", is_kept: lost == 0, found: format!("{lost} lost") },
            RehearsalCheck {
                name: "nobody was let in twice",
                is_kept: tickets + passes == 0,
                found: format!("{tickets} tickets given twice, {passes} passes that are not the visitor's"),
            },
            RehearsalCheck {
                name: "every window released as planned",
                is_kept: unplanned == 0,
                found: match full {
                    0 => format!(
                        "{unplanned} of {} did not; none was full, so this shows little: {}",
                        windows.len(),
                        what_fills_a_window(self.facts.rate, visits_come_within(&notes.visits))
                    ),
                    _ => format!("{unplanned} of {} did not; {full} were full", windows.len()),
                },
            },
            RehearsalCheck {
                name: "no second released more than twice its share, in whole batches",
                is_kept: highest_second <= highest_allowed,
                found: format!("at most {highest_second}, {highest_allowed} allowed"),
            },
        ];
        // After Ctrl-C nobody knows who else would have entered.
        if self.facts.end != CrowdEnd::Interrupted {
            let is_kept = entered == all;
            let late = if too_late > 0 { format!(", {} too late", count(too_late)) } else { String::new() };
            let [entered, all, waiting, refused, failed, not_come] =
                [entered, all, waiting, refused, failed, not_come].map(count);
            let found = format!(
                "{entered} of {all}; {waiting} waiting, {refused} refused, {failed} failed, {not_come} not come{late}"
            );
            checks.insert(1, RehearsalCheck { name: "everybody entered", is_kept, found });
        }
        if self.facts.enters_shop {
            // Each visitor asks the shop once.
            let at_shop = self.errors.iter().filter(|error| error.route == VisitRoute::Shop);
            let turned_away: u64 = at_shop.map(|error| error.count).sum();
            checks.push(RehearsalCheck {
                name: "the shop let everybody in",
                is_kept: turned_away == 0,
                found: format!("{turned_away} of {entered} got no page there"),
            });
        }
        if let Some(allowed) = self.order.allowed {
            checks.push(RehearsalCheck {
                name: "admitted in the order of the tickets",
                is_kept: self.order.most_places <= allowed,
                found: format!("at most {} places from a turn, {allowed} allowed", self.order.most_places),
            });
        }
        checks
    }

    /// Each visitor has one end. The room counted no fewer places and releases than they saw, and no release of somebody who
    /// never joined.
    fn accounted_for(&self, notes: &VisitNotes, room: &RoomNotes) -> RehearsalCheck {
        let VisitEnds { entered, waiting, lost, refused, failed, too_late, not_come } = self.ends;
        let all = self.facts.visitors;
        let ended = entered + waiting + lost + refused + failed + too_late + not_come;
        let (mut is_kept, mut found) = (ended == all, format!("{} of {}", count(ended), count(all)));
        if let Some((counted, in_epoch)) = self.counted.zip(room.in_epoch()) {
            let RoomTotals { joined, released } = counted;
            let counted = format!("{} joined and {} released", count(joined), count(released));
            found = format!("{found}; the room counted {counted}");
            // Visitors who were stopped did not hear everything.
            if self.facts.end == CrowdEnd::AllDone {
                is_kept &= joined >= notes.places() && released >= notes.admitted();
                // Not of this rehearsal alone: the room counts a release some seconds late.
                is_kept &= in_epoch.released <= in_epoch.joined;
            }
        }
        RehearsalCheck { name: "every visitor is accounted for", is_kept, found }
    }
}

/// How many places our visitors may have: also those whose request to join got no answer, and who got another place later.
fn most_joined(notes: &VisitNotes) -> u64 {
    let unanswered = notes.faults.iter().filter(|((route, fault), _)| {
        // Without a place, as the room says.
        *route == VisitRoute::Join && *fault != VisitFault::Status(429)
    });
    let joining = notes.count(|visit| visit.has_come && visit.place.is_none());
    let lost = notes.count(|visit| visit.is_lost);
    notes.places() + unanswered.map(|(_, count)| count).sum::<u64>() + joining + lost
}

fn ends(visits: &[VisitNote]) -> VisitEnds {
    let mut ends = VisitEnds::default();
    for visit in visits {
        let end = match visit {
            VisitNote { has_come: false, .. } => &mut ends.not_come,
            VisitNote { is_lost: true, .. } => &mut ends.lost,
            VisitNote { has_entered: true, .. } => &mut ends.entered,
            VisitNote { came_too_late: true, .. } => &mut ends.too_late,
            VisitNote { place: Some(_), .. } => &mut ends.waiting,
            VisitNote { was_refused: true, .. } => &mut ends.refused,
            VisitNote { .. } => &mut ends.failed,
        };
        *end += 1;
    }
    ends
}

fn twice(notes: &VisitNotes) -> LetInTwice {
    let (mut tickets, mut tokens) = (HashMap::<_, usize>::new(), HashMap::<_, usize>::new());
    for place in notes.visits.iter().filter_map(|visit| visit.place) {
        *tickets.entry(place.ticket).or_default() += 1;
        *tokens.entry(place.token).or_default() += 1;
    }
    let repeated = tickets.values().filter(|had| **had > 1).count();
    let of_tokens = tokens.values().filter(|had| **had > 1).count();
    let passes = notes.count(|visit| visit.has_other_pass);
    LetInTwice { tickets: repeated.max(of_tokens) as u64, passes }
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

/// From the first place that a visitor got until the last one.
fn visits_come_within(visits: &[VisitNote]) -> Duration {
    let places = || visits.iter().filter_map(|visit| Some(visit.place?.since));
    places().max().zip(places().min()).map(|(last, first)| last.since(first)).unwrap_or_default()
}

/// What to do so that a window is full.
fn what_fills_a_window(rate: u32, come_within: Duration) -> String {
    let visitors = fills_a_window(rate, come_within);
    if visitors > PlannedRehearsal::MOST_VISITORS.into() {
        return "rehearse at a lower `set-rate`: the promises are the same".into();
    }
    format!("send at least {} visitors", count(visitors))
}

/// How many visitors fill a window of a minute, wherever it begins: those who are let in while they come, those of the minute in which
/// the last ones come, and those of the window.
fn fills_a_window(rate: u32, come_within: Duration) -> u64 {
    let minutes = come_within.as_secs().div_ceil(60).max(1);
    u64::from(rate) * (minutes + 2)
}

#[cfg(test)]
mod tests {
    use control::Status;

    use super::*;
    use crate::fixture::{BEGAN, room_with_windows, visit};

    fn facts(visitors: u64) -> RehearsalFacts {
        RehearsalFacts {
            room: "sale".into(),
            url: "http://localhost:8080/".into(),
            is_here: true,
            rate: 60,
            visitors,
            arrivals: "evenly over 1s".into(),
            seed: 1,
            enters_shop: false,
            began: BEGAN,
            seconds: 60.0,
            end: CrowdEnd::AllDone,
        }
    }

    #[test]
    fn so_many_fill_a_window_wherever_it_begins() {
        let seconds = Duration::from_secs;
        assert_eq!(
            [30, 60, 61, 300].map(|within| fills_a_window(300, seconds(within))),
            [900, 900, 1200, 2100]
        );
        assert_eq!(what_fills_a_window(33_333, seconds(30)), "send at least 99,999 visitors");
        assert!(what_fills_a_window(33_334, seconds(30)).starts_with("rehearse at a lower `set-rate`"));
        // Windows begin at any second of the first minute. They release at the rate as soon as somebody is there.
        for (come_within, begins) in
            [1, 30, 60, 300].into_iter().flat_map(|come| (0..60).map(move |at| (come, at)))
        {
            let all = fills_a_window(300, seconds(come_within));
            let (mut waiting, mut is_full) = (0, false);
            for second in 0..come_within + 120 {
                is_full |= second % 60 == begins && waiting >= 300;
                let come = |until: u64| all * until.min(come_within) / come_within;
                waiting += come(second + 1) - come(second);
                waiting = waiting.saturating_sub(5);
            }
            assert!(is_full, "{come_within} s, a window at second {begins}");
        }
    }

    fn notes(visits: Vec<VisitNote>) -> VisitNotes {
        VisitNotes { visits, ..VisitNotes::default() }
    }

    fn report(visits: Vec<VisitNote>, released: u64) -> RehearsalReport {
        let mut room = RoomNotes::default();
        let mut status = room_with_windows(&[]);
        room.note(&status, BEGAN);
        let joined = visits.iter().filter(|visit| visit.place.is_some()).count() as u64;
        (status.joined, status.released) = (status.joined + joined, status.released + released);
        status.windows = room_with_windows(&[(60, released)]).windows;
        room.note(&status, BEGAN + Duration::from_mins(2));
        RehearsalReport::of(facts(visits.len() as u64), &notes(visits), &room)
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
        let late = VisitNote { came_too_late: true, ..come };
        let report = report(vec![visit(1, 0), waiting, lost, refused, come, late, VisitNote::default()], 61);
        let expected =
            VisitEnds { entered: 1, waiting: 1, lost: 1, refused: 1, failed: 1, too_late: 1, not_come: 1 };
        assert_eq!(report.ends, expected);
        assert!(!report.passed);
        assert_eq!(
            broken(&report),
            ["everybody entered", "nobody lost a place", "every window released as planned"]
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
    fn who_is_turned_away_at_the_shop_is_found_and_errors_of_the_room_break_nothing() {
        let mut notes = notes(vec![VisitNote::default(); 2]);
        notes.failed(VisitRoute::Poll, VisitFault::TimedOut { seconds: 20 });
        notes.failed(VisitRoute::Shop, VisitFault::Status(403));
        let found = |enters_shop| {
            let facts = RehearsalFacts { enters_shop, ..facts(2) };
            let report = RehearsalReport::of(facts, &notes, &RoomNotes::default());
            broken(&report).join(", ")
        };
        assert_eq!(found(false), "everybody entered");
        assert_eq!(found(true), "everybody entered, the shop let everybody in");
    }

    #[test]
    fn a_document_has_the_bars_that_any_route_fills_and_each_kind_of_error() {
        let mut notes = notes(vec![visit(1, 0)]);
        for (route, millis) in [(VisitRoute::Join, 7), (VisitRoute::Poll, 1), (VisitRoute::Poll, 30_000)] {
            notes.measured(route, Duration::from_millis(millis));
        }
        notes.failed(VisitRoute::Poll, VisitFault::TimedOut { seconds: 20 });
        let report = RehearsalReport::of(facts(1), &notes, &RoomNotes::default());
        let text = report.document().text(80);
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
        let has = |line: &[&str]| lines.iter().any(|there| there == line);
        assert!(has(&["up", "to", "join", "poll"]) && has(&["1", "ms", "0", "1"]), "{text}");
        assert!(has(&["10", "ms", "1", "0"]) && has(&["longer", "0", "1"]), "{text}");
        assert!(!has(&["0.5", "ms", "0", "0"]), "the first bar that is filled is the first: {text}");
        assert!(
            lines.iter().any(|line| line.first() == Some(&"poll") && line.last() == Some(&"1")),
            "{text}"
        );
    }

    #[test]
    fn releases_in_no_known_window_do_not_pass() {
        let report = RehearsalReport::of(facts(1), &notes(vec![visit(1, 0)]), &RoomNotes::default());
        assert_eq!(broken(&report), ["no second released more than twice its share, in whole batches"]);
    }

    #[test]
    fn visitors_out_of_order_or_all_at_once_do_not_pass() {
        let reversed = report((1..=30).map(|n| visit(n, u64::from(31 - n) * 1000)).collect(), 30);
        assert_eq!(broken(&reversed), ["admitted in the order of the tickets"]);
        let at_once = report((1..=30).map(|n| visit(n, 0)).collect(), 30);
        assert_eq!(broken(&at_once), ["no second released more than twice its share, in whole batches"]);
    }

    #[test]
    fn who_enters_while_the_room_is_off_is_found() {
        let off = VisitNote { is_unadmitted: true, admitted: None, ..visit(2, 0) };
        assert_eq!(broken(&report(vec![visit(1, 0), off], 1)), ["nobody entered without an admission"]);
    }

    /// Two visitors entered. The room had so many joined and released at first, and last.
    fn counted(totals: [(u64, u64); 2], end: CrowdEnd, join_faults: &[VisitFault]) -> RehearsalReport {
        let mut notes = notes(vec![visit(1, 0), visit(2, 0)]);
        for fault in join_faults {
            notes.failed(VisitRoute::Join, *fault);
        }
        let mut room = RoomNotes::default();
        for (joined, released) in totals {
            let status = Status { joined, released, ..room_with_windows(&[(60, 2)]) };
            room.note(&status, BEGAN + Duration::from_mins(2));
        }
        RehearsalReport::of(RehearsalFacts { end, ..facts(2) }, &notes, &room)
    }

    #[test]
    fn an_interrupted_rehearsal_neither_passed_nor_failed() {
        let text = |end| counted([(7, 7), (9, 9)], end, &[]).document().text(80);
        let stopped = text(CrowdEnd::Interrupted);
        assert!(
            stopped.starts_with("Rehearsal of sale did not end\nIt was interrupted after 1 min.\n"),
            "{stopped}"
        );
        let ended = text(CrowdEnd::AllDone);
        assert!(ended.starts_with("Rehearsal of sale passed\nIt took 1 min.\n"), "{ended}");
    }

    #[test]
    fn the_room_has_to_count_at_least_what_the_visitors_saw() {
        let is_kept = |totals, end| {
            let report = counted(totals, end, &[]);
            let broken = broken(&report);
            assert!(broken.is_empty() || broken == ["every visitor is accounted for"]);
            assert_eq!(report.passed, broken.is_empty() && end != CrowdEnd::Interrupted);
            broken.is_empty()
        };
        assert!(is_kept([(7, 7), (9, 9)], CrowdEnd::AllDone));
        assert!(is_kept([(7, 5), (9, 9)], CrowdEnd::AllDone), "the room counts releases late");
        assert!(is_kept([(7, 7), (12, 10)], CrowdEnd::AllDone), "others joined");
        for wrong in [(8, 8), (9, 8), (9, 10)] {
            assert!(!is_kept([(7, 7), wrong], CrowdEnd::AllDone), "{wrong:?}");
            assert!(is_kept([(7, 7), wrong], CrowdEnd::Interrupted), "{wrong:?}");
        }
    }

    #[test]
    fn others_are_those_who_joined_and_cannot_be_ours() {
        let others = |faults: &[VisitFault]| counted([(7, 7), (12, 9)], CrowdEnd::AllDone, faults).others;
        assert_eq!(others(&[]), Some(3));
        assert_eq!(others(&[VisitFault::Status(429)]), Some(3));
        assert_eq!(others(&[VisitFault::TimedOut { seconds: 20 }, VisitFault::Unreadable]), Some(1));
        let unknown = RehearsalReport::of(facts(0), &notes(Vec::new()), &RoomNotes::default());
        assert_eq!((unknown.others, unknown.counted), (None, None));
    }
}
