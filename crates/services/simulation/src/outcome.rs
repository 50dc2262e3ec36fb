//! What came of a simulation. All times are in seconds since the first visitor could come.

use aws_model::{CostLine, EventWork, Limit, Traffic, Usage};
use serde::Serialize;
use waitroom::ports::PlanRecord;
use waitroom::{Rate, Timestamp};

use crate::admissions::NumberedAdmissions;
use crate::course::{CountedCourse, CountedSecond, millis_between};
use crate::crowd::SimulatedCrowd;
use crate::door::DoorGates;
use crate::orders::SimulatedOrder;
use crate::room::RoomOnClock;
use crate::scenario::Scenario;
use crate::visitor::{SimulatedVisitor, VisitStage};
use crate::wait_spread::WaitSpread;

/// What came of a crowd.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulatedEvent {
    pub visitors: VisitorCount,
    /// From the link until their page knew that it was their turn: what a visitor calls their wait. Zero if it was nobody's.
    pub from_link: WaitSpread,
    /// From the link until they were in line. Zero if nobody joined.
    pub until_in_line: WaitSpread,
    /// From being in line until their page knew that it was their turn. Zero if it was nobody's.
    pub waits: WaitSpread,
    pub longest_line: LongestLine,
    /// In a room that limits its active visitors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shop: Option<ShopSpace>,
    /// When the last one was released; `None` if not everybody was who joined.
    pub drained_after: Option<f64>,
    /// When the last one of a stock was released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sold_out_after: Option<f64>,
    pub windows: Vec<ReleaseWindow>,
    pub minutes: Vec<SimulatedMinute>,
    /// On AWS: what is used of each limit, the one that is used most first.
    pub limits: Vec<LimitUse>,
    /// The limit that was exceeded first.
    pub first_to_break: Option<Limit>,
    pub requests: u64,
    /// Behind an edge: those of them that it answered by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by_edge: Option<u64>,
    pub refused_requests: u64,
    /// On AWS, by service.
    pub costs: Vec<CostLine>,
    pub dollars: f64,
    /// Behind an edge: the same without what `CloudFront`'s free tier takes off, if the account uses it for nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars_after_free_tier: Option<f64>,
}

/// Every visitor, by how their visit ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VisitorCount {
    pub came: u64,
    pub entered: u64,
    /// Those of them who went straight in, without a place in line.
    pub straight: u64,
    pub gave_up: u64,
    /// It was their turn, and they did not come.
    pub never_entered: u64,
    pub still_waiting: u64,
    /// The room was closed when they came, or ended before their turn.
    pub too_late: u64,
    /// Whichever end their visit had: those of whom a request was refused, at least once.
    pub refused: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LongestLine {
    pub people: u32,
    pub after: u64,
}

/// How much of its space the shop used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShopSpace {
    /// The most sessions at once.
    pub most: u32,
    pub after: f64,
    /// In how many seconds the line moved slower because the shop was full.
    pub full_for: u64,
}

/// A window, what it was to release, and what it released. A change of the rate may end it early. `planned` is of the whole
/// window all the same.
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
    /// How many were in the shop when it ended, in a room with a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_shop: Option<u32>,
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
    /// Whether simulated visitors are refused beyond it. Of the others, only their use is known.
    pub refuses: bool,
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
            count.refused += u64::from(visitor.was_refused);
            *match visitor.stage {
                VisitStage::Entered => &mut count.entered,
                VisitStage::GaveUp => &mut count.gave_up,
                VisitStage::NeverEntered => &mut count.never_entered,
                VisitStage::TooLate => &mut count.too_late,
                VisitStage::Coming | VisitStage::Waiting | VisitStage::Called => &mut count.still_waiting,
            } += 1;
        }
        count
    }
}

impl CountedSecond {
    /// All requests, the refused ones included. A visitor who joins also loads the page, which has so many further files.
    fn requests(&self, further_files: u32) -> u32 {
        let of_joins = self.joins.saturating_mul(further_files.saturating_add(2));
        of_joins.saturating_add(self.polls + self.shared + self.turns + self.straight + self.refused)
    }
}

