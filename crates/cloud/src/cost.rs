//! What a room costs, roughly: list prices of us-east-1 in dollars, without any free tier and without tax. Other regions
//! cost up to half as much again. The figures are worked out from what one visitor asks for, so that who knows better can
//! correct them.

use serde::Serialize;

use crate::Architecture;

/// Prices, as AWS lists them for us-east-1 (2026).
mod price {
    /// REST API, each request.
    pub(super) const REQUEST: f64 = 3.50e-6;
    /// Lambda, each invocation.
    pub(super) const INVOCATION: f64 = 0.20e-6;
    /// Lambda, each gigabyte for a second.
    pub(super) const GB_SECOND_ARM64: f64 = 13.3334e-6;
    pub(super) const GB_SECOND_X86: f64 = 16.6667e-6;
    /// SQS standard, each call.
    pub(super) const QUEUE_CALL: f64 = 0.40e-6;
    /// DynamoDB on demand: 4 kB read strongly consistent, or 8 kB eventually.
    pub(super) const READ_UNIT: f64 = 0.125e-6;
    /// DynamoDB on demand: 1 kB written.
    pub(super) const WRITE_UNIT: f64 = 0.625e-6;
    /// S3, each object read.
    pub(super) const OBJECT_READ: f64 = 0.40e-6;
    /// A gigabyte sent to the internet.
    pub(super) const GB_OUT: f64 = 0.09;
    /// A gigabyte of logs.
    pub(super) const GB_LOGGED: f64 = 0.50;
    /// A month of a metric of our own; of an alarm for each metric that it looks at; of the firewall with one rule.
    pub(super) const METRIC: f64 = 0.30;
    pub(super) const ALARM_METRIC: f64 = 0.10;
    pub(super) const FIREWALL: f64 = 6.00;
    /// The firewall, each request.
    pub(super) const FIREWALL_REQUEST: f64 = 0.60e-6;
}

const VISITORS: f64 = 100_000.0;
const MINUTES_A_MONTH: f64 = 43_800.0;
const MEMORY_GB: f64 = 0.25;
/// A consumer is given half as much.
const SLICE_MEMORY_GB: f64 = 0.125;
/// The door is given twice as much.
const DOOR_MEMORY_GB: f64 = 0.5;
/// A slice has its minute, and begins up to half a minute before.
const SLICE_SECONDS: f64 = 75.0;
/// People whom one slice lets in.
const SLICE_VISITORS: f64 = 1000.0;

/// What the page loads once: its document, nine modules, the style inside the document, one language, one icon.
const FILES: f64 = 12.0;
const PAGE_KB: f64 = 40.0;
/// With its headers.
const POLL_KB: f64 = 0.8;

/// How long the visitors of the estimate wait.
pub const WAIT_MINUTES: u32 = 30;

/// Dollars.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// A month in which the room is on and nobody comes.
    pub idle_month: f64,
    /// A month in which it is off or paused.
    pub off_month: f64,
    /// A hundred thousand visitors who wait half an hour each.
    pub per_100_000: f64,
    /// How often each of those asks whether it is their turn.
    pub polls_each: u32,
    /// What the last figure is made of.
    pub parts: Vec<(&'static str, f64)>,
}

/// What of a room makes a difference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) architecture: Architecture,
    pub(crate) rate: u32,
    pub(crate) throttle: bool,
    pub(crate) alarms: bool,
    pub(crate) firewall: bool,
}

