//! How many newcomers may go straight in while nobody waits.
//!
//! Whoever goes straight in needs a permit, and every permit takes its share of time: at 60 a minute, a second. Kept is one
//! instant only, up to which time is used up. It is never after now, and unused time is forgotten after a second, or a little later
//! at low rates. So nothing has to plan permits, and nothing has to run for them. Their time is a little longer than the rate says,
//! by what was saved up: then no minute has more of them than the rate allows, wherever it begins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{BATCH, Rate, Room, Timestamp, Valve, ValveChange};

/// The permits of the doors, as one change of the valve allows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorPermits {
    /// From when on there are any.
    pub since: Timestamp,
    rate: Rate,
    minute: Duration,
}

/// Up to when the time of the doors is used up: microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UsedTime(pub u64);

impl UsedTime {
    /// Everything until then.
    pub fn at(instant: Timestamp) -> Self {
        Self(instant.as_millis().saturating_mul(1000))
    }
}

impl DoorPermits {
    /// How many portions a second's share has. Doors take permits by the portion, so that at high rates not every visitor costs
    /// a write, and one door cannot hold what the others need.
    const PORTIONS_A_SECOND: u32 = 100;

    /// As if this rate were always in force.
    pub(crate) fn always(rate: Rate, minute: Duration) -> Self {
        Self { since: Timestamp::default(), rate, minute }
    }

    /// `None` unless the doors let newcomers straight in at `now`: not while the room releases nobody either, because after the clock
    /// was set back an older valve is in force. `minute` is the time that the rate is meant for.
    pub fn of(room: &Room, now: Timestamp, minute: Duration) -> Option<Self> {
        match room.valve_at(now) {
            ValveChange { from: since, valve: Valve::Doors(rate) } if room.releases() => {
                Some(Self { since, rate, minute })
            }
            _ => None,
        }
    }

    /// How many permits a door takes at once.
    pub fn portion(&self) -> u32 {
        self.rate.get().div_ceil(60 * Self::PORTIONS_A_SECOND)
    }

    /// How long permits are good for once a door has taken them.
    pub fn good_for(&self) -> Duration {
        self.minute / 60
    }

    /// Whether there were so many permits by `now` that somebody who gets none shows that too many come. There are none at first,
    /// because the slices may just have released their share.
    pub fn are_established(&self, now: Timestamp) -> bool {
        UsedTime::at(now).0 >= UsedTime::at(self.since).0.saturating_add(2 * self.kept())
    }

    /// From when on time that nobody used still counts at `now`.
    pub fn earliest(&self, now: Timestamp) -> UsedTime {
        UsedTime(UsedTime::at(now).0.saturating_sub(self.kept())).max(UsedTime::at(self.since))
    }

    /// Up to when time may be used up before `count` permits are taken at `now`.
    pub fn latest(&self, count: u32, now: Timestamp) -> UsedTime {
        UsedTime(UsedTime::at(now).0.saturating_sub(self.time_of(count)))
    }

    /// What is used up once `count` permits are taken from there.
    pub fn after(&self, used: UsedTime, count: u32) -> UsedTime {
        UsedTime(used.0.saturating_add(self.time_of(count)))
    }

    /// What is used up once `count` permits are taken at `now`. `None` if there are not so many.
    pub fn take(&self, used: UsedTime, count: u32, now: Timestamp) -> Option<UsedTime> {
        let used = used.max(self.earliest(now));
        (used <= self.latest(count, now)).then(|| self.after(used, count))
    }

    /// Takes `count` permits at `now`, if there are so many. What is used is after now only if the clock was set back.
    pub fn take_from(&self, used: &mut UsedTime, count: u32, now: Timestamp) -> bool {
        let before = (*used).min(UsedTime::at(now));
        let after = self.take(before, count, now);
        *used = after.unwrap_or(before);
        after.is_some()
    }

    /// The time that so many permits take, in microseconds. Rounded up, so that they never exceed the rate.
    pub fn time_of(&self, count: u32) -> u64 {
        // What a minute may have beside its own: what was saved up, and what a door has taken before and not used.
        let held = if self.portion() > 1 { micros(self.good_for()) } else { 0 };
        let longer = micros(self.minute).max(1) + self.kept().saturating_sub(self.share()) + held;
        let time = u128::from(longer) * u128::from(count);
        u64::try_from(time.div_ceil(self.rate.get().into())).unwrap_or(u64::MAX)
    }

    /// The share of one permit in the minute, in microseconds.
    fn share(&self) -> u64 {
        micros(self.minute).div_ceil(self.rate.get().into())
    }

