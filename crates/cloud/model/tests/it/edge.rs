//! What a million visitors cost behind an edge, added up once more: by hand, from the prices of `aws.toml`.

use aws_model::{EventCosts, EventWork, ModelledRoom, Visit, WAIT_MINUTES};
use toml::Table;
use waitroom::Rate;

const MILLION: u64 = 1_000_000;

/// Dollars for one of something.
fn price(name: &str) -> f64 {
    let facts: Table = include_str!("../../aws.toml").parse().unwrap();
    let price = facts["prices"][name].as_table().unwrap();
    let number =
        |key: &str| price.get(key).map(|value| value.as_float().or(value.as_integer().map(whole)).unwrap());
    number("value").unwrap() / number("per").unwrap_or(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "some millions")]
fn whole(number: i64) -> f64 {
    number as f64
}

/// The model's sum, and that of a million whose visitors are also checked by the shop once each.
fn modelled(room: &ModelledRoom) -> (f64, f64) {
    let costs = EventCosts::of(room, MILLION, WAIT_MINUTES.into());
    let checks = EventWork { client_checks: 1e6, ..EventWork::default() };
    let checks: f64 = checks.costs(room).iter().map(|line| line.dollars).sum();
    // The free tier's requests are used up by then: the checks are beyond it.
    (costs.dollars + checks, costs.dollars_after_free_tier.unwrap_or(costs.dollars) + checks)
}

/// The same, added up for each visitor, whose page polls so often: what they send, what answers it, and what that reads and writes.
fn added_up(rate: u32, own: f64, shared: f64) -> (f64, f64) {
    let (doors, page, check) = (2.0, 1.0, 1.0);
    let requests = doors + page + check + own + shared;
    // A page of 17.1 kB, redirects of 1.2 kB, and answers of 0.8 kB, each with its headers.
    let gb = 1e-6 * (17.1 * page + 1.2 * doors + 0.8 * (own + shared + check));
    let edge = 1e6 * (requests * price("edge_request") + gb * price("edge_gb_out"));
    let free = 10e6 * price("edge_request") + 1e6 * gb * price("edge_gb_out");
    let releasing = 1e6 / f64::from(rate);
    // 30 ms of half a gigabyte, and half a kilobyte of log.
    let run = price("invocation") + 0.03 * 0.5 * price("gb_second_arm64") + 0.5e-6 * price("gb_logged");
    // Thirteen caches ask once a second for the status; and for keys and the page, which is a quarter of that.
    let copies = (releasing + 10.0) * 60.0 * 13.0 * 1.25;
    let functions = (1e6 * (doors + check + own) + copies) * run;
    // Each thousand a minute has a consumer, for 75 seconds of a minute. It reads the room once a second, and writes every two
    // seconds how far it is.
    let consumers = releasing * f64::from(rate) / 1000.0;
    // A poll reads the admission, and a copy of the status for half; door and check read the admission. A function serves ten
    // requests a second and reads the room once.
    let read_by_visitors = 1.5 * own + check + 1.0 + 0.1 * (doors + check + own);
    let read = price("read_unit") * (1e6 * read_by_visitors + copies + 75.0 * consumers);
    // The admission, and a number from a block of sixteen. Sixteen copies of the status are written every two seconds.
    let written = 1e6 * (1.0 + 1.0 / 16.0) + 30.0 * (3.5 * consumers + 16.0 * releasing);
    // To the line; and from it, ten together, received and deleted.
    let queue = 1.2e6 * price("queue_call");
    let releasing = 75.0 * 0.125 * consumers * price("gb_second_arm64");
    let sum = edge + functions + read + written * price("write_unit") + queue + releasing;
    (sum, sum - free)
}

#[test]
fn a_million_who_wait_ten_minutes_cost_25_dollars_at_most_and_12_with_the_free_tier() {
    for rate in [1000, 3000, 10_000, 40_000] {
        let room = ModelledRoom::new(Rate::new(rate).unwrap()).behind_edge();
        let Visit { polls, shared_polls, .. } = Visit::waiting(WAIT_MINUTES.into(), &room);
        let (list, free) = modelled(&room);
        let (list_by_hand, free_by_hand) = added_up(rate, polls.into(), shared_polls.into());
        // In order, most pages of decision 0034 ask twice for themselves in ten minutes, and eight times the edge.
        let (list_of_most, free_of_most) = added_up(rate, 2.0, 8.0);
        for (list, free) in [(list, free), (list_by_hand, free_by_hand), (list_of_most, free_of_most)] {
            assert!(list <= 25.0 && free <= 12.0, "{rate}: {list} {free}");
        }
        let off = |one: f64, other: f64| (one - other).abs() / other;
        assert!(
            off(list, list_by_hand) < 0.03 && off(free, free_by_hand) < 0.06,
            "{list} {free} {list_by_hand} {free_by_hand}"
        );
    }
}

#[test]
fn a_visitor_who_waits_ten_minutes_asks_as_often_as_decision_0034_counts() {
    for rate in [1000, 3000, 10_000] {
        let room = ModelledRoom::new(Rate::new(rate).unwrap()).behind_edge();
        let Visit { polls, shared_polls, .. } = Visit::waiting(10.0, &room);
        assert!(
            (2..=4).contains(&polls) && (7..=9).contains(&shared_polls),
            "{rate}: {polls} {shared_polls}"
        );
    }
}
