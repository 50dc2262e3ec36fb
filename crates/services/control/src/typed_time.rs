//! When a room is to open, close or end, as people type it: a time with or without a day, an instant, or how long from now.

use std::str::FromStr;
use std::time::Duration;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::fmt::strtime::BrokenDownTime;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TypedTime {
    /// With an offset, or `Z`.
    Instant(jiff::Timestamp),
    /// A date and a time, in the time zone of this machine.
    Local(DateTime),
    /// A time of today.
    Today(Time),
    /// A time of tomorrow.
    Tomorrow(Time),
    /// A time of the next day with this name. That is today on such a day, also when the time is past: next week is never guessed.
    On(Weekday, Time),
    /// So long from now.
    In(Duration),
}

impl FromStr for TypedTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let typed = text.trim().to_lowercase();
        let words: Vec<_> = typed.split_whitespace().filter(|word| !["at", "on"].contains(word)).collect();
        let read = from_now(&typed).or_else(|| day_and_time(&words)).or_else(|| dated(&typed));
        read.ok_or_else(|| {
            "write it like 12:00 or 12pm (today), \"tomorrow 12:00\", \"Friday 12:00\", \"in 2h\", 2027-03-05T12:00 (in the time \
             zone of this machine), or 2027-03-05T12:00Z"
                .into()
        })
    }
}

fn from_now(typed: &str) -> Option<TypedTime> {
    humantime::parse_duration(typed.strip_prefix("in ")?.trim()).ok().map(TypedTime::In)
}

/// The day is the first word or the last, and today without one.
fn day_and_time(words: &[&str]) -> Option<TypedTime> {
    let with_day = |day: &str, rest: &[&str]| on_day(day, time(&rest.join(" "))?);
    time(&words.join(" "))
        .map(TypedTime::Today)
        .or_else(|| words.split_first().and_then(|(day, rest)| with_day(day, rest)))
        .or_else(|| words.split_last().and_then(|(day, rest)| with_day(day, rest)))
}

fn time(typed: &str) -> Option<Time> {
    match typed {
        "noon" => Some(Time::constant(12, 0, 0, 0)),
        "midnight" => Some(Time::midnight()),
        _ => ["%H:%M", "%H:%M:%S", "%I:%M%p", "%I:%M %p", "%I%p", "%I %p"]
            .into_iter()
            .find_map(|format| Time::strptime(format, typed).ok()),
    }
}

fn on_day(day: &str, time: Time) -> Option<TypedTime> {
    match day {
        "today" => return Some(TypedTime::Today(time)),
        "tomorrow" => return Some(TypedTime::Tomorrow(time)),
        _ => {}
    }
    let weekday = |format| BrokenDownTime::parse(format, day).ok()?.weekday();
    let date = || Date::strptime("%Y-%m-%d", day).ok();
    weekday("%A")
        .or_else(|| weekday("%a"))
        .map(|weekday| TypedTime::On(weekday, time))
        .or_else(|| Some(TypedTime::Local(date()?.to_datetime(time))))
}

/// As programs write it: with a `T` or a space between date and time, and perhaps an offset.
fn dated(typed: &str) -> Option<TypedTime> {
    let typed = typed.to_uppercase().replacen(' ', "T", 1);
    let local = |format| DateTime::strptime(format, &typed).ok().map(TypedTime::Local);
    let instant = || typed.parse().ok().map(TypedTime::Instant);
    local("%Y-%m-%dT%H:%M").or_else(|| local("%Y-%m-%dT%H:%M:%S")).or_else(instant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_time_is_refused_with_examples() {
        for text in [
            "",
            "lunch",
            "12",
            "Friday",
            "tomorrow",
            "Fryday 12:00",
            "tomorrow Friday 12:00",
            "2027-03-05",
            "2027-13-05T12:00",
            "2027-02-29T12:00",
            "25:00",
            "13pm",
            "0am",
            "in",
            "in 2",
            "in 2 bananas",
            "05.03.2027 12:00",
        ] {
            let error = text.parse::<TypedTime>().unwrap_err();
            assert!(error.starts_with("write it like 12:00 or 12pm (today), "), "{text}: {error}");
        }
    }
}
