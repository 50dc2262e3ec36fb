//! What a room does on AWS for one visitor, one slice and one minute. If you change a handler or the adapter, change the number
//! here too.

use std::sync::LazyLock;

use waitroom::{BATCH, SLICE_BATCHES, TicketBlock, Timestamp};

use crate::facts::facts;

pub(crate) const PRODUCER_GB: f64 = 0.5;

/// How long functions work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FunctionTimes {
    /// How long the producer works on one visit: it waits for one call to SQS or DynamoDB. Not measured on AWS.
    pub visit_seconds: f64,
    /// How many consumers run at the same time for each slice of a window. They start while those of the window before still
    /// work, for half a minute.
    pub consumers_per_slice: f64,
}

impl Default for FunctionTimes {
    fn default() -> Self {
        Self { visit_seconds: 0.03, consumers_per_slice: 1.5 }
    }
}

/// Trigger and setup, and a second trigger that an order has started.
const OTHER_FUNCTIONS: f64 = 3.0;

/// How many visitors a consumer releases in a minute.
pub(crate) const SLICE_VISITORS: u32 = SLICE_BATCHES * BATCH;
/// A consumer works for the minute of its slice, and starts up to half a minute before.
pub(crate) const SLICE_SECONDS: f64 = 75.0;
pub(crate) const CONSUMER_GB: f64 = 0.125;
/// While the ledger fails, a consumer keeps the batch that it has, and receives no other. One more may be on its way.
const BATCHES_IN_HAND: f64 = 2.0;

/// A slice claims itself with one write, and asks with another whether the ledger takes admissions. Every two seconds it records how
/// many it has released, in an item that it shares with fifteen others and that is then larger than a kilobyte, and raises the ticket
/// that the line has reached. It notes the longest wait every five seconds at most.
pub(crate) const SLICE_WRITES: f64 = 3.0 + 30.0 * (2.0 + 1.0) + 12.0;
/// It reads the room once a second.
pub(crate) const SLICE_READS: f64 = SLICE_SECONDS;

/// While visitors are released, the first slice publishes the status every two seconds: it reads the progress and the tickets
/// and writes sixteen copies. And the trigger writes a plan: three items and more in a transaction, which costs twice.
pub(crate) const MINUTE_WRITES: f64 = 30.0 * STATUS_COPIES as f64 + 12.0;
pub(crate) const MINUTE_READS: f64 = 30.0 * 2.0;
/// The first slice counts the line as often.
pub(crate) const MINUTE_QUEUE_CALLS: f64 = 32.0;

pub(crate) const STATUS_COPIES: u32 = 16;
/// A poll reads a copy of the status and the visitor's admission, eventually consistent: half a unit each, also if there is no
/// admission.
pub(crate) const POLL_READS: f64 = 1.0;
/// Behind an edge, a function answers it, and reads the admission consistently. It reads the room once a second, as the door does.
pub(crate) const EDGE_POLL_READS: f64 = 1.5;
/// The shop's client check reads what a poll reads, and behind an edge only the admission.
pub(crate) const CHECK_READS: f64 = 1.0;
/// A visitor whose turn it is: the door reads the admission.
pub(crate) const TURN_READS: f64 = 1.0;
/// A consumer writes the admission, which is smaller than a kilobyte.
pub(crate) const RELEASE_WRITES: f64 = 1.0;
/// Whoever goes straight in takes a permit, and is admitted. At high rates a permit is a part of a portion.
pub(crate) const STRAIGHT_WRITES: f64 = 2.0;
/// Where it is counted who comes: a mark in the admission, and the count.
pub(crate) const CAME_WRITES: f64 = 2.0;
/// A visitor who joins is sent to the queue alone.
pub(crate) const JOIN_QUEUE_CALLS: f64 = 1.0;
/// A visitor who is released is received and deleted in a batch of ten.
pub(crate) const RELEASE_QUEUE_CALLS: f64 = 2.0 / 10.0;

/// The trigger of a room to which nobody comes, once a minute. A test counts its calls.
pub(crate) const TRIGGER_GB: f64 = 0.25;
pub(crate) const TRIGGER_SECONDS: f64 = 1.0;
/// It reads the sixteen copies of the status, and finds nothing to change.
pub(crate) const TRIGGER_READS: f64 = 19.0 + STATUS_COPIES as f64;
/// The minute's record.
pub(crate) const TRIGGER_WRITES: f64 = 1.0;
pub(crate) const TRIGGER_QUEUE_CALLS: f64 = 1.0;
/// Its own line, and the three of Lambda.
pub(crate) const TRIGGER_LOG_KB: f64 = 1.0;

