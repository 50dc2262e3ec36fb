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
        read.ok_or_else(|| impossible(&typed).unwrap_or_else(|| FORMS.into()))
    }
}

const FORMS: &str = "write it like 12:00 or 12pm (today), \"tomorrow 12:00\", \"Friday 12:00\", \"in 2h\", 2027-03-05T12:00 or \
    \"2027-03-05 12:00\" (in the time zone of this machine), or 2027-03-05T12:00Z";

/// Which part of a date and time can't be, if the form is right.
fn impossible(typed: &str) -> Option<String> {
    let parts = || typed.split([' ', 't']);
    let date = parts().find_map(|part| numbers::<3>(part, '-').filter(|[year, ..]| *year >= 1000));
    let time = parts().find_map(|part| {
        let part = part.split(['z', '+', '-']).next().unwrap_or_default();
        numbers::<2>(part, ':').or_else(|| numbers::<3>(part, ':').map(|[hour, minute, _]| [hour, minute]))
    });
    date.and_then(impossible_day).or_else(|| match time? {
        [24, 0] => Some("the day ends at 23:59; for midnight, write 00:00 of the next day".into()),
        [hour @ 24..=i16::MAX, _] => Some(format!("there is no hour {hour}: write 00:00 to 23:59")),
        [_, minute @ 60..=i16::MAX] => Some(format!("there is no minute {minute}: write 00 to 59")),
        _ => None,
    })
}

fn impossible_day([year, month, day]: [i16; 3]) -> Option<String> {
    let Some(first) = i8::try_from(month).ok().and_then(|month| Date::new(year, month, 1).ok()) else {
        return Some(format!("there is no month {month}: write 01 to 12"));
    };
    let days = first.days_in_month();
    (!(1..=i16::from(days)).contains(&day))
        .then(|| format!("there is no day {day} in {}: it has {days} days", first.strftime("%B %Y")))
}

/// So many numbers with this sign between them.
fn numbers<const COUNT: usize>(text: &str, between: char) -> Option<[i16; COUNT]> {
    let numbers: Option<Vec<i16>> = text.split(between).map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
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

    #[test]
    fn the_part_that_cannot_be_is_named() {
        for (text, expected) in [
            ("2026-11-31T12:00", "there is no day 31 in November 2026: it has 30 days"),
            ("2027-02-29 12:00", "there is no day 29 in February 2027: it has 28 days"),
            ("2027-13-05T12:00", "there is no month 13: write 01 to 12"),
            ("2026-11-27T25:00Z", "there is no hour 25: write 00:00 to 23:59"),
            ("25:00", "there is no hour 25: write 00:00 to 23:59"),
            ("Friday 12:75", "there is no minute 75: write 00 to 59"),
            ("2026-11-27T24:00", "the day ends at 23:59; for midnight, write 00:00 of the next day"),
        ] {
            assert_eq!(text.parse::<TypedTime>(), Err(expected.into()), "{text}");
        }
    }
}
