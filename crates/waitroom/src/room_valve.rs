//! How a room's valve comes into force: what the room wants of it, now and at each instant ahead, and how every change of the room
//! schedules that.

use std::time::Duration;

use crate::valve::WantedValve;
use crate::{Extra, Room, Standing, Timestamp, Valve, ValveChange};

impl Room {
    /// What the state, the rate and the throttle allow, once everybody knows of it.
    pub fn valve(&self) -> Valve {
        match self.releases() {
            true if !self.quiet => self.valve_in(&self.standing()),
            // Whoever goes straight in comes.
            true if self.lets_straight_in() => Valve::Doors(self.shop_rate()),
            _ => Valve::Closed,
        }
    }

    /// What the valve is once the room stands so, and somebody may wait.
    fn valve_in(&self, standing: &Standing) -> Valve {
        let rate = standing.extra.map_or(self.rate(), |extra| self.rate().plus(extra.visitors.get()));
        match standing.stock {
            _ if !standing.state.switches().releases => Valve::Closed,
            Some(stock) => Valve::Limited(rate, stock),
            None => Valve::Open(rate),
        }
    }

    /// The change of the valve that is in force at `now`.
    pub fn valve_at(&self, now: Timestamp) -> ValveChange {
        let unchanged = ValveChange { from: Timestamp::default(), valve: self.valve() };
        self.valves.at(now).unwrap_or(unchanged)
    }

    /// What this room wants of its valve from now on.
    fn wanted_valve(&self) -> WantedValve {
        let now = self.valve();
        let mut last = now;
        let mut ahead = Vec::new();
        let standing = self.standing();
        // Nobody is released beyond the rate while nobody waits.
        let standing = Standing { extra: standing.extra.filter(|_| !self.quiet), ..standing };
        for (from, standing) in standing.follows() {
            let valve = self.valve_in(&standing);
            if valve != last {
                ahead.push(ValveChange { from, valve });
            }
            last = valve;
        }
        WantedValve { now, ahead }
    }

    /// What it wants if its extra release begins at this instant, until which the valve stays as it is. The change to more is ahead as
    /// the one back is, so the time between them is exact. A room that ends before releases nobody more.
    fn wanted_from(&mut self, from: Timestamp, now: Valve) -> WantedValve {
        let wanted = self.wanted_valve();
        if wanted.ahead.first().is_some_and(|first| first.from <= from) {
            self.extra = None;
            return self.wanted_valve();
        }
        let more = ValveChange { from, valve: wanted.now };
        WantedValve { now, ahead: std::iter::once(more).chain(wanted.ahead).collect() }
    }

    /// This room after a change: of the next version, and with what it wants of its valve in force after `lead_time`. Stores make
    /// every change by it, a reset too, from the room [at](Self::at) `now`.
    #[must_use]
    pub fn changed(&self, now: Timestamp, lead_time: Duration, change: impl FnOnce(&mut Self)) -> Self {
        let mut after = self.clone();
        change(&mut after);
        after.version = self.version.saturating_add(1);
        after.epoch_began = after.epoch_began.map(|began| began.min(now));
        after.schedule_valve(self, now, lead_time);
        after
    }

    /// Whether the change from `before` made no difference.
    pub fn is_unchanged(&self, before: &Self) -> bool {
        *self == Self { version: self.version, ..before.clone() }
    }

    /// Schedules what [`Self::valve`] says now, in force after `lead_time`, and what is ahead. `before` is the room before
    /// it was changed.
    ///
    /// An order of the operator wakes the room, so that it always says from when it is in force. Another rate doesn't wake a room
    /// that lets newcomers straight in: its doors let them in at that rate, and one that observes holds nobody up.
    ///
    /// A new epoch moves an opening that is ahead to another millisecond: whom its plan lets in then counts in that epoch.
    fn schedule_valve(&mut self, before: &Self, now: Timestamp, lead_time: Duration) {
        self.settle(now);
        let needs_no_line = self.lets_straight_in() || self.observes();
        let changes_rate =
            self.settings.rate != before.settings.rate || self.extra.as_ref().is_some_and(Extra::is_ordered);
        if (changes_rate && !needs_no_line) || self.state != before.state {
            self.quiet = false;
        }
        if self.settings.rate != before.settings.rate {
            self.highest_rate = Some(before.highest_rate().max(self.settings.rate));
        }
        // The plan of the opening may have been written, and all plans so far are of the epoch before.
        let is_to_open_anew = self.opens.is_some() && self.epoch != before.epoch;
        let before = before.wanted_valve();
        let wanted = match self.extra.filter(Extra::is_ordered) {
            Some(extra) => {
                let from = self.valves.next_change(&before, self.version, now, lead_time);
                self.extra = Some(extra.begun(from));
                self.wanted_from(from, before.now)
            }
            None => self.wanted_valve(),
        };
        if wanted != before || is_to_open_anew || self.valves.is_of_clock_ahead(&wanted, now) {
            self.valves.set(&before, &wanted, self.version, now, lead_time);
        }
    }

