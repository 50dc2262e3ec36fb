//! Runs once a minute, and whenever the valve changes: plans how many visitors may enter, cuts the plan into slices, and
//! starts a consumer for each. Once a minute, and when a room on one machine stops, it also writes the record of the minute
//! into the history.
//!
//! The trigger keeps nothing in memory, and may run twice, late, or be killed at any point. It writes the plans that are
//! [due](Plan::due). Of two triggers, only one can write the plan with a given number. Then the trigger starts a consumer
//! for every slice of the windows that are not over: of those that it planned, and of the [latest two](Plans::recent) before.
//! A second consumer for the same slice cannot take it and ends.

mod space;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use space::{PlanFit, Space};
use tracing::field::{Empty, display};
use tracing::{Instrument, Span};
use waitroom::ports::{
    ActiveVisitors, Clock, Dispatch, EntryCount, Fault, LineLength, MinuteLog, NewcomerCount, PlanRecord,
    Plans, PortError, PortResult, QuietSwitch, Rescheduling, RoomReader, StatusBoard, StockCount, Store,
    TurnoutCount,
};
use waitroom::{
    CountedSlot, LineCount, LineCounts, LineStatus, LineTotals, Plan, Room, Slice, Timestamp, Turnout,
    hardly_waited, overtaken_before, was_empty,
};

waitroom::used_ports! {
    /// What the trigger needs of a store.
    pub trait TriggerStore: Store<
        Line: LineLength,
        Ledger: RoomReader + QuietSwitch + Rescheduling + StockCount + Plans + NewcomerCount + EntryCount + TurnoutCount
            + ActiveVisitors + StatusBoard + MinuteLog,
    >
}

/// What a run found before it planned.
struct Planned {
    /// The latest plans.
    before: Vec<PlanRecord>,
    space: Space,
}

#[derive(Debug)]
pub struct Trigger<S, C, D> {
    store: S,
    clock: C,
    dispatch: D,
    minute: Duration,
}

/// Why the trigger runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerCause {
    /// The schedule. It runs the trigger again in a minute.
    Minute,
    /// The valve has changed. The schedule runs the trigger within a minute.
    Change,
}

impl TriggerCause {
    /// A window that ends within this time needs a plan after it. A regular run plans ahead if the next one would be too
    /// late by more than five seconds, so that windows end when the trigger runs.
    fn horizon(self, minute: Duration) -> Duration {
        match self {
            Self::Minute => minute * 11 / 12,
            Self::Change => minute / 12,
        }
    }
}

/// What one run did. The values are the fields of its log line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerReport {
    /// None if the line could not be counted.
    pub waiting: Option<u64>,
    /// The last plan that this run wrote, if one was due.
    pub planned: Option<Plan>,
    /// Whether the shop has as many active visitors as it may, so that nothing was planned.
    pub is_full: bool,
    /// Whether it may be so only because a guard does not say who has left.
    pub misses_guard: bool,
    /// Slices for which a consumer was started.
    pub sent: usize,
    /// Slices for which no consumer could be started. The next run tries again while their window lasts.
    pub not_sent: usize,
}

impl<S: TriggerStore, C: Clock, D: Dispatch> Trigger<S, C, D> {
    const AT_ONCE: usize = 16;
    const ATTEMPTS: u32 = 4;
    /// The most plans that one run writes. Two are due when the valve changes twice in quick succession.
    const PLANS: usize = 8;

    /// `minute` is the length of a window: a minute, or less in a demonstration.
    pub fn new(store: S, clock: C, dispatch: D, minute: Duration) -> Self {
        Self { store, clock, dispatch, minute }
    }

    /// Plans, starts consumers, and logs one line that says what was done.
    ///
    /// A failure is retried for half a minute: without a plan, nobody is released until the next run. So is one that only a person
    /// can mend, because they may do it at any moment.
    pub async fn run(&self, cause: TriggerCause) -> PortResult<TriggerReport> {
        let give_up = self.clock.now() + self.minute / 2;
        loop {
            // The span has the highest level, so that no log filter removes it.
            let span = tracing::error_span!("trigger", room = Empty, epoch = Empty);
            let error = match self.run_once(cause).instrument(span.clone()).await {
                Ok(report) => {
                    span.in_scope(|| report.log());
                    return Ok(report);
                }
                Err(error) => error,
            };
            let again = self.clock.now() + self.minute / 60;
            let is_final = again > give_up;
            span.in_scope(|| log_failure(&error, is_final));
            if is_final {
                return Err(error);
            }
            self.clock.sleep_until(again).await;
        }
    }

