//! How many requests the room refused lately, and why: the metrics that its alarms watch too.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_cloudwatch::types::{MetricDataQuery, MetricDataResult};
use config::EdgeSetting;
use waitroom::{Refusals, RoomId, Timestamp};

use crate::entered::{sums, sums_of};
use crate::kept_refusals::LatelyRefused;
use crate::soon::soon;
use crate::{Account, CloudError, DeployedRoom};

/// What a room is called in the metrics of AWS.
#[derive(Clone, Copy, Debug)]
pub struct RefusalSource<'a> {
    pub room: &'a RoomId,
    /// The function that is the door.
    pub door: &'a str,
    pub table: &'a str,
    /// Whether an edge asks the door for everything.
    pub has_edge: bool,
    pub has_edge_firewall: bool,
}

/// What AWS counted in one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct MinuteCounts {
    requests: f64,
    client_errors: f64,
    server_errors: f64,
    door_throttles: f64,
    door_errors: f64,
    /// What the edge's firewall refused, and nobody else counts.
    refused_at_edge: f64,
    /// Reads and writes that the table refused.
    table_throttles: f64,
}

/// A metric, and where its sums belong.
struct Counted<'a> {
    id: &'static str,
    namespace: &'static str,
    name: &'static str,
    dimensions: Vec<(&'static str, &'a str)>,
    of: fn(&mut MinuteCounts) -> &mut f64,
}

impl DeployedRoom {
    /// The latest refusals, or why they are not known: a status without them is better than none.
    pub(crate) async fn lately_refused(&self, now: Timestamp) -> LatelyRefused {
        let source = RefusalSource {
            room: &self.room,
            door: self
                .door_function
                .as_deref()
                .ok_or("the room is of a version that doesn't name its door")?,
            table: &self.ledger_table,
            has_edge: self.has_edge,
            has_edge_firewall: self.has_edge_firewall,
        };
        self.refusals.or_read(soon(self.account.refusals(source, now))).await
    }
}

impl Account {
    /// The requests that the room refused in the latest two minutes that `CloudWatch` knows. `None` if there are none. It shows a
    /// minute about a minute late.
    pub async fn refusals(
        &self,
        source: RefusalSource<'_>,
        now: Timestamp,
    ) -> Result<Option<Refusals>, CloudError> {
        let attempt = format!("read how many requests the room {} refused", source.room);
        let stack = crate::names::stack(source.room);
        let counted = counted(&stack, source);
        let queries = counted.iter().map(Counted::query).collect();
        let mut results = self.metric_data(queries, now - LOOKED_BACK, now, &attempt).await?;
        let name = crate::names::edge_stack(source.room, &self.region);
        let at_edge = source.has_edge_firewall.then(|| at_edge(&name));
        if let Some(at_edge) = &at_edge {
            let there = self.in_region(EdgeSetting::REGION);
            results.extend(there.metric_data(vec![at_edge.query()], now - LOOKED_BACK, now, &attempt).await?);
        }
        let counted: Vec<_> = counted.into_iter().chain(at_edge).collect();
        let mut minutes = BTreeMap::new();
        for result in &results {
            add(&mut minutes, &counted, result, &attempt)?;
        }
        Ok(refusals(&minutes, source.room, now))
    }
}

/// How far back refusals are looked for, to say since when there are any.
const LOOKED_BACK: Duration = Duration::from_hours(1);

/// A minute that is not older is one of the latest two. `CloudWatch` may be this late.
const LATE: Duration = Duration::from_mins(5);

/// A few client errors are always there, and no metric tells them from visitors whom API Gateway refused. So they count
/// where they are a larger share of a minute's requests, as for the alarm of refused requests.
const FEW_CLIENT_ERRORS: f64 = 0.05;

/// In a minute with fewer requests, a single one of a program is more than that share already. So there they count only if the
/// minute before or after is like it.
const FEW_REQUESTS: f64 = 20.0;

const MINUTE: Duration = Duration::from_mins(1);

