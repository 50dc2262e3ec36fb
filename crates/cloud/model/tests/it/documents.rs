//! The documents say what the model says. A test that fails prints what belongs into the document.

use aws_model::{
    AccountLimits, Bound, CONFIDENCE, Capacity, EventCosts, EventWork, Firewall, Limit, ModelledRoom,
    NEW_TABLE, NEWER_REGION, Reservation, StandingCosts, Visit, WAIT_MINUTES, chance_of_at_most,
    environments_per_visit, facts, warm_costs,
};
use document::words::{about, count, dollars};
use waitroom::{Place, Rate, RoomId, Scheme};

use crate::need::Need;

const CROWD: &str = include_str!("../../../../../docs/crowd.md");
const COMPARE: &str = include_str!("../../../../../docs/compare.md");
const ABUSE: &str = include_str!("../../../../../docs/abuse.md");
const PAGE: &str = include_str!("../../../../../docs/page.md");
const README: &str = include_str!("../../../../../README.md");

/// What the tables of docs/crowd.md are about.
const RATE: u32 = 1000;
const WAITING: u64 = 150_000;
const MILLION: u64 = 1_000_000;

fn room(rate: u32) -> ModelledRoom {
    ModelledRoom::new(Rate::new(rate).unwrap())
}

fn assert_in(document: &str, name: &str, expected: &str) {
    assert!(document.contains(expected), "{name} has another text, or none. It should be:\n\n{expected}");
}

fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head: Vec<_> = head.iter().map(ToString::to_string).collect();
    let rule = head.iter().map(|_| "---".to_owned()).collect();
    [line(head), line(rule)].into_iter().chain(rows.into_iter().map(line)).collect()
}

/// The smallest whole number that is enough, with three digits that count.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
fn at_least(number: f64) -> String {
    let whole = number.ceil() as u64;
    let unit = 10_u64.pow(whole.checked_ilog10().unwrap_or(0).saturating_sub(2));
    about(whole.div_ceil(unit) * unit)
}

fn a_million(room: &ModelledRoom) -> EventCosts {
    EventCosts::of(room, MILLION, WAIT_MINUTES.into())
}

#[test]
fn the_crowd_that_each_account_bears() {
    let cell = |bound: Bound| format!("{}: {}", about(bound.most), bound.limit.name());
    let accounts = [
        ("most regions", AccountLimits::default_in("us-east-1")),
        ("thirteen newer regions", AccountLimits::default_in(NEWER_REGION)),
        ("a new account with ten functions", AccountLimits::of_new_account("us-east-1")),
    ];
    let rows = accounts.map(|(name, limits)| {
        let capacity = Capacity::of(&limits, &room(RATE), WAITING);
        vec![
            name.into(),
            cell(capacity.joins_per_second),
            cell(capacity.waiting),
            cell(capacity.kept_up),
            cell(capacity.released),
            dollars(a_million(&room(RATE)).dollars),
        ]
    });
    let head = [
        "",
        "joins a second",
        "people waiting",
        "kept up, a minute",
        "released from a line, a minute",
        "a million visitors",
    ];
    assert_in(CROWD, "docs/crowd.md", &table(&head, rows));
}

#[test]
fn the_crowd_that_a_room_behind_an_edge_bears() {
    let cell = |bound: Bound| format!("{}: {}", about(bound.most), bound.limit.name());
    let usual = AccountLimits::default_in("us-east-1");
    let accounts = [
        ("usual limits", usual.concurrency, 12_000.0),
        ("1,050 functions, `warm_reads = 24000`", 1050.0, 24_000.0),
        ("3,000 functions, `warm_reads = 60000`", 3000.0, 60_000.0),
        ("ten functions", 10.0, 12_000.0),
    ];
    let rows = accounts.map(|(name, concurrency, warm_reads)| {
        let limits = AccountLimits { concurrency, ..usual.clone() };
        let reserved_consumers = Reservation::that_fits(Rate::new(RATE).unwrap(), concurrency).consumers;
        let room = ModelledRoom { warm_reads, reserved_consumers, ..room(RATE).behind_edge() };
        let capacity = Capacity::of(&limits, &room, WAITING);
        vec![
            name.into(),
            cell(capacity.joins_per_second),
            cell(capacity.waiting),
            cell(capacity.kept_up),
            cell(capacity.released),
        ]
    });
    let head =
        ["", "joins a second", "people waiting", "kept up, a minute", "released from a line, a minute"];
    assert_in(CROWD, "docs/crowd.md", &table(&head, rows));
    let costs = a_million(&room(RATE).behind_edge());
    let checks = |room: &ModelledRoom| {
        let checks = EventWork { client_checks: 1e6, ..EventWork::default() };
        dollars(checks.costs(room).iter().map(|line| line.dollars).sum())
    };
    let told = format!(
        "A million visitors who wait ten minutes cost {} instead of {}, and {} with CloudFront's free tier of a month. A million of the \
         shop's client checks come on top: {} instead of {}.",
        dollars(costs.dollars),
        dollars(a_million(&room(RATE)).dollars),
        dollars(costs.dollars_after_free_tier.unwrap()),
        checks(&room(RATE).behind_edge()),
        checks(&room(RATE)),
    );
    let on_one_line = CROWD.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_in(&on_one_line, "docs/crowd.md", &told);
}

