//! What consumers may release, and from when.
//!
//! A change of the rate or of the room's state is in force a little later than it is written, so that everybody has read
//! it by then. A window is planned under one valve change. When the next one is in force, the window ends, and a new one
//! begins.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::newtypes::{FormError, stored_as_text};
use crate::{Rate, Stock, Timestamp};

/// Whether and how fast the room releases visitors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Valve {
    /// Visitors are released at this rate.
    Open(Rate),
    /// The same, until so many were.
    Limited(Rate, Stock),
    /// Nobody waits, and the doors let newcomers straight in at this rate. Those who are still in the line need permits as well.
    Doors(Rate),
    /// Nobody is released, because the room's state says so or nobody waits.
    Closed,
}

impl Valve {
    /// How fast visitors are let in. `None` if nobody is.
    pub fn rate(self) -> Option<Rate> {
        match self {
            Self::Open(rate) | Self::Limited(rate, _) | Self::Doors(rate) => Some(rate),
            Self::Closed => None,
        }
    }

    /// The stock that whoever is released takes from.
    pub fn stock(self) -> Option<Stock> {
        match self {
            Self::Limited(_, stock) => Some(stock),
            Self::Open(_) | Self::Doors(_) | Self::Closed => None,
        }
    }
}

impl fmt::Display for Valve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(rate) => rate.get().fmt(f),
            Self::Doors(rate) => write!(f, "doors-{rate}"),
            Self::Limited(rate, stock) => write!(f, "{}/{stock}", rate.get()),
            Self::Closed => f.write_str("closed"),
        }
    }
}

/// A valve, and the instant from which it is in force. The instant identifies the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValveChange {
    pub from: Timestamp,
    pub valve: Valve,
}

/// What a room wants of its valve from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedValve {
    pub(crate) now: Valve,
    /// What follows by itself, the first one first: an opening, an end, a release beyond the rate and its end.
    pub(crate) ahead: Vec<ValveChange>,
}

/// The changes of the valve: the one in force, those to come, and the recent ones. Oldest first.
///
/// In text: `0=300 1700000000000=closed 1700000060000=doors-300`, and with a stock of 5,000 by order 17: `0=300/5000/17`. A program
/// that does not know stocks cannot read that, so it releases nobody beyond one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValveSchedule(Vec<ValveChange>);

impl ValveSchedule {
    const MALFORMED: FormError = FormError(
        "a valve schedule has the form <instant>=<rate, rate/stock, doors-rate or closed> …, with increasing instants",
    );
    /// How long before it is in force a change is written, in a store that one process uses: its handlers read the room in half a
    /// second at most.
    pub const LEAD_TIME_IN_ONE_PROCESS: Duration = Duration::from_secs(1);
    /// The same, in a store that functions use. They read the room at most a second late, and within half a second.
    pub const LEAD_TIME_OF_FUNCTIONS: Duration = Duration::from_secs(2);
    /// How long a past change is kept. A plan that was made under it is over by then.
    const KEPT: Duration = Duration::from_mins(5);
    /// Beyond so many, past changes are forgotten sooner.
    const MOST: usize = 32;
    /// The least time from one change to the next, which limits how many plans a minute can have.
    const GAP: Duration = Duration::from_millis(500);
    /// The most changes that wait for their turn, if they are ordered faster than that.
    const QUEUE: u32 = 16;
    /// No order is in force later than this, with all those that wait before it.
    pub(crate) const FARTHEST: Duration = Duration::from_mins(1);
    /// A change that may be withdrawn, or that replaces one, is in force at a millisecond of its own out of these, and every
    /// other change at the first of them. So a later change does not get the instant of a withdrawn one, for which a plan may
    /// exist.
    const OWN_MILLIS: u64 = 100;

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The change in force at `now`. `None` in a room that has never changed.
    pub fn at(&self, now: Timestamp) -> Option<ValveChange> {
        self.0.iter().rev().find(|change| change.from <= now).copied()
    }