fn counted<'a>(stack: &'a str, source: RefusalSource<'a>) -> Vec<Counted<'a>> {
    let (api, function, table) = ("AWS/ApiGateway", "AWS/Lambda", "AWS/DynamoDB");
    let metric = |id, namespace, name, of| {
        let dimensions = match namespace {
            "AWS/ApiGateway" => vec![("ApiName", stack), ("Stage", "prod")],
            "AWS/Lambda" => vec![("FunctionName", source.door)],
            _ => vec![("TableName", source.table)],
        };
        Counted { id, namespace, name, dimensions, of }
    };
    let mut all = vec![
        metric("requests", api, "Count", |minute| &mut minute.requests),
        metric("clients", api, "4XXError", |minute| &mut minute.client_errors),
        metric("servers", api, "5XXError", |minute| &mut minute.server_errors),
        metric("throttles", function, "Throttles", |minute| &mut minute.door_throttles),
        metric("errors", function, "Errors", |minute| &mut minute.door_errors),
        metric("reads", table, "ReadThrottleEvents", |minute| &mut minute.table_throttles),
        metric("writes", table, "WriteThrottleEvents", |minute| &mut minute.table_throttles),
    ];
    if source.has_edge {
        all.extend([
            metric("asked", function, "UrlRequestCount", |minute| &mut minute.requests),
            metric("url_clients", function, "Url4xxCount", |minute| &mut minute.client_errors),
            metric("url_servers", function, "Url5xxCount", |minute| &mut minute.server_errors),
        ]);
    }
    all
}

/// What the firewall of an edge refused. `CloudWatch` has it where CloudFront is, and without the region's name.
fn at_edge(stack: &str) -> Counted<'_> {
    Counted {
        id: "at_edge",
        namespace: "AWS/WAFV2",
        name: "BlockedRequests",
        dimensions: vec![("WebACL", stack), ("Rule", "ALL")],
        of: |minute| &mut minute.refused_at_edge,
    }
}

impl Counted<'_> {
    fn query(&self) -> MetricDataQuery {
        sums(self.id, self.namespace, self.name, &self.dimensions)
    }
}

fn add(
    minutes: &mut BTreeMap<Timestamp, MinuteCounts>,
    counted: &[Counted<'_>],
    result: &MetricDataResult,
    attempt: &str,
) -> Result<(), CloudError> {
    let sums = sums_of(result, attempt)?;
    let Some(counted) = counted.iter().find(|counted| result.id() == Some(counted.id)) else { return Ok(()) };
    for (began, sum) in sums {
        *(counted.of)(minutes.entry(began).or_default()) += sum;
    }
    Ok(())
}

/// These minutes, without client errors that are too few to count.
fn without_few(minutes: &BTreeMap<Timestamp, MinuteCounts>) -> BTreeMap<Timestamp, MinuteCounts> {
    let has_many = |began: Timestamp| minutes.get(&began).is_some_and(MinuteCounts::has_many_client_errors);
    let kept = |(&began, counts): (&Timestamp, &MinuteCounts)| {
        let is_lasting = || has_many(began - MINUTE) || has_many(began + MINUTE);
        let count = has_many(began) && (counts.requests >= FEW_REQUESTS || is_lasting());
        let client_errors = if count { counts.client_errors } else { 0.0 };
        (began, MinuteCounts { client_errors, ..*counts })
    };
    minutes.iter().map(kept).collect()
}

fn refusals(minutes: &BTreeMap<Timestamp, MinuteCounts>, room: &RoomId, now: Timestamp) -> Option<Refusals> {
    let minutes = without_few(minutes);
    let latest = *minutes.keys().next_back().filter(|latest| **latest + LATE >= now)?;
    let mut lately = MinuteCounts::default();
    let mut requests = 0.0;
    for (_, counts) in minutes.range(latest - MINUTE..) {
        requests += counts.refused();
        lately = lately.and(*counts);
    }
    if requests < 1.0 {
        return None;
    }
    // Before these, until two minutes in a row had none.
    let mut since = latest;
    for (began, _) in minutes.iter().rev().filter(|(_, counts)| counts.refused() > 0.0) {
        if *began + 2 * MINUTE < since {
            break;
        }
        since = *began;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number, not below one"
    )]
    let requests = requests as u64;
    Some(Refusals { requests, since, reason: lately.reason(room) })
}

