//! An estimate of what a room costs: list prices of us-east-1 in dollars, without free tier and tax. Other regions cost up
//! to 50 % more. Every figure is derived from the requests of one visitor, so it can be corrected where it is wrong.

use serde::Serialize;

use config::Architecture;

/// AWS's list prices for us-east-1 (2026).
mod price {
    /// REST API, per request.
    pub(super) const REQUEST: f64 = 3.50e-6;
    /// Lambda, per invocation.
    pub(super) const INVOCATION: f64 = 0.20e-6;
    /// Lambda, per gigabyte and second.
    pub(super) const GB_SECOND_ARM64: f64 = 13.3334e-6;
    pub(super) const GB_SECOND_X86: f64 = 16.6667e-6;
    /// SQS standard, per call.
    pub(super) const QUEUE_CALL: f64 = 0.40e-6;
    /// DynamoDB on demand: 4 kB read strongly consistent, or 8 kB eventually consistent.
    pub(super) const READ_UNIT: f64 = 0.125e-6;
    /// DynamoDB on demand: 1 kB written.
    pub(super) const WRITE_UNIT: f64 = 0.625e-6;
    /// S3, per object read.
    pub(super) const OBJECT_READ: f64 = 0.40e-6;
    /// A gigabyte sent to the internet.
    pub(super) const GB_OUT: f64 = 0.09;
    /// A gigabyte of logs.
    pub(super) const GB_LOGGED: f64 = 0.50;
    /// A month of a custom metric; of an alarm, per metric that it watches; of the firewall with one rule.
    pub(super) const METRIC: f64 = 0.30;
    pub(super) const ALARM_METRIC: f64 = 0.10;
    pub(super) const FIREWALL: f64 = 6.00;
    /// The firewall, per request.
    pub(super) const FIREWALL_REQUEST: f64 = 0.60e-6;
}

const VISITORS: f64 = 100_000.0;
const MINUTES_PER_MONTH: f64 = 43_800.0;
/// The memory of trigger and throttle.
const MEMORY_GB: f64 = 0.25;
const CONSUMER_MEMORY_GB: f64 = 0.125;
const PRODUCER_MEMORY_GB: f64 = 0.5;
/// A consumer runs for the minute of its slice, and starts up to half a minute earlier.
const SLICE_SECONDS: f64 = 75.0;
/// How many visitors one slice releases.
const SLICE_VISITORS: f64 = 1000.0;

/// The number of files that the page loads: its document, which contains everything else.
const FILES: f64 = 1.0;
/// Compressed, with headers.
const PAGE_KB: f64 = 15.0;
/// The size of a poll with its headers.
const POLL_KB: f64 = 0.8;

/// How long each visitor waits, in the estimate.
pub const WAIT_MINUTES: u32 = 30;

/// The estimate, in dollars.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// A month in which the room is on without visitors.
    pub idle_month: f64,
    /// A month in which the room is off or paused.
    pub off_month: f64,
    /// 100,000 visitors who wait [`WAIT_MINUTES`] each.
    pub per_100_000: f64,
    /// How often each of them polls.
    pub polls_per_visitor: u32,
    /// The parts of `per_100_000`, by service.
    pub parts: Vec<(&'static str, f64)>,
}

/// What the costs depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostInputs {
    pub(crate) architecture: Architecture,
    pub(crate) rate: u32,
    pub(crate) throttle: bool,
    pub(crate) alarms: bool,
    pub(crate) firewall: bool,
}

