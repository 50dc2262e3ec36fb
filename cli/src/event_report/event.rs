use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use waitroom::{AuditEntry, MinuteRecord, Room, RoomId, Timestamp};

use super::entered::set_entered;
use super::minutes::{
    ReportedMinute, busy, has_whole_event, is_of_rehearsals, last_event, reported, set_states,
};
use super::summary::ReportSummary;
use crate::exit;
use crate::history_line::HistoryLine;
use crate::room::RoomHandle;

const MINUTE: Duration = Duration::from_mins(1);

/// How far back the last event is looked for, step by step: on AWS, each minute of the history costs a read.
const LOOKED_BACK: [Duration; 4] =
    [Duration::from_hours(6), Duration::from_hours(24), Duration::from_hours(4 * 24), MinuteRecord::KEPT];

/// How long before the first minute and after the last one orders belong to an event.
const AROUND: Duration = Duration::from_hours(1);

/// Why nobody is known to have come for their pass.
const NO_ENTRIES: &str = "CloudWatch has no metric Entered of this time: nobody came, or the room has to be deployed again by \
                          this version of beekeeper";

/// What the report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReportRange {
    /// The busy minutes up to the last one.
    LastEvent,
    /// A time up to now.
    Since,
    /// All that the room still keeps.
    Kept,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EventReport {
    /// The version of this format.
    pub(crate) format: u8,
    pub(crate) room: RoomId,
    pub(crate) title: String,
    /// When the report was made.
    pub(crate) made: Timestamp,
    /// When the room stopped, if it did not run when the report was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopped_at: Option<Timestamp>,
    pub(crate) range: ReportRange,
    /// Whether the report is about visitors of rehearsals, because nobody else came in its time. Otherwise no number counts
    /// them.
    #[serde(default)]
    pub(crate) rehearsal: bool,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// Whether joined and waiting are counted only roughly, as on AWS.
    pub(crate) rough: bool,
    /// Whether the audit trail no longer has the first orders of this time.
    pub(crate) orders_missing: bool,
    /// Why nobody knows who came for their pass, if it could have been known.
    #[serde(default)]
    pub(crate) entered_missing: Option<String>,
    pub(crate) summary: ReportSummary,
    pub(crate) minutes: Vec<ReportedMinute>,
    pub(crate) orders: Vec<HistoryLine>,
}

/// What a room keeps of its events.
struct KeptRecords {
    room: Room,
    /// Whether joined and waiting are counted only roughly.
    rough: bool,
    since: Timestamp,
    now: Timestamp,
    stopped_at: Option<Timestamp>,
    minutes: Vec<MinuteRecord>,
    /// Orders and alarms, oldest first.
    lines: Vec<HistoryLine>,
    /// How many came for their pass, by minutes of the clock; none if the records of the minutes say so.
    entered: Result<Option<Vec<(Timestamp, u64)>>>,
}

impl KeptRecords {
    /// Reads what the room keeps of so long a time up to now.
    async fn read(room: &RoomHandle, back: Duration) -> Result<Self> {
        let now = room.now();
        let since = now - back;
        // The records first: an order after them is of no minute that is reported.
        let minutes = room.minutes(since).await?;
        let status = room.status_without_alarms().await?;
        let lines = HistoryLine::of(room, AuditEntry::KEPT).await?;
        let entered = room.entered(since - MINUTE).await;
        let (rough, stopped_at) = (room.is_far(), status.stopped_at);
        Ok(Self { room: status.room, rough, since, now, stopped_at, minutes, lines, entered })
    }

    /// The minutes, with what the orders and the metric say of them.
    fn reported(&self) -> Vec<ReportedMinute> {
        let mut minutes = reported(&self.minutes, self.since, &self.lines, self.room.settings.rate);
        set_states(&mut minutes, &self.lines, self.room.state);
        if let Ok(Some(entries)) = &self.entered {
            set_entered(&mut minutes, entries);
        }
        minutes
    }
}