    /// The first change after the one that is identified by `from`.
    pub fn after(&self, from: Timestamp) -> Option<ValveChange> {
        self.0.iter().find(|change| change.from > from).copied()
    }

    /// When a window is over that was planned under the change identified by `from` and ends at `end`: the next change ends it sooner.
    pub fn cut(&self, from: Timestamp, end: Timestamp) -> Timestamp {
        self.after(from).map_or(end, |next| next.from.min(end))
    }

    /// The changes after the one that is identified by `from`, oldest first.
    pub fn all_after(&self, from: Timestamp) -> impl Iterator<Item = ValveChange> {
        self.0.iter().filter(move |change| change.from > from).copied()
    }

    /// The last change, which may be yet to come.
    pub fn last(&self) -> Option<ValveChange> {
        self.0.last().copied()
    }

    /// Whether a plan that was made under the change identified by `from` still counts. It does not if that change was
    /// withdrawn before it was in force.
    pub fn knows(&self, from: Timestamp) -> bool {
        self.0.first().is_none_or(|first| from <= first.from)
            || self.0.iter().any(|change| change.from == from)
    }

    /// The first change that `other` does not have.
    pub(crate) fn first_not_in(&self, other: &Self) -> Option<ValveChange> {
        // The first one is in force, or was.
        self.0.iter().skip(1).find(|change| !other.0.contains(change)).copied()
    }

    /// Replaces what was wanted `before` by what is `wanted`, after `lead_time`. `version` is another number for each call.
    ///
    /// Changes that are in force soon stay, in their order. Later ones are withdrawn. What is ahead is withdrawn until the
    /// last moment: until somebody may already act on it.
    pub(crate) fn set(
        &mut self,
        before: &WantedValve,
        wanted: &WantedValve,
        version: u64,
        now: Timestamp,
        lead_time: Duration,
    ) {
        let (announced, stay) = self.announced(before, now, lead_time);
        let replaces = stay < self.0.len();
        self.0.truncate(stay);
        // A new room, or one whose clock was set back to before all of them.
        if self.0.is_empty() {
            self.0.push(ValveChange { from: Timestamp::default(), valve: before.now });
        }
        let own = Self::own(version);
        let is_due = |change: &&ValveChange| change.from < announced;
        let valve = wanted.ahead.iter().take_while(is_due).last().map_or(wanted.now, |change| change.valve);
        self.push(announced, valve, if replaces { own } else { 0 });
        let mut ahead = wanted.ahead.iter().skip_while(is_due).peekable();
        while let Some(change) = ahead.next() {
            // What another change follows at once is left out, so that an end is never late.
            if ahead.peek().is_none_or(|next| next.from >= change.from + Self::GAP) {
                self.push(change.from, change.valve, own);
            }
        }
        self.forget_old(now);
    }

    /// From when on a change is in force that is written now and may be withdrawn, unless it is one from before.
    pub(crate) fn next_change(
        &self,
        before: &WantedValve,
        version: u64,
        now: Timestamp,
        lead_time: Duration,
    ) -> Timestamp {
        let (announced, stay) = self.announced(before, now, lead_time);
        let last = self.0.get(stay.saturating_sub(1));
        Self::earliest(announced, last, Self::own(version))
    }

    /// The instant at which everybody knows what is written now, and how many changes stay as they are.
    fn announced(&self, before: &WantedValve, now: Timestamp, lead_time: Duration) -> (Timestamp, usize) {
        let announced = now + lead_time;
        let announced = announced - Duration::from_millis(announced.as_millis() % Self::OWN_MILLIS);
        let queue_ends = announced + Self::GAP * Self::QUEUE;
        let ahead_from = before.ahead.first().map_or(queue_ends, |first| first.from);
        let stays = |change: &ValveChange| change.from < ahead_from.min(queue_ends).max(announced);
        (announced, self.0.partition_point(stays))
    }

