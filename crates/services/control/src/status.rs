use std::time::Duration;

use serde::{Deserialize, Serialize};
use waitroom::ports::{
    LineLength, MinuteLog, Plans, PortResult, RoomReader, StatusBoard, StockCount, ThrottleStore,
};
use waitroom::throttle_rules::Finding;
use waitroom::{
    Author, CountedSlot, LineStatus, ObservedLine, Refusals, Room, Timestamp, Valve, observed_lately,
};

use crate::active::{self, ActiveStatus};
use crate::store::{OperatorLedger, OperatorStore};

/// Everything that an operator sees of a room: what `status` prints and `status --watch` draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub room: Room,
    pub line: LineStatus,
    /// How many have joined in this epoch. On AWS about: as many as were released and as wait.
    #[serde(default)]
    pub joined: u64,
    /// How many were released in this epoch.
    pub released: u64,
    /// How long somebody who joins now will wait, in seconds. `None` while nobody is released, while newcomers go straight in, and
    /// while the shop is full and a guard is missed.
    #[serde(default)]
    pub wait: Option<u64>,
    /// The longest wait of those who were released in this minute and the one before, in seconds. `None` if nobody was.
    #[serde(default)]
    pub longest_wait: Option<u64>,
    /// What the line would have been in the last hour, and would be now, if the room observes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedLine>,
    /// How many are in the shop, if the room has a limit of active visitors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<ActiveStatus>,
    /// The latest windows, newest first.
    pub windows: Vec<WindowCount>,
    /// What the throttle found in the last hour, oldest first. Empty if it has found nothing lately: it does not run.
    pub findings: Vec<Finding>,
    /// When the room stopped, if it doesn't run: this is how it stood then. Only on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Timestamp>,
    /// Requests that were refused because the room could not answer them, as with a full disk. On one machine those to the door,
    /// on AWS all that the API answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusals: Option<Refusals>,
    /// Why it isn't known whether there are any. Only on AWS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusals_missing: Option<String>,
    /// Places that the limit of an address refused. Only on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<Refusals>,
    /// How many messages in the line were not visitors. Only on AWS; `None` on one machine, which does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letters: Option<u64>,
    /// Only on AWS, and only if the room was deployed with alarms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<Alarm>,
    /// Why they or the dead letters aren't known. Only on AWS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarms_missing: Option<String>,
    /// Only on AWS, and only if the room was deployed with alarms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm_mail: Option<AlarmMail>,
}

/// One window: how many were released in it, of how many planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowCount {
    /// The plan's number. Windows are numbered in sequence.
    pub number: u64,
    pub released: u64,
    pub planned: u32,
    /// From when to when it is. Rooms of earlier versions do not say it.
    #[serde(default)]
    pub start: Timestamp,
    #[serde(default)]
    pub end: Timestamp,
}

impl WindowCount {
    /// How long it has been over. A room of an earlier version doesn't say it.
    pub(crate) fn over_for(&self, now: Timestamp) -> Duration {
        if self.end == Timestamp::default() { Duration::ZERO } else { now.since(self.end) }
    }
}

/// An alarm that watches the room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alarm {
    pub name: String,
    pub state: AlarmState,
    /// Why it is in this state, as `CloudWatch` words it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What is wrong when it rings, and what to do: the text of its e-mail.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub meaning: String,
}

impl Alarm {
    /// What to tell an operator while it rings.
    pub fn told(&self) -> &str {
        if self.meaning.is_empty() { &self.reason } else { &self.meaning }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmState {
    Quiet,
    Ringing,
    /// Too few measurements so far.
    Unknown,
}

/// Whether the operator gets e-mails of the alarms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlarmMail {
    pub address: String,
    /// The ARN of the topic that the address is subscribed to.
    pub topic: String,
    pub state: AlarmMailState,
    /// Why the state is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmMailState {
    Confirmed,
    /// AWS has sent an e-mail, and nobody has clicked its link yet.
    Pending,
    /// Nobody clicked the link in time, or somebody unsubscribed.
    Missing,
    /// AWS could not be asked.
    Unknown,
}

/// An alarm began to ring, or stopped. In JSON as an entry of the audit trail, with `"what": "alarm"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename = "alarm")]
pub struct AlarmChange {
    pub at: Timestamp,
    pub who: Author,
    pub alarm: String,
    pub from: AlarmState,
    pub to: AlarmState,
    /// Why, as `CloudWatch` words it.
    pub reason: String,
}

impl AlarmChange {
    /// Who changes the state of alarms.
    pub fn author() -> Author {
        Author::new("CloudWatch")
    }
}

impl AlarmState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Ringing => "ringing",
            Self::Unknown => "unknown",
        }
    }
}

