//! What visitors cost, and what a room costs to which nobody comes. In dollars.

use config::Architecture;
use serde::Serialize;

use crate::ModelledRoom;
use crate::edge_copies::EdgeCopies;
use crate::facts::{facts, prices};
use crate::visit::{Visit, requests_of_join};
use crate::work::{
    ALARM_METRICS, API_ALARM_METRICS, CAME_WRITES, CHECK_READS, CONSUMER_GB, DOCUMENT_KB,
    DOOR_LIMIT_ALARM_METRICS, EDGE_ALARM_METRICS, EDGE_POLL_READS, FILE_KB, JOIN_QUEUE_CALLS, METRICS,
    MINUTE_QUEUE_CALLS, MINUTE_READS, MINUTE_WRITES, POLL_KB, POLL_READS, PRODUCER_GB, READ_LOG_KB,
    RELEASE_QUEUE_CALLS, RELEASE_WRITES, SLICE_READS, SLICE_SECONDS, SLICE_VISITORS, SLICE_WRITES,
    STRAIGHT_WRITES, THROTTLE_ALARM_METRICS, THROTTLE_METRICS, THROTTLE_READS, THROTTLE_SECONDS,
    THROTTLE_WRITES, TRIGGER_GB, TRIGGER_LOG_KB, TRIGGER_QUEUE_CALLS, TRIGGER_READS, TRIGGER_SECONDS,
    TRIGGER_WRITES, TURN_READS, VISIT_KB, VISIT_LOG_KB, leases_per_join, producers,
};

const HOURS_PER_MONTH: f64 = 730.0;
const MINUTES_PER_MONTH: f64 = HOURS_PER_MONTH * 60.0;
const KB_PER_GB: f64 = 1e6;
/// How many of the visitors reload once, and how many keep a second tab open.
const RESTLESS: f64 = 0.2;

/// What one service or option costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostLine {
    pub name: &'static str,
    pub dollars: f64,
}

/// What visitors cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventCosts {
    pub visitors: u64,
    pub wait_minutes: f64,
    /// How often each of them polls.
    pub polls: u32,
    /// How often each asks what an edge says to everybody.
    pub shared_polls: u32,
    /// The least: nobody reloads, and nobody opens a second tab.
    pub dollars: f64,
    /// A fifth of the visitors reload once, and a fifth keep a second tab open.
    pub dollars_with_reloads: f64,
    /// Behind an edge: the least, without what `CloudFront`'s free tier takes off, if the account uses it for nothing else.
    pub dollars_after_free_tier: Option<f64>,
    /// By service, the least.
    pub lines: Vec<CostLine>,
}

/// What a month costs in which nobody comes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StandingCosts {
    /// On or paused or off: only the trigger runs, and the secret is kept.
    pub month: f64,
    /// What the options of this room cost on top.
    pub options: Vec<CostLine>,
}

/// What visitors make a room do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventWork {
    pub joins: f64,
    pub polls: f64,
    /// Polls that an edge answers.
    pub shared_polls: f64,
    /// How often the shop's pages ask whether a visitor may be there.
    pub client_checks: f64,
    /// Visitors whose turn it is, and who come to the door once more.
    pub turns: f64,
    /// Visitors who go straight in, without a place in line.
    pub straight: f64,
    /// Visits of people who have a place already: they reload, or open a second tab.
    pub returns: f64,
    /// Requests for which no function was free. API Gateway or `CloudFront` charges for them all the same.
    pub refused_visits: f64,
    pub releases: f64,
    /// For so many minutes somebody is released.
    pub releasing_minutes: f64,
    /// So long it lasts, from the first visitor to the last.
    pub minutes: f64,
}

impl EventCosts {
    /// So many visitors, who wait so long each, are released at the room's rate.
    pub fn of(room: &ModelledRoom, visitors: u64, wait_minutes: f64) -> Self {
        let Visit { polls, shared_polls, .. } = Visit::waiting(wait_minutes, room);
        #[expect(clippy::cast_precision_loss, reason = "a number of people")]
        let people = visitors as f64;
        let releasing_minutes = people / f64::from(room.rate.get());
        let work = EventWork {
            joins: people,
            polls: people * f64::from(polls),
            shared_polls: people * f64::from(shared_polls),
            turns: people,
            releases: people,
            releasing_minutes,
            minutes: releasing_minutes + wait_minutes,
            ..EventWork::default()
        };
        let restless = EventWork {
            polls: work.polls + people * RESTLESS * f64::from(polls + 1),
            shared_polls: work.shared_polls + people * RESTLESS * f64::from(shared_polls),
            returns: people * RESTLESS * 2.0,
            ..work
        };
        let lines = work.costs(room);
        let (dollars, dollars_with_reloads) = (sum(&lines), sum(&restless.costs(room)));
        let dollars_after_free_tier = room.edge.answers().then(|| dollars - work.free_of_edge(room));
        Self {
            visitors,
            wait_minutes,
            polls,
            shared_polls,
            dollars,
            dollars_with_reloads,
            dollars_after_free_tier,
            lines,
        }
    }
}