    /// Whether a change is farther ahead than any order is, and nobody has announced it: the clock was set back since it was ordered.
    pub(crate) fn is_of_clock_ahead(&self, wanted: &WantedValve, now: Timestamp) -> bool {
        let first_wanted = wanted.ahead.first().map(|first| first.from);
        let is_far = |change: &&ValveChange| change.from > now + Self::FARTHEST;
        let far = self.0.iter().find(is_far);
        far.is_some_and(|far| first_wanted.is_none_or(|first| far.from < first))
    }

    /// The millisecond of a change that may be withdrawn.
    fn own(version: u64) -> u64 {
        1 + version % (Self::OWN_MILLIS - 1)
    }

    /// Adds a change from this instant on, or as soon as it can be after the last one. `own` is its millisecond.
    fn push(&mut self, from: Timestamp, valve: Valve, own: u64) {
        let Some(last) = self.last().filter(|last| last.valve != valve) else { return };
        self.0.push(ValveChange { from: Self::earliest(from, Some(&last), own), valve });
    }

    fn earliest(from: Timestamp, last: Option<&ValveChange>, own: u64) -> Timestamp {
        let earliest = last.map_or(from, |last| from.max(last.from + Self::GAP));
        let wait = (own + Self::OWN_MILLIS - earliest.as_millis() % Self::OWN_MILLIS) % Self::OWN_MILLIS;
        earliest + Duration::from_millis(wait)
    }

    fn forget_old(&mut self, now: Timestamp) {
        let past = self.0.partition_point(|change| change.from <= now).saturating_sub(1);
        let old = self.0[..past].partition_point(|change| now.since(change.from) > Self::KEPT);
        self.0.drain(..old.max(past.min(self.0.len().saturating_sub(Self::MOST))));
    }
}

stored_as_text!(ValveSchedule);

impl fmt::Display for ValveSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, change) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{}={}", change.from.as_millis(), change.valve)?;
        }
        Ok(())
    }
}