    /// Writes the record of a minute that is not over, because the room stops. Without it, what is counted only in memory
    /// since the last record would be lost.
    pub async fn note_last_minute(&self) -> PortResult<()> {
        let room = self.store.ledger().room_now().await?;
        let waiting = self.store.line().waiting().await?;
        let until = CountedSlot::at(self.clock.now(), self.minute) + CountedSlot::length(self.minute);
        self.note_minute(&room, waiting, until).await
    }

    async fn run_once(&self, cause: TriggerCause) -> PortResult<TriggerReport> {
        let room = self.room_that_goes_on().await?;
        Span::current().record("room", display(&room.settings.room)).record("epoch", display(room.epoch));
        let mut report = TriggerReport::default();
        let Planned { before: recent, space } = self.plan_and_send(&room, cause, &mut report).await?;
        report.is_full = space.is_full();
        report.misses_guard = space.misses_guard(self.clock.now(), self.minute);
        // A rough count. If it cannot be read, visitors are released without it.
        report.waiting = self.store.line().waiting().await.inspect_err(warn).ok();
        if let Some(waiting) = report.waiting {
            if !report.is_full {
                self.judge_quiet(&room, &recent, waiting, &mut report)
                    .await
                    .unwrap_or_else(|error| warn(&error));
            }
            self.judge_passed(&room, &recent, waiting).await.unwrap_or_else(|error| warn(&error));
            // While a consumer works, it publishes the status itself, with more recent figures.
            if report.sent == 0 {
                self.publish(waiting).await.unwrap_or_else(|error| warn(&error));
            }
            if cause == TriggerCause::Minute {
                self.judge_turnout(&room, &mut report).await.unwrap_or_else(|error| warn(&error));
                self.judge_full(&room, &space, waiting).await.unwrap_or_else(|error| warn(&error));
                // A door may still count in the slot before this one.
                let until = CountedSlot::at(self.clock.now(), self.minute) - CountedSlot::length(self.minute);
                self.note_minute(&room, waiting, until).await.unwrap_or_else(|error| warn(&error));
            }
        }
        Ok(report)
    }

    /// The room, which ends first if nothing is left of its stock: a consumer could not end it, or nobody waited any more. And in which
    /// nothing is in force only later because a clock was ahead.
    async fn room_that_goes_on(&self) -> PortResult<Arc<Room>> {
        let ledger = self.store.ledger();
        let room = ledger.room_now().await?;
        let is_of_clock_ahead = room.is_of_clock_ahead(self.clock.now());
        if room.stock.is_none() && !is_of_clock_ahead {
            return Ok(room);
        }
        if room.stock.is_some() {
            ledger.end_if_sold_out().await.unwrap_or_else(|error| warn(&error));
        }
        if is_of_clock_ahead {
            ledger.reschedule().await.unwrap_or_else(|error| warn(&error));
        }
        ledger.room_now().await
    }

    /// Marks the room as quiet if nobody was in the line for a while, which turns off a closed room that was to. Wakes it if
    /// somebody waits after all: the door could not.
    ///
    /// Where newcomers then go straight in, a minute in which hardly anybody waited is enough. Whoever still waits needs no
    /// waking there: a consumer looks for them.
    async fn judge_quiet(
        &self,
        room: &Room,
        recent: &[PlanRecord],
        waiting: u64,
        report: &mut TriggerReport,
    ) -> PortResult<()> {
        let now = self.clock.now();
        let quiet = if room.lets_straight_in() {
            room.quiet || (room.releases() && self.hardly_anybody_waits(room, recent, waiting, now).await?)
        } else {
            waiting == 0 && room.releases() && (room.quiet || was_empty(room, recent, now, self.minute))
        };
        if !room.heeds_quiet(quiet) {
            return Ok(());
        }
        let set = self.store.ledger().set_quiet(quiet).await;
        self.plan_own_change(set, report).await
    }

    /// Plans what this run itself has changed: on AWS, the trigger can't start itself. If the answer was lost, it may have changed
    /// all the same.
    async fn plan_own_change(&self, changed: PortResult<()>, report: &mut TriggerReport) -> PortResult<()> {
        let room = self.store.ledger().room_now().await?;
        self.plan_and_send(&room, TriggerCause::Change, report).await.map(drop).and(changed)
    }

    async fn hardly_anybody_waits(
        &self,
        room: &Room,
        recent: &[PlanRecord],
        waiting: u64,
        now: Timestamp,
    ) -> PortResult<bool> {
        let longest = self.store.ledger().longest_wait(now - self.minute).await?;
        Ok(hardly_waited(room, recent, (waiting, longest), now, self.minute))
    }

