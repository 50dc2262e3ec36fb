use std::time::Duration;

use control::HistoryLine;
use serde::{Deserialize, Serialize};
use waitroom::{MinuteRecord, RoomId, Timestamp};

use super::kept_records::KeptRecords;
use super::minutes::{MINUTE, ReportedMinute, busy, has_whole_event, is_of_rehearsals, last_event};
use super::summary::ReportSummary;

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
pub enum ReportRange {
    /// The busy minutes up to the last one.
    LastEvent,
    /// A time up to now.
    Since,
    /// All that the room still keeps.
    Kept,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventReport {
    /// The version of this format.
    pub format: u8,
    pub room: RoomId,
    pub title: String,
    /// When the report was made.
    pub made: Timestamp,
    /// When the room stopped, if it did not run when the report was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Timestamp>,
    pub range: ReportRange,
    /// Whether the report is about visitors of rehearsals, because nobody else came in its time. Otherwise no number counts
    /// them.
    #[serde(default)]
    pub rehearsal: bool,
    pub from: Timestamp,
    pub to: Timestamp,
    /// Whether joined and waiting are counted only roughly, as on AWS.
    pub rough: bool,
    /// Whether the audit trail no longer has the first orders of this time.
    pub orders_missing: bool,
    /// Why nobody knows who came for their pass, if it could have been known.
    #[serde(default)]
    pub entered_missing: Option<String>,
    pub summary: ReportSummary,
    pub minutes: Vec<ReportedMinute>,
    pub orders: Vec<HistoryLine>,
}

/// What a report of every version has.
#[derive(Deserialize)]
struct ReportFormat {
    format: u8,
}

/// Why a text is no report that this version can show.
#[derive(Debug)]
pub enum NoReport {
    /// A later version wrote it.
    Newer,
    Unreadable(serde_json::Error),
}

impl EventReport {
    pub const FORMAT: u8 = 1;

    /// A report that was kept, as its JSON.
    pub fn parse(json: &str) -> Result<Self, NoReport> {
        let ReportFormat { format } = serde_json::from_str(json).map_err(NoReport::Unreadable)?;
        if format > Self::FORMAT {
            return Err(NoReport::Newer);
        }
        serde_json::from_str(json).map_err(NoReport::Unreadable)
    }

    /// The report about the last event. Reads what the room keeps further and further back, until that is known from its
    /// beginning.
    pub async fn of_last_event<E>(read: impl AsyncFn(Duration) -> Result<KeptRecords, E>) -> Result<Self, E> {
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
        Ok(Self::of(kept, ReportRange::LastEvent))
    }

    /// The report about all of it, or about the last event in it.
    pub fn of(kept: KeptRecords, range: ReportRange) -> Self {
        let minutes = kept.reported();
        let KeptRecords { room, rough, since, now, stopped_at, minutes: _, lines, entered } = kept;
        // A report without this number is better than none.
        let entered_missing = match entered {
            Ok(entries) => entries.is_some_and(|entries| entries.is_empty()).then(|| NO_ENTRIES.to_owned()),
            Err(reason) => Some(reason),
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
        let counted: Vec<_> =
            minutes.iter().filter(|minute| minute.count.rehearsal == rehearsal).copied().collect();
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
            summary: ReportSummary::of(&counted, &orders, now),
            minutes,
            orders,
        }
    }

    /// The minutes that its numbers and plots are about.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &ReportedMinute> {
        self.minutes.iter().filter(|minute| minute.count.rehearsal == self.rehearsal)
    }

