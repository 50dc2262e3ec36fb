//! How many visitors are in the shop, and how many more may be let in.
//!
//! Whoever is let in counts from then on: first as somebody who may come any moment, and then, once a guard of the shop has said
//! that they opened a session, as long as that is live. A guard's report is the whole of what it knows, and a window's count the
//! whole of what it admitted. So there is no sum that a lost report or a killed process could leave wrong, and whatever is in doubt
//! counts as present.

use std::time::Duration;

use pass::{GuardReport, SessionRules};
use serde::{Deserialize, Serialize};

use crate::{ActiveLimit, Lifetimes, Plan, Rate, Room, SliceId, Timestamp};

/// The latest report of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptReport {
    pub report: GuardReport,
    /// When the room got it.
    pub received: Timestamp,
}

impl KeptReport {
    /// Of how many guards reports are kept.
    pub const MOST: usize = 20;

    /// Puts this report in place of that guard's last one, unless that was made later. What came before a clock was set back was not.
    /// If there are too many, the one that came first goes.
    pub fn keep_among(self, reports: &mut Vec<Self>) {
        let before = reports.iter_mut().find(|before| before.report.guard == self.report.guard);
        match before {
            Some(before) if before.report.made > self.report.made && before.received <= self.received => {}
            Some(before) => *before = self,
            None => {
                if reports.len() >= Self::MOST {
                    let oldest = reports.iter().enumerate().min_by_key(|(_, kept)| kept.received);
                    oldest.map(|(at, _)| at).map(|at| reports.swap_remove(at));
                }
                reports.push(self);
            }
        }
    }
}

/// At most how many a window has admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowAdmissions {
    pub plan: u64,
    pub ends: Timestamp,
    /// Its quota, until it is sure how many it were.
    pub at_most: u64,
    pub is_sure: bool,
}

/// Whom a room counts as present in the shop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveCount {
    /// The sessions that guards have reported as live.
    pub sessions: u64,
    /// Those who were let in, and of whom no guard has said that they came.
    pub expected: u64,
    /// Those whom windows that are under way let in, or may. How many they are is known when the window is over.
    #[serde(default)]
    pub planned: u64,
    /// How many guards report.
    pub guards: u64,
    /// When the one came that reported longest ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Timestamp>,
}

impl ActiveLimit {
    /// A guard takes no pass that is older.
    pub const LONGEST_PASS: Duration = Duration::from_hours(1);
    /// A pass may be older by this for a guard whose clock is not the room's.
    const LEEWAY: Duration = Duration::from_secs(30);

    /// What a guard is told.
    pub fn session_rules(&self, lifetimes: Lifetimes) -> SessionRules {
        // A window lasts one and a half minutes at most, and reports take half a minute.
        let counted =
            Self::comes_within(lifetimes, Self::LONGEST_PASS) + self.session + Duration::from_mins(2);
        let seconds = |time: Duration| time.as_secs();
        SessionRules { idle: seconds(self.idle), session: seconds(self.session), counted: seconds(counted) }
    }

    /// For how long after a window somebody whom it admitted may come to the shop.
    fn comes_within(lifetimes: Lifetimes, pass: Duration) -> Duration {
        lifetimes.admission + pass.min(Self::LONGEST_PASS) + Self::LEEWAY
    }
}

/// What guards have told, as far as it still counts.
struct Told<'a> {
    reports: Vec<&'a KeptReport>,
    /// Up to when all of them have said who came.
    until: Option<Timestamp>,
    /// For how long after their window visitors may come, and may stay.
    comes_within: Duration,
    stays_within: Duration,
}

impl<'a> Told<'a> {
    fn of(limit: &ActiveLimit, lifetimes: Lifetimes, reports: &'a [KeptReport], now: Timestamp) -> Self {
        let pass = reports.iter().map(|kept| kept.report.pass).max().unwrap_or_default();
        let comes_within = ActiveLimit::comes_within(lifetimes, Duration::from_secs(pass));
        let stays_within = comes_within + limit.session;
        // Whoever was in the shop at an older report has left, and so has everybody who was on the way then.
        let reports: Vec<_> = reports.iter().filter(|kept| kept.received + stays_within > now).collect();
        let longest_way = Duration::from_secs(SessionRules::LONGEST_WAY);
        let until = reports.iter().map(|kept| kept.received.min(now) - longest_way).min();
        // Without a guard nobody knows who came, and when: everybody counts for the length of a session.
        let stays_within = if until.is_some() { stays_within } else { limit.session };
        Self { reports, until, comes_within, stays_within }
    }