    /// Lets the room release as many more as did not come lately, if it [makes up](Room::makes_up) for them. Not in a quiet room, which
    /// has nobody to release.
    async fn judge_turnout(&self, room: &Room, report: &mut TriggerReport) -> PortResult<()> {
        let turnout = if room.makes_up() && !room.quiet {
            let counted = Turnout::counted_at(self.clock.now(), self.minute);
            Some(self.store.ledger().turnout(counted).await?).filter(|turnout| turnout.tells())
        } else {
            None
        };
        if !room.heeds_turnout(turnout) {
            return Ok(());
        }
        let kept = self.store.ledger().keep_turnout(turnout).await;
        self.plan_own_change(kept, report).await
    }

    /// Lets pages know how fast the line moves while the shop is full.
    async fn judge_full(&self, room: &Room, space: &Space, waiting: u64) -> PortResult<()> {
        if room.active_limit().is_some() && !space.is_known() {
            return Ok(());
        }
        let lately = space.let_in_lately(waiting, self.clock.now(), self.minute);
        if room.heeds_full(lately) {
            self.store.ledger().keep_while_full(lately).await?;
        }
        Ok(())
    }

    /// Records whom the line has overtaken, as the windows before this run tell.
    async fn judge_passed(&self, room: &Room, recent: &[PlanRecord], counted: u64) -> PortResult<()> {
        let Some(oldest) = recent.last() else { return Ok(()) };
        let reach = self.store.ledger().reach().await?;
        let overtaken = overtaken_before(room, recent, reach, counted, self.clock.now(), self.minute);
        match overtaken {
            Some(overtaken) if overtaken > reach.overtaken => {
                self.store.ledger().overtake(oldest.plan.number, overtaken).await
            }
            _ => Ok(()),
        }
    }

    /// Writes the plans that are due, and starts a consumer for each slice of the latest windows that are not over.
    async fn plan_and_send(
        &self,
        room: &Room,
        cause: TriggerCause,
        report: &mut TriggerReport,
    ) -> PortResult<Planned> {
        let before = self.store.ledger().recent().await?;
        let mut plans = before.clone();
        let space = self.plan(room, cause, &mut plans, report).await?;
        self.start_consumers(room, plans.into_iter().map(|record| record.plan), report).await;
        Ok(Planned { before, space })
    }

    /// Writes the plans that are due after these, and adds them.
    async fn plan(
        &self,
        room: &Room,
        cause: TriggerCause,
        plans: &mut Vec<PlanRecord>,
        report: &mut TriggerReport,
    ) -> PortResult<Space> {
        let horizon = cause.horizon(self.minute);
        let mut space = Space::default();
        for _ in 0..Self::PLANS {
            let Some(plan) = Plan::due(plans, room, self.clock.now(), self.minute, horizon) else { break };
            if self.is_needless(&plan, plans).await {
                break;
            }
            let now = self.clock.now();
            let plan = match space.fit(plan, room, self.store.ledger(), now, self.minute).await? {
                PlanFit::For(plan) => plan,
                PlanFit::AskAgain => {
                    self.clock.sleep_until(now + self.minute / 60).await;
                    continue;
                }
                PlanFit::Full => break,
            };
            if self.store.ledger().write(plan).await? {
                report.planned = Some(plan);
                plans.insert(0, PlanRecord { plan, released: 0, lowest: None });
            } else {
                // Another trigger wrote this number. Its plan may be another, because it saw another room.
                *plans = self.store.ledger().recent().await?;
            }
        }
        Ok(space)
    }

    /// Starts a consumer for each slice of these plans that is not over and has none.
    async fn start_consumers(
        &self,
        room: &Room,
        plans: impl Iterator<Item = Plan>,
        report: &mut TriggerReport,
    ) {
        let now = self.clock.now();
        let is_live = |plan: &Plan| {
            room.valves.cut(plan.valve_from, plan.window.end) > now && room.valves.knows(plan.valve_from)
        };
        let mut slices = Vec::new();
        for plan in plans.filter(is_live) {
            // Consumers that would find their slice taken stand in the way of new ones where few may run at once.
            let given_away = match self.store.ledger().given_away(plan).await {
                Ok(given_away) => given_away,
                Err(error) => {
                    let error = &error as &dyn Error;
                    tracing::warn!(error, "starts a consumer for each slice, not knowing who has one");
                    Vec::new()
                }
            };
            slices.extend(plan.slices(self.minute).filter(|slice| !given_away.contains(&slice.id)));
        }
        let sent = stream::iter(slices).map(|slice| self.send_one(slice)).buffered(Self::AT_ONCE);
        let sent: Vec<bool> = sent.collect().await;
        report.sent = sent.iter().filter(|&&sent| sent).count();
        report.not_sent = sent.len() - report.sent;
    }