impl FromStr for ValveSchedule {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let changes = text.split_whitespace().map(|change| {
            let (from, valve) = change.split_once('=')?;
            let rate = |rate: &str| Rate::new(rate.parse().ok()?).ok();
            let valve = match (valve.strip_prefix("doors-"), valve.split_once('/')) {
                (Some(per_minute), _) => Valve::Doors(rate(per_minute)?),
                (None, Some((per_minute, stock))) => Valve::Limited(rate(per_minute)?, stock.parse().ok()?),
                (None, None) if valve == "closed" => Valve::Closed,
                (None, None) => Valve::Open(rate(valve)?),
            };
            Some(ValveChange { from: Timestamp::from_millis(from.parse().ok()?), valve })
        });
        let changes: Vec<_> = changes.collect::<Option<_>>().ok_or(Self::MALFORMED)?;
        let increasing = changes.is_sorted_by(|one, next| one.from < next.from);
        if increasing { Ok(Self(changes)) } else { Err(Self::MALFORMED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAD_TIME: Duration = ValveSchedule::LEAD_TIME_IN_ONE_PROCESS;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn open(rate: u32) -> Valve {
        Valve::Open(Rate::new(rate).unwrap())
    }

    /// Wants this valve, at this time.
    fn order(schedule: &mut ValveSchedule, now: u64, valve: Valve) {
        let wanted = |now| WantedValve { now, ahead: Vec::new() };
        schedule.set(&wanted(open(60)), &wanted(valve), now / 100, at(now), LEAD_TIME);
    }

    /// A room that is closed until this instant, or on for `None`.
    fn until(opens: Option<(u64, u32)>) -> WantedValve {
        let opening = opens.map(|(from, rate)| ValveChange { from: at(from), valve: open(rate) });
        let now = if opens.is_some() { Valve::Closed } else { open(60) };
        WantedValve { now, ahead: opening.into_iter().collect() }
    }

    #[test]
    fn a_change_holds_after_its_notice() {
        let mut schedule = ValveSchedule::default();
        assert_eq!((schedule.at(at(9)), schedule.last()), (None, None));
        order(&mut schedule, 5000, open(600));
        assert_eq!(schedule.to_string(), "0=60 6000=600");
        assert_eq!(schedule.at(at(5999)).unwrap().valve, open(60));
        assert_eq!(schedule.at(at(6000)).unwrap().valve, open(600));
        assert_eq!(schedule.after(at(0)), schedule.last());
        order(&mut schedule, 9000, open(600));
        assert_eq!(schedule.to_string(), "0=60 6000=600", "nothing has changed");
    }

    #[test]
    fn changes_in_quick_succession_hold_one_after_the_other() {
        let mut schedule = ValveSchedule::default();
        order(&mut schedule, 5000, open(600));
        order(&mut schedule, 5100, Valve::Closed);
        assert_eq!(schedule.to_string(), "0=60 6000=600 6500=closed");
        order(&mut schedule, 5200, open(600));
        assert_eq!(schedule.to_string(), "0=60 6000=600 6500=closed 7000=600");
        assert!(schedule.knows(at(0)) && schedule.knows(at(6500)) && !schedule.knows(at(6501)));
    }

    #[test]
    fn an_opening_is_replaced_by_one_with_another_instant() {
        let mut schedule = ValveSchedule::default();
        let (on, noon, faster) = (until(None), until(Some((90_000, 60))), until(Some((90_000, 600))));
        schedule.set(&on, &noon, 0, at(1000), LEAD_TIME);
        assert_eq!(schedule.to_string(), "0=60 2000=closed 90001=60");
        schedule.set(&noon, &faster, 1, at(30_000), LEAD_TIME);
        assert_eq!(schedule.to_string(), "0=60 2000=closed 90002=600");
        assert!(!schedule.knows(at(90_001)));
        schedule.set(&faster, &noon, 2, at(40_000), LEAD_TIME);
        assert_eq!(schedule.to_string(), "0=60 2000=closed 90003=60", "not that of the first one again");
        let paused = WantedValve { now: Valve::Closed, ahead: Vec::new() };
        schedule.set(&noon, &paused, 3, at(50_000), LEAD_TIME);
        assert_eq!(schedule.to_string(), "0=60 2000=closed");
    }

    #[test]
    fn a_change_never_gets_the_instant_of_an_opening_that_was_withdrawn() {
        for ordered in 89_900..90_200 {
            let mut schedule = ValveSchedule::default();
            schedule.set(&until(None), &until(Some((91_000, 600))), 7, at(1000), LEAD_TIME);
            let withdrawn = schedule.last().unwrap().from;
            schedule.set(&until(Some((91_000, 600))), &until(None), 8, at(2000), LEAD_TIME);
            order(&mut schedule, ordered, open(1));
            assert!(!schedule.knows(withdrawn), "{schedule}");
        }
    }

    #[test]
    fn an_opening_can_be_withdrawn_until_its_notice_begins() {
        let (paused, noon) =
            (WantedValve { now: Valve::Closed, ahead: Vec::new() }, until(Some((90_000, 60))));
        let faster = until(Some((90_000, 600)));
        let after = |wanted: &WantedValve, now| {
            let mut schedule = ValveSchedule::default();
            schedule.set(&paused, &noon, 0, at(1000), LEAD_TIME);
            schedule.set(&noon, wanted, 1, at(now), LEAD_TIME);
            schedule.to_string()
        };
        assert_eq!(after(&paused, 89_000), "0=closed");
        assert_eq!(after(&paused, 89_500), "0=closed 90001=60 90600=closed", "consumers act on it already");
        assert_eq!(after(&faster, 88_000), "0=closed 90002=600");
        assert_eq!(after(&faster, 89_500), "0=closed 90001=60 90600=600", "it is not closed in between");
    }

    #[test]
    fn an_end_follows_the_opening_and_both_move_together() {
        let ahead = |opens: u64, ends: u64| {
            let mut wanted = until(Some((opens, 60)));
            wanted.ahead.push(ValveChange { from: at(ends), valve: Valve::Closed });
            wanted
        };
        let mut schedule = ValveSchedule::default();
        let (noon, later) = (ahead(90_000, 120_000), ahead(100_000, 120_000));
        schedule.set(&until(None), &noon, 0, at(1000), LEAD_TIME);
        assert_eq!(schedule.to_string(), "0=60 2000=closed 90001=60 120001=closed");
        schedule.set(&noon, &later, 1, at(2000), LEAD_TIME);
        assert_eq!(schedule.to_string(), "0=60 2000=closed 100002=60 120002=closed");
        schedule.set(&later, &until(None), 2, at(119_500), LEAD_TIME);
        assert_eq!(
            schedule.to_string(),
            "0=60 2000=closed 100002=60 120002=closed 120600=60",
            "it is too late"
        );
    }

    #[test]
    fn an_opening_right_after_an_order_holds_after_that_order() {
        let mut schedule = ValveSchedule::default();
        schedule.set(&until(None), &until(Some((6100, 60))), 0, at(5000), LEAD_TIME);
        assert_eq!(schedule.to_string(), "0=60 6000=closed 6501=60");
        let mut schedule = ValveSchedule::default();
        schedule.set(&until(None), &until(Some((5100, 600))), 0, at(5000), LEAD_TIME);
        assert_eq!(schedule.to_string(), "0=60 6000=600", "it would be closed for no time");
    }

    #[test]
    fn after_the_clock_was_set_back_a_change_is_in_force_as_soon_as_any() {
        let mut schedule = ValveSchedule::default();
        order(&mut schedule, 9_000_000, open(600));
        // The one in force before it is forgotten.
        order(&mut schedule, 9_600_000, Valve::Closed);
        order(&mut schedule, 9_960_000, open(60));
        assert_eq!(schedule.to_string(), "9601000=closed 9961000=60");
        order(&mut schedule, 5000, Valve::Closed);
        assert_eq!(
            (schedule.at(at(6051)).unwrap().valve, schedule.last().unwrap().from),
            (Valve::Closed, at(6051))
        );
    }

    #[test]
    fn a_thousand_changes_stay_few_and_the_one_in_force_is_kept() {
        let mut schedule = ValveSchedule::default();
        for change in 0..1000 {
            let now = 1_000_000 + 300 * change;
            order(&mut schedule, now, open(60 + u32::try_from(change).unwrap()));
            assert!(schedule.0.len() <= ValveSchedule::MOST + 20, "{schedule}");
            assert!(schedule.at(at(now)).is_some());
            assert!(schedule.last().unwrap().from <= at(now) + LEAD_TIME + Duration::from_secs(10));
        }
        order(&mut schedule, 10_000_000, Valve::Closed);
        assert_eq!(schedule.0.len(), 2, "{schedule}");
    }

    #[test]
    fn schedules_are_displayed_and_parsed() {
        for text in ["", "0=60", "0=60 17=closed 18=270000 19=doors-5", "0=60 5=60/5000/17 6=70/5000/17"] {
            assert_eq!(text.parse::<ValveSchedule>().unwrap().to_string(), text);
        }
        for wrong in [
            "60",
            "0=",
            "=60",
            "0=0",
            "0=open",
            "0=doors-",
            "0=doors-0",
            "5=60 5=70",
            "-1=60",
            "0=60/5000",
            "0=60/0/1",
        ] {
            assert_eq!(wrong.parse::<ValveSchedule>(), Err(ValveSchedule::MALFORMED), "{wrong}");
        }
    }
}