    /// Whether somebody may be in the shop, or on the way, whom a window has let in and no guard has named.
    fn leaves_open(&self, window_ended: Timestamp, now: Timestamp) -> bool {
        let have_come = self.until.is_some_and(|until| window_ended + self.comes_within <= until);
        !have_come && window_ended + self.stays_within > now
    }

    /// How many of a window have opened a session.
    fn opened(&self, plan: u64) -> u64 {
        let opened =
            self.reports.iter().map(|kept| kept.report.opened.get(&plan).copied().unwrap_or_default());
        opened.fold(0, u64::saturating_add)
    }
}

impl ActiveCount {
    /// Since when windows have ended that may still count.
    pub(crate) fn counts_since(
        limit: &ActiveLimit,
        lifetimes: Lifetimes,
        reports: &[KeptReport],
        now: Timestamp,
    ) -> Timestamp {
        let told = Told::of(limit, lifetimes, reports, now);
        let may_be_there = now - told.stays_within;
        told.until.map_or(may_be_there, |until| may_be_there.max(until - told.comes_within))
    }

    /// `windows` are those that ended [since then](Self::counts_since), and those that have not. They are read after the reports.
    pub fn of(
        limit: &ActiveLimit,
        lifetimes: Lifetimes,
        reports: &[KeptReport],
        windows: &[WindowAdmissions],
        now: Timestamp,
    ) -> Self {
        let told = Told::of(limit, lifetimes, reports, now);
        let missing = |is_known: bool| {
            let open = windows.iter().filter(|window| told.leaves_open(window.ends, now));
            let open = open.filter(|window| window.is_settled(now) == is_known);
            open.map(|window| window.at_most.saturating_sub(told.opened(window.plan)))
                .fold(0, u64::saturating_add)
        };
        Self {
            sessions: told.reports.iter().map(|kept| kept.report.live).fold(0, u64::saturating_add),
            expected: missing(true),
            planned: missing(false),
            guards: u64::try_from(told.reports.len()).unwrap_or(u64::MAX),
            reported: told.reports.iter().map(|kept| kept.received).min(),
        }
    }

    /// As far as is known.
    pub fn visitors(&self) -> u64 {
        self.sessions.saturating_add(self.expected)
    }

    /// Whether no guard reports, or one has not for so long that the shop may be full only because nobody says who has left.
    pub fn misses_guard(&self, now: Timestamp, minute: Duration) -> bool {
        self.reported.is_none_or(|reported| now.since(reported) > 2 * minute)
    }

    /// How many more may be let in.
    pub fn free(&self, limit: &ActiveLimit) -> u64 {
        u64::from(limit.visitors).saturating_sub(self.visitors()).saturating_sub(self.planned)
    }
}

/// What is known of the admissions of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceAdmissions {
    /// No consumer has taken it.
    Untaken,
    /// Its consumer has not said that it is over.
    Unsaid,
    /// At most so many, and no more follow.
    AtMost(u64),
}

impl WindowAdmissions {
    /// How long after a window its consumers may say what they did. None runs so long.
    pub const SAID_WITHIN: Duration = Duration::from_mins(1);
    /// How long after a window the last consumer may take one of its slices.
    const TAKEN_WITHIN: Duration = Duration::from_secs(1);
    /// How long before now a window begins at the latest, unless a wrong clock has planned it.
    const AHEAD: Duration = Duration::from_mins(2);

    /// `of_slice` is asked for each slice of the plan. The room has to be read after the plan: an older one doesn't know its change.
    pub fn of(
        plan: &Plan,
        room: &Room,
        now: Timestamp,
        of_slice: impl Fn(SliceId) -> SliceAdmissions,
    ) -> Self {
        let ends = Self::end(plan, room, now);
        let is_over = ends + Self::TAKEN_WITHIN <= now;
        let (mut at_most, mut is_sure) = (0, is_over);
        for (slice, quota) in plan.slice_quotas() {
            let admitted = match of_slice(slice) {
                SliceAdmissions::Untaken if is_over => 0,
                SliceAdmissions::AtMost(admitted) if is_over => admitted,
                SliceAdmissions::AtMost(_) | SliceAdmissions::Untaken | SliceAdmissions::Unsaid => {
                    is_sure = false;
                    u64::from(quota)
                }
            };
            at_most += admitted;
        }
        Self { plan: plan.number, ends, at_most, is_sure }
    }