    /// Whether nobody came in this time.
    pub fn is_empty(&self) -> bool {
        self.minutes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use control::{AlarmChange, AlarmState};
    use futures_executor::block_on;
    use serde_json::Value;
    use waitroom::{
        AuditEntry, AuditedChange, Author, ObservedLine, Oversubscription, Rate, RoomState, StateChange,
        Stretch, UsedTime, VirtualLine,
    };

    use super::*;
    use crate::fixture::{minute_record, room};

    /// The first eighty minutes are before midnight.
    fn at(minute: u64) -> Timestamp {
        Timestamp::from_millis((10_000 + minute) * 60_000)
    }

    /// A record a minute, from this one on: how many had joined and were released.
    fn kept(from: u64, totals: impl IntoIterator<Item = (u64, u64)>) -> KeptRecords {
        let records = (from..).zip(totals);
        let minutes =
            records.map(|(minute, (joined, released))| minute_record(at(minute), joined, released)).collect();
        let (since, now) = (Timestamp::default(), at(1000));
        KeptRecords {
            room: room(),
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
                std::future::ready(Ok::<_, Infallible>(kept))
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
            EventReport::of(kept, ReportRange::LastEvent).notes().join("\n")
        };
        let note = "The first changes of an alarm may be missing: the latest 500 are read.";
        assert!(notes(500).contains(note), "{}", notes(500));
        assert!(!notes(499).contains(note));
    }

    #[test]
    fn an_order_that_changed_nothing_is_not_told() {
        let told = |from, to| {
            let change = AuditedChange::Stretch { from, to };
            let (number, at, who) = (1, at(2), Author::new("anna"));
            let lines = vec![HistoryLine::Entry(AuditEntry { number, at, who, change, undoes: None })];
            let kept = KeptRecords { lines, ..kept(1, [(0, 0), (100, 40), (100, 100)]) };
            EventReport::of(kept, ReportRange::LastEvent).document().text(100).contains("anna stretch:")
        };
        assert!(told(Stretch::default(), Stretch::MAX) && !told(Stretch::MAX, Stretch::MAX));
    }

    #[test]
    fn who_came_for_their_pass_is_in_a_plot_if_it_was_counted() {
        let series = |entered| {
            let kept = KeptRecords { entered, ..kept(1, [(0, 0), (100, 100)]) };
            let report = EventReport::of(kept, ReportRange::LastEvent);
            report.plots()[1].series.iter().map(|series| series.name.clone()).collect::<Vec<_>>()
        };
        let counted = ["joined", "released", "rate in force", "came for pass"];
        assert_eq!(series(Ok(Some(vec![(at(0), 50)]))), counted);
        assert_eq!(series(Ok(None)), counted[..3]);
    }

    #[test]
    fn what_the_line_would_have_been_is_told_if_the_room_observed() {
        let report = |lines: [Option<ObservedLine>; 3]| {
            let mut kept = kept(1, [(0, 0), (100, 100), (300, 300), (340, 340)]);
            for (record, line) in kept.minutes[1..].iter_mut().zip(lines) {
                let (until, used) = (record.totals.at, UsedTime::at(record.totals.at));
                record.totals.observed = line.map(|line| VirtualLine { until, used, line });
            }
            EventReport::of(kept, ReportRange::LastEvent)
        };
        assert_eq!(report([None; 3]).summary.observed, None);
        let line = |waited, waiting, longest_wait, busiest| {
            Some(ObservedLine { waited, waiting, longest_wait, longest_line: waiting + 5, busiest })
        };
        let report = report([line(0, 0, 0, 110), line(150, 120, 40, 200), line(30, 125, 38, 90)]);
        let text = report.document().text(120);
        for told in [
            "\nobserved        of 340 visitors, 180 would have waited\n",
            "\nwould-be line   130, by 22:44:00\n",
            "\nwould-be wait   40 s, by 22:43:00\n",
            "\nbusiest minute  200 came by 22:43:00: at this rate, nobody would have waited longer than a minute\n",
            "150 would have waited",
        ] {
            assert!(text.contains(told), "{told:?} in {text}");
        }
        assert_eq!(report.plots()[0].series[1].name, "would wait");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["summary"]["observed"]["waited"], 180);
        assert_eq!(json["minutes"][2]["observed"]["longest_line"], 125);
        assert_eq!(serde_json::from_value::<EventReport>(json).unwrap(), report);
    }

    #[test]
    fn a_report_says_how_many_came_of_those_let_in_and_what_was_made_up_for() {
        // Released and came, in total.
        let totals = [(0, 0), (600, 470), (1200, 950), (1950, 1550), (2700, 2160), (2700, 2170)];
        let report = |percent, entered: bool, now| {
            let mut kept = kept(1, totals.map(|(released, _)| (3000, released)));
            for (record, (_, came)) in kept.minutes.iter_mut().zip(totals) {
                record.totals.entered = entered.then_some(came);
                record.totals.rate = Some(Rate::new(600).unwrap());
            }
            kept.room.settings.rate = Rate::new(600).unwrap();
            kept.room.settings.oversubscribe = Oversubscription::new(percent).ok();
            for made_up in &mut kept.minutes[3..5] {
                made_up.totals.rate = Some(Rate::new(750).unwrap());
            }
            EventReport::of(KeptRecords { rough: false, now, ..kept }, ReportRange::LastEvent)
        };
        let told = |report: &EventReport| {
            let text = report.document().text(120);
            text.lines().find_map(|line| line.strip_prefix("turnout        ").map(str::to_owned))
        };
        let came = "2,170 of 2,700 whom the room let in came to the door";
        let made_up = report(30, true, at(1000));
        let expected = format!("{came}; for 2 minutes it let in up to 150 a minute more");
        assert_eq!(told(&made_up), Some(expected));
        let json = serde_json::to_value(&made_up).unwrap();
        assert_eq!(
            json["summary"]["turnout"],
            serde_json::json!({"came": 2170, "released": 2700, "most_surplus": 150, "surplus_minutes": 2})
        );
        assert_eq!(
            (&json["minutes"][3]["surplus"], &json["minutes"][1]["surplus"]),
            (&150.into(), &Value::Null)
        );
        assert_eq!(serde_json::from_value::<EventReport>(json).unwrap(), made_up);
        assert_eq!(told(&report(0, true, at(1000))).as_deref(), Some(came), "nothing is made up for");
        assert_eq!(told(&report(30, false, at(1000))), None, "nobody counted");
        let early = "2,170 of 1,200 came";
        assert_eq!(told(&report(30, true, at(6))), None, "the others may still come: not {early}");
        let summary = report(30, true, at(7)).summary;
        assert_eq!(summary.turnout, None, "of 1,950 who had time, and others, 2,170 came");
    }