pub(crate) fn estimate(inputs: CostInputs) -> Costs {
    let gb_second = match inputs.architecture {
        Architecture::Arm64 => price::GB_SECOND_ARM64,
        Architecture::X86 => price::GB_SECOND_X86,
    };
    // The trigger runs once a minute for a second, with about twenty reads, and writes the minute's record.
    let trigger = price::INVOCATION
        + gb_second * MEMORY_GB
        + 20.0 * price::READ_UNIT
        + price::WRITE_UNIT
        + 2.0 * price::QUEUE_CALL;
    // The throttle sends 20 requests, four at a time, to a shop that responds within half a second.
    let throttle = if inputs.throttle {
        price::INVOCATION + gb_second * MEMORY_GB * 3.0 + 4.0 * price::WRITE_UNIT
    } else {
        0.0
    };
    // Without visitors one consumer polls the queue all the time, counts it every ten seconds, and reads the room once a
    // second.
    let idle_slice = slice(gb_second)
        + 70.0 * price::QUEUE_CALL
        + SLICE_SECONDS * price::READ_UNIT
        + 4.0 * price::WRITE_UNIT;
    let metrics = 4.0 + if inputs.throttle { 3.0 } else { 0.0 };
    let fixed = metrics * price::METRIC
        + if inputs.alarms { 15.0 * price::ALARM_METRIC } else { 0.0 }
        + if inputs.firewall { price::FIREWALL } else { 0.0 };
    let off_month = fixed + MINUTES_PER_MONTH * (trigger + throttle);

    let polls = polls(f64::from(WAIT_MINUTES));
    let requests = VISITORS * (polls + FILES + 2.0);
    let minutes = VISITORS / f64::from(inputs.rate);
    let slices = (VISITORS / SLICE_VISITORS).max(minutes);
    let parts = vec![
        (
            "API Gateway",
            requests * (price::REQUEST + if inputs.firewall { price::FIREWALL_REQUEST } else { 0.0 }),
        ),
        // Two visits to the door, 20 ms each.
        (
            "Lambda",
            VISITORS * 2.0 * (price::INVOCATION + gb_second * PRODUCER_MEMORY_GB * 0.02)
                + slices * slice(gb_second),
        ),
        // A poll reads two items, eventually consistent. Each admission is one item. The rest are tickets, slices, the
        // longest waits, which a slice notes every five seconds at most, and the sixteen copies of the status, which are
        // written every two seconds at most.
        (
            "DynamoDB",
            VISITORS * ((polls + 3.0) * price::READ_UNIT + 1.3 * price::WRITE_UNIT)
                + minutes * 30.0 * 16.0 * price::WRITE_UNIT
                + slices * (SLICE_SECONDS * price::READ_UNIT + 12.0 * price::WRITE_UNIT),
        ),
        // Messages are sent one by one, and received and deleted in batches of ten.
        ("SQS", VISITORS * 1.2 * price::QUEUE_CALL),
        ("S3", VISITORS * FILES * price::OBJECT_READ),
        ("data sent out", VISITORS * (PAGE_KB + polls * POLL_KB) / 1e6 * price::GB_OUT),
        // Half a kilobyte per visit to the door.
        ("logs", VISITORS * 2.0 * 0.5e-6 * price::GB_LOGGED),
    ];
    Costs {
        idle_month: cents(off_month + MINUTES_PER_MONTH * idle_slice),
        off_month: cents(off_month),
        per_100_000: cents(parts.iter().map(|(_, dollars)| dollars).sum()),
        polls_per_visitor: whole(polls),
        parts: parts.into_iter().map(|(name, dollars)| (name, cents(dollars))).collect(),
    }
}

/// Rounded to cents.
fn cents(dollars: f64) -> f64 {
    (dollars * 100.0).round() / 100.0
}

/// The consumer of one slice.
fn slice(gb_second: f64) -> f64 {
    price::INVOCATION + gb_second * CONSUMER_MEMORY_GB * SLICE_SECONDS
}

/// How often a visitor polls who waits this long. Between two polls the page pauses for a quarter of the forecast
/// wait, but for at least 5 s and at most 5 min: see `site/line.js`.
fn polls(wait_minutes: f64) -> f64 {
    let (mut left, mut polls) = (wait_minutes * 60.0, 0.0);
    while left > 0.0 {
        left -= (left / 4.0).clamp(5.0, 300.0);
        polls += 1.0;
    }
    polls
}

/// How many polls per second are sent by visitors who wait for less than 20 minutes. Visitors behind them poll
/// every five minutes and are not counted here. `rate` is in visitors per minute.
pub(crate) fn polls_near_the_front(rate: u32) -> f64 {
    let rate = f64::from(rate);
    // Visitors of the first 20 seconds poll every 5 s. From there to 20 minutes the pause is a quarter of the forecast:
    // the integral of 4 * rate / 60 / t from t = 20 s to 1200 s.
    rate / 3.0 / 5.0 + 4.0 * rate / 60.0 * 60.0_f64.ln()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is small and positive"
)]
fn whole(number: f64) -> u32 {
    number.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: CostInputs = CostInputs {
        architecture: Architecture::Arm64,
        rate: 300,
        throttle: false,
        alarms: false,
        firewall: false,
    };

    #[test]
    fn the_number_of_polls_grows_slower_than_the_wait() {
        assert_eq!([0.3, 5.0, 30.0, 120.0].map(|minutes| whole(polls(minutes))), [4, 14, 21, 39]);
    }

    #[test]
    fn api_gateway_is_most_of_the_cost() {
        let costs = estimate(BASE);
        let (name, most) = costs.parts[0];
        assert_eq!(name, "API Gateway");
        assert!(most > costs.per_100_000 / 2.0 && costs.per_100_000 < 20.0, "{costs:?}");
        assert!(costs.idle_month > costs.off_month && costs.idle_month < 20.0, "{costs:?}");
    }

    #[test]
    fn options_cost_more() {
        let base = estimate(BASE);
        let more = estimate(CostInputs { throttle: true, alarms: true, firewall: true, ..BASE });
        assert!(more.off_month > base.off_month + 6.0 && more.per_100_000 > base.per_100_000, "{more:?}");
        assert!(
            estimate(CostInputs { architecture: Architecture::X86, ..BASE }).idle_month > base.idle_month
        );
    }
}
