//! What came of a simulation. All times are in seconds since the first visitor could come.

use aws_model::{CostLine, EventWork, Limit, Traffic, Usage};
use serde::Serialize;
use waitroom::Timestamp;

use crate::course::CountedSecond;
use crate::crowd::{SimulatedCrowd, SimulatedVisitor, VisitEnd};
use crate::room::RoomOnClock;
use crate::scenario::Scenario;
use crate::wait_spread::WaitSpread;

/// What came of a crowd.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulatedEvent {
    pub visitors: VisitorCount,
    /// From the link until they were in line. Zero if nobody joined.
    pub until_in_line: WaitSpread,
    /// From being in line until their page knew that it was their turn. Zero if it was nobody's.
    pub waits: WaitSpread,
    pub longest_line: LongestLine,
    /// When the last one was released; `None` if somebody still waits.
    pub drained_after: Option<f64>,
    pub windows: Vec<ReleaseWindow>,
    pub minutes: Vec<SimulatedMinute>,
    /// On AWS: what is used of each limit, the one that is used most first.
    pub limits: Vec<LimitUse>,
    /// The limit that was exceeded first.
    pub first_to_break: Option<Limit>,
    pub requests: u64,
    pub refused_requests: u64,
    /// On AWS, by service.
    pub costs: Vec<CostLine>,
    pub dollars: f64,
}

/// Every visitor, by how their visit ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VisitorCount {
    pub came: u64,
    pub entered: u64,
    pub gave_up: u64,
    /// It was their turn, and they did not come.
    pub never_entered: u64,
    pub still_waiting: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LongestLine {
    pub people: u32,
    pub after: u64,
}

/// A window, what it was to release, and what it released.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReleaseWindow {
    pub from: f64,
    pub to: f64,
    pub rate: u32,
    pub planned: u32,
    pub released: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SimulatedMinute {
    pub minute: u64,
    pub joined: u64,
    pub released: u64,
    pub entered: u64,
    /// How many waited when it ended.
    pub waiting: u32,
    /// The rate in force when it ended.
    pub rate: u32,
    /// The requests of its busiest second.
    pub requests_per_second: u32,
    pub refused: u64,
}

/// How much of a limit was used in the second in which most was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LimitUse {
    pub limit: Limit,
    pub name: &'static str,
    pub used: f64,
    pub available: f64,
    /// More than 1 is too much.
    pub share: f64,
    /// When most was used.
    pub after: usize,
    /// When it was first too much.
    pub broke_after: Option<usize>,
}

impl VisitorCount {
    fn of(visitors: &[SimulatedVisitor]) -> Self {
        let mut count = Self { came: visitors.len() as u64, ..Self::default() };
        for visitor in visitors {
            *match visitor.end {
                VisitEnd::Entered => &mut count.entered,
                VisitEnd::GaveUp => &mut count.gave_up,
                VisitEnd::NeverEntered => &mut count.never_entered,
                VisitEnd::StillWaiting => &mut count.still_waiting,
            } += 1;
        }
        count
    }
}

impl CountedSecond {
    /// All requests, the refused ones included. A visitor who joins also loads the page.
    fn requests(&self) -> u32 {
        2 * self.joins + self.polls + self.turns + self.refused
    }
}

impl SimulatedEvent {
    pub(crate) fn of(
        scenario: &Scenario,
        room: &RoomOnClock,
        crowd: &SimulatedCrowd,
        zero: Timestamp,
    ) -> Self {
        let since = |at: Timestamp| at.since(zero).as_secs_f64();
        let (mut in_line, mut waits, mut released) = (Vec::new(), Vec::new(), Vec::new());
        let mut drained = 0.0_f64;
        for (number, visitor) in (0..).zip(&crowd.visitors) {
            in_line.extend(visitor.joined.map(|joined| joined - visitor.arrived));
            waits.extend(visitor.joined.zip(visitor.learned).map(|(joined, learned)| learned - joined));
            if let Some(at) = room.ledger.admitted_at(number).map(since) {
                drained = drained.max(at);
                released.push(at);
            }
        }
        let has_drained = room.line.is_empty() && crowd.agenda.is_empty();
        let windows: Vec<_> = room
            .ledger
            .plans()
            .iter()
            .map(|known| ReleaseWindow {
                from: since(known.plan.window.start),
                to: since(known.plan.window.end),
                rate: known.plan.rate.get(),
                planned: known.plan.quota,
                released: known.admitted,
            })
            .collect();
        let first = windows.iter().position(|window| window.released > 0).unwrap_or(windows.len());
        let last = windows.iter().rposition(|window| window.released > 0).map_or(first, |last| last + 1);
        let seconds = &crowd.course.seconds;
        let (waiting, after) = longest_line(seconds);
        let limits = limits(scenario, seconds);
        let first_to_break = limits.iter().filter(|limit| limit.broke_after.is_some());
        let costs = costs(scenario, crowd, &windows, released.len());
        Self {
            visitors: VisitorCount::of(&crowd.visitors),
            until_in_line: WaitSpread::of(in_line).unwrap_or_default(),
            waits: WaitSpread::of(waits).unwrap_or_default(),
            longest_line: LongestLine { people: waiting, after },
            drained_after: has_drained.then_some(drained),
            windows: windows[first..last].to_vec(),
            minutes: minutes(seconds, &released, &rates(room, zero)),
            first_to_break: first_to_break.min_by_key(|limit| limit.broke_after).map(|limit| limit.limit),
            limits,
            requests: crowd.course.total(CountedSecond::requests),
            refused_requests: crowd.course.total(|second| second.refused),
            dollars: costs.iter().map(|line| line.dollars).sum(),
            costs,
        }
    }
}