impl EventReport {
    pub(crate) const FORMAT: u8 = 1;

    /// The report about the last event, or about the time `since`.
    pub(crate) async fn of(room: &RoomHandle, since: Option<Duration>) -> Result<Self> {
        match since {
            Some(since) => Ok(Self::from_kept(KeptRecords::read(room, since).await?, ReportRange::Since)),
            None => Self::of_last_event(|back| KeptRecords::read(room, back)).await,
        }
    }

    /// The report about all that the room still keeps.
    #[cfg(feature = "aws")]
    pub(crate) async fn of_all(room: &RoomHandle) -> Result<Self> {
        Ok(Self::from_kept(KeptRecords::read(room, MinuteRecord::KEPT).await?, ReportRange::Kept))
    }

    /// Reads further back until the last event is known from its beginning.
    async fn of_last_event(read: impl AsyncFn(Duration) -> Result<KeptRecords>) -> Result<Self> {
        let [first, further @ ..] = LOOKED_BACK;
        let mut kept = read(first).await?;
        for back in further {
            let minutes = kept.reported();
            // Perhaps customers came before a rehearsal.
            if !is_of_rehearsals(&minutes) && has_whole_event(&minutes, kept.since) {
                break;
            }
            kept = read(back).await?;
        }
        Ok(Self::from_kept(kept, ReportRange::LastEvent))
    }

    fn from_kept(kept: KeptRecords, range: ReportRange) -> Self {
        let minutes = kept.reported();
        let KeptRecords { room, rough, since, now, stopped_at, minutes: _, lines, entered } = kept;
        // A report without this number is better than none.
        let entered_missing = match entered {
            Ok(entries) => entries.is_some_and(|entries| entries.is_empty()).then(|| NO_ENTRIES.to_owned()),
            Err(error) => Some(with_advice(&error)),
        };
        let rehearsal = is_of_rehearsals(&minutes);
        let event = last_event(&minutes, rehearsal).filter(|_| range == ReportRange::LastEvent);
        let (first, last) = event.unwrap_or((since, now));
        let around = if event.is_some() { AROUND } else { Duration::ZERO };
        let within = first - around..=last + around;
        // With the minute before the first and the one after the last.
        let shown = first - 2 * MINUTE..=last + 2 * MINUTE;
        let is_shown = |minute: &ReportedMinute| {
            let range = if minute.count.rehearsal { &within } else { &shown };
            range.contains(&minute.count.at)
        };
        let minutes: Vec<_> = busy(&minutes).into_iter().filter(is_shown).collect();
        let is_oldest_known =
            lines.iter().any(|line| matches!(line, HistoryLine::Entry(entry) if entry.number == 1));
        let oldest = lines.iter().find(|line| matches!(line, HistoryLine::Entry(_))).map(HistoryLine::at);
        let orders_missing = !is_oldest_known && oldest.is_some_and(|oldest| oldest > *within.start());
        let orders: Vec<_> = lines.into_iter().filter(|line| within.contains(&line.at())).collect();
        Self {
            format: Self::FORMAT,
            room: room.settings.room,
            title: room.settings.title.to_string(),
            made: now,
            stopped_at,
            range,
            rehearsal,
            // The first minute's record was written when it ended.
            from: if event.is_some() { first - MINUTE } else { first },
            to: last,
            rough,
            orders_missing,
            entered_missing,
            summary: ReportSummary::of(
                &minutes.iter().filter(|minute| minute.count.rehearsal == rehearsal),
                &orders,
            ),
            minutes,
            orders,
        }
    }

    /// The minutes that its numbers and plots are about.
    pub(super) fn counted(&self) -> impl Iterator<Item = &ReportedMinute> {
        self.minutes.iter().filter(|minute| minute.count.rehearsal == self.rehearsal)
    }

    /// Whether nobody came in this time.
    pub(crate) fn is_empty(&self) -> bool {
        self.minutes.is_empty()
    }
}