/// The throttle sends twenty requests, four at a time, to a shop that answers within half a second. Its memory of an hour is
/// an item of four kilobytes at most, which it reads and writes. It sends three metrics every minute.
pub(crate) const THROTTLE_SECONDS: f64 = 3.0;
pub(crate) const THROTTLE_READS: f64 = 3.0;
pub(crate) const THROTTLE_WRITES: f64 = 4.0;
pub(crate) const THROTTLE_METRICS: f64 = 3.0;

/// Joined, Entered, Admitted, Waiting and Rate: sent while somebody joins, waits or is released.
pub(crate) const METRICS: f64 = 5.0;
/// What the alarms of the template watch, and what those in addition that are of the API, of an edge, of the throttle and of the
/// firewall's limit at the door.
pub(crate) const ALARM_METRICS: f64 = 15.0;
pub(crate) const API_ALARM_METRICS: f64 = 2.0;
pub(crate) const EDGE_ALARM_METRICS: f64 = 2.0;
pub(crate) const THROTTLE_ALARM_METRICS: f64 = 3.0;
pub(crate) const DOOR_LIMIT_ALARM_METRICS: f64 = 1.0;

/// The document, compressed, with its headers; a further file of a custom page; a poll and a visit to the door with headers.
pub(crate) const DOCUMENT_KB: f64 = 17.1;
pub(crate) const FILE_KB: f64 = 10.0;
pub(crate) const POLL_KB: f64 = 0.8;
pub(crate) const VISIT_KB: f64 = 1.2;
/// Lambda's three lines for a visit, and the metric of a join or of a visitor who comes for their pass.
pub(crate) const VISIT_LOG_KB: f64 = 0.5;
/// Lambda's three lines alone, for what a function only reads.
pub(crate) const READ_LOG_KB: f64 = 0.4;

/// How many environments of the producer serve this many visits a second: as many as work at the same moment, and no fewer
/// than Lambda gives them requests.
pub(crate) fn producers(visits_per_second: f64, times: FunctionTimes) -> f64 {
    visits_per_second * times.visit_seconds.max(1.0 / facts().fixed.environment_requests.value)
}

pub(crate) fn slices(rate: u32) -> f64 {
    rate.div_ceil(SLICE_VISITORS).into()
}

pub(crate) fn consumers(rate: u32, times: FunctionTimes) -> f64 {
    slices(rate) * times.consumers_per_slice
}

pub(crate) fn other_functions(throttle: bool) -> f64 {
    OTHER_FUNCTIONS + if throttle { 1.0 } else { 0.0 }
}

/// How many messages are in flight while the ledger fails.
pub(crate) fn in_flight(rate: u32) -> f64 {
    slices(rate) * f64::from(BATCH) * BATCHES_IN_HAND
}

/// How many writes to the counter of tickets a join causes: producers lease blocks of numbers. Found by leasing them as an
/// environment does that serves as many joins a second as Lambda gives it.
pub(crate) fn leases_per_join() -> f64 {
    *LEASES_PER_JOIN
}