impl EventWork {
    /// So many visitors, who go straight in at the room's rate.
    pub fn straight(room: &ModelledRoom, visitors: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a number of people")]
        let straight = visitors as f64;
        Self { straight, minutes: straight / f64::from(room.rate.get()), ..Self::default() }
    }

    /// All requests to API Gateway, or to `CloudFront`.
    fn requests(&self, room: &ModelledRoom) -> f64 {
        self.arrivals() * requests_of_join(room.further_files)
            + self.polls
            + self.shared_polls
            + self.client_checks
            + self.turns
            + self.straight
            + self.refused_visits
    }

    fn arrivals(&self) -> f64 {
        self.joins + self.returns
    }

    fn visits(&self) -> f64 {
        self.arrivals() + self.turns + self.straight
    }

    /// What is sent to visitors, in kilobytes.
    fn sent_kb(&self, room: &ModelledRoom) -> f64 {
        self.arrivals() * (DOCUMENT_KB + f64::from(room.further_files) * FILE_KB)
            + (self.polls + self.shared_polls + self.client_checks) * POLL_KB
            + self.visits() * VISIT_KB
    }

    /// What `CloudFront`'s free tier takes off in a month in which the account uses it for nothing else.
    pub fn free_of_edge(&self, room: &ModelledRoom) -> f64 {
        let (fixed, prices) = (&facts().fixed, prices());
        let free_requests = self.requests(room).min(fixed.edge_free_requests.value);
        let free_gb = (self.sent_kb(room) / KB_PER_GB).min(fixed.edge_free_gb.value);
        free_requests * prices.edge_request.each() + free_gb * prices.edge_gb_out.each()
    }

    /// What it costs, by service. One sum, in which each line uses what those above it counted, so it is longer than a screen.
    pub fn costs(&self, room: &ModelledRoom) -> Vec<CostLine> {
        let Self {
            joins, polls, client_checks, turns, straight, releases, releasing_minutes, minutes, ..
        } = *self;
        let rate = f64::from(room.rate.get());
        let slices = releasing_minutes * (rate / f64::from(SLICE_VISITORS)).ceil();
        let files = f64::from(room.further_files);
        let (arrivals, visits, requests) = (self.arrivals(), self.visits(), self.requests(room));
        // What an edge's caches ask for as long as anybody is there.
        let copies = EdgeCopies::per_second(room);
        let seconds = minutes * 60.0;
        // What functions answer that only reads.
        let reading = if room.edge.answers() { polls + client_checks + copies.all() * seconds } else { 0.0 };
        let prices = prices();
        let second = gb_second(room.architecture);
        let poll_reads = if room.edge.answers() { EDGE_POLL_READS } else { POLL_READS };
        // The producer reads the room once a second, for all requests of that second.
        let reads = polls * poll_reads
            + client_checks * CHECK_READS
            + copies.reads() * seconds
            + turns * TURN_READS
            + (visits + reading) * producers(1.0, room.times).min(1.0)
            + slices * SLICE_READS
            + releasing_minutes * MINUTE_READS;
        let writes = joins * leases_per_join()
            + releases * RELEASE_WRITES
            + straight * STRAIGHT_WRITES
            + if room.oversubscription.is_some() { turns * CAME_WRITES } else { 0.0 }
            + slices * SLICE_WRITES
            + releasing_minutes * MINUTE_WRITES;
        let object_reads =
            if room.edge.answers() { copies.files * seconds } else { arrivals * (1.0 + files) };
        let gb_out = self.sent_kb(room) / KB_PER_GB;
        let (answering, sending) = if room.edge.answers() {
            // Personal answers and copies come from the function.
            let gb_in = ((polls + client_checks + (copies.statuses + copies.keys) * seconds) * POLL_KB
                + visits * VISIT_KB
                + copies.files * seconds * DOCUMENT_KB)
                / KB_PER_GB;
            (
                line("CloudFront", requests * prices.edge_request.each()),
                gb_out * prices.edge_gb_out.each() + gb_in * prices.edge_gb_in.each(),
            )
        } else {
            (line("API Gateway", requests * prices.api_request.each()), gb_out * prices.gb_out.each())
        };
        let logged_kb = visits * VISIT_LOG_KB + reading * READ_LOG_KB;
        let metric_hours = (minutes / 60.0).ceil() * METRICS;
        let mut lines = vec![
            answering,
            line(
                "Lambda",
                (visits + reading) * function(second, PRODUCER_GB, room.times.visit_seconds)
                    + slices * function(second, CONSUMER_GB, SLICE_SECONDS),
            ),
            line("DynamoDB", reads * prices.read_unit.each() + writes * prices.write_unit.each()),
            line(
                "SQS",
                (joins * JOIN_QUEUE_CALLS
                    + releases * RELEASE_QUEUE_CALLS
                    + releasing_minutes * MINUTE_QUEUE_CALLS)
                    * prices.queue_call.each(),
            ),
            line("S3", object_reads * prices.object_read.each()),
            line("data sent out", sending),
            line("logs", logged_kb / KB_PER_GB * prices.gb_logged.each()),
            line("metrics", metric_hours * prices.metric.each() / HOURS_PER_MONTH),
        ];
        if room.firewall.rules() > 0 {
            let looks = requests * prices.firewall_request.each();
            // At most: each visit without the token of an earlier challenge.
            let challenges = if room.firewall.door_challenge { visits } else { 0.0 };
            lines.push(line("firewall", looks + challenges * prices.challenge.each()));
        }
        lines
    }
}

