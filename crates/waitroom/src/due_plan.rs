//! Which plan is due.
//!
//! When the next change of the valve holds, the window ends there, and the next plan begins. By then the window may have
//! released up to a batch for each slice more than the time that has passed allows. The next plan makes up for that: it
//! begins to release a little later. So over any time, no more are released than the rate allows and one batch for each
//! slice, however often the rate changes. A time in which nobody is released makes up for it just as well.

use std::time::Duration;

use crate::ports::PlanRecord;
use crate::time::millis;
use crate::{Plan, Rate, Room, Slice, Timestamp, Valve, ValveChange, Window};

impl Plan {
    /// The plan that is due at `now`, if one is. `recent` are the latest plans, newest first. `minute` is the time that
    /// the rate is meant for.
    ///
    /// A plan is due when the valve has changed, or is about to, since the newest plan was made. Without a change, it is
    /// due when the newest window ends within `horizon`. After writing it, another may be due.
    pub fn due(
        recent: &[PlanRecord],
        room: &Room,
        now: Timestamp,
        minute: Duration,
        horizon: Duration,
    ) -> Option<Self> {
        let number = recent.first().map_or(1, |newest| newest.plan.number + 1);
        let has_right_clock = |plan: &Self| !plan.window.is_of_wrong_clock(plan.valve_from, now, minute);
        let recent: Vec<_> = recent.iter().filter(|record| has_right_clock(&record.plan)).collect();
        let planned = recent.iter().flat_map(|record| [record.plan.valve_from, record.plan.planned_before]);
        let planned_before = planned.filter(|from| room.valves.knows(*from)).max().unwrap_or_default();
        let made = |plan: Self| Some(Self { made_at: now, planned_before, ..plan });
        // What a plan that never began was to make up for is still to be made up for. A plan that follows another leaves it to
        // that one.
        let still_ahead = || {
            let first = recent.iter().map(|record| record.plan).find(Self::is_first_of_its_change);
            first.map_or(HeadStart::default(), |first| first.ahead_before())
        };
        // A plan for a change that was withdrawn releases nobody.
        let known: Vec<_> =
            recent.iter().filter(|record| room.valves.knows(record.plan.valve_from)).collect();
        let Some(newest) = known.first().map(|record| record.plan) else {
            // One that was made later than now, by a clock that was ahead, says nothing of the changes before.
            let sure = |last: &Self| Some(last.made_at).filter(|made| *made <= now + minute / 60);
            let after = recent.first().map(|last| sure(&last.plan).unwrap_or_default().max(planned_before));
            let (change, rate) = next_open(room, after, now, minute)?;
            let start = change.from.max(now);
            return made(Self::starting(number, change, rate, still_ahead(), start, now, minute));
        };
        // An end ahead changes nothing before the window that it ends.
        let next =
            room.valves.after(newest.valve_from).filter(|next| next.from <= newest.window.end.max(now));
        let Some(next) = next else {
            let valve = room.valve_at(newest.valve_from.max(now)).valve;
            let rate = valve.rate()?;
            if newest.window.end.since(now) > horizon {
                return None;
            }
            let end = newest.window.end;
            let ahead = newest.ahead_at(end, newest.releases_before(end, minute), minute);
            let start = end.max(now);
            let change = ValveChange { from: newest.valve_from, valve };
            // Regular runs say when windows end. If a run after an order did, the next window would end before the regular run, and
            // nobody would be released until that.
            let is_regular = horizon > minute / 2;
            let grid = if is_regular { now } else { end };
            return made(Self::starting(number, change, rate, ahead, start, grid, minute));
        };
        let (change, rate) = next_open(room, Some(newest.valve_from), now, minute)?;
        let start = change.from.max(now);
        // The plan that was stopped may be older than those that are known. Then the last plan was made when it was not.
        let stopped = known.iter().find(|record| record.plan.window.start <= next.from);
        let ahead = stopped.map_or_else(still_ahead, |record| {
            if record.plan.needs_permits {
                return record.plan.ahead_after_doors(next.from, minute);
            }
            let (plan, end) = (record.plan, next.from.min(record.plan.window.end));
            // Its slices have said what they did two seconds after it is over: they notice that within one. A room that was quiet
            // or paused in between makes nobody wait for that.
            let notice = if next.valve == Valve::Closed { Duration::ZERO } else { minute / 30 };
            let found_nobody = end + notice <= now && record.released == 0 && record.lowest.is_none();
            plan.ahead_at(end, if found_nobody { 0 } else { plan.releases_before(end, minute) }, minute)
        });
        made(Self::starting(number, change, rate, ahead, start, newest.window.end, minute))
    }