    /// Whether the room was changed by a clock that was ahead, and is set back now: what was ordered then would be in force only once it
    /// says that time again. Any change puts that right.
    pub fn is_of_clock_ahead(&self, now: Timestamp) -> bool {
        self.epoch_began.is_some_and(|began| began > now)
            || self.valves.is_of_clock_ahead(&self.wanted_valve(), now)
    }

    /// From when what is released changes: the first change of the valve that the room `before` did not have.
    pub fn changes_valve_from(&self, before: &Self) -> Option<Timestamp> {
        self.valves.first_not_in(&before.valves).map(|change| change.from)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fixture::room;
    use crate::{Mode, Rate, RoomState, Stretch, ValveSchedule};

    const LEAD_TIME: Duration = ValveSchedule::LEAD_TIME_IN_ONE_PROCESS;
    const OPENS: Timestamp = Timestamp::from_millis(600_000);

    /// A change of a room at 50 s, as stores make it.
    fn change(room: &mut Room, change: impl FnOnce(&mut Room)) {
        *room = room.changed(Timestamp::from_millis(50_000), LEAD_TIME, change);
    }

    #[test]
    fn the_valve_follows_the_state_and_the_rate_in_force() {
        let mut room = room(100);
        let rate = |per_minute| Valve::Open(Rate::new(per_minute).unwrap());
        assert_eq!(room.valve(), rate(100));
        room.throttled = Some(Rate::new(50).unwrap());
        assert_eq!(room.valve(), rate(50));
        room.settings.rate = Rate::new(20).unwrap();
        assert_eq!(room.valve(), rate(20), "the operator's rate may be lower than the throttle's");
        for closed in [RoomState::Paused, RoomState::ClosedPaused, RoomState::Ended, RoomState::Off] {
            room.state = closed;
            assert_eq!(room.valve(), Valve::Closed);
        }
    }

    #[test]
    fn a_quiet_room_is_closed_until_it_is_woken() {
        let mut room = room(100);
        let quiet = |room: &mut Room| room.quiet = true;
        change(&mut room, quiet);
        assert_eq!(
            (room.valve(), room.rate().get()),
            (Valve::Closed, 100),
            "the operator sees the usual rate"
        );
        change(&mut room, |room| room.quiet = false);
        assert_eq!(room.valve(), Valve::Open(Rate::new(100).unwrap()));
        assert_eq!(room.valves.to_string(), "0=100 51000=closed 51500=100");
        for order in [&(|room: &mut Room| room.settings.rate = Rate::MIN) as &dyn Fn(&mut Room), &|room| {
            room.turn(RoomState::Paused);
        }] {
            change(&mut room, quiet);
            change(&mut room, order);
            assert!(!room.quiet, "an order wakes the room");
        }
        change(&mut room, |room| room.turn(RoomState::On));
        change(&mut room, quiet);
        change(&mut room, |room| room.throttled = Some(Rate::MIN));
        assert!(room.quiet, "the throttle does not");
    }

    #[test]
    fn where_nobody_waits_the_doors_are_open_until_a_line_forms() {
        let mut room = room(100);
        room.settings.mode = Mode::Overflow;
        assert_eq!(room.valve(), Valve::Open(Rate::new(100).unwrap()), "somebody may wait");
        change(&mut room, |room| room.set_quiet(true));
        assert_eq!(room.valves.to_string(), "0=100 51000=doors-100");
        assert!(!room.is_woken_by_join(false) && room.is_woken_by_join(true));
        change(&mut room, |room| room.settings.rate = Rate::MIN);
        assert_eq!(room.valves.to_string(), "0=100 51000=doors-100 51500=doors-1", "it stays as it is");
        change(&mut room, |room| room.settings.mode = Mode::Line);
        assert_eq!(room.valve(), Valve::Closed, "the first visitor wakes it");
        assert!(room.is_woken_by_join(false));
        change(&mut room, |room| room.settings.mode = Mode::Overflow);
        change(&mut room, |room| room.turn(RoomState::Paused));
        assert_eq!((room.valve(), room.quiet), (Valve::Closed, false));
        change(&mut room, |room| room.set_quiet(true));
        assert!(!room.quiet, "it was found so before the pause, and somebody may wait");
        change(&mut room, |room| room.turn(RoomState::On));
        assert_eq!(room.valve(), Valve::Open(Rate::MIN), "some may have joined meanwhile");
        change(&mut room, |room| room.set_quiet(true));
        room.turn(RoomState::Closed);
        assert_eq!(room.valve(), Valve::Closed, "newcomers are turned away");
    }

    #[test]
    fn the_highest_rate_is_kept() {
        let (mut room, lead_time) = (room(100), LEAD_TIME);
        for (rate, highest) in [(60, 100), (600, 600), (30, 600)] {
            let before = room.clone();
            room.settings.rate = Rate::new(rate).unwrap();
            room.schedule_valve(&before, Timestamp::default(), lead_time);
            assert_eq!(room.highest_rate().get(), highest);
        }
    }

    #[test]
    fn a_change_of_the_valve_is_scheduled_and_other_changes_are_not() {
        let (mut room, now, lead_time) = (room(100), Timestamp::from_millis(50_000), LEAD_TIME);
        assert_eq!(room.valve_at(now).valve, room.valve());
        let before = room.clone();
        room.stretch = Stretch::MAX;
        room.schedule_valve(&before, now, lead_time);
        assert_eq!(room.valves, ValveSchedule::default());
        room.state = RoomState::Paused;
        room.schedule_valve(&before, now, lead_time);
        assert_eq!(room.valves.to_string(), "0=100 51000=closed");
        assert_eq!(room.valve_at(now).valve, before.valve());
        assert_eq!(room.valve_at(now + lead_time).valve, Valve::Closed);
    }

    #[test]
    fn after_the_clock_was_set_back_any_change_puts_in_force_what_was_ordered() {
        let mut room = room(100);
        change(&mut room, |room| room.turn(RoomState::Paused));
        let later = Timestamp::from_millis(7_000_000);
        room = room.changed(later, LEAD_TIME, |room| room.turn(RoomState::On));
        room = room.changed(later, LEAD_TIME, |room| room.ends = Some(later + 2 * Duration::from_hours(1)));
        let now = Timestamp::from_millis(60_000);
        assert_eq!(room.valve_at(now).valve, Valve::Closed, "as it was then");
        assert!(room.is_of_clock_ahead(now) && !room.is_of_clock_ahead(later));
        room = room.changed(now, LEAD_TIME, |room| room.turn(RoomState::On));
        assert_eq!(room.valve_at(now + LEAD_TIME + Duration::from_millis(100)).valve, room.valve());
        assert_eq!(room.valves.last().unwrap().valve, Valve::Closed, "it still ends");
        let again = room.changed(now, LEAD_TIME, |room| room.stretch = Stretch::MAX);
        assert_eq!(again.valves, room.valves);
        assert!(!room.is_of_clock_ahead(now));
        room = room.changed(later, LEAD_TIME, |room| room.start_epoch("cd34".parse().unwrap(), later));
        assert!(room.is_of_clock_ahead(now));
        room = room.changed(now, LEAD_TIME, |_| ());
        assert_eq!((room.is_of_clock_ahead(now), room.epoch_began), (false, Some(now)));
    }

    #[test]
    fn a_release_that_was_over_does_not_come_again_when_the_clock_is_set_back() {
        let mut room = room(100);
        let ahead = Timestamp::from_millis(7_000_000);
        room = room.changed(ahead, LEAD_TIME, |room| room.release_more(500.try_into().unwrap()));
        let now = Timestamp::from_millis(60_000);
        assert!(room.is_of_clock_ahead(now));
        room = room.changed(now, LEAD_TIME, |_| ());
        assert_eq!((room.extra, room.is_of_clock_ahead(now)), (None, false));
        let in_force = room.valve_at(now + LEAD_TIME + Duration::from_millis(100)).valve;
        assert_eq!(in_force, Valve::Open(room.settings.rate));

        // Whoever's clock is a little ahead of others loses none.
        let soon = now + Duration::from_secs(20);
        room = room.changed(soon, LEAD_TIME, |room| room.release_more(500.try_into().unwrap()));
        let extra = room.extra;
        room = room.changed(now, LEAD_TIME, |room| room.stretch = Stretch::MAX);
        assert_eq!((room.extra, extra.is_some()), (extra, true));
    }

    #[test]
    fn a_room_that_was_to_open_is_on() {
        let mut room = room(100);
        change(&mut room, |room| room.open_at(OPENS));
        assert_eq!(room.valves.to_string(), "0=100 51000=closed 600002=100");
        let room = Arc::new(room);
        assert_eq!(room.clone().at(OPENS - Duration::from_millis(1)), room);
        let open = room.clone().at(OPENS);
        assert_eq!((open.state, open.opens), (RoomState::On, None));
        assert_eq!((&open.valves, open.version), (&room.valves, room.version));
        assert_eq!(open.wanted_valve().now, open.valve_at(OPENS + Duration::from_secs(1)).valve);
    }

    #[test]
    fn an_opening_has_the_rate_in_force_however_often_that_changes() {
        let mut room = room(100);
        change(&mut room, |room| room.open_at(OPENS));
        change(&mut room, |room| room.settings.rate = Rate::new(600).unwrap());
        assert_eq!(room.valves.to_string(), "0=100 51000=closed 600003=600");
        change(&mut room, |room| room.throttled = Rate::new(300).ok());
        assert_eq!(room.valves.to_string(), "0=100 51000=closed 600004=300");
        change(&mut room, |room| room.stretch = Stretch::MAX);
        assert_eq!(room.valves.to_string(), "0=100 51000=closed 600004=300", "nothing else moves it");
    }

    /// The states and the opening ahead, with the order that leads there.
    const BEGINS: [fn(&mut Room); 4] = [
        |room| room.turn(RoomState::On),
        |room| room.turn(RoomState::Paused),
        |room| room.open_at(OPENS),
        |room| room.turn(RoomState::Off),
    ];

    /// The state with the opening, and whether it takes newcomers, releases, and lets everybody through.
    fn shown(room: &Room) -> String {
        assert_eq!(room.valve() != Valve::Closed, room.releases());
        let opens = room.opens.map_or(String::new(), |opens| format!(" until {}", opens.as_millis()));
        let yes = |switch| if switch { "yes" } else { "no" };
        let (joins, releases) = (yes(room.takes_newcomers()), yes(room.releases()));
        format!("{}{opens}: {joins} {releases} {}", room.state, yes(room.lets_everybody_through()))
    }

    #[test]
    fn every_order_leads_from_every_state_to_the_same_one() {
        let [on, paused, ahead, off] = BEGINS;
        let past: fn(&mut Room) = |room| room.open_at(Timestamp::from_millis(49_999));
        let (open, closed) = ("", "0=100 51000=closed");
        let (again, withdrawn) = ("0=100 51000=closed 51500=100", "0=100 51000=closed 51503=100");
        let opening = "0=100 51000=closed 600003=100";
        for (order, expected, valves) in [
            (on, "on: yes yes no", [open, again, withdrawn, again]),
            (paused, "paused: yes no no", [closed; 4]),
            (
                ahead,
                "paused until 600000: yes no no",
                [opening, opening, "0=100 51000=closed 600002=100", opening],
            ),
            (past, "on: yes yes no", [open, again, withdrawn, again]),
            (off, "off: no no yes", [closed; 4]),
        ] {
            for (begin, valves) in BEGINS.into_iter().zip(valves) {
                let mut room = room(100);
                change(&mut room, begin);
                change(&mut room, order);
                assert_eq!((&*shown(&room), &*room.valves.to_string()), (expected, valves));
                change(&mut room, |room| room.stretch = Stretch::MAX);
                assert_eq!((&*shown(&room), &*room.valves.to_string()), (expected, valves), "no other order");
                // Only an opening ahead leads to another state by itself.
                let opened = if room.opens.is_some() { "on: yes yes no" } else { expected };
                assert_eq!(shown(&Arc::new(room).at(OPENS)), opened);
            }
        }
    }

    #[test]
    fn a_change_that_makes_no_difference_is_one_in_its_version_alone() {
        let room = room(100);
        let change = |change: fn(&mut Room)| room.changed(Timestamp::default(), LEAD_TIME, change);
        let same = change(|room| room.stretch = Stretch::USUAL);
        assert_eq!((same.version, same.is_unchanged(&room)), (1, true));
        assert!(!change(|room| room.stretch = Stretch::MAX).is_unchanged(&room));
    }

    #[test]
    fn a_quiet_room_opens_at_the_full_rate() {
        let mut room = room(100);
        change(&mut room, |room| room.settings.rate = Rate::new(3300).unwrap());
        change(&mut room, |room| room.quiet = true);
        change(&mut room, |room| room.open_at(OPENS));
        assert!(!room.quiet);
        assert_eq!(room.valves.last().unwrap().valve, Valve::Open(Rate::new(3300).unwrap()));
        change(&mut room, |room| room.quiet = true);
        assert!(!room.quiet, "not before it has opened");
    }

    #[test]
    fn a_change_is_in_force_from_its_first_new_valve_on() {
        let mut room = room(100);
        let in_force = |room: &mut Room, order: &dyn Fn(&mut Room)| {
            let before = room.clone();
            change(room, order);
            room.changes_valve_from(&before).map(Timestamp::as_millis)
        };
        assert_eq!(in_force(&mut room, &|room| room.open_at(OPENS)), Some(51_000));
        let faster = Rate::new(600).unwrap();
        assert_eq!(in_force(&mut room, &|room| room.settings.rate = faster), Some(600_003));
        assert_eq!(in_force(&mut room, &|room| room.turn(RoomState::Paused)), None);
    }
}