impl MinuteCounts {
    fn refused(&self) -> f64 {
        self.server_errors + self.client_errors + self.refused_at_edge
    }

    fn has_many_client_errors(&self) -> bool {
        self.client_errors > FEW_CLIENT_ERRORS * self.requests
    }

    fn and(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            client_errors: self.client_errors + other.client_errors,
            server_errors: self.server_errors + other.server_errors,
            door_throttles: self.door_throttles + other.door_throttles,
            door_errors: self.door_errors + other.door_errors,
            refused_at_edge: self.refused_at_edge + other.refused_at_edge,
            table_throttles: self.table_throttles + other.table_throttles,
        }
    }

    /// What AWS counted besides, as the room's alarms tell it apart.
    fn reason(self, room: &RoomId) -> String {
        let mut reasons = Vec::new();
        // To API Gateway that is a server error, and to an edge a client error.
        if self.door_throttles > 0.0 && self.server_errors + self.client_errors > 0.0 {
            reasons.push("the account runs as many functions as it may, so Lambda doesn't start the door for everybody".to_owned());
        }
        if self.server_errors > 0.0 {
            if self.door_errors > 0.0 {
                reasons
                    .push(format!("the door fails or takes too long, and `beekeeper logs {room}` says why"));
            }
            if self.table_throttles > 0.0 {
                reasons.push("the table gets more requests than it can serve; deploy with more warm_reads and warm_writes".to_owned());
            }
            if reasons.is_empty() {
                reasons.push(format!(
                    "the table, the page or what the door needs doesn't answer in time; see `beekeeper logs {room}`"
                ));
            }
        }
        if self.refused_at_edge > 0.0 {
            reasons.push("the firewall refuses addresses that send more than you allow: scripts, or many people at one address; docs/abuse.md".to_owned());
        }
        // Behind an edge, visitors for whom no function was free are these client errors, and were named already.
        if self.client_errors > 0.0 && (self.server_errors > 0.0 || reasons.is_empty()) {
            reasons.push(
                "more than one request in twenty is refused: more come than requests_per_second, the firewall or the account allow, \
                 or a program asks for what the room doesn't have"
                    .to_owned(),
            );
        }
        reasons.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_cloudwatch::types::StatusCode;

    use super::*;

    /// What AWS counted in the minutes that began so many minutes ago.
    fn found(counts: &[(u64, MinuteCounts)]) -> Option<Refusals> {
        let minutes = counts.iter().map(|(ago, counts)| (began(*ago), *counts)).collect();
        refusals(&minutes, &"sale".parse().unwrap(), began(0) + Duration::from_secs(30))
    }

    fn began(ago: u64) -> Timestamp {
        Timestamp::from_millis((1_000_000 - ago) * 60_000)
    }

    const CALM: MinuteCounts = MinuteCounts {
        requests: 1000.0,
        client_errors: 50.0,
        server_errors: 0.0,
        door_throttles: 0.0,
        door_errors: 0.0,
        refused_at_edge: 0.0,
        table_throttles: 0.0,
    };
    const FAILING: MinuteCounts = MinuteCounts { server_errors: 300.0, door_errors: 299.0, ..CALM };

    #[test]
    fn a_room_that_answers_refuses_nobody_although_a_few_ask_for_what_is_not_there() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(1, CALM), (2, CALM)]), None);
        let refusing = MinuteCounts { client_errors: 51.0, ..CALM };
        assert_eq!(found(&[(1, refusing), (2, CALM)]).unwrap().requests, 51);
    }

    #[test]
    fn a_stray_request_in_a_quiet_minute_is_nobody_and_in_two_such_minutes_somebody() {
        let quiet = MinuteCounts { requests: 3.0, client_errors: 1.0, ..MinuteCounts::default() };
        assert_eq!(found(&[(1, quiet), (2, CALM)]), None);
        assert_eq!(found(&[(1, CALM), (2, quiet), (4, quiet)]), None, "not in a row");
        let refused = found(&[(1, quiet), (2, quiet)]).unwrap();
        assert_eq!((refused.requests, refused.since), (2, began(2)));
        let failing = MinuteCounts { server_errors: 1.0, ..quiet };
        assert_eq!(found(&[(1, failing)]).unwrap().requests, 1, "a server error always counts");

        let of = |requests| found(&[(1, MinuteCounts { requests, client_errors: 2.0, ..quiet })]);
        assert_eq!(of(19.0), None);
        assert_eq!(of(20.0).unwrap().requests, 2, "more than one in twenty");
    }

    #[test]
    fn the_latest_two_minutes_count_that_are_known() {
        assert_eq!(found(&[(1, FAILING), (2, FAILING), (3, FAILING)]).unwrap().requests, 600);
        assert_eq!(found(&[(3, FAILING), (4, CALM)]).unwrap().requests, 300, "CloudWatch is late");
        assert_eq!(found(&[(1, CALM), (2, CALM), (3, FAILING)]), None, "it is over");
        assert_eq!(found(&[(6, FAILING)]), None, "and too long ago");
    }

    #[test]
    fn refusals_are_told_since_the_first_after_two_minutes_without() {
        let since = |counts: &[(u64, MinuteCounts)]| found(counts).unwrap().since;
        assert_eq!(since(&[(1, FAILING)]), began(1));
        assert_eq!(since(&[(1, CALM), (2, FAILING), (3, FAILING), (4, CALM), (5, FAILING)]), began(5));
        assert_eq!(since(&[(1, FAILING), (2, CALM), (3, CALM), (4, FAILING)]), began(1));
    }

    #[test]
    fn the_reason_names_what_aws_counted_besides() {
        let reason = |counts| found(&[(1, counts)]).unwrap().reason;
        assert_eq!(reason(FAILING), "the door fails or takes too long, and `beekeeper logs sale` says why");
        let several = MinuteCounts { door_errors: 0.0, door_throttles: 9.0, table_throttles: 3.0, ..FAILING };
        assert!(reason(several).starts_with("the account runs as many functions as it may"));
        assert!(reason(several).contains("; the table gets more requests than it can serve"));
        let unknown = MinuteCounts { door_errors: 0.0, ..FAILING };
        assert!(reason(unknown).starts_with("the table, the page or what the door needs doesn't answer"));
        let refusing = MinuteCounts { client_errors: 900.0, ..CALM };
        assert!(reason(refusing).starts_with("more than one request in twenty is refused"));
        let busy_behind_edge = MinuteCounts { door_throttles: 900.0, ..refusing };
        let too_few =
            "the account runs as many functions as it may, so Lambda doesn't start the door for everybody";
        assert_eq!(reason(busy_behind_edge), too_few);
        let limited = MinuteCounts { refused_at_edge: 30.0, ..CALM };
        assert!(reason(limited).starts_with("the firewall refuses addresses"));
        assert_eq!(found(&[(1, limited)]).unwrap().requests, 30);
    }

    #[test]
    fn values_that_cannot_all_be_read_are_an_error() {
        let stack = "beekeeper-sale";
        let room = "sale".parse().unwrap();
        let counted = counted(
            stack,
            RefusalSource {
                room: &room,
                door: "door",
                table: "table",
                has_edge: false,
                has_edge_firewall: false,
            },
        );
        let result = |status| MetricDataResult::builder().id("servers").status_code(status).build();
        let mut minutes = BTreeMap::new();
        add(&mut minutes, &counted, &result(StatusCode::Complete), "read").unwrap();
        let error = add(&mut minutes, &counted, &result(StatusCode::Forbidden), "read").unwrap_err();
        assert_eq!(error.reason(), "AWS answered without all values");
    }
}
