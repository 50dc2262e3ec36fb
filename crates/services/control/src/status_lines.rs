//! A status as a person reads it: a fact a line, and how good or bad that is.

use document::{CheckMark, words};
use waitroom::throttle_rules::{Finding, Verdict};
use waitroom::{Mode, Room, RoomState, Stretch, Timestamp, Valve};

use crate::status::newcomers_go_straight_in;
use crate::wording::{
    active, alarm_mail, alarms, extra, found, joined, longest_wait, newcomers_wait, rate, refusals_missing,
    refused_by_limit, refused_in_full, rehearsal, stock, then, turnout, urls, word,
};
use crate::{AlarmState, Status, WindowCount, wording};

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    pub label: &'static str,
    pub text: String,
    /// Whether that is good or bad, for a colour. The text says it too.
    pub mark: Option<CheckMark>,
}

pub fn state_mark(state: RoomState) -> CheckMark {
    match state {
        RoomState::On => CheckMark::Good,
        RoomState::Paused | RoomState::Closed | RoomState::ClosedPaused => CheckMark::Doubtful,
        // Nobody is let in any more, or nobody is kept out of the shop.
        RoomState::Ended | RoomState::Off => CheckMark::Bad,
    }
}

pub fn finding_mark(finding: &Finding) -> CheckMark {
    match finding.verdict {
        _ if finding.refused => CheckMark::Doubtful,
        Verdict::Well => CheckMark::Good,
        Verdict::Slow => CheckMark::Doubtful,
        Verdict::Failing => CheckMark::Bad,
    }
}

impl StatusLine {
    fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self { label, text: text.into(), mark: None }
    }

    fn marked(label: &'static str, mark: CheckMark, text: impl Into<String>) -> Self {
        Self { mark: Some(mark), ..Self::new(label, text) }
    }
}

impl Status {
    /// The room's state.
    pub fn state(&self) -> (String, CheckMark) {
        let state = self.room.state;
        match self.stopped_at {
            Some(at) => (format!("not running since {at}, when it was {state}"), CheckMark::Bad),
            None => (state.to_string(), state_mark(state)),
        }
    }

    /// All else, the most urgent first.
    pub fn lines(&self, now: Timestamp) -> Vec<StatusLine> {
        let mut lines = urgent(self);
        lines.extend(ahead(self, now));
        lines.extend(counted(self, now));
        lines.extend(active(self, now).map(|active| StatusLine::new("active", active)));
        lines.extend(health(self, now));
        lines.extend(mode(self));
        lines.extend(ordered(&self.room));
        lines.extend(watched(self));
        let (waiting_room, client_check) = urls(self);
        lines.push(StatusLine::new("waiting room", waiting_room));
        lines.push(StatusLine::new("client check", client_check));
        lines.push(StatusLine::new("shop", self.room.settings.shop.to_string()));
        lines
    }
}

fn urgent(status: &Status) -> Vec<StatusLine> {
    let missing = refusals_missing(status).map(|why| StatusLine::marked("refused", CheckMark::Doubtful, why));
    let refused =
        refused_in_full(status).map(|refused| StatusLine::marked("refused", CheckMark::Bad, refused));
    let rehearsal =
        rehearsal(&status.room).map(|left| StatusLine::marked("rehearsal", CheckMark::Doubtful, left));
    [missing, refused, rehearsal].into_iter().flatten().collect()
}

/// What the room does by itself.
fn ahead(status: &Status, now: Timestamp) -> impl Iterator<Item = StatusLine> {
    let room = &status.room;
    let stock = stock(status).map(|left| StatusLine::new("stock", format!("{left}, then the room ends")));
    let release = room.extra.map(|more| {
        StatusLine::new("release", format!("{}, {}", extra(more), words::ahead(more.until, now)))
    });
    let instants = room.ahead().map(move |(turns, at)| {
        StatusLine::new(turns.as_str(), format!("{}, {}", words::at(at), words::ahead(at, now)))
    });
    stock.into_iter().chain(release).chain(instants)
}

/// What the throttle found last, and since when that has been so: what it found before, if that was another verdict.
fn health(status: &Status, now: Timestamp) -> Vec<StatusLine> {
    let mut lines = Vec::new();
    let mut later = None;
    for finding in status.findings.iter().rev() {
        let is_news = later.replace(word(finding)).is_none_or(|later| later != word(finding));
        if is_news && lines.len() < 5 {
            let (label, ago) = match lines.len() {
                0 => ("shop's health", String::new()),
                _ => ("", format!("{} ago ", words::time(now.since(finding.at).as_secs()))),
            };
            lines.push(StatusLine::marked(label, finding_mark(finding), format!("{ago}{}", found(finding))));
        }
    }
    lines
}