#[test]
fn what_ours_allows_beside_the_first_beekeepers_figures() {
    let limits = AccountLimits::default_in("us-east-1");
    let ours = Capacity::of(&limits, &room(RATE), WAITING);
    let more_requests = AccountLimits { api_requests: 1e6, concurrency: 1e6, ..limits.clone() };
    let files = Capacity::of(&more_requests, &room(RATE), 0).joins_per_second;
    assert_eq!(files.limit, Limit::PageReads);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousands")]
    let visits = (limits.concurrency / environments_per_visit(&room(RATE))).round() as u64;
    let out = format!(
        "{} kept up, {} from a line that stands",
        about(ours.kept_up.most),
        about(ours.released.most)
    );
    for (name, first, ours) in [
        ("visitors a second in, by S3", "5,500", about(files.most)),
        ("… by the functions", "6,250", about(visits)),
        ("… by API Gateway", "not looked at", about(ours.joins_per_second.most)),
        ("visitors a minute out", "270,000", out),
        ("standing", "200,000", about(ours.waiting.most)),
    ] {
        assert_in(COMPARE, "docs/compare.md", &format!("\n| {name} | {first} | {ours} | "));
    }
}

#[test]
fn what_a_rate_needs() {
    let rows = [1000, 10_000, 40_000, 100_000, 270_000].map(|rate| {
        let Need { requests_per_second, concurrency, reads, warm_reads, writes } =
            Need::to_keep_up(Rate::new(rate).unwrap());
        vec![
            about(rate.into()),
            at_least(requests_per_second),
            at_least(concurrency),
            at_least(reads),
            at_least(warm_reads),
            at_least(writes),
            dollars(a_million(&room(rate)).dollars),
        ]
    });
    let head = [
        "visitors a minute",
        "requests a second",
        "functions at the same time",
        "table reads a second",
        "`warm_reads`",
        "table writes a second",
        "a million visitors",
    ];
    assert_in(CROWD, "docs/crowd.md", &table(&head, rows));
}

#[test]
fn how_often_a_visitor_asks() {
    let rows = [1_u32, 3, 10, 30, 60, 150].map(|minutes| {
        let visit = Visit::waiting(minutes.into(), &room(RATE));
        let costs = EventCosts::of(&room(RATE), MILLION, minutes.into());
        vec![
            format!("{minutes} min"),
            visit.polls.to_string(),
            visit.requests().to_string(),
            dollars(costs.dollars),
        ]
    });
    let head = ["wait", "polls", "requests in all", "a million visitors"];
    assert_in(CROWD, "docs/crowd.md", &table(&head, rows));
}

#[test]
fn what_a_million_visitors_cost_by_service() {
    let costs = a_million(&room(RATE));
    let lines = costs.lines.iter().map(|line| vec![line.name.to_owned(), dollars(line.dollars)]);
    let together =
        [("together", costs.dollars), ("with reloads and second tabs", costs.dollars_with_reloads)];
    let rows = lines.chain(together.map(|(name, sum)| vec![name.to_owned(), dollars(sum)]));
    assert_in(CROWD, "docs/crowd.md", &table(&["service", "a million visitors"], rows));
}

#[test]
fn what_a_month_without_visitors_costs() {
    let firewall = Firewall { address_limit: true, ..Firewall::default() };
    let options = ModelledRoom { throttle: true, alarms: true, firewall, ..room(RATE) };
    let standing = StandingCosts::of(&options);
    let month = vec!["on, paused or off, while nobody comes".to_owned(), dollars(standing.month)];
    let option = |line: &aws_model::CostLine| {
        vec![format!("with {}", line.name), format!("+ {}", dollars(line.dollars))]
    };
    let rows = [month].into_iter().chain(standing.options.iter().map(option));
    assert_in(CROWD, "docs/crowd.md", &table(&["room", "a month"], rows));
}

/// How many polls a second a table serves however its copies of the status lie, in so many of a hundred tables.
#[test]
fn how_many_wait_depends_on_luck_and_on_warm_reads() {
    let limits = AccountLimits::default_in("us-east-1");
    let rows = [12_000_u32, 24_000, 60_000].map(|warm_reads| {
        let room = ModelledRoom { warm_reads: f64::from(warm_reads), ..room(RATE) };
        let waiting = Capacity::of(&limits, &room, WAITING).waiting;
        vec![
            about(warm_reads.into()),
            room.partitions().to_string(),
            format!("{}: {}", about(waiting.most), waiting.limit.name()),
            dollars(warm_costs(&room, NEW_TABLE)),
        ]
    });
    let waiting = format!("people waiting, in {:.0} of 100 rooms", CONFIDENCE * 100.0);
    let head = ["`warm_reads`", "partitions", &waiting, "once"];
    assert_in(CROWD, "docs/crowd.md", &table(&head, rows));
    let unlucky = (1.0 - chance_of_at_most(5, 16, 4)) * 100.0;
    assert_in(CROWD, "docs/crowd.md", &format!("In {unlucky:.0} of 100 rooms"));
}

