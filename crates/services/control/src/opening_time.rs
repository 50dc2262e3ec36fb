//! When a room opens: which instant is meant.

use std::time::Duration;

use document::Refusal;
use document::words::{at_zoned, in_zone, local_zone, roughly};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{ToSpan, Zoned};
use waitroom::Timestamp;

use crate::TypedTime;

/// What to type for an opening, a closing or an end without delay.
const NOW_INSTEAD: &str = "for now, leave --at out";

/// Within so many days, a date that is past was probably typed with last year's number. Later, nobody means it.
const SOON: i64 = 60;

impl TypedTime {
    /// The instant that is meant on this machine, which must be ahead, and not more than a year.
    pub fn instant(self, now: Timestamp) -> Result<Timestamp, Refusal> {
        self.resolve(now, &zone_of(self)?)
    }

    fn resolve(self, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, Refusal> {
        let now = in_zone(now, zone);
        let at = match self {
            Self::Instant(at) => at.to_zoned(zone.clone()),
            Self::Local(at) => unambiguous(at, zone)?,
            Self::Today(time) => unambiguous(now.date().to_datetime(time), zone)?,
            Self::Tomorrow(time) => unambiguous(now.date().saturating_add(1.day()).to_datetime(time), zone)?,
            Self::In(time) => now.saturating_add(time),
            Self::On(weekday, time) => {
                let days = i64::from(now.weekday().until(weekday));
                let day = now.date().saturating_add(days.days());
                unambiguous(day.to_datetime(time), zone)?
            }
        };
        let refused = |why: &str| Refusal::plain(format!("{} {why}", at_zoned(&at)));
        if at <= now {
            let ago = Duration::try_from(&now - &at).unwrap_or_default();
            let past = if ago < Duration::from_secs(1) {
                refused("has just passed")
            } else {
                refused(&format!("is past, {} ago", roughly(ago)))
            };
            let meant = match self {
                Self::In(_) => return Err(Refusal { advice: Some(NOW_INSTEAD.into()), ..past }),
                Self::Today(_) => at.tomorrow().ok().map(|at| ("tomorrow", at)),
                Self::On(..) => {
                    at.checked_add(1.week()).ok().map(|at| ("now, leave --at out; for next week", at))
                }
                _ => same_day_ahead(&at, &now)
                    .filter(|at| now.checked_add(SOON.days()).is_ok_and(|soon| *at < soon))
                    .map(|at| ("this day when it comes next", at)),
            };
            return Err(advising(past, meant));
        }
        if now.checked_add(1.year()).is_ok_and(|year| at > year) {
            let meant = match self {
                Self::In(_) => None,
                _ => same_day_ahead(&at, &now).map(|at| ("this day when it comes next", at)),
            };
            return Err(advising(refused("is more than a year ahead"), meant));
        }
        // Not before 1970, because it is ahead.
        Ok(Timestamp::from_millis(u64::try_from(at.timestamp().as_millisecond()).unwrap_or_default()))
    }
}

/// Advises to type another time.
fn advising(refusal: Refusal, meant: Option<(&str, Zoned)>) -> Refusal {
    let advice = meant.map(|(what, at)| format!("for {what}: --at {}", typed(at.datetime())));
    Refusal { advice, ..refusal }
}

/// The same day and time within the next year. It was typed with a wrong year.
fn same_day_ahead(at: &Zoned, now: &Zoned) -> Option<Zoned> {
    let in_year = |year| at.with().year(year).build().ok();
    (0..=1).filter_map(|years| in_year(now.year() + years)).find(|at| at > now)
}

/// The instant at which clocks in this zone show this, if there is one, and only one.
fn unambiguous(at: DateTime, zone: &TimeZone) -> Result<Zoned, Refusal> {
    let ambiguous = zone.to_ambiguous_zoned(at);
    let name = zone.iana_name().unwrap_or("this time zone");
    let (time, day) = (at.strftime("%H:%M"), at.date());
    match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { .. } => {}
        AmbiguousOffset::Gap { .. } => {
            let skipped = format!("there is no {time} on {day} in {name}: the clocks are put forward");
            let later = ambiguous.compatible().ok().map(|at| ("the time after that", at));
            return Err(advising(Refusal::plain(skipped), later));
        }
        AmbiguousOffset::Fold { before, after } => {
            let twice = format!("{time} comes twice on {day} in {name}: the clocks are put back");
            let both = [(before, "the first"), (after, "the second")]
                .map(|(offset, which)| format!("--at {}{} is {which}", typed(at), with_minutes(offset)));
            return Err(Refusal::new(twice, both.join(", ")));
        }
    }
    ambiguous.compatible().map_err(|error| Refusal::plain(error.to_string()))
}