    #[test]
    fn a_report_that_may_not_read_the_metric_says_so_and_tells_the_rest() {
        let denied = "could not read the metric Entered: AccessDenied; you need the permission";
        let kept = KeptRecords { entered: Err(denied.into()), ..kept(1, [(0, 0), (100, 40), (100, 100)]) };
        let report = EventReport::of(kept, ReportRange::LastEvent);
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
        let report = EventReport::of(kept, ReportRange::LastEvent);
        assert_eq!(report.entered_missing.as_deref(), Some(NO_ENTRIES));
    }

    #[test]
    fn those_who_come_after_the_last_was_released_are_counted() {
        let entries = vec![(at(2), 50), (at(4), 20), (at(5), 7)];
        let totals = [(0, 0), (100, 0)].into_iter().chain([(100, 100); 9]);
        let kept = KeptRecords { entered: Ok(Some(entries)), ..kept(1, totals) };
        let report = EventReport::of(kept, ReportRange::LastEvent);
        assert_eq!((report.to, report.summary.entered), (at(6), Some(77)));
        assert_eq!(report.minutes.last().map(|minute| minute.count.at), Some(at(7)));
    }

    #[test]
    fn an_event_ends_when_the_room_is_turned_off_although_places_are_left_in_the_line() {
        let totals = || [(0, 0), (100, 60)].into_iter().chain([(100, 97); 300]);
        let waiting = EventReport::of(kept(1, totals()), ReportRange::LastEvent);
        assert_eq!((waiting.to, waiting.summary.drained_at), (at(302), None));

        let (from, to) = (RoomState::On, RoomState::Off);
        let [before, after] =
            [from, to].map(|state| waitroom::Room { state, ..waitroom::fixture::room(60) }.standing());
        let off = AuditedChange::State(StateChange::new(before, after).into());
        let mut kept = kept(1, totals());
        kept.room.state = to;
        kept.lines = vec![order(at(3) + MINUTE / 2, off)];
        let report = EventReport::of(kept, ReportRange::LastEvent);
        assert_eq!((report.to, report.summary.drained_at), (at(3), Some(at(4))));
        assert_eq!((report.minutes.len(), report.summary.longest_line), (4, 40));
    }

    #[test]
    fn times_have_the_day_if_an_order_was_given_on_another() {
        let mut kept = kept(81, [(0, 0), (100, 100), (100, 100)]);
        assert_eq!(at(80).to_string(), "1970-01-08 00:00:00 UTC");
        kept.lines = vec![order(at(79), AuditedChange::Rate { from: Rate::MIN, to: Rate::MAX })];
        let text = EventReport::of(kept, ReportRange::LastEvent).document().text(100);
        assert!(text.contains("\n1970-01-07 23:59:00  anna rate: 1 -> 270000\n"), "{text}");
    }

    /// What was saved is read by every later version, and nothing of it is lost.
    #[test]
    fn a_report_of_format_1_is_read_and_written_again() {
        let saved = include_str!("../../../../cli/tests/fixtures/report-format-1.json");
        let report: EventReport = serde_json::from_str(saved).unwrap();
        assert_eq!((report.format, report.minutes.len(), report.orders.len()), (EventReport::FORMAT, 7, 6));
        let saved: Value = serde_json::from_str(saved).unwrap();
        let written = serde_json::to_value(&report).unwrap();
        for (field, value) in saved.as_object().unwrap() {
            assert_eq!(&written[field], value, "{field}");
        }
    }
}