    /// How much unused time is kept, in microseconds: a second, or one permit; or a batch of permits, if that takes three seconds
    /// at most. At low rates, two who come at the same moment would make a line otherwise.
    pub(crate) fn kept(&self) -> u64 {
        let second = micros(self.minute / 60);
        let batch = (self.share() * u64::from(BATCH)).min(3 * second);
        second.max(self.share()).max(batch)
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::RoomState;
    use crate::fixture::{self, MINUTE};

    const SINCE: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn permits(rate: u32) -> DoorPermits {
        DoorPermits { since: SINCE, rate: Rate::new(rate).unwrap(), minute: MINUTE }
    }

    fn after(millis: u64) -> Timestamp {
        SINCE + Duration::from_millis(millis)
    }

    /// Takes permits one by one, and returns how many there were.
    fn take_all(permits: &DoorPermits, used: &mut UsedTime, now: Timestamp) -> u32 {
        let mut taken = 0;
        while let Some(after) = permits.take(*used, 1, now) {
            (*used, taken) = (after, taken + 1);
        }
        taken
    }

    #[test]
    fn permits_come_evenly_and_a_second_of_them_is_kept() {
        let (permits, mut used) = (permits(600), UsedTime::default());
        let at = |used: &mut UsedTime, millis| take_all(&permits, used, after(millis));
        assert_eq!(at(&mut used, 0), 0, "the slices before it may have released their share of this second");
        // Each takes 101.5 ms.
        assert_eq!(at(&mut used, 101), 0);
        assert_eq!(at(&mut used, 102), 1);
        assert_eq!(at(&mut used, 350), 2);
        assert_eq!(at(&mut used, 407), 1);
        assert_eq!(at(&mut used, 60_000), 9, "what nobody used is forgotten after a second");
        assert_eq!(at(&mut used, 60_000), 0);
        assert!(!permits.are_established(after(1_999)) && permits.are_established(after(2_000)));
    }

    #[test]
    fn at_a_low_rate_one_permit_is_kept_for_as_long_as_it_takes() {
        let (permits, mut used) = (permits(1), UsedTime::default());
        assert_eq!(take_all(&permits, &mut used, after(59_999)), 0);
        assert_eq!(take_all(&permits, &mut used, after(500_000)), 1);
        assert_eq!(take_all(&permits, &mut used, after(559_999)), 0);
        assert_eq!(take_all(&permits, &mut used, after(560_000)), 1);
    }

    #[test]
    fn a_portion_is_one_permit_until_the_rate_is_high() {
        assert_eq!([1, 6_000, 6_001, 270_000].map(|rate| permits(rate).portion()), [1, 1, 2, 45]);
    }

    #[test]
    fn the_doors_are_shut_while_nobody_is_released_whatever_valve_is_in_force() {
        let mut room = Room { valves: "0=doors-60 9000000=closed".parse().unwrap(), ..fixture::room(60) };
        let now = Timestamp::from_millis(1000);
        assert!(DoorPermits::of(&room, now, MINUTE).is_some());
        room.state = RoomState::Paused;
        assert_eq!(DoorPermits::of(&room, now, MINUTE), None, "the clock was set back");
    }

    proptest! {
        #[test]
        fn no_minute_has_more_than_the_rate_and_no_second_far_more_than_its_share(
            rate in prop_oneof![1..100u32, 1..6_000u32, 1..270_000u32],
            steps in proptest::collection::vec((prop_oneof![0..300u64, 0..3_000u64], 0..400u32), 1..120),
        ) {
            let permits = permits(rate);
            let (mut used, mut now) = (UsedTime::default(), SINCE);
            let mut taken: Vec<(Timestamp, u64)> = Vec::new();
            for (pause, wanted) in steps {
                now = now + Duration::from_millis(pause);
                let mut count = 0;
                for _ in 0..wanted {
                    let Some(after) = permits.take(used, permits.portion(), now) else { break };
                    (used, count) = (after, count + u64::from(permits.portion()));
                }
                taken.push((now, count));
            }
            let within = |from: Timestamp, time: Duration| -> u64 {
                let inside = |at: &Timestamp| (from..from + time).contains(at);
                taken.iter().filter(|(at, _)| inside(at)).map(|(_, count)| count).sum()
            };
            for (from, _) in &taken {
                prop_assert!(within(*from, MINUTE) <= rate.into());
                let second = within(*from, Duration::from_secs(1));
                let most = (u64::from(rate) + 600).max(2 * u64::from(rate));
                prop_assert!(second * 60 <= most, "{second} in a second");
            }
        }
    }
}