/// `+02:00`
fn with_minutes(offset: Offset) -> String {
    let minutes = offset.seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

/// As an operator types it.
fn typed(at: DateTime) -> String {
    let format = if at.second() == 0 { "%Y-%m-%dT%H:%M" } else { "%Y-%m-%dT%H:%M:%S" };
    at.strftime(format).to_string()
}

/// The time zone of a typed time. An unknown one matters only if the time depends on it.
fn zone_of(typed: TypedTime) -> Result<TimeZone, Refusal> {
    match local_zone() {
        Err(unknown) if !matches!(typed, TypedTime::Instant(_) | TypedTime::In(_)) => {
            let advice =
                "set TZ to a name like Europe/Berlin, or write the time with its offset: 2027-03-05T12:00Z";
            Err(Refusal::new(unknown.to_string(), advice))
        }
        zone => Ok(zone.unwrap_or(TimeZone::UTC)),
    }
}

#[cfg(test)]
mod tests {
    use document::words::ahead;
    use jiff::tz::TimeZoneDatabase;

    use super::*;

    /// Sunday, 22 November 2026, 12:00 in Berlin.
    const NOW: &str = "2026-11-22T12:00:00+01:00";

    /// As the program has it where a machine has no rules of time zones.
    fn berlin() -> TimeZone {
        TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap()
    }

    fn millis(at: &str) -> Timestamp {
        let at: jiff::Timestamp = at.parse().unwrap();
        Timestamp::from_millis(u64::try_from(at.as_millisecond()).unwrap())
    }

    /// What is shown for this time, or why it is refused.
    fn resolved(text: &str) -> Result<String, String> {
        let at = text.parse::<TypedTime>().unwrap().resolve(millis(NOW), &berlin());
        at.map(|at| format!("{}, {}", at_zoned(&in_zone(at, &berlin())), ahead(at, millis(NOW)))).map_err(
            |refusal| {
                let advice = refusal.advice.as_ref().map(|advice| format!("; {advice}"));
                format!("{refusal}{}", advice.unwrap_or_default())
            },
        )
    }

    #[test]
    fn a_time_is_read_in_every_usual_form() {
        for (text, expected) in [
            ("2027-03-05T12:00", "2027-03-05 Fri 12:00 CET (11:00 UTC), in 103 d"),
            ("2027-03-05 12:00", "2027-03-05 Fri 12:00 CET (11:00 UTC), in 103 d"),
            ("2026-11-25T16:00:30", "2026-11-25 Wed 16:00:30 CET (15:00:30 UTC), in 3 d 4 h"),
            ("2027-07-01t00:30", "2027-07-01 Thu 00:30 CEST (2027-06-30 22:30 UTC), in 220 d 11 h"),
            ("2026-11-22T13:05Z", "2026-11-22 Sun 14:05 CET (13:05 UTC), in 2 h 5 min"),
            ("2026-11-22T06:05-08:00", "2026-11-22 Sun 15:05 CET (14:05 UTC), in 3 h 5 min"),
            ("12:01", "2026-11-22 Sun 12:01 CET (11:01 UTC), in 1 min"),
            ("12:00:09", "2026-11-22 Sun 12:00:09 CET (11:00:09 UTC), in 9 s"),
            ("Friday 12:00", "2026-11-27 Fri 12:00 CET (11:00 UTC), in 5 d"),
            ("fri 09:30", "2026-11-27 Fri 09:30 CET (08:30 UTC), in 4 d 21 h"),
            ("SUNDAY 12:30", "2026-11-22 Sun 12:30 CET (11:30 UTC), in 30 min"),
            ("saturday 11:59", "2026-11-28 Sat 11:59 CET (10:59 UTC), in 5 d 23 h"),
            ("2027-03-05 9pm", "2027-03-05 Fri 21:00 CET (20:00 UTC), in 103 d 9 h"),
            ("1pm", "2026-11-22 Sun 13:00 CET (12:00 UTC), in 1 h"),
            ("1:30 PM", "2026-11-22 Sun 13:30 CET (12:30 UTC), in 1 h 30 min"),
            ("today 13:00", "2026-11-22 Sun 13:00 CET (12:00 UTC), in 1 h"),
            ("tomorrow 12:00", "2026-11-23 Mon 12:00 CET (11:00 UTC), in 1 d"),
            ("Tomorrow at noon", "2026-11-23 Mon 12:00 CET (11:00 UTC), in 1 d"),
            ("12pm tomorrow", "2026-11-23 Mon 12:00 CET (11:00 UTC), in 1 d"),
            ("tomorrow 12am", "2026-11-23 Mon 00:00 CET (2026-11-22 23:00 UTC), in 12 h"),
            ("on Friday at 12 pm", "2026-11-27 Fri 12:00 CET (11:00 UTC), in 5 d"),
            ("in 2h", "2026-11-22 Sun 14:00 CET (13:00 UTC), in 2 h"),
            ("in 90 minutes", "2026-11-22 Sun 13:30 CET (12:30 UTC), in 1 h 30 min"),
            ("IN 1h 30s", "2026-11-22 Sun 13:00:30 CET (12:00:30 UTC), in 1 h"),
            (" 2027-11-22T12:00 ", "2027-11-22 Mon 12:00 CET (11:00 UTC), in 365 d"),
        ] {
            assert_eq!(resolved(text), Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn a_time_that_is_past_or_far_ahead_is_refused_and_another_is_suggested() {
        for (text, expected) in [
            (
                "11:00",
                "2026-11-22 Sun 11:00 CET (10:00 UTC) is past, 1 h ago; for tomorrow: --at 2026-11-23T11:00",
            ),
            ("2026-03-05T12:00", "2026-03-05 Thu 12:00 CET (11:00 UTC) is past, 262 d ago"),
            (
                "2072-03-05T12:00",
                "2072-03-05 Sat 12:00 CET (11:00 UTC) is more than a year ahead; for this day when it comes next: --at 2027-03-05T12:00",
            ),
            (
                "Sunday 11:59",
                "2026-11-22 Sun 11:59 CET (10:59 UTC) is past, 1 min ago; for now, leave --at out; for next week: --at 2026-11-29T11:59",
            ),
            (
                "sun noon",
                "2026-11-22 Sun 12:00 CET (11:00 UTC) has just passed; for now, leave --at out; for next week: --at 2026-11-29T12:00",
            ),
            (
                "midnight",
                "2026-11-22 Sun 00:00 CET (2026-11-21 23:00 UTC) is past, 12 h ago; for tomorrow: --at 2026-11-23T00:00",
            ),
            ("in 0s", "2026-11-22 Sun 12:00 CET (11:00 UTC) has just passed; for now, leave --at out"),
            (
                "2026-01-05T12:00",
                "2026-01-05 Mon 12:00 CET (11:00 UTC) is past, 321 d ago; for this day when it comes next: --at 2027-01-05T12:00",
            ),
            ("in 500d", "2028-04-05 Wed 13:00 CEST (11:00 UTC) is more than a year ahead"),
            ("2026-11-22T10:59Z", "2026-11-22 Sun 11:59 CET (10:59 UTC) is past, 1 min ago"),
        ] {
            assert_eq!(resolved(text), Err(expected.into()), "{text}");
        }
    }

    #[test]
    fn a_time_that_does_not_exist_or_comes_twice_is_refused() {
        assert_eq!(
            resolved("2027-03-28T02:30"),
            Err("there is no 02:30 on 2027-03-28 in Europe/Berlin: the clocks are put forward; \
                 for the time after that: --at 2027-03-28T03:30"
                .into())
        );
        assert_eq!(
            resolved("2027-10-31T02:30"),
            Err("02:30 comes twice on 2027-10-31 in Europe/Berlin: the clocks are put back; \
                 --at 2027-10-31T02:30+02:00 is the first, --at 2027-10-31T02:30+01:00 is the second"
                .into())
        );
        assert_eq!(
            resolved("2027-10-31T02:30+01:00").unwrap(),
            "2027-10-31 Sun 02:30 CET (01:30 UTC), in 342 d 14 h"
        );
    }
}
