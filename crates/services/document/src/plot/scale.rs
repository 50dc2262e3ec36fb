//! Where an axis has its ticks, and how they are labelled.

use waitroom::Timestamp;

use super::description::PlotAxis;
use crate::words;

/// Seconds between two ticks of an axis of time, up to a day.
const TIME_STEPS: [f64; 18] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0,
    21_600.0, 43_200.0, 86_400.0,
];

/// An axis from `low` to `high`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Values between `low` and `high`, each with its label.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Scale {
    /// The axis of the values: it begins and ends at a tick.
    pub(super) fn of_values((low, high): (f64, f64), most_ticks: usize) -> Self {
        let high = if high <= low { low + 1.0 } else { high };
        let step = round_step((high - low) / as_f64(most_ticks.max(1)));
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Self {
            low,
            high,
            ticks: ticks(low, high, step).map(|tick| (tick, short(tick, high, step))).collect(),
        }
    }

    /// The axis from left to right: from the first point to the last.
    pub(super) fn of_axis(axis: PlotAxis, (low, high): (f64, f64), most_ticks: usize) -> Self {
        let least = (high - low) / as_f64(most_ticks.max(1));
        let ticks: Vec<_> = match axis {
            PlotAxis::Clock => {
                let step = time_step(least / 1000.0) * 1000.0;
                ticks(low, high, step).map(|tick| (tick, clock(tick, step))).collect()
            }
            PlotAxis::Elapsed => {
                let step = time_step(least);
                ticks(low, high, step).map(|tick| (tick, elapsed(tick, step))).collect()
            }
        };
        Self { low, high, ticks }
    }

    /// Where a value is, from 0 to 1.
    pub(super) fn position(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

/// What is written below the axis from left to right: its unit, or the day.
pub(super) fn caption(axis: PlotAxis, (low, high): (f64, f64)) -> String {
    match axis {
        PlotAxis::Clock => {
            let (first, last) = (date(low), date(high));
            if first == last { format!("{first}, UTC") } else { format!("{first} to {last}, UTC") }
        }
        PlotAxis::Elapsed => "since the beginning".into(),
    }
}

/// A point's first number in words.
pub(super) fn place(axis: PlotAxis, value: f64) -> String {
    match axis {
        PlotAxis::Clock => clock(value, 1000.0),
        PlotAxis::Elapsed => elapsed(value, 1.0),
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is no less than `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    // Ten times the power if `least` is just below it.
    [1.0, 2.0, 5.0].into_iter().map(|digit| digit * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

/// A round number of seconds, no less than `least`.
fn time_step(least: f64) -> f64 {
    const DAY: f64 = 86_400.0;

    if least <= 0.5 {
        return round_step(least);
    }
    TIME_STEPS.into_iter().find(|step| *step >= least).unwrap_or_else(|| round_step(least / DAY) * DAY)
}

/// The multiples of `step` from `low` to `high`.
fn ticks(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    // No more than fit on an axis, even if the numbers are so large that a step adds nothing.
    const MOST: u32 = 100;

    // A tick that is due just after `high` by rounding only is shown.
    let (first, slack) = ((low / step).ceil(), step * 1e-9);
    (0..MOST).map(move |n| (first + f64::from(n)) * step).take_while(move |tick| *tick <= high + slack)
}

/// A number beside a tick: short, with as many decimals as the step needs.
fn short(value: f64, highest: f64, step: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let (divisor, suffix) = match highest.abs() {
        1e15.. => return format!("{value:e}"),
        1e9.. => (1e9, "G"),
        1e6.. => (1e6, "M"),
        1e4.. => (1e3, "k"),
        _ => (1.0, ""),
    };
    let decimals = usize::from(step < divisor)
        + (1..9).filter(|decimals| step / divisor < 0.999 * 10_f64.powi(-decimals)).count();
    format!("{:.decimals$}{suffix}", value / divisor)
}

/// The time of day, or the day if there is a tick each day.
fn clock(millis: f64, step: f64) -> String {
    let text = stamp(millis);
    match step {
        86_400_000.0.. => text[5..10].into(),
        60_000.0.. => text[11..16].into(),
        1000.0.. => text[11..19].into(),
        _ => format!("{}{:.1}", &text[11..18], (millis / 1000.0).rem_euclid(10.0)),
    }
}

fn elapsed(seconds: f64, step: f64) -> String {
    let in_units = |unit: f64, name| format!("{} {name}", words::number(seconds / unit));
    match step {
        _ if seconds == 0.0 => "0".into(),
        86_400.0.. => in_units(86_400.0, "d"),
        3600.0.. => in_units(3600.0, "h"),
        60.0.. => in_units(60.0, "min"),
        _ => in_units(1.0, "s"),
    }
}

fn date(millis: f64) -> String {
    stamp(millis)[..10].into()
}

/// `2026-03-20 09:46:40 UTC`
fn stamp(millis: f64) -> String {
    // The last instant of the year 9999, so that all parts have their usual length.
    const LAST: f64 = 253_402_300_799_000.0;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and LAST")]
    let millis = millis.clamp(0.0, LAST) as u64;
    Timestamp::from_millis(millis).to_string()
}

#[expect(clippy::cast_precision_loss, reason = "a few ticks")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn values_have_round_ticks() {
        let of = |low, high| Scale::of_values((low, high), 5);
        assert_eq!(labels(&of(0.0, 593.0)), ["0", "200", "400", "600"]);
        assert_eq!(labels(&of(0.0, 10.0)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&of(0.0, 48_213.0)), ["0", "10k", "20k", "30k", "40k", "50k"]);
        assert_eq!(labels(&of(0.0, 1_100_000.0)), ["0", "0.5M", "1.0M", "1.5M"]);
        assert_eq!(labels(&of(0.0, 0.031)), ["0", "0.01", "0.02", "0.03", "0.04"]);
        assert_eq!(labels(&of(-3.0, 4.0)), ["-4", "-2", "0", "2", "4"]);
        assert_eq!(labels(&of(0.0, 0.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&of(0.0, 8e29)), ["0", "2e29", "4e29", "6e29", "8e29"]);
    }

    #[test]
    fn instants_have_round_times_of_the_day() {
        let noon = 1_774_008_000_000.0;
        let of = |millis, most| Scale::of_axis(PlotAxis::Clock, (noon + 7000.0, noon + millis), most);
        assert_eq!(labels(&of(60_000.0, 5)), ["12:00:15", "12:00:30", "12:00:45", "12:01:00"]);
        assert_eq!(labels(&of(3_600_000.0, 5)), ["12:15", "12:30", "12:45", "13:00"]);
        assert_eq!(labels(&of(14.0 * 86_400_000.0, 5)), ["03-23", "03-28", "04-02"]);
        assert_eq!(caption(PlotAxis::Clock, (noon, noon)), "2026-03-20, UTC");
        assert_eq!(caption(PlotAxis::Clock, (noon, noon + 86_400_000.0)), "2026-03-20 to 2026-03-21, UTC");
        assert_eq!(caption(PlotAxis::Clock, (-1.0, 1e30)), "1970-01-01 to 9999-12-31, UTC");
    }

    #[test]
    fn a_duration_has_the_unit_that_fits() {
        let of = |high| Scale::of_axis(PlotAxis::Elapsed, (0.0, high), 4);
        assert_eq!(labels(&of(3.0)), ["0", "1 s", "2 s", "3 s"]);
        assert_eq!(labels(&of(100.0)), ["0", "30 s", "60 s", "90 s"]);
        assert_eq!(labels(&of(3600.0)), ["0", "15 min", "30 min", "45 min", "60 min"]);
        assert_eq!(labels(&of(40_000.0)), ["0", "3 h", "6 h", "9 h"]);
    }
}