    /// Whether nobody is in the line for whom this plan would need permits. The first window in which newcomers go straight in
    /// has a plan in any case: some joined just before, and the line may not count them yet.
    async fn is_needless(&self, plan: &Plan, before: &[PlanRecord]) -> bool {
        let goes_on = || before.iter().any(|record| record.plan.valve_from == plan.valve_from);
        plan.needs_permits && goes_on() && matches!(self.store.line().waiting().await, Ok(0))
    }

    async fn send_one(&self, slice: Slice) -> bool {
        for attempt in 1..=Self::ATTEMPTS {
            match self.dispatch.send(slice).await {
                Ok(()) => return true,
                Err(error) if error.fault == Fault::Broken || attempt == Self::ATTEMPTS => {
                    let error = &error as &dyn Error;
                    tracing::error!(slice = %slice.id, error, "could not start a consumer for a slice");
                }
                Err(_) => {
                    self.clock.sleep_until(self.clock.now() + Duration::from_millis(100) * attempt).await;
                }
            }
        }
        false
    }

    /// Writes the record of this minute into the history. In a room that observes, newcomers are in it who came until then.
    async fn note_minute(&self, room: &Room, waiting: u64, until: Timestamp) -> PortResult<()> {
        let released = self.store.ledger().progress().await?.released;
        let joined = self.store.line().joined().await?.unwrap_or(released.saturating_add(waiting));
        let counts = LineCounts { joined, released, entered: self.store.ledger().entered(), waiting };
        let totals = LineTotals::of(room, self.clock.now(), counts);
        // If they cannot be read now, the next record has them.
        let slots = self.store.ledger().newcomers().await.inspect_err(warn).unwrap_or_default();
        let records = if slots.is_empty() {
            None
        } else {
            self.store.ledger().minutes(totals.at).await.inspect_err(warn).ok()
        };
        let (Some(last), Some(records)) = (slots.last(), records) else {
            return self.store.ledger().note(totals).await;
        };
        let totals = totals.observing(room, &records, &slots, self.minute, until);
        self.store.ledger().note(totals).await?;
        // Kept for the busiest minute, and one as long as somebody would still wait.
        let is_over = totals.observed.is_none_or(|observed| observed.line.waiting == 0);
        let kept = until - 2 * self.minute;
        self.store.ledger().forget_newcomers(if is_over { kept } else { kept.min(last.from) }).await
    }

    async fn publish(&self, waiting: u64) -> PortResult<()> {
        let reach = self.store.ledger().reach().await?;
        // Read again, because it may have changed while consumers were started.
        let room = self.store.ledger().room().await?;
        let count =
            LineCount { counted: waiting, issued: self.store.line().issued().await?, found_empty: false };
        let waiting = count.waiting(reach.reached, self.clock.now());
        let left = self.store.ledger().left_in(&room).await?;
        self.store.ledger().publish_if_changed(LineStatus::of(&room, reach, waiting, left)).await
    }
}

impl TriggerReport {
    /// Whether nobody waits and nobody is released, as far as is known. CloudWatch charges for every hour in which a metric has
    /// values, so a room writes none in such a minute.
    pub fn found_nobody(&self) -> bool {
        self.sent == 0 && self.waiting == Some(0)
    }

    /// The one line that every run logs, on one machine and on AWS. A run that planned nothing has no window. Its span has
    /// the room.
    fn log(&self) {
        let Self { waiting, planned, is_full, misses_guard, sent, not_sent } = self;
        let (window, quota) = (planned.map(|plan| plan.number), planned.map(|plan| plan.quota));
        tracing::info!(window, quota, is_full, misses_guard, sent, not_sent, waiting, "trigger finished");
    }
}

fn log_failure(error: &PortError, is_final: bool) {
    let error = error as &dyn Error;
    if is_final {
        tracing::error!(error, "trigger failed; the next run tries again");
    } else {
        tracing::debug!(error, "trigger retries");
    }
}

fn warn(error: &PortError) {
    tracing::warn!(error = error as &dyn Error, "a call failed; the trigger goes on");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_counts_unless_nobody_waits_and_nobody_is_released() {
        let report = TriggerReport { waiting: Some(0), ..TriggerReport::default() };
        assert!(report.found_nobody());
        assert!(!TriggerReport { waiting: Some(1), ..report.clone() }.found_nobody(), "somebody waits");
        assert!(!TriggerReport { waiting: None, ..report.clone() }.found_nobody(), "nobody knows");
        assert!(!TriggerReport { sent: 1, ..report }.found_nobody(), "a slice may release somebody");
    }
}