static LEASES_PER_JOIN: LazyLock<f64> = LazyLock::new(|| {
    const JOINS: u32 = 1000;
    let pause = 1000.0 / facts().fixed.environment_requests.value;
    let (mut block, mut next, mut leases) = (TicketBlock::new(), 1, 0_u32);
    for join in 0..JOINS {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "some seconds, in milliseconds"
        )]
        let now = Timestamp::from_millis(1_000_000 + (f64::from(join) * pause) as u64);
        if block.take(now).is_none() {
            let count = block.wanted(now);
            block.fill(next..next + u64::from(count), now);
            next += u64::from(count);
            leases += 1;
            block.take(now);
        }
    }
    f64::from(leases) / f64::from(JOINS)
});

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole numbers")]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use fault_simulation::{InjectedFault, PortCall, World};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use page::{Design, Page};

    use super::*;

    /// What a call to a port costs on AWS: units that are read, units that are written, calls to SQS. The adapter reads items
    /// consistently, which is a unit for each. They are smaller than a kilobyte, so a write is a unit, too.
    fn cost(call: PortCall) -> [f64; 3] {
        match call {
            PortCall::Room | PortCall::CountIssued | PortCall::Reach | PortCall::Newcomers => [1.0, 0.0, 0.0],
            // The progress; and the plan and the slices of each of the latest two windows.
            PortCall::RecentPlans => [1.0 + 2.0 * 2.0, 0.0, 0.0],
            // The same of the latest three, which stay open, and the permits.
            PortCall::Progress => [2.0 + 3.0 * 2.0, 0.0, 0.0],
            PortCall::CountWaiting => [0.0, 0.0, 1.0],
            // A queue does not know it.
            PortCall::CountJoined => [0.0; 3],
            PortCall::PublishIfChanged => [f64::from(STATUS_COPIES), 0.0, 0.0],
            PortCall::History => [0.0, 1.0, 0.0],
            other => panic!("{other:?} in a room to which nobody comes"),
        }
    }

    #[test]
    fn a_minute_in_which_nobody_comes_costs_what_the_trigger_does() {
        let mut world = World::new(1, 1000);
        world.run(Duration::from_mins(10));
        let used = Arc::new(Mutex::new([0.0; 3]));
        let sum = used.clone();
        world.set_faults(move |call| {
            let mut sum = sum.lock().unwrap();
            *sum = [0, 1, 2].map(|unit| sum[unit] + cost(call)[unit]);
            (InjectedFault::None, Duration::ZERO)
        });
        world.run(Duration::from_mins(1));
        assert_eq!(*used.lock().unwrap(), [TRIGGER_READS, TRIGGER_WRITES, TRIGGER_QUEUE_CALLS]);
    }

    #[test]
    fn the_status_has_as_many_copies_as_the_adapter_writes() {
        assert_eq!(STATUS_COPIES, u32::from(aws::STATUS_COPIES));
    }

    #[test]
    fn a_busy_producer_leases_about_sixteen_tickets_at_once() {
        let leases = leases_per_join();
        assert!((0.05..0.08).contains(&leases), "{leases}");
    }

    /// The memory of a function of the template, in gigabytes.
    fn memory(function: &str) -> f64 {
        let template = include_str!("../../../../infra/template.yaml");
        let after = |text: &'static str, start: &str| {
            let at = text.find(start).unwrap_or_else(|| panic!("{start} in the template"));
            &text[at + start.len()..]
        };
        let size = |text: &'static str| {
            after(text, "MemorySize: ").split_whitespace().next().unwrap().parse::<f64>()
        };
        let resource = after(template, &format!("\n  {function}:\n")).split("\n\n").next().unwrap();
        let found = if resource.contains("MemorySize") {
            size(resource)
        } else {
            size(after(template, "\nGlobals:"))
        };
        found.unwrap() / 1024.0
    }

    #[test]
    fn functions_have_the_memory_of_the_template() {
        let memories = ["Producer", "Consumer", "Trigger", "Throttle"].map(memory);
        let modelled = [PRODUCER_GB, CONSUMER_GB, TRIGGER_GB, TRIGGER_GB];
        assert!(memories.iter().zip(modelled).all(|(one, other)| (one - other).abs() < 1e-9), "{memories:?}");
    }

    /// What is sent with the document beside its policy: the status, the other headers, and API Gateway's own.
    const OTHER_HEADERS: usize = 440;

    #[test]
    fn the_document_is_as_large_as_it_is_counted() {
        let page = Design::default().page(&"Spring sale".parse().unwrap());
        let document = page.file(Page::DOCUMENT).unwrap();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&document.body).unwrap();
        let bytes = encoder.finish().unwrap().len() + document.policy.len() + OTHER_HEADERS;
        let kilobytes = f64::from(u32::try_from(bytes).unwrap()) / 1000.0;
        assert!((kilobytes / DOCUMENT_KB - 1.0).abs() < 0.05, "{kilobytes} kB");
    }

    #[test]
    fn lambda_gives_an_environment_ten_requests_a_second_although_it_could_serve_more() {
        assert!((producers(1000.0, FunctionTimes::default()) - 100.0).abs() < 1e-9);
    }
}