impl SimulatedEvent {
    pub(crate) fn of(
        scenario: &Scenario,
        room: &RoomOnClock,
        mut crowd: SimulatedCrowd,
        zero: Timestamp,
    ) -> Self {
        crowd.note_refused();
        let SimulatedCrowd { visitors, mut course, .. } = crowd;
        let (mut from_link, mut in_line, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        let (mut drained, mut everybody) = (zero, true);
        for (number, visitor) in (0..).zip(&visitors) {
            let (joined, learned) = (visitor.joined.get(), visitor.learned());
            from_link.extend(learned.map(|learned| learned - visitor.arrived));
            in_line.extend(joined.map(|joined| joined - visitor.arrived));
            waits.extend(joined.zip(learned).map(|(joined, learned)| learned - joined));
            let admitted = room.admitted_at(number);
            everybody &= admitted.is_some() || (visitor.stage == VisitStage::TooLate && joined.is_none());
            if let Some(at) = admitted {
                drained = drained.max(at);
                course.at(millis_between(zero, at)).released += 1;
            }
        }
        // The last second may not be over yet.
        if let Some(last) = course.seconds.last_mut() {
            last.waiting = room.waiting();
        }
        let orders =
            |is_meant: fn(&SimulatedOrder) -> bool| scenario.orders.iter().any(|it| is_meant(&it.order));
        let is_sold_out = room.is_over()
            && orders(|order| matches!(order, SimulatedOrder::CloseAfter(_)))
            && !orders(|order| matches!(order, SimulatedOrder::End));
        let windows = windows(room, zero);
        let first = windows.iter().position(|window| window.released > 0).unwrap_or(windows.len());
        let last = windows.iter().rposition(|window| window.released > 0).map_or(first, |last| last + 1);
        let (people, after) = longest_line(&course.seconds);
        let rates = rates(room, zero);
        let limits = limits(scenario, &course.seconds, &rates);
        let first_to_break = limits.iter().filter(|limit| limit.broke_after.is_some());
        let work = work(&course, &windows);
        let costs = scenario.aws.as_ref().map_or_else(Vec::new, |account| work.costs(&account.room));
        // The sum of nothing would be -0.0.
        let dollars = costs.iter().fold(0.0, |sum, line| sum + line.dollars);
        let behind_edge = scenario.aws.as_ref().filter(|account| account.room.edge.answers());
        let further_files = further_files(scenario);
        let kept_by_edge = |second: &CountedSecond| second.shared + second.joins * (1 + further_files);
        Self {
            visitors: VisitorCount {
                straight: course.total(|second| second.straight),
                ..VisitorCount::of(&visitors)
            },
            from_link: WaitSpread::of(from_link).unwrap_or_default(),
            until_in_line: WaitSpread::of(in_line).unwrap_or_default(),
            waits: WaitSpread::of(waits).unwrap_or_default(),
            longest_line: LongestLine { people, after },
            drained_after: everybody.then(|| drained.since(zero).as_secs_f64()),
            sold_out_after: is_sold_out.then(|| drained.since(zero).as_secs_f64()),
            windows: windows[first..last].to_vec(),
            shop: shop_space(room, &course.seconds, zero),
            minutes: minutes(scenario, &course.seconds, &rates),
            first_to_break: first_to_break.min_by_key(|limit| limit.broke_after).map(|limit| limit.limit),
            limits,
            requests: course.total(|second| second.requests(further_files)),
            answered_by_edge: behind_edge.map(|_| course.total(kept_by_edge)),
            refused_requests: course.total(|second| second.refused),
            dollars,
            dollars_after_free_tier: behind_edge.map(|account| dollars - work.free_of_edge(&account.room)),
            costs,
        }
    }
}

fn windows(room: &RoomOnClock, zero: Timestamp) -> Vec<ReleaseWindow> {
    let since = |at: Timestamp| at.since(zero).as_secs_f64();
    let admitted = room.ledger.read_admissions(NumberedAdmissions::by_plan);
    let window = |known: PlanRecord| ReleaseWindow {
        from: since(known.plan.window.start),
        to: since(known.plan.window.end),
        rate: known.plan.rate.get(),
        planned: known.plan.quota,
        released: admitted.get(&known.plan.number).copied().unwrap_or_default(),
    };
    room.ledger.plans().into_iter().map(window).collect()
}

fn longest_line(seconds: &[CountedSecond]) -> (u32, u64) {
    (0..).zip(seconds).fold((0, 0), |(most, since), (after, second)| {
        if second.waiting > most { (second.waiting, after) } else { (most, since) }
    })
}

fn shop_space(room: &RoomOnClock, seconds: &[CountedSecond], zero: Timestamp) -> Option<ShopSpace> {
    let (most, at) = room.guard.as_ref()?.most;
    let full_for = seconds.iter().map(|second| u64::from(second.is_full)).sum();
    Some(ShopSpace { most, after: at.since(zero).as_secs_f64(), full_for })
}

/// The rate in force, whenever it changed, by the second.
fn rates(room: &RoomOnClock, zero: Timestamp) -> Vec<(u64, Rate)> {
    room.rates.iter().map(|(at, rate)| (at.since(zero).as_secs(), *rate)).collect()
}

/// The rate in force at the end of this second.
fn rate_at(rates: &[(u64, Rate)], second: u64) -> Option<Rate> {
    rates.iter().rev().find(|(from, _)| *from <= second).map(|(_, rate)| *rate)
}

/// The page's files besides its document, if they come from AWS.
fn further_files(scenario: &Scenario) -> u32 {
    scenario.aws.as_ref().map_or(0, |account| account.room.further_files)
}

fn minutes(scenario: &Scenario, seconds: &[CountedSecond], rates: &[(u64, Rate)]) -> Vec<SimulatedMinute> {
    let further_files = further_files(scenario);
    let minute = |(minute, seconds): (u64, &[CountedSecond])| {
        let sum = |of: fn(&CountedSecond) -> u32| seconds.iter().map(|second| u64::from(of(second))).sum();
        SimulatedMinute {
            minute,
            joined: sum(|second| second.joins),
            released: sum(|second| second.released),
            entered: sum(|second| second.turns),
            waiting: seconds.last().map_or(0, |last| last.waiting),
            in_shop: scenario.visits.and(seconds.last()).map(|last| last.in_shop),
            rate: rate_at(rates, 60 * minute + 59).map_or(0, Rate::get),
            requests_per_second: seconds.iter().map(|one| one.requests(further_files)).max().unwrap_or(0),
            refused: sum(|second| second.refused),
        }
    };
    (0..).zip(seconds.chunks(60)).map(minute).collect()
}

/// What each second used of AWS's limits.
fn limits(scenario: &Scenario, seconds: &[CountedSecond], rates: &[(u64, Rate)]) -> Vec<LimitUse> {
    /// So many seconds ago, Lambda saw how many environments were needed. It has started them since, and keeps them.
    const STARTED_WITHIN: usize = 10;
    let Some(account) = &scenario.aws else { return Vec::new() };
    let traffic = |after: usize| {
        let second = &seconds[after];
        Traffic {
            joins_per_second: second.joins.into(),
            polls_per_second: second.polls.into(),
            shared_polls_per_second: second.shared.into(),
            turns_per_second: second.turns.into(),
            releases_per_second: second.released.into(),
            refused_per_second: second.refused.into(),
            refused_visits_per_second: second.refused_visits.into(),
            rate: rate_at(rates, after as u64).unwrap_or(scenario.rate),
            started: None,
        }
    };
    let mut all: Vec<LimitUse> = Vec::new();
    let mut started = 0.0_f64;
    for (after, second) in seconds.iter().enumerate() {
        if let Some(earlier) = after.checked_sub(STARTED_WITHIN) {
            started = started.max(traffic(earlier).producers(&account.room));
        }
        if second.requests(0) == 0 {
            continue;
        }
        let traffic = Traffic { started: Some(started), ..traffic(after) };
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
        None => {
            let (name, refuses) = (limit.name(), DoorGates::refuses_beyond(limit));
            all.push(LimitUse { limit, name, refuses, used, available, share, after, broke_after });
        }
        Some(known) => {
            known.broke_after = known.broke_after.or(broke_after);
            if share > known.share {
                (known.used, known.share, known.after) = (used, share, after);
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of people and requests")]
fn work(course: &CountedCourse, windows: &[ReleaseWindow]) -> EventWork {
    let total = |count: fn(&CountedSecond) -> u32| course.total(count) as f64;
    EventWork {
        joins: total(|second| second.joins),
        polls: total(|second| second.polls),
        shared_polls: total(|second| second.shared),
        client_checks: 0.0,
        turns: total(|second| second.turns),
        straight: total(|second| second.straight),
        // The simulated visitors neither reload nor open a second tab.
        returns: 0.0,
        refused_visits: total(|second| second.refused_visits),
        releases: total(|second| second.released.saturating_sub(second.straight)),
        releasing_minutes: releasing_minutes(windows),
        minutes: course.seconds.len() as f64 / 60.0,
    }
}

/// The minutes in at least one of these windows: one that begins when the rate changes overlaps with the one before.
fn releasing_minutes(windows: &[ReleaseWindow]) -> f64 {
    let mut over = f64::MIN;
    let seconds = windows.iter().map(|window| {
        let from = window.from.max(over);
        over = over.max(window.to);
        (window.to - from).max(0.0)
    });
    seconds.sum::<f64>() / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{ArrivalShape, Arrivals};
    use crate::scenario::AwsAccount;
    use aws_model::{AccountLimits, ModelledRoom};

    /// The most environments that were new when so many joined in each of these seconds, when, and when they were too many.
    fn new_environments(joins: &[u32]) -> (f64, usize, Option<usize>) {
        let (arrivals, rate) = (Arrivals::new(ArrivalShape::Spike, Some(1)), Rate::new(60).unwrap());
        let account = AwsAccount::new(AccountLimits::default_in("us-east-1"), ModelledRoom::new(rate));
        let scenario = Scenario::new(arrivals.unwrap(), rate, Some(account));
        let second = |joins: &u32| CountedSecond { joins: *joins, ..CountedSecond::default() };
        let seconds: Vec<_> = joins.iter().map(second).collect();
        let all = limits(&scenario, &seconds, &[]);
        let used = all.iter().find(|used| used.limit == Limit::NewEnvironments).unwrap();
        (used.used.round(), used.after, used.broke_after)
    }

    #[test]
    fn a_rush_that_comes_late_finds_only_the_functions_that_were_needed_before() {
        let rush = |before: u32| [[before; 60], [12_000; 60]].concat();
        // A function serves ten visits a second, and Lambda starts a thousand in ten seconds.
        assert_eq!(new_environments(&rush(0)), (1200.0, 60, Some(60)));
        assert_eq!(new_environments(&rush(5_000)), (700.0, 60, None));
        let growing: Vec<u32> = (0..60).map(|second| 300 * second).collect();
        let (most, _, broke_after) = new_environments(&growing);
        assert_eq!((most, broke_after), (300.0, None));
    }

    #[test]
    fn a_minute_in_two_windows_is_one_minute() {
        let window = |from, to| ReleaseWindow { from, to, rate: 600, planned: 600, released: 300 };
        let windows = [window(0.0, 60.0), window(30.0, 60.0), window(60.0, 120.0), window(300.0, 330.0)];
        assert!((releasing_minutes(&windows) - 2.5).abs() < 1e-9);
    }
}
