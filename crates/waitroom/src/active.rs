//! How many visitors are in the shop, and how many more may be let in.
//!
//! Whoever is let in counts from then on: first as somebody who may come any moment, and then, once a guard of the shop has said
//! that they opened a session, as long as that is live. A guard's report is the whole of what it knows, and a window's count the
//! whole of what it admitted. So there is no sum that a lost report or a killed process could leave wrong, and whatever is in doubt
//! counts as present.

use std::time::Duration;

use pass::{GuardReport, SessionRules};
use serde::{Deserialize, Serialize};

use crate::{ActiveLimit, Lifetimes, Plan, Rate, Room, Timestamp};

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

    /// Puts this report in place of that guard's last one, unless that was made later. If there are too many, the one that came first
    /// goes.
    pub fn keep_among(self, reports: &mut Vec<Self>) {
        let before = reports.iter_mut().find(|before| before.report.guard == self.report.guard);
        match before {
            Some(before) if before.report.made > self.report.made => {}
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
    /// How many guards report.
    pub guards: u64,
    /// When the one came that reported longest ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Timestamp>,
}

impl ActiveLimit {
    /// What a guard is told.
    pub fn session_rules(&self, lifetimes: Lifetimes) -> SessionRules {
        // A guard takes no pass that is older than an hour. A window lasts one and a half minutes at most.
        let counted = lifetimes.admission + Duration::from_mins(65);
        let seconds = |time: Duration| time.as_secs();
        SessionRules { idle: seconds(self.idle), session: seconds(self.session), counted: seconds(counted) }
    }

    /// How long before now a window may have ended of which somebody may still be in the shop.
    pub fn counts_since(&self, lifetimes: Lifetimes, now: Timestamp) -> Timestamp {
        now - (self.session + lifetimes.admission + Duration::from_mins(65))
    }
}

impl ActiveCount {
    /// A pass that a guard's clock takes for good may be older by this.
    const LEEWAY: Duration = Duration::from_secs(30);

    /// `windows` are those that ended since [`ActiveLimit::counts_since`], and those that have not.
    pub fn of(
        limit: &ActiveLimit,
        lifetimes: Lifetimes,
        reports: &[KeptReport],
        windows: &[WindowAdmissions],
        now: Timestamp,
    ) -> Self {
        // All sessions of an older report have ended.
        let reports = || reports.iter().filter(|kept| kept.received + limit.session > now);
        let longest_way = Duration::from_secs(SessionRules::LONGEST_WAY);
        // Up to when all of them have told who came.
        let told = reports().map(|kept| kept.received - longest_way).min();
        let pass = reports().map(|kept| kept.report.pass).max().map_or(Duration::ZERO, Duration::from_secs);
        // For how long after its window somebody may still come.
        let comes_within = lifetimes.admission + pass + Self::LEEWAY;
        let expected = |window: &WindowAdmissions| {
            let stays = match told {
                Some(told) if window.ends + comes_within <= told => return 0,
                Some(_) => comes_within + limit.session,
                // Without a guard nobody knows who came, and when: everybody counts for the length of a session.
                None => limit.session,
            };
            if window.ends + stays <= now {
                return 0;
            }
            let opened =
                |kept: &KeptReport| kept.report.opened.get(&window.plan).copied().unwrap_or_default();
            let opened = reports().map(opened).fold(0, u64::saturating_add);
            window.at_most.saturating_sub(opened)
        };
        Self {
            sessions: reports().map(|kept| kept.report.live).fold(0, u64::saturating_add),
            expected: windows.iter().map(expected).fold(0, u64::saturating_add),
            guards: u64::try_from(reports().count()).unwrap_or(u64::MAX),
            reported: reports().map(|kept| kept.received).min(),
        }
    }

    pub fn visitors(&self) -> u64 {
        self.sessions.saturating_add(self.expected)
    }

    /// How many more may be let in.
    pub fn free(&self, limit: &ActiveLimit) -> u64 {
        u64::from(limit.visitors).saturating_sub(self.visitors())
    }
}

impl WindowAdmissions {
    /// How long after a window its consumers may say what they did. None runs so long.
    pub const SAID_WITHIN: Duration = Duration::from_mins(1);

    /// How long after a window the last consumer may take one of its slices.
    const TAKEN_WITHIN: Duration = Duration::from_secs(1);

    /// `admitted` is what its consumers have said at the end, if all have, or what is known without them.
    pub fn of(plan: &Plan, room: &Room, admitted: Option<u64>, now: Timestamp) -> Self {
        let next = room.valves.after(plan.valve_from).map(|change| change.from);
        let ends = next.map_or(plan.window.end, |next| next.min(plan.window.end));
        let admitted = admitted.filter(|_| ends + Self::TAKEN_WITHIN <= now);
        let at_most = admitted.unwrap_or(plan.quota.into());
        Self { plan: plan.number, ends, at_most, is_sure: admitted.is_some() }
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
    use crate::fixture::{self, MINUTE};

    const LIMIT: ActiveLimit =
        ActiveLimit { visitors: 100, idle: Duration::from_mins(20), session: Duration::from_hours(2) };
    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn lifetimes() -> Lifetimes {
        Lifetimes { admission: Duration::from_mins(10), ..Lifetimes::default() }
    }

    fn report(of: u8, ago: Duration, live: u64, opened: &[(u64, u64)]) -> KeptReport {
        let guard = format!("guard-{of:010}").try_into().unwrap();
        let opened = BTreeMap::from_iter(opened.iter().copied());
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
        let may_come = Duration::from_secs(16 * 60);
        let just_reported = [report(1, Duration::ZERO, 0, &[])];
        assert_eq!(count(&just_reported, &[window(1, may_come - JUST_NOW, 30)]), (0, 30));
        assert_eq!(count(&just_reported, &[window(1, may_come, 30)]), (0, 0));
    }

    #[test]
    fn a_guard_that_is_silent_counts_with_all_that_may_have_happened_since() {
        let silent = |ago, windows: &[WindowAdmissions]| count(&[report(1, ago, 40, &[(1, 30)])], windows);
        let hour = MINUTE * 60;
        // Whoever was on the way when it last reported may have come meanwhile, and may stay for two hours.
        assert_eq!(silent(hour, &[window(1, hour + MINUTE, 50)]), (40, 20));
        assert_eq!(silent(hour, &[window(9, MINUTE * 30, 50)]), (40, 50));
        // Its sessions end, at the latest, two hours after its report. Those of one that never reports again are forgotten then.
        assert_eq!(silent(hour * 2, &[window(1, hour * 2, 50)]), (0, 0));
        let silent_and_not = [report(1, hour, 40, &[(1, 30)]), report(2, JUST_NOW, 7, &[(1, 5)])];
        assert_eq!(
            count(&silent_and_not, &[window(1, hour + MINUTE, 50)]),
            (47, 15),
            "the silent one decides"
        );
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