    /// When the window ends, or another change of the valve begins another. One whose change was withdrawn never comes, nor does one
    /// that a wrong clock has planned ahead: other plans took its place.
    fn end(plan: &Plan, room: &Room, now: Timestamp) -> Timestamp {
        let ends = room.valves.cut(plan.valve_from, plan.window.end);
        let is_ahead = plan.window.start > now + Self::AHEAD && plan.window.start != plan.valve_from;
        let comes = room.valves.knows(plan.valve_from) && !is_ahead;
        if comes { ends } else { ends.min(now - Self::TAKEN_WITHIN) }
    }

    /// Whether no more will be known of it.
    fn is_settled(&self, now: Timestamp) -> bool {
        self.is_sure || self.ends + Self::SAID_WITHIN <= now
    }

    /// Whether it may be sure soon: the window is just over, or will be.
    pub fn may_tell_soon(&self, now: Timestamp, minute: Duration) -> bool {
        !self.is_sure && self.ends <= now + minute / 12 && now < self.ends + minute / 12
    }

    /// How many minutes [`Self::let_in_lately`] looks back.
    const LATELY: u32 = 10;

    /// At how many a minute these windows have lately let visitors in.
    pub fn let_in_lately(windows: &[Self], now: Timestamp, minute: Duration) -> Rate {
        let since = now - minute * Self::LATELY;
        let lately = windows.iter().filter(|window| (since..=now).contains(&window.ends));
        let people = lately.map(|window| window.at_most).fold(0, u64::saturating_add);
        let a_minute = people.div_ceil(Self::LATELY.into());
        let a_minute = u32::try_from(a_minute).unwrap_or(u32::MAX).clamp(Rate::MIN.get(), Rate::MAX.get());
        // Clamped to what a rate may be.
        Rate::new(a_minute).unwrap_or(Rate::MIN)
    }
}

