//! How counts, durations, instants and money are worded, so that every screen and page says them alike.

mod instant;
mod zone;

pub use instant::{ahead, at, at_zoned, in_zone, roughly};
pub use zone::{UnknownZone, local_zone};

/// A count in full: `12,345`.
#[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^52")]
pub fn count(count: u64) -> String {
    number(count as f64)
}

/// A number in full: `12,345`; with two decimals if it is small and not whole.
pub fn number(value: f64) -> String {
    if value.abs() >= 1e15 {
        return format!("{value:e}");
    }
    let decimals = if value.fract() == 0.0 || value.abs() >= 100.0 { 0 } else { 2 };
    let digits = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{grouped}{fraction}")
}

/// A number that is not exact, with three digits that count: `3,110`.
pub fn about(number: u64) -> String {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(2));
    count(number / unit * unit)
}

/// A number of things, as in `1 window`, `2,000 windows` and `no windows`.
pub fn things(number: u64, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{} {what}s", count(number)),
    }
}

/// What a number of things does, as in `1 visitor enters` and `2,000 visitors enter`.
pub fn things_do(number: u64, what: &str, does: &str) -> String {
    let ending = if number == 1 { "s" } else { "" };
    format!("{} {does}{ending}", things(number, what))
}

/// A time as people say it, rounded down: `110 s`, `30 min`, `3 h 5 min`.
pub fn time(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A time to the second: `45 s`, `11 min 42 s`, `3 h 5 min`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most some weeks")]
pub fn span(seconds: f64) -> String {
    match seconds.round() as u64 {
        short @ 0..60 => format!("{short} s"),
        middle @ 60..3600 if middle % 60 == 0 => format!("{} min", middle / 60),
        middle @ 60..3600 => format!("{} min {} s", middle / 60, middle % 60),
        long => format!("{} h {} min", long / 3600, long / 60 % 60),
    }
}

/// How long an answer took: `0.5 ms`, `20 s`.
pub fn milliseconds(millis: f64) -> String {
    if millis < 1000.0 { format!("{millis} ms") } else { format!("{} s", millis / 1000.0) }
}

pub fn dollars(dollars: f64) -> String {
    format!("${dollars:.2}")
}

/// The text with its first letter in capitals.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_full_is_grouped() {
        let texts = [0.0, 999.0, 1000.0, 12_345_678.0, -1234.0, 0.5, 250.7, 1e18].map(number);
        assert_eq!(texts, ["0", "999", "1,000", "12,345,678", "-1,234", "0.50", "251", "1e18"]);
        assert_eq!(
            [0, 1, 2000].map(|windows| things(windows, "window")),
            ["no windows", "1 window", "2,000 windows"]
        );
        assert_eq!(
            [0, 1, 2000].map(|visitors| things_do(visitors, "visitor", "come")),
            ["no visitors come", "1 visitor comes", "2,000 visitors come"]
        );
    }

    #[test]
    fn numbers_are_as_exact_as_they_are_known() {
        assert_eq!(
            [0, 7, 999, 3111, 42_857, 2_689_431].map(about),
            ["0", "7", "999", "3,110", "42,800", "2,680,000"]
        );
    }

    #[test]
    fn a_time_is_told_in_the_units_that_fit() {
        assert_eq!([0, 119, 120, 1824, 11_100].map(time), ["0 s", "119 s", "2 min", "30 min", "3 h 5 min"]);
        let told = [0.4, 59.0, 120.0, 702.3, 11_100.0].map(span);
        assert_eq!(told, ["0 s", "59 s", "2 min", "11 min 42 s", "3 h 5 min"]);
        assert_eq!([0.5, 200.0, 20_000.0].map(milliseconds), ["0.5 ms", "200 ms", "20 s"]);
    }
}