/// A window that isn't a minute has another plan than the rate says.
fn window_told(window: &WindowCount) -> String {
    let seconds = window.end.since(window.start).as_millis().div_ceil(1000);
    let length = match u64::try_from(seconds).unwrap_or_default() {
        // An earlier room doesn't say it.
        0 | 59..=61 => String::new(),
        seconds => format!(" in {}", words::time(seconds)),
    };
    format!("{} of {}{length}", window.released, window.planned)
}

/// How this window does, and the one before, as far as they are. Those of a room that doesn't run are as they were when it stopped.
fn windows(status: &Status, now: Timestamp) -> Vec<StatusLine> {
    let now = status.stopped_at.unwrap_or(now);
    let windows: Vec<_> = status.windows_lately(now).collect();
    let is_over = windows.first().is_some_and(|latest| !latest.over_for(now).is_zero());
    let labels = ["this window", "window before"].into_iter().skip(is_over.into());
    let mut so_far = 0;
    labels
        .zip(windows)
        .map(|(label, window)| {
            so_far += window.released;
            // More than the line has released since it was emptied, such as by a rehearsal's end.
            let before = if so_far > status.released { ", before the line was emptied" } else { "" };
            StatusLine::new(label, window_told(window) + before)
        })
        .collect()
}

fn counted(status: &Status, now: Timestamp) -> Vec<StatusLine> {
    let Status { line, room, released, .. } = status;
    let newcomers = newcomers_wait(status).map(|wait| format!(", {wait} for somebody who joins now"));
    let longest = match longest_wait(status) {
        Some(wait) => format!("{wait}, of those released in the last two minutes"),
        None if newcomers_go_straight_in(room) => "newcomers go straight in".into(),
        None => "nobody was released in the last two minutes".into(),
    };
    // Who joined, and neither waits nor is counted as released.
    let rest = match status.joined.saturating_sub(released.saturating_add(line.waiting)) {
        0 => String::new(),
        rest => format!(", and {rest} not counted yet or left otherwise"),
    };
    let mut lines = vec![
        StatusLine::new("joined", joined(status)),
        StatusLine::new("waiting", format!("{}{}", line.waiting, newcomers.unwrap_or_default())),
        StatusLine::new("released", format!("{released}{rest}")),
        StatusLine::new("longest wait", longest),
        StatusLine::new("line reached", line.reached.to_string()),
    ];
    lines.extend(windows(status, now));
    let mark = line.slow.then_some(CheckMark::Doubtful);
    lines.push(StatusLine { mark, ..StatusLine::new("rate", rate(status)) });
    lines.extend(turnout(status).map(|turnout| StatusLine::new("turnout", turnout)));
    let limited = status.limited.as_ref().map(refused_by_limit);
    lines.extend(limited.map(|limited| StatusLine::marked("join limit", CheckMark::Doubtful, limited)));
    lines
}

/// Whether newcomers go straight in now, and what everybody is spared who passes.
fn mode(status: &Status) -> Vec<StatusLine> {
    let room = &status.room;
    let more = match (room.settings.mode, room.valve(), &status.observed) {
        (Mode::Overflow, Valve::Open(_), _) => {
            ", and newcomers go straight in once hardly anybody has waited for a minute".into()
        }
        (Mode::Observe, _, Some(line)) => {
            let waited = if line.waited == 0 { "nobody".into() } else { words::count(line.waited) };
            format!(". In the last hour, {waited} would have waited")
        }
        _ => String::new(),
    };
    let told = wording::mode(room).map(|mode| StatusLine::new("mode", format!("{mode}{more}")));
    let mut lines: Vec<_> = told.into_iter().collect();
    if let Some(line) = status.observed.filter(|line| line.waited > 0) {
        let (longest, wait) = (words::count(line.longest_line), words::time(line.longest_wait));
        let busiest = words::count(line.busiest);
        lines.extend([
            StatusLine::new("line now", format!("{} would wait", words::count(line.waiting))),
            StatusLine::new("longest line", format!("{longest}, {wait} to wait")),
            StatusLine::new(
                "busiest",
                format!("at {busiest} a minute, nobody would have waited longer than a minute"),
            ),
        ]);
    }
    lines
}

/// What orders have set, as far as it isn't as usual.
fn ordered(room: &Room) -> impl Iterator<Item = StatusLine> {
    let quoted = |text: &str| (!text.is_empty()).then(|| format!("{text:?}"));
    let stretched = room.stretch != Stretch::USUAL;
    let lines = [
        ("message", quoted(room.settings.message.as_str())),
        ("notice", quoted(room.notice.text.as_str())),
        ("link", room.notice.link.as_ref().map(ToString::to_string)),
        ("then", then(room).map(ToOwned::to_owned)),
        ("polls", stretched.then(|| format!("{} times less often than usual", room.stretch))),
    ];
    lines.into_iter().filter_map(|(label, text)| Some(StatusLine::new(label, text?)))
}