impl StandingCosts {
    pub fn of(room: &ModelledRoom) -> Self {
        let prices = prices();
        let second = gb_second(room.architecture);
        let trigger = prices.schedule.each()
            + function(second, TRIGGER_GB, TRIGGER_SECONDS)
            + TRIGGER_READS * prices.read_unit.each()
            + TRIGGER_WRITES * prices.write_unit.each()
            + TRIGGER_QUEUE_CALLS * prices.queue_call.each()
            + TRIGGER_LOG_KB / KB_PER_GB * prices.gb_logged.each();
        let mut options = Vec::new();
        if room.alarms {
            let watched = ALARM_METRICS
                + if room.edge.has_api() { API_ALARM_METRICS } else { 0.0 }
                + if room.edge.answers() { EDGE_ALARM_METRICS } else { 0.0 }
                + if room.throttle { THROTTLE_ALARM_METRICS } else { 0.0 }
                + if room.firewall.door_limit && room.edge.has_api() {
                    DOOR_LIMIT_ALARM_METRICS
                } else {
                    0.0
                };
            options.push(line("alarms", watched * prices.alarm_metric.each()));
        }
        if room.throttle {
            let run = prices.schedule.each()
                + function(second, TRIGGER_GB, THROTTLE_SECONDS)
                + THROTTLE_READS * prices.read_unit.each()
                + THROTTLE_WRITES * prices.write_unit.each()
                + TRIGGER_LOG_KB / KB_PER_GB * prices.gb_logged.each();
            options.push(line("throttle", MINUTES_PER_MONTH * run + THROTTLE_METRICS * prices.metric.each()));
        }
        if room.firewall.rules() > 0 {
            let rules = f64::from(room.firewall.rules());
            let each = prices.firewall.each() + rules * prices.firewall_rule.each();
            // The API and the edge have one of their own each.
            let firewalls = u32::from(room.edge.has_api()) + u32::from(room.edge.answers());
            options.push(line("firewall", f64::from(firewalls) * each));
        }
        Self { month: MINUTES_PER_MONTH * trigger + prices.secret.each(), options }
    }
}

fn sum(lines: &[CostLine]) -> f64 {
    lines.iter().map(|line| line.dollars).sum()
}

/// What the room's warm capacity costs once: the part above what every new table has, and above the reads and writes that its own
/// table was given before.
pub fn warm_costs(room: &ModelledRoom, before: [f64; 2]) -> f64 {
    let above = |warm: f64, new: f64, before: f64| (warm - new.max(before)).max(0.0);
    let (fixed, [reads, writes]) = (&facts().fixed, before);
    above(room.warm_reads, fixed.new_table_reads.value, reads) * prices().warm_read.each()
        + above(room.warm_writes, fixed.new_table_writes.value, writes) * prices().warm_write.each()
}

/// Nobody has paid for a new table.
pub const NEW_TABLE: [f64; 2] = [0.0; 2];

fn line(name: &'static str, dollars: f64) -> CostLine {
    CostLine { name, dollars }
}

fn gb_second(architecture: Architecture) -> f64 {
    match architecture {
        Architecture::Arm64 => prices().gb_second_arm64.each(),
        Architecture::X86 => prices().gb_second_x86.each(),
    }
}