fn longest_line(seconds: &[CountedSecond]) -> (u32, u64) {
    (0..).zip(seconds).fold((0, 0), |(most, since), (after, second)| {
        if second.waiting > most { (second.waiting, after) } else { (most, since) }
    })
}

/// The rate in force, whenever it changed, by the second.
fn rates(room: &RoomOnClock, zero: Timestamp) -> Vec<(u64, u32)> {
    room.ledger.rates().iter().map(|(at, rate)| (at.since(zero).as_secs(), rate.get())).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds since the beginning")]
fn minutes(seconds: &[CountedSecond], released: &[f64], rates: &[(u64, u32)]) -> Vec<SimulatedMinute> {
    let mut released_in = vec![0_u64; seconds.len() / 60 + 1];
    for at in released {
        if let Some(count) = released_in.get_mut((*at / 60.0) as usize) {
            *count += 1;
        }
    }
    let minute = |(minute, seconds): (u64, &[CountedSecond])| {
        let sum = |of: fn(&CountedSecond) -> u32| seconds.iter().map(|second| u64::from(of(second))).sum();
        let in_force = rates.iter().rev().find(|(from, _)| *from < 60 * (minute + 1));
        SimulatedMinute {
            minute,
            joined: sum(|second| second.joins),
            released: released_in[minute as usize],
            entered: sum(|second| second.turns),
            waiting: seconds.last().map_or(0, |last| last.waiting),
            rate: in_force.map_or(0, |(_, rate)| *rate),
            requests_per_second: seconds.iter().map(CountedSecond::requests).max().unwrap_or(0),
            refused: sum(|second| second.refused),
        }
    };
    (0..).zip(seconds.chunks(60)).map(minute).collect()
}

/// What each second used of AWS's limits.
fn limits(scenario: &Scenario, seconds: &[CountedSecond]) -> Vec<LimitUse> {
    /// In the first seconds, Lambda has had no time to start more functions.
    const SUDDEN: usize = 10;
    let Some(account) = scenario.aws() else { return Vec::new() };
    let mut all: Vec<LimitUse> = Vec::new();
    for (after, second) in seconds.iter().enumerate().filter(|(_, second)| second.requests() > 0) {
        let traffic = Traffic {
            joins_per_second: second.joins.into(),
            polls_per_second: second.polls.into(),
            turns_per_second: second.turns.into(),
            refused_per_second: second.refused.into(),
            rate: scenario.rate,
            is_sudden: after < SUDDEN,
        };
        for usage in traffic.usage(&account.limits, &account.room) {
            note(&mut all, usage, after);
        }
    }
    all.sort_by(|one, other| other.share.total_cmp(&one.share));
    all
}

fn note(all: &mut Vec<LimitUse>, usage: Usage, after: usize) {
    let share = usage.share();
    let Usage { limit, used, available } = usage;
    let broke_after = (share > 1.0).then_some(after);
    match all.iter_mut().find(|known| known.limit == limit) {
        None => all.push(LimitUse { limit, name: limit.name(), used, available, share, after, broke_after }),
        Some(known) => {
            known.broke_after = known.broke_after.or(broke_after);
            if share > known.share {
                (known.used, known.share, known.after) = (used, share, after);
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of people and requests")]
fn costs(
    scenario: &Scenario,
    crowd: &SimulatedCrowd,
    windows: &[ReleaseWindow],
    released: usize,
) -> Vec<CostLine> {
    let Some(account) = scenario.aws() else { return Vec::new() };
    let total = |count: fn(&CountedSecond) -> u32| crowd.course.total(count) as f64;
    let work = EventWork {
        joins: total(|second| second.joins),
        polls: total(|second| second.polls),
        turns: total(|second| second.turns),
        releases: released as f64,
        releasing_minutes: windows.iter().map(|window| (window.to - window.from) / 60.0).sum(),
        minutes: crowd.course.seconds.len() as f64 / 60.0,
    };
    work.costs(&account.room)
}