impl Plan {
    /// The same plan for at most so many, spread over its window. `None` if there is room for nobody.
    #[must_use]
    pub fn for_at_most(self, free: u64) -> Option<Self> {
        let quota = u64::from(self.quota).min(free);
        if quota == 0 || quota == u64::from(self.quota) {
            return (quota > 0).then_some(self);
        }
        let a_minute = (u64::from(self.rate.get()) * quota).div_ceil(self.quota.into());
        let rate = u32::try_from(a_minute).ok().and_then(|a_minute| Rate::new(a_minute).ok())?;
        Some(Self { quota: u32::try_from(quota).ok()?, rate, ..self })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Window;
    use crate::fixture::{self, MINUTE};

    const LIMIT: ActiveLimit =
        ActiveLimit { visitors: 100, idle: Duration::from_mins(20), session: Duration::from_hours(2) };
    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn lifetimes() -> Lifetimes {
        Lifetimes { admission: Duration::from_mins(10), ..Lifetimes::default() }
    }

    fn report(of: u8, ago: Duration, live: u64, opened: &[(u64, u64)]) -> KeptReport {
        let guard = format!("guard-{of:010}").try_into().unwrap();
        let opened: BTreeMap<_, _> = opened.iter().copied().collect();
        let report = GuardReport { guard, made: (NOW - ago).as_millis(), pass: 300, live, opened };
        KeptReport { report, received: NOW - ago }
    }

    fn window(plan: u64, ended_before: Duration, at_most: u64) -> WindowAdmissions {
        WindowAdmissions { plan, ends: NOW - ended_before, at_most, is_sure: true }
    }

    fn count(reports: &[KeptReport], windows: &[WindowAdmissions]) -> (u64, u64) {
        let count = ActiveCount::of(&LIMIT, lifetimes(), reports, windows, NOW);
        (count.sessions, count.expected)
    }

    const JUST_NOW: Duration = Duration::from_secs(5);

    fn just_before(time: Duration) -> Duration {
        time.saturating_sub(JUST_NOW)
    }

    #[test]
    fn whoever_is_let_in_counts_until_a_guard_says_that_they_came() {
        let windows = [window(1, MINUTE * 2, 30), window(2, Duration::ZERO, 20)];
        assert_eq!(count(&[report(1, JUST_NOW, 0, &[])], &windows), (0, 50));
        assert_eq!(
            count(&[report(1, JUST_NOW, 25, &[(1, 27), (2, 1)])], &windows),
            (25, 22),
            "two have left"
        );
        let both = [report(1, JUST_NOW, 20, &[(1, 21)]), report(2, JUST_NOW, 5, &[(1, 6), (2, 1)])];
        assert_eq!(count(&both, &windows), (25, 22), "two guards");
        assert_eq!(count(&[report(1, JUST_NOW, 40, &[(1, 31)])], &windows[..1]), (40, 0), "one came twice");
    }

    #[test]
    fn whoever_does_not_come_counts_as_long_as_they_may() {
        // Ten minutes of the admission, five of the pass, half a minute of leeway and half a minute of the report's way.
        let may_come = Duration::from_mins(16);
        let just_reported = [report(1, Duration::ZERO, 0, &[])];
        assert_eq!(count(&just_reported, &[window(1, just_before(may_come), 30)]), (0, 30));
        assert_eq!(count(&just_reported, &[window(1, may_come, 30)]), (0, 0));
    }

    #[test]
    fn a_guard_that_is_silent_counts_with_all_that_may_have_happened_since() {
        let silent = |ago, windows: &[WindowAdmissions]| count(&[report(1, ago, 40, &[(1, 30)])], windows);
        let hour = MINUTE * 60;
        // Whoever was on the way when it last reported may have come meanwhile, and may stay for two hours.
        assert_eq!(silent(hour, &[window(1, hour + MINUTE, 50)]), (40, 20));
        assert_eq!(silent(hour, &[window(9, MINUTE * 30, 50)]), (40, 50));
        // Whoever was on the way then comes within 15 and a half minutes, and stays for two hours. One that never reports again is
        // forgotten afterwards.
        let stays = Duration::from_secs(930) + hour * 2;
        assert_eq!(silent(just_before(stays), &[window(1, just_before(stays), 50)]), (40, 20));
        assert_eq!(silent(just_before(stays), &[window(9, hour * 2, 50)]), (40, 50));
        assert_eq!(silent(stays, &[window(1, stays, 50), window(9, just_before(hour * 2), 50)]), (0, 50));
        let silent_and_not = [report(1, hour, 40, &[(1, 30)]), report(2, JUST_NOW, 7, &[(1, 5)])];
        assert_eq!(
            count(&silent_and_not, &[window(1, hour + MINUTE, 50)]),
            (47, 15),
            "the silent one decides"
        );
    }

    #[test]
    fn a_clock_that_was_set_back_stops_no_reports() {
        let ahead = report(1, Duration::ZERO, 7, &[]);
        let ahead = KeptReport { received: NOW + MINUTE * 120, ..ahead };
        let ahead = KeptReport {
            report: GuardReport { made: (NOW + MINUTE * 120).as_millis(), ..ahead.report },
            ..ahead
        };
        let mut reports = vec![ahead.clone()];
        assert_eq!(count(&reports, &[window(1, MINUTE, 30)]), (7, 30), "nobody has told of the future");
        report(1, Duration::ZERO, 9, &[]).keep_among(&mut reports);
        assert_eq!(reports, [report(1, Duration::ZERO, 9, &[])]);
        report(1, MINUTE, 5, &[]).keep_among(&mut reports);
        assert_eq!(reports, [report(1, MINUTE, 5, &[])], "received before, by the clock of now");
    }

    #[test]
    fn a_window_counts_with_the_quota_of_each_slice_that_has_not_said_what_it_did() {
        use SliceAdmissions::{AtMost, Unsaid, Untaken};
        let (plan, room) = (fixture::plan(2500), fixture::room(2500));
        let slices: Vec<_> = plan.slice_quotas().map(|(_, quota)| quota).collect();
        assert_eq!(slices, [1000, 1000, 500]);
        let counted = |of: [SliceAdmissions; 3], after| {
            let window = WindowAdmissions::of(&plan, &room, plan.window.end + after, |slice| {
                of[usize::from(slice.index)]
            });
            (window.at_most, window.is_sure)
        };
        let second = Duration::from_secs(1);
        assert_eq!(counted([AtMost(7), AtMost(8), Untaken], second), (15, true));
        assert_eq!(counted([AtMost(7), Unsaid, Untaken], MINUTE), (1007, false));
        assert_eq!(
            counted([AtMost(7), AtMost(8), Untaken], Duration::ZERO),
            (2500, false),
            "a consumer may still begin"
        );
    }

    #[test]
    fn a_window_of_a_wrong_clock_is_over() {
        let (plan, room) = (fixture::plan(600), fixture::room(600));
        let now = plan.window.start;
        let window = Window { start: now + MINUTE * 120, end: now + MINUTE * 121 };
        let plan = Plan { window, ..plan };
        let window = WindowAdmissions::of(&plan, &room, now, |_| SliceAdmissions::AtMost(7));
        assert_eq!((window.at_most, window.is_sure), (7, true));
    }

    #[test]
    fn only_windows_that_may_count_are_read() {
        let since =
            |reports: &[KeptReport]| NOW.since(ActiveCount::counts_since(&LIMIT, lifetimes(), reports, NOW));
        assert_eq!(since(&[]), MINUTE * 120);
        assert_eq!(since(&[report(1, Duration::ZERO, 0, &[])]), Duration::from_mins(16));
        assert_eq!(since(&[report(1, MINUTE * 60, 0, &[])]), Duration::from_mins(76));
    }

    #[test]
    fn without_a_guard_everybody_counts_for_the_length_of_a_session() {
        let windows =
            [window(1, MINUTE * 119, 30), window(2, MINUTE * 120, 30), window(3, Duration::ZERO, 5)];
        assert_eq!(count(&[], &windows), (0, 35));
    }

    #[test]
    fn what_is_free_is_what_the_limit_leaves() {
        let of =
            |sessions, expected| ActiveCount { sessions, expected, ..ActiveCount::default() }.free(&LIMIT);
        assert_eq!([of(0, 0), of(60, 30), of(60, 40), of(60, 70), of(u64::MAX, 1)], [100, 10, 0, 0, 0]);
    }

    #[test]
    fn a_guard_is_missed_two_minutes_after_its_last_report_and_if_there_is_none() {
        let misses_guard = |reports: &[KeptReport]| {
            ActiveCount::of(&LIMIT, lifetimes(), reports, &[], NOW).misses_guard(NOW, MINUTE)
        };
        assert!(!misses_guard(&[report(1, MINUTE * 2, 5, &[])]));
        assert!(misses_guard(&[report(1, MINUTE * 3, 5, &[]), report(2, JUST_NOW, 5, &[])]), "one of two");
        assert!(
            misses_guard(&[report(1, MINUTE * 60 * 24, 5, &[])]),
            "of yesterday: nobody counts it any more"
        );
        assert!(misses_guard(&[]));
    }

    #[test]
    fn a_plan_for_fewer_spreads_them_over_its_window() {
        let plan = fixture::plan(600);
        assert_eq!(plan.for_at_most(0), None);
        assert_eq!([600, 601, u64::MAX].map(|free| plan.for_at_most(free)), [Some(plan); 3]);
        let few = plan.for_at_most(25).unwrap();
        assert_eq!((few.quota, few.rate.get(), few.window), (25, 25, plan.window));
        let begins: Vec<_> = fixture::releases(&few)
            .iter()
            .map(|(at, people)| (at.since(plan.window.start).as_secs(), *people))
            .collect();
        assert_eq!(begins, [(0, 8), (20, 8), (40, 9)]);
        let longer = Plan { quota: 900, ..plan };
        assert_eq!(longer.for_at_most(1).map(|one| (one.quota, one.rate.get())), Some((1, 1)));
    }

    #[test]
    fn lately_is_ten_minutes() {
        let windows = [
            window(1, MINUTE * 11, 500),
            window(2, MINUTE * 10, 30),
            window(3, MINUTE, 25),
            window(4, Duration::ZERO, 2),
        ];
        assert_eq!(WindowAdmissions::let_in_lately(&windows, NOW, MINUTE).get(), 6);
        assert_eq!(WindowAdmissions::let_in_lately(&windows[..1], NOW, MINUTE), Rate::MIN);
    }
}