    /// `ahead` is what the windows before were. The window ends a number of minutes before or after `grid`, so that windows
    /// end when the trigger runs.
    fn starting(
        number: u64,
        change: ValveChange,
        rate: Rate,
        ahead: HeadStart,
        start: Timestamp,
        grid: Timestamp,
        minute: Duration,
    ) -> Self {
        let needs_permits = matches!(change.valve, Valve::Doors(_));
        let made_up = ahead.at + ahead.made_up_in(rate);
        let (even_from, ahead) = if needs_permits {
            // Permits are never ahead of the rate, and begin with none. What the windows before were is left to those after.
            (start, made_up.since(start))
        } else {
            (made_up, ahead.made_up_in(rate))
        };
        let begins = even_from.clamp(start, start + minute);
        let earliest_end = begins + minute / 2;
        let a_minute = millis(minute).max(1);
        let minutes = |count: u64| minute * u32::try_from(count).unwrap_or(u32::MAX);
        let end = if earliest_end > grid {
            grid + minutes(millis(earliest_end.since(grid)).div_ceil(a_minute))
        } else {
            grid - minutes(millis(grid.since(earliest_end)) / a_minute)
        };
        let quota = u64::from(rate.get()) * millis(end.since(begins));
        Self {
            number,
            window: Window { start, end },
            // May be before the window: an opening ahead may be withdrawn, and another plan begin sooner.
            releases_from: even_from,
            ahead: millis(ahead),
            rate,
            // At most one and a half times the highest rate, which fits a u32.
            quota: u32::try_from(quota.div_ceil(a_minute)).unwrap_or(u32::MAX),
            valve_from: change.from,
            needs_permits,
            made_at: Timestamp::default(),
            planned_before: Timestamp::default(),
        }
    }

    fn is_first_of_its_change(&self) -> bool {
        self.window.start <= self.valve_from.max(self.made_at)
    }

    /// How many this plan releases before `at`.
    fn releases_before(&self, at: Timestamp, minute: Duration) -> u64 {
        let by_slice = |slice: Slice| -> u64 {
            let due = (0..slice.batches()).take_while(|n| slice.release_time(*n) < at);
            due.map(|n| u64::from(slice.size(n))).sum()
        };
        self.slices(minute).map(by_slice).sum()
    }

    /// How far the windows before this one were ahead.
    fn ahead_before(&self) -> HeadStart {
        let ahead = Duration::from_millis(self.ahead);
        HeadStart { at: self.releases_from - ahead, owed: u64::from(self.rate.get()) * self.ahead }
    }

    /// How far the windows before this one are still ahead when newcomers no longer go straight in. The doors may have let in as
    /// many as the rate allows. After a minute it's forgotten: no minute then has the batches of both lines.
    fn ahead_after_doors(&self, closed: Timestamp, minute: Duration) -> HeadStart {
        let is_over = closed.since(self.valve_from) >= minute;
        HeadStart { at: closed, owed: if is_over { 0 } else { u64::from(self.rate.get()) * self.ahead } }
    }

    /// How far this window is ahead, with those before it, if it ends at `at` and has released so many.
    fn ahead_at(&self, at: Timestamp, released: u64, minute: Duration) -> HeadStart {
        let begun = self.releases_from.max(self.window.start);
        let allowed = u64::from(self.rate.get()) * millis(at.since(begun));
        // The plan has not begun to release, because the window before it was ahead.
        let still_ahead = u64::from(self.rate.get()) * millis(self.releases_from.since(at));
        HeadStart { at, owed: (released * millis(minute) + still_ahead).saturating_sub(allowed) }
    }
}

/// What windows have released by `at` above what their rates allow, in visitors times the milliseconds of a minute.
#[derive(Clone, Copy, Debug, Default)]
struct HeadStart {
    at: Timestamp,
    owed: u64,
}

impl HeadStart {
    /// How long releasing nobody at this rate makes up for it.
    fn made_up_in(self, rate: Rate) -> Duration {
        Duration::from_millis(self.owed.div_ceil(u64::from(rate.get())))
    }
}