/// One invocation of a function.
fn function(gb_second: f64, memory_gb: f64, seconds: f64) -> f64 {
    prices().invocation.each() + gb_second * memory_gb * seconds
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole numbers, or the same computation")]
mod tests {
    use config::EdgeSetting;
    use waitroom::Rate;

    use super::*;
    use crate::Firewall;
    use crate::visit::WAIT_MINUTES;

    fn room(rate: u32) -> ModelledRoom {
        ModelledRoom::new(Rate::new(rate).unwrap())
    }

    fn a_million(room: &ModelledRoom) -> EventCosts {
        EventCosts::of(room, 1_000_000, WAIT_MINUTES.into())
    }

    #[test]
    fn a_million_visitors_who_wait_ten_minutes_cost_60_dollars_at_most() {
        for rate in [1000, 3000, 10_000, 40_000] {
            let costs = a_million(&room(rate));
            assert!(costs.dollars <= 60.0, "{costs:?}");
            let api = costs.lines[0];
            assert!(api.name == "API Gateway" && api.dollars > costs.dollars / 2.0, "{costs:?}");
        }
    }

    #[test]
    fn a_room_to_which_nobody_comes_costs_under_2_dollars_a_month() {
        for architecture in [Architecture::Arm64, Architecture::X86] {
            let standing = StandingCosts::of(&ModelledRoom { architecture, ..room(1000) });
            assert!((0.1..2.0).contains(&standing.month), "{standing:?}");
            assert_eq!(standing.options, []);
        }
    }

    #[test]
    fn options_are_listed_apart() {
        let firewall = Firewall { address_limit: true, ..Firewall::default() };
        let room = ModelledRoom { throttle: true, alarms: true, firewall, ..room(1000) };
        let standing = StandingCosts::of(&room);
        let names: Vec<_> = standing.options.iter().map(|line| line.name).collect();
        assert_eq!(names, ["alarms", "throttle", "firewall"]);
        assert!(
            (standing.options[0].dollars - 2.0).abs() < 1e-9
                && (standing.options[2].dollars - 6.0).abs() < 1e-9
        );
        assert_eq!(standing.month, StandingCosts::of(&super::tests::room(1000)).month);
        assert!(a_million(&room).dollars > a_million(&super::tests::room(1000)).dollars);
    }

    #[test]
    fn each_rule_of_the_firewall_costs_and_so_does_each_challenge() {
        let costs = |firewall| {
            let room = ModelledRoom { alarms: true, firewall, ..room(1000) };
            let options = StandingCosts::of(&room).options;
            let month: f64 = options.iter().map(|line| line.dollars).sum();
            let lines = a_million(&room).lines;
            (month, lines.iter().find(|line| line.name == "firewall").map_or(0.0, |line| line.dollars))
        };
        let nothing = costs(Firewall::default());
        let limit = costs(Firewall { door_limit: true, ..Firewall::default() });
        let both = costs(Firewall { door_limit: true, door_challenge: true, ..Firewall::default() });
        assert!((limit.0 - nothing.0 - 6.1).abs() < 1e-9, "the list, a rule and an alarm: {limit:?}");
        assert!((both.0 - limit.0 - 1.0).abs() < 1e-9, "another rule: {both:?}");
        assert_eq!(nothing.1, 0.0);
        assert!((both.1 - limit.1 - 0.8).abs() < 1e-9, "two challenges for each of a million: {both:?}");
    }

    #[test]
    fn an_edge_has_a_firewall_of_its_own_without_an_alarm() {
        let month = |edge, firewall| {
            let options =
                StandingCosts::of(&ModelledRoom { alarms: true, firewall, edge, ..room(1000) }).options;
            options.iter().map(|line| line.dollars).sum::<f64>()
        };
        let limit = Firewall { door_limit: true, ..Firewall::default() };
        for (edge, expected) in [(EdgeSetting::No, 6.1), (EdgeSetting::Moving, 12.1), (EdgeSetting::Yes, 6.0)]
        {
            let costs = month(edge, limit) - month(edge, Firewall::default());
            assert!((costs - expected).abs() < 1e-9, "{edge}: {costs}");
        }
    }

    #[test]
    fn only_warm_capacity_above_a_new_tables_costs() {
        assert_eq!(warm_costs(&room(1000), NEW_TABLE), 0.0);
        let writes = ModelledRoom { warm_writes: 14_000.0, ..room(1000) };
        for (before, paid) in [(0.0, 10_000.0), (12_000.0, 2_000.0), (14_000.0, 0.0), (20_000.0, 0.0)] {
            let costs = warm_costs(&writes, [0.0, before]);
            assert!((costs - paid * prices().warm_write.value).abs() < 1e-9, "{costs} after {before}");
        }
    }

    #[test]
    fn those_who_still_wait_and_those_who_were_refused_cost_too() {
        let nothing = EventWork::default();
        let costs = |name: &str, work: EventWork| {
            work.costs(&room(1000)).iter().find(|line| line.name == name).map_or(0.0, |line| line.dollars)
        };
        let joined = costs("SQS", EventWork { joins: 1e6, ..nothing });
        let released = costs("SQS", EventWork { releases: 1e6, ..nothing });
        assert!((joined - 0.4).abs() < 1e-9 && (released - 0.08).abs() < 1e-9, "{joined} {released}");
        let refused = costs("API Gateway", EventWork { refused_visits: 1e6, ..nothing });
        assert!((refused - 3.5).abs() < 1e-9, "{refused}");
    }

    /// It joins without loading the page.
    #[test]
    fn a_script_costs_what_the_documentation_says() {
        const AN_HOUR: f64 = 10_000.0 * 3600.0;
        let joins = EventWork { joins: AN_HOUR, ..EventWork::default() };
        let prices = prices();
        let page = prices.api_request.each()
            + prices.object_read.each()
            + DOCUMENT_KB / KB_PER_GB * prices.gb_out.each();
        let dollars = sum(&joins.costs(&room(1000))) - AN_HOUR * page;
        let told =
            format!("10,000 joins a second for an hour are about ${:.0}", (dollars / 10.0).round() * 10.0);
        assert!(
            include_str!("../../../../docs/crowd.md").contains(&told),
            "docs/crowd.md should have: {told}"
        );
    }

    #[test]
    fn an_edge_costs_cloudfront_instead_of_api_gateway() {
        let names =
            |room: &ModelledRoom| a_million(room).lines.iter().map(|line| line.name).collect::<Vec<_>>();
        let (alone, behind) = (room(1000), room(1000).behind_edge());
        assert_eq!(names(&alone)[0], "API Gateway");
        assert_eq!(names(&behind)[0], "CloudFront");
        assert_eq!(names(&alone)[1..], names(&behind)[1..]);
        assert_eq!(a_million(&alone).dollars_after_free_tier, None);
        let refused = EventWork { refused_visits: 1e6, ..EventWork::default() };
        assert!((refused.costs(&behind)[0].dollars - 1.0).abs() < 1e-9, "{:?}", refused.costs(&behind));
    }

    #[test]
    fn the_free_tier_takes_off_no_more_than_there_is() {
        let behind = room(1000).behind_edge();
        let event = |visitors| EventCosts::of(&behind, visitors, WAIT_MINUTES.into());
        let free = |visitors| {
            let costs = event(visitors);
            costs.dollars - costs.dollars_after_free_tier.unwrap()
        };
        let of_edge = |visitors: u64| {
            event(visitors)
                .lines
                .iter()
                .filter(|line| ["CloudFront", "data sent out"].contains(&line.name))
                .map(|line| line.dollars)
                .sum::<f64>()
        };
        assert!((free(100_000) - of_edge(100_000)).abs() < 1e-9, "a small crowd is free");
        // Ten million requests, and a terabyte.
        assert!((free(100_000_000) - 10.0 - 85.0).abs() < 1e-9, "{}", free(100_000_000));
    }

    #[test]
    fn a_second_tab_sends_what_the_first_sends_and_takes_no_place() {
        let costs = a_million(&room(1000));
        let more = costs.dollars_with_reloads / costs.dollars;
        assert!((1.1..1.4).contains(&more), "{costs:?}");
        let (joined, returned) = (
            EventWork { joins: 1e6, ..EventWork::default() },
            EventWork { returns: 1e6, ..EventWork::default() },
        );
        let costs =
            |work: EventWork| work.costs(&room(1000)).into_iter().map(|line| (line.name, line.dollars));
        for ((name, joined), (_, returned)) in costs(joined).zip(costs(returned)) {
            match name {
                "SQS" => assert!(returned == 0.0 && joined > 0.0),
                // Only whoever joins takes a number.
                "DynamoDB" => assert!(returned < joined),
                _ => assert_eq!(returned, joined, "{name}"),
            }
        }
    }

    #[test]
    fn one_visitor_costs_what_one_visitor_does() {
        let costs = EventCosts::of(&room(1000), 1, WAIT_MINUTES.into());
        let requests = f64::from(costs.polls) + 3.0;
        assert!((costs.lines[0].dollars - requests * 3.5e-6).abs() < 1e-12, "{costs:?}");
    }
}
