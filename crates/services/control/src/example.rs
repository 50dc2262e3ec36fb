//! The status of an example room, for tests.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that finds something else fails")]

use waitroom::throttle_rules::{Finding, Verdict};
use waitroom::{LineStatus, LineTotals, MinuteRecord, Rate, Settings, Stretch, Timestamp};

use crate::{Alarm, AlarmMail, AlarmMailState, AlarmState, Status, WindowCount};

/// A room on AWS with several problems at once.
pub fn suffering() -> Status {
    let mut settings = Settings::new(
        "spring-sale".parse().unwrap(),
        "Seal's Spring Sale".parse().unwrap(),
        "https://shop.example/sale".parse().unwrap(),
        Rate::new(600).unwrap(),
    );
    settings.message = "More beer at noon".parse().unwrap();
    let url = "https://abc.example/prod".parse().unwrap();
    let mut room = waitroom::Room::new(settings, url, "ab12".parse().unwrap());
    let rate = |per_minute| Rate::new(per_minute).unwrap();
    room.throttled = Some(rate(300));
    room.stretch = Stretch::new(3).unwrap();
    let finding = |minute: u64, verdict, mean, failed, per_minute| Finding {
        at: Timestamp::from_millis(60_000 * minute),
        verdict,
        mean: Some(mean),
        threshold: Some(0.131),
        failed,
        refused: false,
        why: None,
        rate: rate(per_minute),
    };
    let alarm = |name: &str, state, reason: &str, meaning: &str| Alarm {
        name: name.into(),
        state,
        reason: reason.into(),
        meaning: meaning.into(),
    };
    let window = |number, released| WindowCount {
        number,
        released,
        planned: 300,
        start: Timestamp::default(),
        end: Timestamp::default(),
    };
    Status {
        line: LineStatus::of(
            &room,
            waitroom::LineReach { reached: 4100, overtaken: 2100, disorder: 300 },
            9120,
            None,
        ),
        room,
        joined: 13_210,
        released: 4090,
        wait: Some(1824),
        observed: None,
        active: None,
        longest_wait: Some(1720),
        windows: vec![window(15, 31), window(14, 298)],
        findings: vec![finding(1, Verdict::Well, 0.098, 1, 600), finding(2, Verdict::Slow, 0.212, 0, 300)],
        stopped_at: None,
        refusals: None,
        refusals_missing: None,
        alarms_missing: None,
        limited: None,
        dead_letters: Some(2),
        alarms: vec![
            alarm("producer-errors", AlarmState::Ringing, "7 errors in a minute", "the door is broken"),
            alarm("dead-letters", AlarmState::Quiet, "", ""),
        ],
        alarm_mail: Some(AlarmMail {
            address: "anna@shop.example".into(),
            topic: "arn:aws:sns:eu-central-1:123456789012:alarms".into(),
            state: AlarmMailState::Pending,
            error: None,
        }),
    }
}

/// The record of a minute of that room.
pub fn minute_record(at: Timestamp, joined: u64, released: u64) -> MinuteRecord {
    let rate = Some(Rate::new(300).unwrap());
    let epoch = "ab12".parse().unwrap();
    let totals = LineTotals {
        at,
        epoch,
        joined,
        released,
        entered: None,
        waiting: joined - released,
        rate,
        rehearsal: false,
        observed: None,
    };
    MinuteRecord { totals, longest_wait: Some(1720) }
}