/// The error, and what to do about it, without a full stop.
fn with_advice(error: &anyhow::Error) -> String {
    let advice = exit::advice(error).map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("{error:#}{advice}")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use control::{AlarmChange, AlarmState};
    use waitroom::{AuditedChange, Author, Rate, RoomState};

    use super::*;
    use crate::exit::{Exit, Failure};
    use crate::fixture::{minute_record, suffering};
    use crate::runtime::block_on;

    /// The first eighty minutes are before midnight.
    fn at(minute: u64) -> Timestamp {
        Timestamp::from_millis((10_000 + minute) * 60_000)
    }

    /// A record a minute, from this one on: how many had joined and were released.
    fn kept(from: u64, totals: impl IntoIterator<Item = (u64, u64)>) -> KeptRecords {
        let records = (from..).zip(totals);
        let minutes =
            records.map(|(minute, (joined, released))| minute_record(at(minute), joined, released)).collect();
        let room = Room { state: RoomState::On, ..suffering().room };
        let (since, now) = (Timestamp::default(), at(1000));
        KeptRecords {
            room,
            rough: true,
            since,
            now,
            stopped_at: None,
            minutes,
            lines: Vec::new(),
            entered: Ok(None),
        }
    }

    fn order(at: Timestamp, change: AuditedChange) -> HistoryLine {
        HistoryLine::Entry(AuditEntry { number: 1, at, who: Author::new("anna"), change, undoes: None })
    }

    #[test]
    fn the_history_is_read_back_to_an_hour_before_the_last_event() {
        const NOW: u64 = 30_000;

        // Somebody joins and is released in each of these minutes before now.
        let report = |ago: &[u64]| {
            let hours = RefCell::new(Vec::new());
            let read = |back: Duration| {
                let minutes = back.as_secs() / 60;
                hours.borrow_mut().push(minutes / 60);
                let first = NOW - minutes;
                let joined =
                    |minute: u64| -> u64 { ago.iter().map(|ago| u64::from(NOW - ago <= minute)).sum() };
                let totals = (first - 1..=NOW).map(|minute| (joined(minute), joined(minute)));
                let kept = KeptRecords { since: at(first), now: at(NOW), ..kept(first - 1, totals) };
                std::future::ready(anyhow::Ok(kept))
            };
            let report = block_on(EventReport::of_last_event(read)).unwrap();
            (hours.into_inner(), report.summary.joined)
        };
        assert_eq!(report(&[200, 250, 290]), (vec![6], 3));
        assert_eq!(report(&[250, 305]), (vec![6, 24], 2), "the hour before it is not within six hours");
        assert_eq!(report(&[330, 365]), (vec![6, 24], 2), "it began more than six hours ago");
        assert_eq!(report(&[5000]), (vec![6, 24, 96], 1));
        assert_eq!(report(&[20_100]), (vec![6, 24, 96, 336], 1));
        assert_eq!(report(&[]), (vec![6, 24, 96, 336], 0));
    }

    #[test]
    fn a_report_says_if_an_alarm_changed_more_often_than_is_read() {
        let change = |second| {
            HistoryLine::Alarm(AlarmChange {
                at: at(2) + Duration::from_secs(second),
                who: AlarmChange::author(),
                alarm: "LineStalledAlarm".into(),
                from: AlarmState::Quiet,
                to: AlarmState::Ringing,
                reason: "Threshold Crossed".into(),
            })
        };
        let notes = |changes| {
            let lines = (0..changes).map(change).collect();
            let kept = KeptRecords { lines, ..kept(1, [(0, 0), (100, 40), (100, 100)]) };
            EventReport::from_kept(kept, ReportRange::LastEvent).notes().join("\n")
        };
        let note = "The first changes of an alarm may be missing: the latest 500 are read.";
        assert!(notes(500).contains(note), "{}", notes(500));
        assert!(!notes(499).contains(note));
    }

    #[test]
    fn who_came_for_their_pass_is_in_a_plot_if_it_was_counted() {
        let series = |entered: Result<_>| {
            let kept = KeptRecords { entered, ..kept(1, [(0, 0), (100, 100)]) };
            let report = EventReport::from_kept(kept, ReportRange::LastEvent);
            report.plots()[1].series.iter().map(|series| series.name.clone()).collect::<Vec<_>>()
        };
        let counted = ["joined", "released", "rate in force", "came for pass"];
        assert_eq!(series(Ok(Some(vec![(at(0), 50)]))), counted);
        assert_eq!(series(Ok(None)), counted[..3]);
    }

    #[test]
    fn a_report_that_may_not_read_the_metric_says_so_and_tells_the_rest() {
        let denied = Failure::new(Exit::Denied, "AccessDenied").advising("you need the permission");
        let denied = anyhow::Error::new(denied).context("could not read the metric Entered");
        let kept = KeptRecords { entered: Err(denied), ..kept(1, [(0, 0), (100, 40), (100, 100)]) };
        let report = EventReport::from_kept(kept, ReportRange::LastEvent);
        assert_eq!((report.summary.released, report.summary.entered), (100, None));
        let text = report.document().text(100);
        assert!(text.contains("\ncame for pass  not counted\n"), "{text}");
        let note = "Who came for their pass was not counted: could not read the metric Entered: AccessDenied; you need \
                    the permission.";
        assert!(text.contains(note) && report.document().html().contains(note), "{text}");
        assert!(report.csv().lines().skip(1).all(|line| line.split(',').nth(3) == Some("")));
    }

    #[test]
    fn a_report_without_a_value_of_the_metric_says_so() {
        let kept = KeptRecords { entered: Ok(Some(Vec::new())), ..kept(1, [(0, 0), (100, 100)]) };
        let report = EventReport::from_kept(kept, ReportRange::LastEvent);
        assert_eq!(report.entered_missing.as_deref(), Some(NO_ENTRIES));
    }

    #[test]
    fn those_who_come_after_the_last_was_released_are_counted() {
        let entries = vec![(at(2), 50), (at(4), 20), (at(5), 7)];
        let totals = [(0, 0), (100, 0)].into_iter().chain([(100, 100); 9]);
        let kept = KeptRecords { entered: Ok(Some(entries)), ..kept(1, totals) };
        let report = EventReport::from_kept(kept, ReportRange::LastEvent);
        assert_eq!((report.to, report.summary.entered), (at(6), Some(77)));
        assert_eq!(report.minutes.last().map(|minute| minute.count.at), Some(at(7)));
    }

    #[test]
    fn an_event_ends_when_the_room_is_turned_off_although_places_are_left_in_the_line() {
        let totals = || [(0, 0), (100, 60)].into_iter().chain([(100, 97); 300]);
        let waiting = EventReport::from_kept(kept(1, totals()), ReportRange::LastEvent);
        assert_eq!((waiting.to, waiting.summary.drained_at), (at(302), None));

        let (from, to) = (RoomState::On, RoomState::Off);
        let off = AuditedChange::State { from, to, from_opens: None, to_opens: None };
        let mut kept = kept(1, totals());
        kept.room.state = to;
        kept.lines = vec![order(at(3) + MINUTE / 2, off)];
        let report = EventReport::from_kept(kept, ReportRange::LastEvent);
        assert_eq!((report.to, report.summary.drained_at), (at(3), Some(at(4))));
        assert_eq!((report.minutes.len(), report.summary.longest_line), (4, 40));
    }

    #[test]
    fn times_have_the_day_if_an_order_was_given_on_another() {
        let mut kept = kept(81, [(0, 0), (100, 100), (100, 100)]);
        assert_eq!(at(80).to_string(), "1970-01-08 00:00:00 UTC");
        kept.lines = vec![order(at(79), AuditedChange::Rate { from: Rate::MIN, to: Rate::MAX })];
        let text = EventReport::from_kept(kept, ReportRange::LastEvent).document().text(100);
        assert!(text.contains("\n1970-01-07 23:59:00  anna rate: 1 -> 270000\n"), "{text}");
    }
}