/// A request of Chromium 156 for the door, without cookies, and what other browsers and networks may add to it.
const BROWSER_BYTES: u64 = 650;
const ROOM_FOR_OTHERS: u64 = 850;

#[test]
fn how_much_of_a_requests_headers_is_left_for_the_shops_cookies() {
    let room: RoomId = "a".repeat(30).parse().unwrap();
    let token = "0123456789abcdef0123456789abcdef";
    let place: Place = format!("ab12-{token}-{}", 9_007_199_254_740_991_u64).parse().unwrap();
    let cookie = |set: String| set.split(';').next().map_or(0, str::len) as u64;
    // A proof is 32 bytes in Base64.
    let proof = "A".repeat(43);
    let cookies = cookie(place.set(&room, Scheme::Https))
        + "; ".len() as u64
        + cookie(Place::set_proof(&room, &proof, Scheme::Https, None));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousand bytes")]
    let limit = facts().fixed.header_bytes.value as u64;
    let left = limit - BROWSER_BYTES - ROOM_FOR_OTHERS - cookies;
    let row = |what: &str, bytes: u64| vec![what.to_owned(), count(bytes)];
    let rows = [
        row("a request of a browser for the door", BROWSER_BYTES),
        row("room for longer ones: languages, the page before, the firewall's token", ROOM_FOR_OTHERS),
        row("the room's two cookies, with the longest name", cookies),
        row("**left for cookies of your shop's domain**", left),
        row("what API Gateway takes", limit),
    ];
    assert_in(CROWD, "docs/crowd.md", &table(&["part of a request", "bytes"], rows));
}

#[test]
fn what_a_large_logo_costs() {
    let with_a_logo = ModelledRoom { further_files: 1, ..room(RATE) };
    let more = a_million(&with_a_logo).dollars - a_million(&room(RATE)).dollars;
    assert_in(PAGE, "docs/page.md", &format!("a million cost about\n${more:.0} more"));
}

#[test]
fn what_the_firewall_costs() {
    let limit = Firewall { door_limit: true, ..Firewall::default() };
    let costs = |firewall| {
        let lines = a_million(&ModelledRoom { firewall, ..room(RATE) }).lines;
        lines.iter().find(|line| line.name == "firewall").map(|line| dollars(line.dollars)).unwrap()
    };
    let (limited, challenged) = (costs(limit), costs(Firewall { door_challenge: true, ..limit }));
    let expected = format!("{limited}, and {challenged} if all\nare challenged twice");
    assert_in(ABUSE, "docs/abuse.md", &expected);
    assert_in(CROWD, "docs/crowd.md", &format!("{challenged} at most\nfor a million visitors"));
}

#[test]
fn a_script_is_stopped_as_late_on_aws_as_the_firewall_acts() {
    const A_SECOND: u64 = 500;
    const ACTS_AFTER: u64 = 30;
    assert_in(ABUSE, "docs/abuse.md", &format!("With {A_SECOND} requests a second, a script takes"));
    assert_in(ABUSE, "docs/abuse.md", &format!("It usually acts within {ACTS_AFTER} s"));
    let taken = count(A_SECOND * ACTS_AFTER);
    assert_in(ABUSE, "docs/abuse.md", &format!("On AWS it takes about {taken} before the firewall acts"));
}

#[test]
fn the_texts_name_the_models_numbers() {
    let limits = AccountLimits::default_in("us-east-1");
    let Capacity { joins_per_second, kept_up, .. } = Capacity::of(&limits, &room(RATE), WAITING);
    let million = a_million(&room(RATE));
    let new = Capacity::of(&AccountLimits::of_new_account("us-east-1"), &room(RATE), WAITING);
    let promises = [
        format!(
            "about {} people can join a second while {} wait, and about {} a minute can come and go",
            about(joins_per_second.most),
            about(WAITING),
            about(kept_up.most)
        ),
        format!(
            "about {} people a second can join, and about {} a minute can come and go",
            about(new.joins_per_second.most),
            about(new.kept_up.most)
        ),
        format!("${:.0} to ${:.0}", million.dollars, million.dollars_with_reloads),
    ];
    for (name, document) in [("README.md", README), ("docs/crowd.md", CROWD)] {
        let on_one_line = document.split_whitespace().collect::<Vec<_>>().join(" ");
        for promise in &promises {
            assert_in(&on_one_line, name, promise);
        }
    }
    let warm = ModelledRoom { warm_reads: 60_000.0, warm_writes: 6_000.0, ..room(RATE) };
    assert_in(CROWD, "docs/crowd.md", &format!("costs about ${:.0} once", warm_costs(&warm, NEW_TABLE)));
    assert_in(CROWD, "docs/crowd.md", &facts().date);
}