/// The change to plan for, and its rate: the one in force if it is later than `after`, otherwise the next that
/// opens within the next two and a half minutes. So one regular run may fail before an opening, and the next may be late.
fn next_open(
    room: &Room,
    after: Option<Timestamp>,
    now: Timestamp,
    minute: Duration,
) -> Option<(ValveChange, Rate)> {
    let in_force = room.valve_at(now);
    let is_new = |change: &ValveChange| after.is_none_or(|after| change.from > after);
    let to_come = room.valves.all_after(in_force.from).filter(|change| change.from <= now + minute * 5 / 2);
    Some(in_force)
        .into_iter()
        .chain(to_come)
        .filter(is_new)
        .find_map(|change| Some((change, change.valve.rate()?)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::fixture::{MINUTE, complete, releases, room};
    use crate::{Mode, RoomState, ValveSchedule};

    /// Of a regular run.
    const HORIZON: Duration = Duration::from_secs(55);
    /// Of a run after a change.
    const SOON: Duration = Duration::from_secs(5);
    const LEAD_TIME: Duration = ValveSchedule::LEAD_TIME_IN_ONE_PROCESS;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn order(room: &mut Room, now: Timestamp, change: impl FnOnce(&mut Room)) {
        // As stores do.
        *room = Room::clone(&Arc::new(room.clone()).at(now));
        *room = room.changed(now, LEAD_TIME, change);
    }

    fn set_rate(rate: u32) -> impl FnOnce(&mut Room) {
        move |room| room.settings.rate = Rate::new(rate).unwrap()
    }

    #[test]
    fn windows_follow_each_other_until_an_end_ahead_and_not_beyond() {
        let mut room = room(600);
        let ends = at(400_000);
        order(&mut room, at(10_000), |room| room.ends = Some(ends));
        let mut plans = Vec::new();
        for minute in 1..12 {
            let due = Plan::due(&complete(plans.iter().rev()), &room, at(minute * 60_000), MINUTE, HORIZON);
            plans.extend(due);
        }
        let starts: Vec<_> = plans.iter().map(|plan| plan.window.start.as_millis()).collect();
        assert_eq!(starts, [60_000, 120_000, 180_000, 240_000, 300_000, 360_000], "{plans:?}");
        // Who opens it again gets the next plan.
        order(&mut room, at(800_000), |room| room.turn(RoomState::On));
        let on = Plan::due(&complete(plans.iter().rev()), &room, at(801_000), MINUTE, SOON).unwrap();
        assert_eq!(on.window.start, at(801_000));
    }

    #[test]
    fn windows_do_not_overlap_and_never_begin_in_the_past() {
        let room = room(60);
        let next = |last: &Plan, now| Plan::due(&complete([last]), &room, at(now), MINUTE, HORIZON);
        let first = Plan::due(&[], &room, at(5_000), MINUTE, HORIZON).unwrap();
        assert_eq!(first.window, Window { start: at(5_000), end: at(65_000) });
        assert_eq!((first.number, first.quota), (1, 60));
        assert_eq!(next(&first, 9_000), None, "more than 55 seconds are left");
        let early = next(&first, 60_000).unwrap();
        assert_eq!((early.number, early.window), (2, Window { start: at(65_000), end: at(120_000) }));
        assert_eq!(early.quota, 55);
        let late = next(&first, 99_000).unwrap();
        assert_eq!((late.number, late.window), (2, Window { start: at(99_000), end: at(159_000) }));
    }

    #[test]
    fn a_plan_from_a_wrong_clock_is_replaced() {
        let room = room(60);
        let ahead = Plan::due(&[], &room, at(9_000_000), MINUTE, HORIZON).unwrap();
        let now = at(1_000_000);
        let replacement = Plan::due(&complete([&ahead]), &room, now, MINUTE, HORIZON).unwrap();
        assert_eq!((replacement.number, replacement.window.start), (2, now));
        assert_eq!(Plan::due(&complete([&replacement, &ahead]), &room, now, MINUTE, HORIZON), None);
    }

    #[test]
    fn a_change_that_a_wrong_clock_planned_first_is_no_reason_to_wait() {
        let mut room = room(60);
        order(&mut room, at(9_000_000), set_rate(600));
        let ahead = Plan::due(&[], &room, at(9_001_000), MINUTE, HORIZON).unwrap();
        assert_eq!(ahead.window.start, ahead.valve_from);
        let now = at(1_000_000);
        let replacement = Plan::due(&complete([&ahead]), &room, now, MINUTE, HORIZON).unwrap();
        assert_eq!((replacement.window.start, replacement.rate.get()), (now, 60));
    }

    #[test]
    fn an_order_after_the_clock_was_set_back_has_a_plan() {
        let mut room = room(60);
        let first = Plan::due(&[], &room, at(280_000), MINUTE, HORIZON).unwrap();
        order(&mut room, at(300_000), set_rate(600));
        let ahead = Plan::due(&complete([&first]), &room, at(300_010), MINUTE, SOON).unwrap();
        order(&mut room, at(200_000), set_rate(1200));
        assert!(!room.valves.knows(ahead.valve_from));
        let next = Plan::due(&complete([&ahead]), &room, at(200_010), MINUTE, SOON).unwrap();
        assert_eq!((next.window.start, next.rate.get()), (room.valves.last().unwrap().from, 1200));
    }

    #[test]
    fn a_changed_rate_begins_a_new_window_when_it_holds() {
        let mut room = room(60);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(19_000), set_rate(600));
        let second = Plan::due(&complete([&first]), &room, at(19_010), MINUTE, HORIZON).unwrap();
        // By second 20, the first window has released 20 visitors, which is exactly what its rate allows.
        assert_eq!(second.window, Window { start: at(20_000), end: at(60_000) });
        assert_eq!(
            (second.number, second.valve_from, second.rate.get(), second.quota),
            (2, at(20_000), 600, 400)
        );
        assert_eq!(second.slices(MINUTE).map(|slice| slice.batches()).collect::<Vec<_>>(), [40]);
        assert_eq!(Plan::due(&complete([&second, &first]), &room, at(21_000), MINUTE, SOON), None);
        // Late in a window, the new one lasts until the end of the next minute.
        order(&mut room, at(44_000), set_rate(3000));
        let third = Plan::due(&complete([&second, &first]), &room, at(44_010), MINUTE, HORIZON).unwrap();
        assert_eq!((third.window.start, third.window.end), (at(45_000), at(120_000)));
        assert_eq!(third.quota, 3750);
        assert_eq!(third.slices(MINUTE).map(|slice| slice.batches()).collect::<Vec<_>>(), [125, 125, 125]);
    }

    #[test]
    fn a_window_that_was_ahead_delays_the_next_one() {
        let mut room = room(60);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(20_000), set_rate(120));
        let second = Plan::due(&complete([&first]), &room, at(20_010), MINUTE, HORIZON).unwrap();
        // By second 21, 30 visitors were released and 21 are allowed: nine too many, which the new rate makes up in 4.5 s.
        assert_eq!((second.window.start, second.releases_from), (at(21_000), at(25_500)));
        order(&mut room, at(22_000), set_rate(60));
        let third = Plan::due(&complete([&second, &first]), &room, at(22_010), MINUTE, HORIZON).unwrap();
        // Two seconds at 120 a minute allow four of the nine.
        assert_eq!((third.window.start, third.releases_from), (at(23_000), at(28_000)));
    }

    #[test]
    fn a_paused_room_has_no_plan_and_the_next_one_begins_with_the_order() {
        let mut room = room(600);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(10_000), |room| room.state = RoomState::Paused);
        for now in [10_000, 11_000, 60_000, 600_000] {
            assert_eq!(Plan::due(&complete([&first]), &room, at(now), MINUTE, HORIZON), None, "{now}");
        }
        order(&mut room, at(625_000), |room| room.state = RoomState::On);
        let second = Plan::due(&complete([&first]), &room, at(625_001), MINUTE, HORIZON).unwrap();
        assert_eq!(second.window, Window { start: at(626_000), end: at(660_000) });
    }

    #[test]
    fn where_the_doors_are_open_the_last_of_the_line_need_permits() {
        let mut room = room(600);
        room.settings.mode = Mode::Overflow;
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(30_000), |room| room.set_quiet(true));
        let second = Plan::due(&complete([&first]), &room, at(30_010), MINUTE, SOON).unwrap();
        assert_eq!((second.window.start, second.rate.get()), (at(31_000), 600));
        assert!(!first.needs_permits && second.needs_permits);
        assert!(second.slices(MINUTE).all(|slice| slice.needs_permits));
        order(&mut room, at(50_000), |room| room.set_quiet(false));
        let third = Plan::due(&complete([&second, &first]), &room, at(50_010), MINUTE, SOON).unwrap();
        assert_eq!((third.window.start, third.needs_permits), (at(51_000), false));
    }

    #[test]
    fn of_several_changes_the_one_in_force_is_planned_and_then_the_next() {
        let mut room = room(60);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(10_000), set_rate(600));
        order(&mut room, at(10_900), set_rate(1200));
        let second = Plan::due(&complete([&first]), &room, at(10_950), MINUTE, HORIZON).unwrap();
        assert_eq!((second.rate.get(), second.valve_from), (600, at(11_000)));
        let third = Plan::due(&complete([&second, &first]), &room, at(10_950), MINUTE, HORIZON).unwrap();
        assert_eq!((third.rate.get(), third.valve_from), (1200, at(11_900)));
        assert_eq!(Plan::due(&complete([&third, &second]), &room, at(10_950), MINUTE, SOON), None);
        let late = Plan::due(&complete([&first]), &room, at(30_000), MINUTE, HORIZON).unwrap();
        assert_eq!((late.rate.get(), late.window.start), (1200, at(30_000)));
    }

    #[derive(Clone, Copy, Debug)]
    enum SomeOrder {
        On(u32),
        Pause,
        OpenIn(u64),
        SetRate(u32),
        Sell(u32),
        Release(u32),
    }

    fn any_order() -> impl Strategy<Value = SomeOrder> {
        let rate = || prop_oneof![1..100u32, 1..8000u32];
        prop_oneof![
            3 => rate().prop_map(SomeOrder::On),
            1 => Just(SomeOrder::Pause),
            2 => (0..200_000u64).prop_map(SomeOrder::OpenIn),
            1 => rate().prop_map(SomeOrder::SetRate),
            1 => rate().prop_map(SomeOrder::Sell),
            2 => rate().prop_map(SomeOrder::Release),
        ]
    }

    impl SomeOrder {
        fn apply(self, room: &mut Room, now: Timestamp) {
            match self {
                Self::On(rate) => {
                    room.turn(RoomState::On);
                    set_rate(rate)(room);
                }
                Self::Pause => room.turn(RoomState::Paused),
                Self::OpenIn(millis) => room.open_at(now + Duration::from_millis(millis)),
                Self::SetRate(rate) => set_rate(rate)(room),
                Self::Sell(size) => room.sell(size.try_into().unwrap()),
                // Whoever gives the order asks first.
                Self::Release(_) if !room.releases() || room.extra.is_some() => {}
                Self::Release(visitors) => room.release_more(visitors.try_into().unwrap()),
            }
        }
    }

    #[test]
    fn an_opening_is_planned_two_and_a_half_minutes_ahead() {
        let mut room = room(600);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(10_000), |room| room.open_at(at(600_000)));
        for now in [10_000, 11_000, 60_000, 449_000] {
            assert_eq!(Plan::due(&complete([&first]), &room, at(now), MINUTE, HORIZON), None, "{now}");
        }
        let opening = Plan::due(&complete([&first]), &room, at(451_000), MINUTE, HORIZON).unwrap();
        assert_eq!((opening.window.start, opening.rate.get()), (at(600_002), 600));
        assert_eq!(Plan::due(&complete([&opening, &first]), &room, at(455_000), MINUTE, HORIZON), None);
        // With another rate, it is planned again.
        order(&mut room, at(500_000), set_rate(1200));
        let faster = Plan::due(&complete([&opening, &first]), &room, at(500_001), MINUTE, HORIZON).unwrap();
        assert_eq!((faster.number, faster.window.start, faster.rate.get()), (3, at(600_003), 1200));
        order(&mut room, at(510_000), |room| room.turn(RoomState::Paused));
        assert_eq!(Plan::due(&complete([&faster, &opening]), &room, at(511_000), MINUTE, HORIZON), None);
    }

    #[test]
    fn plans_that_were_withdrawn_hide_neither_a_running_window_nor_what_it_was_ahead() {
        let mut room = room(60);
        let mut plans = vec![Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap()];
        // By second 21, when it closes, 30 visitors were released and 21 are allowed.
        for (now, rate) in [(20_000, 60), (20_300, 120), (20_600, 240)] {
            order(&mut room, at(now), |room| {
                room.open_at(at(60_000));
                set_rate(rate)(room);
            });
            let recent: Vec<_> = plans.iter().rev().take(2).copied().collect();
            plans.push(Plan::due(&complete(&recent), &room, at(now + 1), MINUTE, SOON).unwrap());
            assert_eq!(plans.last().unwrap().window.start, room.valves.last().unwrap().from, "{now}");
        }
        order(&mut room, at(20_800), |room| room.turn(RoomState::Paused));
        assert_eq!(
            Plan::due(&complete([&plans[3], &plans[2]]), &room, at(20_900), MINUTE, SOON),
            None,
            "the first one runs"
        );
        order(&mut room, at(22_000), |room| room.turn(RoomState::On));
        let on = Plan::due(&complete([&plans[3], &plans[2]]), &room, at(22_001), MINUTE, SOON).unwrap();
        assert_eq!((on.window.start, on.rate.get()), (at(23_000), 240));
        assert_eq!(on.releases_from, at(21_000 + 9 * 250), "nine too many, at four a second");
    }

    #[test]
    fn a_window_makes_up_for_one_that_is_older_than_the_latest_two() {
        let mut room = room(24);
        // By second 10, when it closes, 8 visitors were released and 4 are allowed.
        let running = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        let following = Plan::due(&complete([&running]), &room, at(6000), MINUTE, HORIZON).unwrap();
        order(&mut room, at(9000), |room| room.open_at(at(70_000)));
        let opening = Plan::due(&complete([&following, &running]), &room, at(9001), MINUTE, SOON).unwrap();
        assert_eq!((following.window.start, opening.window.start), (at(60_000), at(70_002)));
        order(&mut room, at(14_000), |room| room.turn(RoomState::On));
        let on = Plan::due(&complete([&opening, &following]), &room, at(14_001), MINUTE, SOON).unwrap();
        assert_eq!((on.window.start, on.releases_from), (at(15_003), at(20_000)), "four, at 24 a minute");
    }

    /// The plans of a room that runs its trigger at each instant, after the order if there is one.
    fn plans_of(first: u32, runs: &[(u64, Option<SomeOrder>)]) -> (Room, Vec<Plan>) {
        let (mut room, mut plans) = (room(first), Vec::<Plan>::new());
        for &(now, wanted) in runs {
            if let Some(wanted) = wanted {
                order(&mut room, at(now), |room| wanted.apply(room, at(now)));
            }
            let horizon = if wanted.is_some() { SOON } else { HORIZON };
            let recent = |plans: &[Plan]| plans.iter().rev().take(2).copied().collect::<Vec<_>>();
            while let Some(plan) = Plan::due(&complete(&recent(&plans)), &room, at(now), MINUTE, horizon) {
                plans.push(plan);
            }
        }
        (room, plans)
    }

    /// A later change never gets the instant of a withdrawn opening: it would run the opening's plan.
    #[test]
    fn a_withdrawn_opening_has_an_instant_of_its_own() {
        let runs = [
            (2218, Some(SomeOrder::SetRate(1201))),
            (8495, Some(SomeOrder::OpenIn(12_993))),
            (10_620, Some(SomeOrder::On(11))),
            (12_345, Some(SomeOrder::On(83))),
            (20_491, Some(SomeOrder::On(1))),
        ];
        let (room, plans) = plans_of(1, &runs);
        let last = plans.last().unwrap();
        assert_eq!((last.rate.get(), last.valve_from), (1, room.valves.last().unwrap().from));
        assert!(plans.iter().all(|plan| plan.rate == last.rate || plan.valve_from != last.valve_from));
    }

    /// The plans of two openings that were withdrawn hide those of changes that are still to come.
    #[test]
    fn a_change_to_come_is_planned_once_although_the_latest_two_plans_were_withdrawn() {
        let runs = [
            (0, Some(SomeOrder::On(874))),
            (15, Some(SomeOrder::On(3669))),
            (48, Some(SomeOrder::OpenIn(1453))),
            (165, Some(SomeOrder::SetRate(1))),
            (184, Some(SomeOrder::On(1))),
        ];
        let (room, plans) = plans_of(1, &runs);
        let planned: BTreeSet<_> = plans.iter().map(|plan| plan.valve_from).collect();
        assert_eq!(planned.len(), plans.len(), "{plans:#?}");
        assert!(planned.contains(&room.valves.last().unwrap().from), "{plans:#?}");
    }

    /// The second plan of an opening leaves to the first what the windows before were ahead.
    #[test]
    fn an_order_makes_up_for_what_the_first_plan_of_a_withdrawn_opening_was_to_make_up_for() {
        let runs = [
            (0, None),
            (1000, Some(SomeOrder::OpenIn(20_000))),
            (6000, None),
            (7000, Some(SomeOrder::On(60))),
        ];
        let (_, plans) = plans_of(60, &runs);
        let [_, first, second, instead] = plans.as_slice() else { panic!("{plans:#?}") };
        assert_eq!(first.valve_from, second.valve_from);
        assert_ne!(second.valve_from, instead.valve_from, "it was withdrawn");
        // By second 2, when the room closes, 10 visitors were released and 2 are allowed.
        assert_eq!((instead.window.start, instead.releases_from), (at(8003), at(10_000)));
    }

    #[test]
    fn an_order_makes_up_at_its_own_rate_for_what_a_withdrawn_opening_counted_at_another() {
        let runs = [
            (0, None),
            (1000, Some(SomeOrder::OpenIn(20_000))),
            (3000, Some(SomeOrder::SetRate(6000))),
            (5000, Some(SomeOrder::SetRate(600))),
            (7000, Some(SomeOrder::On(60))),
        ];
        let (_, plans) = plans_of(60, &runs);
        let instead = plans.last().unwrap();
        assert_eq!(instead.releases_from, at(10_000));
    }

    #[test]
    fn after_a_time_in_which_nobody_was_released_nothing_is_made_up_for() {
        for rate in [1, 6, 60, 600, 6000] {
            let (_, plans) = plans_of(
                rate,
                &[(0, None), (1000, Some(SomeOrder::Pause)), (62_000, Some(SomeOrder::On(rate)))],
            );
            let last = plans.last().unwrap();
            assert_eq!(releases(last)[0].0, at(63_000), "{rate}");
        }
    }

    /// The plan says what a window releases, the record what it has released.
    #[test]
    fn a_window_that_found_nobody_is_not_ahead() {
        let mut room = room(60);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(1000), |room| room.quiet = true);
        order(&mut room, at(2500), |room| room.quiet = false);
        let next = |released, lowest| {
            let record = PlanRecord { plan: first, released, lowest };
            Plan::due(&[record], &room, at(2500), MINUTE, SOON).unwrap().releases_from
        };
        assert_eq!(next(0, None), at(2000), "when it was closed");
        for (released, lowest) in [(1, Some(1)), (0, Some(1))] {
            assert_eq!(next(released, lowest), at(10_000), "it may have released a batch");
        }
    }

    #[test]
    fn a_window_that_another_follows_at_once_is_empty_only_once_its_slices_had_time_to_say_so() {
        let mut room = room(60);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(1000), set_rate(120));
        let next = |now| {
            let record = PlanRecord { plan: first, released: 0, lowest: None };
            Plan::due(&[record], &room, at(now), MINUTE, SOON).unwrap().releases_from
        };
        assert_eq!(next(3999), at(6000), "they may have released a batch of ten, eight too many");
        assert_eq!(next(4000), at(2000), "they would have said so");
    }

    #[test]
    fn a_low_rate_after_a_high_one_releases_somebody_in_a_minute() {
        let (_, plans) = plans_of(60, &[(0, None), (3000, Some(SomeOrder::SetRate(1)))]);
        let last = plans.last().unwrap();
        assert!(last.releases_from > at(300_000), "far ahead of one a minute: {last:?}");
        assert_eq!(releases(last)[0].0, at(64_000));
    }

    #[test]
    fn an_order_right_before_a_window_ends_leaves_no_gap_before_a_later_one() {
        let minutes = (0..4).map(|minute| (minute * 60_000, None));
        let mut runs: Vec<_> = minutes.chain([(118_500, Some(SomeOrder::SetRate(600)))]).collect();
        runs.sort_by_key(|(at, _)| *at);
        let (_, plans) = plans_of(600, &runs);
        let gaps = plans.windows(2).filter(|pair| pair[0].window.end < pair[1].window.start);
        assert_eq!((gaps.count(), plans.len()), (0, 4), "{plans:#?}");
    }

    /// The runs of a trigger: each minute, and after each order.
    fn runs(orders: impl IntoIterator<Item = (u64, SomeOrder)>) -> Vec<(u64, Option<SomeOrder>)> {
        let minutes = (0..12).map(|minute| (minute * 60_000, None));
        let mut runs: Vec<_> =
            orders.into_iter().map(|(at, order)| (at, Some(order))).chain(minutes).collect();
        runs.sort_by_key(|(at, _)| *at);
        runs
    }

    /// How many visitors times the milliseconds of a minute the valves allow from one instant until another.
    fn allowed(room: &Room, from: Timestamp, until: Timestamp) -> u64 {
        let in_force = room.valve_at(from);
        let valves: Vec<_> = [in_force].into_iter().chain(room.valves.all_after(in_force.from)).collect();
        let ends = valves.iter().skip(1).map(|change| change.from).chain([until]);
        let spans = valves.iter().zip(ends);
        let of_span = |(change, end): (&ValveChange, Timestamp)| {
            let time = end.min(until).since(change.from.max(from));
            millis(time) * u64::from(change.valve.rate().map_or(0, Rate::get))
        };
        spans.map(of_span).sum()
    }

    /// How many these plans release in all, each until the next change of the valve.
    fn planned(room: &Room, plans: &[Plan], until: Timestamp) -> u64 {
        let by_plan = |plan: &Plan| -> u64 {
            let ends = room.valves.cut(plan.valve_from, until);
            let in_time = releases(plan).into_iter().filter(|(at, _)| *at < ends);
            in_time.map(|(_, size)| u64::from(size)).sum()
        };
        plans.iter().filter(|plan| room.valves.knows(plan.valve_from)).map(by_plan).sum()
    }

    #[test]
    fn a_release_is_a_minute_of_a_faster_valve_and_then_the_one_before() {
        let (room, plans) =
            plans_of(60, &[(0, None), (10_000, Some(SomeOrder::Release(50))), (30_000, None)]);
        assert_eq!(room.valves.to_string(), "0=60 11002=110 71002=60");
        assert_eq!(room.extra.unwrap().until, at(71_002));
        let planned: Vec<_> =
            plans.iter().map(|plan| (plan.window.start.as_millis(), plan.rate.get())).collect();
        assert_eq!(planned, [(0, 60), (11_002, 110), (60_000, 110), (71_002, 60)]);
        assert_eq!(*Arc::new(room.clone()).at(at(71_002)), Room { extra: None, ..room });
    }

    proptest! {
        /// Whatever was ordered before, and whatever is set in its minute.
        #[test]
        fn a_release_lets_in_exactly_so_many_more(
            first in prop_oneof![1..100u32, 1..8000u32],
            before in prop::collection::vec((0..118_000u64, any_order()), 0..5),
            more in prop_oneof![1..100u32, 1..20_000u32],
            ordered in 120_000..180_000u64,
            rates in prop::collection::vec((1..70_000u64, prop_oneof![1..100u32, 1..8000u32]), 0..3),
        ) {
            // It is on by then, and another release would be waited for. After an opening, the regular run may be late once by up to five
            // seconds, in which nobody is released with or without a release.
            let opens = |order: &SomeOrder| matches!(order, SomeOrder::OpenIn(_) | SomeOrder::Pause);
            let before = before.into_iter().filter(|(_, order)| !opens(order) && !matches!(order, SomeOrder::Release(_)));
            let before: Vec<_> = before.chain([(118_500, SomeOrder::On(first))]).collect();
            let rates = rates.into_iter().map(|(after, rate)| (ordered + after, SomeOrder::SetRate(rate)));
            let in_its_minute = rates.len() as u64;
            let usual: Vec<_> = before.into_iter().chain(rates).collect();
            let released = usual.iter().copied().chain([(ordered, SomeOrder::Release(more))]);
            let (with, plans_with) = plans_of(first, &runs(released));
            let (without, plans_without) = plans_of(first, &runs(usual.iter().copied()));
            let (from, until) = (at(ordered), at(600_000));
            // Orders that follow each other at once, or the end of the minute, wait for their turn.
            let moved = in_its_minute * u64::from(more + 8000) * 600;
            let (faster, usual) = (allowed(&with, from, until), allowed(&without, from, until));
            let exactly = usual + u64::from(more) * 60_000;
            prop_assert!(faster.abs_diff(exactly) <= moved, "{} and {}", with.valves, without.valves);
            let rate = |plan: &Plan| plan.rate.get().div_ceil(1000);
            let slices = plans_with.iter().map(rate).max().unwrap();
            let (with, without) = (planned(&with, &plans_with, until), planned(&without, &plans_without, until));
            let (exactly, slack) = (without + u64::from(more), u64::from(slices) * (10 + 1) + moved / 60_000);
            prop_assert!(with.abs_diff(exactly) <= slack, "{with}, and {without} without {more} more");
        }

        /// The trigger runs every minute, and one of its runs fails.
        #[test]
        fn an_opening_releases_nobody_before_and_the_rate_from_then_on(
            first in 1..8000u32,
            opens in 200_000..900_000u64,
            orders in prop::collection::vec((1..150_000u64, 1..8000u32), 0..6),
            lost in 0..16u64,
        ) {
            let (mut room, mut plans) = (room(first), Vec::<Plan>::new());
            order(&mut room, at(0), |room| room.open_at(at(opens)));
            let mut now = 0;
            let orders = orders.into_iter().map(|(pause, rate)| { now += pause; (now, Some(rate)) });
            let minutes = (0..20).filter(|minute| *minute != lost).map(|minute| (30_000 + minute * 60_000, None));
            let mut runs: Vec<_> = orders.filter(|(at, _)| at + 2000 < opens).chain(minutes).collect();
            runs.sort_unstable();
            for (now, rate) in runs {
                if let Some(rate) = rate {
                    order(&mut room, at(now), set_rate(rate));
                }
                let horizon = if rate.is_some() { SOON } else { HORIZON };
                loop {
                    let recent: Vec<_> = plans.iter().rev().take(2).copied().collect();
                    let Some(plan) = Plan::due(&complete(&recent), &room, at(now), MINUTE, horizon) else { break };
                    plans.push(plan);
                }
            }
            let held = |at: Timestamp| room.valve_at(at).from;
            let released: Vec<_> = plans.iter().flat_map(|plan| {
                let from = plan.valve_from;
                releases(plan).into_iter().filter(move |(at, _)| held(*at) == from).map(|(at, size)| (at.as_millis(), size))
            }).collect();
            let between = |from: u64, until: u64| -> u32 {
                released.iter().filter(|(at, _)| (from..until).contains(at)).map(|(_, size)| size).sum()
            };
            prop_assert_eq!(between(1000, opens), 0);
            let rate = room.settings.rate.get();
            let (after, slack) = (between(opens, opens + 20_000), 11 * rate.div_ceil(1000));
            prop_assert!(after.abs_diff(rate / 3) <= slack, "{after} at {rate}");
        }

        #[test]
        fn however_often_the_rate_changes_no_more_are_released_than_it_allows(
            first in 1..8000u32,
            orders in prop::collection::vec((prop_oneof![0..3000u64, 0..40_000u64], any_order()), 0..20),
        ) {
            let mut room = room(first);
            let mut runs: Vec<(u64, Option<SomeOrder>)> = (0..15).map(|minute| (minute * 60_000, None)).collect();
            let mut now = 0;
            for (pause, wanted) in orders {
                now += pause;
                runs.push((now, Some(wanted)));
            }
            runs.sort_by_key(|(now, _)| *now);
            let mut plans = Vec::<Plan>::new();
            let mut changes = vec![(0, first)];
            for (now, wanted) in runs {
                if let Some(wanted) = wanted {
                    order(&mut room, at(now), |room| wanted.apply(room, at(now)));
                    changes.retain(|(from, _)| *from < (now + 1000) / 100 * 100);
                    for change in room.valves.all_after(at(changes.last().unwrap().0)) {
                        let rate = change.valve.rate().map_or(0, Rate::get);
                        changes.push((change.from.as_millis(), rate));
                    }
                }
                let horizon = if wanted.is_some() { SOON } else { HORIZON };
                loop {
                    let recent: Vec<_> = plans.iter().rev().take(2).copied().collect();
                    let Some(plan) = Plan::due(&complete(&recent), &room, at(now), MINUTE, horizon) else { break };
                    let planned = changes.iter().find(|(from, _)| *from == plan.valve_from.as_millis()).unwrap();
                    prop_assert_eq!(planned.1, plan.rate.get());
                    let length = plan.window.end.since(plan.window.start);
                    prop_assert!(length >= MINUTE / 2 && length < MINUTE * 5 / 2, "{length:?}");
                    plans.push(plan);
                }
            }
            let valve_from = |now: u64| changes.iter().rev().find(|(from, _)| *from <= now).unwrap().0;
            let mut released: Vec<(u64, u32)> = plans.iter().flat_map(|plan| {
                let held = plan.valve_from.as_millis();
                releases(plan).into_iter().map(|(at, size)| (at.as_millis(), size)).filter(move |(at, _)| valve_from(*at) == held)
            }).collect();
            released.sort_unstable();
            // From any change on, until any later instant. The quota of a window is rounded up, which is one visitor, less than
            // one is not waited for.
            for &(from, _) in &changes {
                let mut total = 0;
                let slices = changes.iter().map(|(_, rate)| u64::from(rate.div_ceil(1000))).max().unwrap();
                for &(until, size) in released.iter().filter(|(at, _)| *at >= from) {
                    total += u64::from(size);
                    let spans = changes.iter().zip(changes.iter().skip(1).map(|(next, _)| *next).chain([u64::MAX]));
                    let allowed: u64 = spans.map(|((start, rate), end)| {
                        let time = end.min(until).saturating_sub((*start).max(from));
                        let then = changes.iter().find(|(from, rate)| from > start && *rate > 0);
                        // A time in which nobody is released makes up for what the window before was ahead.
                        let made_up = || (time * u64::from(then.map_or(0, |(_, rate)| *rate))).min(slices.max(1) * 10 * 60_000);
                        if *rate > 0 { time * u64::from(*rate) } else { made_up() }
                    }).sum();
                    prop_assert!(total * 60_000 <= allowed + slices.max(1) * (10 + 1) * 60_000, "{total} from {from} to {until}, {} allowed", allowed / 60_000);
                }
            }
        }
    }
}
