use std::time::Duration;

use jiff::Zoned;
use jiff::tz::TimeZone;
use waitroom::Timestamp;

use super::zone::local_zone;

/// In the time zone of this machine, and in UTC: `2027-03-05 Fri 12:00 CET (11:00 UTC)`. In UTC alone, and named so, if the zone is
/// unknown.
pub fn at(at: Timestamp) -> String {
    at_zoned(&in_zone(at, &local_zone().unwrap_or(TimeZone::UTC)))
}

/// The same in another time zone.
pub fn at_zoned(at: &Zoned) -> String {
    let utc = at.with_time_zone(TimeZone::UTC);
    let time = if at.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
    let with_day = format!("%Y-%m-%d %a {time}");
    if at.offset() == utc.offset() {
        return format!("{} UTC", utc.strftime(&with_day));
    }
    let other_day = format!("%Y-%m-%d {time}");
    let utc = utc.strftime(if at.date() == utc.date() { time } else { &other_day }).to_string();
    format!("{} ({utc} UTC)", at.strftime(&format!("{with_day} %Z")))
}

pub fn in_zone(at: Timestamp, zone: &TimeZone) -> Zoned {
    // An instant that jiff does not know is in the year 10000.
    let at = i64::try_from(at.as_millis()).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    at.unwrap_or(jiff::Timestamp::MAX).to_zoned(zone.clone())
}

/// How long until then: `in 3 d 4 h`.
pub fn ahead(at: Timestamp, now: Timestamp) -> String {
    format!("in {}", roughly(at.since(now)))
}

/// A time in its largest two units, rounded up to a second: `3 d 4 h`.
pub fn roughly(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1000);
    let units = [
        ("d", seconds / 86_400),
        ("h", seconds / 3600 % 24),
        ("min", seconds / 60 % 60),
        ("s", seconds % 60),
    ];
    let first = units.iter().position(|(_, count)| *count > 0).unwrap_or(units.len() - 1);
    let parts = units.iter().skip(first).take(2).filter(|(_, count)| *count > 0 || seconds == 0);
    parts.map(|(unit, count)| format!("{count} {unit}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_utc_the_time_is_shown_once() {
        let noon = Timestamp::from_millis(1_774_008_000_000);
        assert_eq!(at_zoned(&in_zone(noon, &TimeZone::UTC)), "2026-03-20 Fri 12:00 UTC");
        assert_eq!(ahead(noon, noon), "in 0 s");
    }
}