pub(crate) fn estimate(shape: Shape) -> Costs {
    let gb_second = match shape.architecture {
        Architecture::Arm64 => price::GB_SECOND_ARM64,
        Architecture::X86 => price::GB_SECOND_X86,
    };
    // Every minute: the trigger, a second of it, with a handful of reads and the progress that it writes.
    let trigger =
        price::INVOCATION + gb_second * MEMORY_GB + 5.0 * price::READ_UNIT + 2.0 * price::QUEUE_CALL;
    // Twenty requests, four at a time, to a shop that answers in half a second.
    let throttle = if shape.throttle {
        price::INVOCATION + gb_second * MEMORY_GB * 3.0 + 4.0 * price::WRITE_UNIT
    } else {
        0.0
    };
    // One consumer asks the line all the time, counts it every ten seconds, and reads the room once a second.
    let idle_slice = slice(gb_second)
        + 70.0 * price::QUEUE_CALL
        + SLICE_SECONDS * price::READ_UNIT
        + 4.0 * price::WRITE_UNIT;
    let metrics = 4.0 + if shape.throttle { 3.0 } else { 0.0 };
    let standing = metrics * price::METRIC
        + if shape.alarms { 15.0 * price::ALARM_METRIC } else { 0.0 }
        + if shape.firewall { price::FIREWALL } else { 0.0 };
    let off_month = standing + MINUTES_A_MONTH * (trigger + throttle);

    let polls = polls(f64::from(WAIT_MINUTES));
    let requests = VISITORS * (polls + FILES + 2.0);
    let minutes = VISITORS / f64::from(shape.rate);
    let slices = (VISITORS / SLICE_VISITORS).max(minutes);
    let parts = vec![
        (
            "API Gateway",
            requests * (price::REQUEST + if shape.firewall { price::FIREWALL_REQUEST } else { 0.0 }),
        ),
        // Twice at the door, 20 ms each.
        (
            "Lambda",
            VISITORS * 2.0 * (price::INVOCATION + gb_second * DOOR_MEMORY_GB * 0.02)
                + slices * slice(gb_second),
        ),
        // A poll reads two items, eventually consistent. Whoever is admitted is one item; numbers, slices and the
        // sixteen copies of the progress, which are written every two seconds at most, are the rest.
        (
            "DynamoDB",
            VISITORS * ((polls + 3.0) * price::READ_UNIT + 1.3 * price::WRITE_UNIT)
                + minutes * 30.0 * 16.0 * price::WRITE_UNIT
                + slices * SLICE_SECONDS * price::READ_UNIT,
        ),
        // Sent one by one, received and removed in tens.
        ("SQS", VISITORS * 1.2 * price::QUEUE_CALL),
        ("S3", VISITORS * FILES * price::OBJECT_READ),
        ("data sent out", VISITORS * (PAGE_KB + polls * POLL_KB) / 1e6 * price::GB_OUT),
        // Half a kilobyte for each visit to the door.
        ("logs", VISITORS * 2.0 * 0.5e-6 * price::GB_LOGGED),
    ];
    Costs {
        idle_month: cents(off_month + MINUTES_A_MONTH * idle_slice),
        off_month: cents(off_month),
        per_100_000: cents(parts.iter().map(|(_, dollars)| dollars).sum()),
        polls_each: whole(polls),
        parts: parts.into_iter().map(|(name, dollars)| (name, cents(dollars))).collect(),
    }
}

/// No estimate is better than that.
fn cents(dollars: f64) -> f64 {
    (dollars * 100.0).round() / 100.0
}

fn slice(gb_second: f64) -> f64 {
    price::INVOCATION + gb_second * SLICE_MEMORY_GB * SLICE_SECONDS
}

/// How often somebody asks who waits so long: after a quarter of the forecast each time, from 5 s to 5 min.
/// `site/line.js` has it as code.
fn polls(wait_minutes: f64) -> f64 {
    let (mut left, mut polls) = (wait_minutes * 60.0, 0.0);
    while left > 0.0 {
        left -= (left / 4.0).clamp(5.0, 300.0);
        polls += 1.0;
    }
    polls
}

/// How many requests a second a crowd sends of which so many enter a minute, besides those of the people behind the
/// first twenty minutes' worth: they ask every five minutes.
pub(crate) fn polls_near_the_front(rate: u32) -> f64 {
    let rate = f64::from(rate);
    // Twenty seconds' worth of people ask every 5 s. From there to twenty minutes the pause is a quarter of the
    // forecast: as many people at each forecast, summed up over the pauses.
    rate / 3.0 / 5.0 + 4.0 * rate / 60.0 * 60.0_f64.ln()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
fn whole(number: f64) -> u32 {
    number.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Shape = Shape {
        architecture: Architecture::Arm64,
        rate: 300,
        throttle: false,
        alarms: false,
        firewall: false,
    };

    #[test]
    fn who_waits_longer_asks_more_often_but_not_much() {
        assert_eq!([0.3, 5.0, 30.0, 120.0].map(|minutes| whole(polls(minutes))), [4, 14, 21, 39]);
    }

    #[test]
    fn most_of_the_cost_is_requests() {
        let costs = estimate(USUAL);
        let (name, most) = costs.parts[0];
        assert_eq!(name, "API Gateway");
        assert!(most > costs.per_100_000 / 2.0 && costs.per_100_000 < 20.0, "{costs:?}");
        assert!(costs.idle_month > costs.off_month && costs.idle_month < 20.0, "{costs:?}");
    }

    #[test]
    fn what_is_asked_for_besides_costs_more() {
        let usual = estimate(USUAL);
        let more = estimate(Shape { throttle: true, alarms: true, firewall: true, ..USUAL });
        assert!(more.off_month > usual.off_month + 6.0 && more.per_100_000 > usual.per_100_000, "{more:?}");
        assert!(estimate(Shape { architecture: Architecture::X86, ..USUAL }).idle_month > usual.idle_month);
    }
}