impl Status {
    /// The status as far as the store knows it. The caller adds refusals, and on AWS dead letters and alarms.
    pub async fn of(store: &impl OperatorStore, now: Timestamp) -> PortResult<Self> {
        let (line, ledger) = (store.line(), store.ledger());
        let windows = ledger.recent().await?;
        let (room, progress, waiting) =
            (ledger.room().await?, ledger.progress().await?, line.waiting().await?);
        let joined = line.joined().await?.unwrap_or(progress.released.saturating_add(waiting));
        let longest_wait = ledger.longest_wait(now - Duration::from_mins(1)).await?;
        let observed = if room.observes() { Some(observed(ledger, &room, now).await?) } else { None };
        let active = active::count(ledger, &room, now).await?;
        let is_pace_known =
            room.while_full.is_none() || active.is_none_or(|active| !active.misses_guard(now));
        let joins_line = room.takes_newcomers() && room.releases() && !newcomers_go_straight_in(&room);
        Ok(Self {
            observed,
            active,
            line: LineStatus::of(&room, progress.reach(), waiting, ledger.left_in(&room).await?),
            room: Room::clone(&room),
            joined,
            released: progress.released,
            wait: (joins_line && is_pace_known).then(|| room.pace_of_line().seconds_for(waiting)),
            longest_wait: longest_wait.map(|wait| wait.as_secs()),
            windows: windows
                .iter()
                .map(|record| WindowCount {
                    number: record.plan.number,
                    released: record.released,
                    planned: record.plan.quota,
                    start: record.plan.window.start,
                    end: record.plan.window.end,
                })
                .collect(),
            findings: found_lately(ledger.recall().await?.history, now),
            stopped_at: None,
            refusals: None,
            refusals_missing: None,
            alarms_missing: None,
            limited: None,
            dead_letters: None,
            alarms: Vec::new(),
            alarm_mail: None,
        })
    }

    /// This window and the one before, newest first: none that is still ahead, as before an opening, and none of long ago, as
    /// where nobody has waited since.
    pub(crate) fn windows_lately(&self, now: Timestamp) -> impl Iterator<Item = &WindowCount> {
        const LATELY: Duration = Duration::from_mins(2);
        self.windows.iter().filter(move |window| window.start <= now && window.over_for(now) < LATELY)
    }
}

/// Whether newcomers need no place in line now.
pub(crate) fn newcomers_go_straight_in(room: &Room) -> bool {
    room.observes() || matches!(room.valve(), Valve::Doors(_))
}

/// The findings of the last hour. A throttle that was turned off, or a room that was down, leaves old ones, which say nothing of the
/// shop as it is.
fn found_lately(mut history: Vec<Finding>, now: Timestamp) -> Vec<Finding> {
    /// A run every minute, which takes less than one.
    const LATELY: Duration = Duration::from_mins(3);
    const SHOWN: Duration = Duration::from_hours(1);
    let runs = history.last().is_some_and(|latest| now.since(latest.at) <= LATELY);
    history.retain(|finding| runs && now.since(finding.at) <= SHOWN);
    history
}

async fn observed(ledger: &impl OperatorLedger, room: &Room, now: Timestamp) -> PortResult<ObservedLine> {
    const MINUTE: Duration = Duration::from_mins(1);
    let records = ledger.minutes(now - 60 * MINUTE).await?;
    let slots = ledger.newcomers().await?;
    let until = CountedSlot::at(now, MINUTE) + CountedSlot::length(MINUTE);
    Ok(observed_lately(room, &records, &slots, MINUTE, until))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use futures_executor::block_on;
    use pass::GuardReport;
    use waitroom::ports::{GuardReports, ThrottleMemory};
    use waitroom::throttle_rules::{Sample, Verdict};
    use waitroom::{ActiveLimit, KeptReport, Mode, Rate};

    use super::*;
    use crate::Order;
    use crate::fixture::{NOW, WaitingRoom};

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn no_wait_is_told_while_the_shop_is_full_and_no_guard_says_who_leaves_it() {
        let store = WaitingRoom::new();
        let (idle, session) = (ActiveLimit::DEFAULT_IDLE, ActiveLimit::DEFAULT_SESSION);
        let limit = ActiveLimit { visitors: 5, idle, session };
        store.ledger.change_room(|room| room.settings.active = Some(limit));
        assert_eq!(store.status().wait, Some(2), "it isn't full");
        store.ledger.change_room(|room| room.while_full = Some(Rate::MIN));
        assert_eq!(store.status().wait, None);
        let reported = |ago: Duration| {
            let guard = "guard-0000000001".to_owned().try_into().unwrap();
            let made = (NOW - ago).as_millis();
            let report = GuardReport { guard, made, pass: 300, live: 5, opened: BTreeMap::new() };
            block_on(store.ledger.keep_report(KeptReport { report, received: NOW - ago })).unwrap();
            store.status().wait.is_some()
        };
        assert_eq!([3 * MINUTE, MINUTE].map(reported), [false, true]);
    }

    #[test]
    fn no_wait_is_told_while_newcomers_go_straight_in() {
        let store = WaitingRoom::new();
        store.execute(Order::Mode { mode: Mode::Overflow });
        assert_eq!(store.status().wait, Some(2), "a line has formed");
        store.ledger.change_room(|room| room.quiet = true);
        assert_eq!(store.status().wait, None);
        let observing = WaitingRoom::new();
        observing.execute(Order::Mode { mode: Mode::Observe });
        assert_eq!(observing.status().wait, None);
    }

    #[test]
    fn old_findings_say_nothing_of_the_shop_as_it_is() {
        let shown = |minutes_ago: &[u32]| {
            let store = WaitingRoom::empty();
            let found = |ago: &u32| {
                Finding::new(NOW - *ago * MINUTE, &Sample::default(), None, Verdict::Failing, Rate::MIN)
            };
            let history = minutes_ago.iter().map(found).collect();
            let memory = ThrottleMemory { history, version: 1, ..ThrottleMemory::default() };
            assert!(block_on(store.ledger.remember(memory)).unwrap());
            store.status().findings.len()
        };
        assert_eq!(shown(&[3, 2, 1]), 3);
        assert_eq!(shown(&[6, 5, 4]), 0, "the throttle was turned off");
        assert_eq!(shown(&[900, 899, 1]), 1, "the room was down over night");
    }
}