/// What watches a room on AWS.
fn watched(status: &Status) -> Vec<StatusLine> {
    let ringing = || status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing);
    let mark = match &status.alarms_missing {
        _ if ringing().next().is_some() => CheckMark::Bad,
        Some(_) => CheckMark::Doubtful,
        None => CheckMark::Good,
    };
    let dead_letters =
        status.dead_letters.map(|letters| StatusLine::new("dead letters", letters.to_string()));
    let alarms = alarms(status).map(|alarms| StatusLine::marked("alarms", mark, alarms));
    let mut lines: Vec<_> = dead_letters.into_iter().chain(alarms).collect();
    lines
        .extend(ringing().map(|alarm| {
            StatusLine::marked("", CheckMark::Bad, format!("{}: {}", alarm.name, alarm.told()))
        }));
    let mail = status.alarm_mail.as_ref().and_then(alarm_mail);
    lines.extend(mail.map(|mail| StatusLine::marked("alarm e-mails", CheckMark::Doubtful, mail.to_string())));
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::example::suffering;

    const NOW: Timestamp = Timestamp::from_millis(1_804_244_400_000);

    fn told(status: &Status) -> Vec<String> {
        let lines = status.lines(NOW).into_iter();
        let about =
            lines.filter(|line| ["longest wait", "this window", "window before"].contains(&line.label));
        about.map(|line| format!("{}: {}", line.label, line.text)).collect()
    }

    /// These windows, newest first: how many seconds from now they begin and end, and how many they released.
    fn with_windows(windows: &[(i64, i64, u64)]) -> Status {
        let at = |seconds: i64| {
            let ahead = Duration::from_secs(seconds.unsigned_abs());
            if seconds < 0 { NOW - ahead } else { NOW + ahead }
        };
        let mut status = suffering();
        status.longest_wait = None;
        status.windows = windows
            .iter()
            .map(|&(start, end, released)| WindowCount {
                number: 7,
                released,
                planned: 300,
                start: at(start),
                end: at(end),
            })
            .collect();
        status
    }

    #[test]
    fn a_window_is_called_this_one_while_it_lasts() {
        let windows = |windows: &[(i64, i64, u64)]| told(&with_windows(windows)).split_off(1);
        let both = ["this window: 31 of 300", "window before: 298 of 300"];
        assert_eq!(windows(&[(-20, 40, 31), (-80, -20, 298)]), both);
        assert_eq!(windows(&[(41, 101, 0), (-20, 40, 31)]), both[..1], "the newest is planned ahead");
        assert_eq!(windows(&[(120, 180, 0)]), [""; 0], "the room opens in two minutes");
        assert_eq!(windows(&[(-70, -10, 298), (-130, -70, 300)]), both[1..], "nobody waits now");
        assert_eq!(windows(&[(-7200, -7140, 31), (-7260, -7200, 298)]), [""; 0], "hours ago");
        let mut stopped = with_windows(&[(-7200, -7140, 31)]);
        stopped.stopped_at = Some(NOW - Duration::from_secs(7150));
        assert_eq!(told(&stopped)[1..], both[..1], "as it stood then");
    }

    #[test]
    fn an_alarm_that_rings_is_told_whatever_else_is_not_known() {
        let told = |status: &Status| {
            let lines = status.lines(NOW).into_iter();
            lines.filter(|line| line.label == "alarms").map(|line| (line.mark, line.text)).collect::<Vec<_>>()
        };
        let mut status = suffering();
        let ringing = told(&status);
        assert_eq!(ringing[0].0, Some(CheckMark::Bad));
        (status.dead_letters, status.alarms_missing) = (None, Some("SQS refuses".to_owned()));
        assert_eq!(told(&status), ringing);
        assert!(crate::wording::joined(&status).starts_with("about "), "it is on AWS all the same");
        status.alarms.clear();
        assert_eq!(told(&status), [(Some(CheckMark::Doubtful), "not known: SQS refuses".to_owned())]);
    }

    #[test]
    fn where_newcomers_go_straight_in_nobody_is_missed_who_was_released() {
        let mut status = with_windows(&[]);
        let nobody = ["longest wait: nobody was released in the last two minutes"];
        assert_eq!(told(&status), nobody);
        status.room.settings.mode = Mode::Overflow;
        assert_eq!(told(&status), nobody, "a line has formed");
        let straight_in = ["longest wait: newcomers go straight in"];
        status.room.quiet = true;
        assert_eq!(told(&status), straight_in);
        status.room.settings.mode = Mode::Observe;
        assert_eq!(told(&status), straight_in);
        status.room.pause();
        assert_eq!(told(&status), nobody);
    }
}
