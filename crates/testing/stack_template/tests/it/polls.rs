//! What the mapping templates answer in every state of the ledger.

use std::time::Duration;

use routes::{RETRY_AFTER, problem};
use serde_json::{Value, json};
use stack_template::Rendered;
use waitroom::{Mode, Notice, Rate, RoomState, Stretch, Ticket, WebUrl};

use crate::support::{Ledger, NOW, OTHER, TOKEN, asked, place, render, route, with_cookies};

const HOUR: Duration = Duration::from_hours(1);

fn mine() -> String {
    place("ab12", TOKEN, "7")
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_newcomer_and_a_visitor_who_waits() {
    let ledger = Ledger::new();
    ledger.check(&[]);
    ledger.check(&[&mine()]);
    ledger.clone().admit(OTHER, NOW + HOUR).check(&[&mine()]);
    assert_eq!(ledger.poll_answer(&[])["join"], true);
    assert_eq!(ledger.client_answer(&[&mine()]), json!({ "allow": false }));
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_room_behind_an_edge_says_so_to_those_who_wait() {
    let mut ledger = Ledger::new().admit(OTHER, NOW + HOUR);
    ledger.room.settings.edge = true;
    for state in RoomState::ALL {
        ledger.room.state = state;
        for visitor in [vec![], vec![mine()], vec![place("ab12", OTHER, "8")]] {
            ledger.check(&visitor.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
    ledger.room.state = RoomState::On;
    assert_eq!(
        (&ledger.poll_answer(&[&mine()])["edge"], &ledger.status_answer()["edge"]),
        (&json!(true), &json!(true))
    );
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_visitor_is_admitted_until_the_admission_expires() {
    let millisecond = Duration::from_millis(1);
    for (until, allow) in [
        (NOW + HOUR, true),
        (NOW + millisecond, true),
        (NOW, false),
        (NOW - millisecond, false),
        (NOW - HOUR, false),
        (NOW + Duration::from_hours(24 * 365 * 200), true),
    ] {
        let ledger = Ledger::new().admit(TOKEN, until);
        ledger.check(&[&mine()]);
        assert_eq!(ledger.poll_answer(&[&mine()])["allow"], allow, "{until:?}");
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn times_are_compared_in_every_digit() {
    for step in 0..13 {
        let step = Duration::from_millis(10_u64.pow(step));
        Ledger::new().admit(TOKEN, NOW + step).check(&[&mine()]);
        if step < Duration::from_hours(24 * 365 * 19) {
            Ledger::new().admit(TOKEN, NOW - step).check(&[&mine()]);
        }
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_room_that_is_off_admits_everybody() {
    let mut ledger = Ledger::new().admit(OTHER, NOW + HOUR);
    ledger.room.state = RoomState::Off;
    for cookies in [vec![], vec![mine()], vec![place("ab12", OTHER, "1")], vec![place("zz99", OTHER, "1")]] {
        ledger.check(&cookies.iter().map(String::as_str).collect::<Vec<_>>());
    }
    assert_eq!(ledger.client_answer(&[]), json!({ "allow": true, "known": false }));
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_room_that_observes_lets_everybody_pass_while_it_is_on() {
    for state in RoomState::ALL {
        for opens in [None, Some(NOW - HOUR), Some(NOW + HOUR)] {
            let mut ledger = Ledger::new().admit(OTHER, NOW + HOUR);
            (ledger.room.settings.mode, ledger.room.state) = (Mode::Observe, state);
            ledger.room.opens = opens.filter(|_| state == RoomState::Paused);
            for cookies in
                [vec![], vec![mine()], vec![place("ab12", OTHER, "1")], vec![place("zz99", OTHER, "1")]]
            {
                ledger.check(&cookies.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
    }
    let mut ledger = Ledger::new();
    ledger.room.settings.mode = Mode::Observe;
    assert_eq!(ledger.poll_answer(&[&mine()])["allow"], true);
    assert_eq!(ledger.client_answer(&[&mine()]), json!({ "allow": false }));
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_poll_shows_that_the_room_is_paused() {
    let mut ledger = Ledger::new();
    ledger.room.state = RoomState::Paused;
    ledger.check(&[&mine()]);
    assert_eq!(ledger.poll_answer(&[&mine()])["state"], "paused");
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn every_poll_shows_a_rehearsal() {
    for state in [RoomState::On, RoomState::Paused, RoomState::Off] {
        let mut ledger = Ledger::new().admit(OTHER, NOW + HOUR);
        (ledger.room.state, ledger.room.rehearsal) = (state, Some("abcdefghijkmnpqr".parse().unwrap()));
        for visitor in [vec![], vec![mine()], vec![place("ab12", OTHER, "8")]] {
            let visitor: Vec<_> = visitor.iter().map(String::as_str).collect();
            ledger.check(&visitor);
            assert_eq!(ledger.poll_answer(&visitor)["rehearsal"], "abcdefghijkmnpqr");
        }
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_poll_says_when_the_room_opens_until_it_is_on() {
    let millisecond = Duration::from_millis(1);
    for (opens, state) in [
        (NOW + HOUR, "paused"),
        (NOW + millisecond, "paused"),
        (NOW, "on"),
        (NOW - millisecond, "on"),
        (NOW - HOUR, "on"),
    ] {
        let mut ledger = Ledger::new().admit(OTHER, NOW + HOUR);
        ledger.room.open_at(opens);
        for visitor in [vec![], vec![mine()], vec![place("ab12", OTHER, "8")]] {
            ledger.check(&visitor.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let answer = ledger.poll_answer(&[&mine()]);
        assert_eq!((&answer["state"], answer.get("opens").is_some()), (&json!(state), state == "paused"));
    }
}

/// In every state, before and after the instants at which it changes by itself, each kind of visitor gets the same answer.
#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_poll_tells_who_comes_too_late() {
    let before = |ahead: bool| if ahead { NOW + Duration::from_millis(1) } else { NOW };
    let link: WebUrl = "https://shop.example/next?a=1&b='2'".parse().unwrap();
    for state in RoomState::ALL {
        for (opens, closes, ends) in [
            (None, None, None),
            (None, Some(before(true)), None),
            (None, Some(before(false)), None),
            (None, None, Some(before(true))),
            (None, Some(NOW - HOUR), Some(before(false))),
            (Some(NOW - HOUR), Some(before(false)), Some(NOW + HOUR)),
            (Some(NOW + HOUR), Some(NOW + 2 * HOUR), Some(NOW + 3 * HOUR)),
        ] {
            for notice in ["", "\"Sold out\"\n$context"] {
                let mut ledger = Ledger::new().admit(OTHER, NOW + HOUR);
                let room = &mut ledger.room;
                (room.state, room.opens, room.closes, room.ends) = (state, opens, closes, ends);
                room.notice = Notice { text: notice.parse().unwrap(), link: Some(link.clone()) };
                room.settings.message = "Soon".parse().unwrap();
                // As a store writes it.
                *room = room.changed(NOW - 2 * HOUR, HOUR, |_| ());
                for visitor in [vec![], vec![mine()], vec![place("ab12", OTHER, "8")]] {
                    ledger.check(&visitor.iter().map(String::as_str).collect::<Vec<_>>());
                }
            }
        }
    }
    let mut ledger = Ledger::new();
    ledger.room.state = RoomState::Closed;
    let newcomer = ledger.poll_answer(&[]);
    assert_eq!((newcomer.get("join"), &newcomer["late"]), (None, &json!(true)));
    assert_eq!(ledger.poll_answer(&[&mine()]).get("late"), None);
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn what_is_left_of_a_stock_is_said_as_long_as_the_room_has_one() {
    for state in RoomState::ALL {
        for ends in [None, Some(NOW)] {
            // What was published last stays when the stock is withdrawn.
            for (has_stock, left) in [(true, Some(200)), (true, Some(0)), (false, Some(200)), (false, None)] {
                let mut ledger = Ledger::new().admit(OTHER, NOW + HOUR);
                let room = &mut ledger.room;
                (room.state, room.ends) = (state, ends);
                if has_stock {
                    room.sell(5000.try_into().unwrap());
                    room.state = state;
                }
                *room = room.changed(NOW - 2 * HOUR, HOUR, |_| ());
                ledger.line.left = left;
                for visitor in [vec![], vec![mine()], vec![place("ab12", OTHER, "8")]] {
                    ledger.check(&visitor.iter().map(String::as_str).collect::<Vec<_>>());
                }
            }
        }
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn the_largest_numbers_are_not_rounded() {
    let mut ledger = Ledger::new();
    ledger.line.reached = Ticket::MAX;
    ledger.line.waiting = Ticket::MAX - 1;
    ledger.line.rate = Rate::MAX;
    ledger.room.stretch = Stretch::MAX;
    ledger.line.slow = true;
    ledger.check(&[&place("ab12", TOKEN, "9007199254740991")]);
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_poll_shows_who_was_overtaken_and_how_far_out_of_order_the_line_is() {
    let mut ledger = Ledger::new();
    for (overtaken, disorder) in [(2100, 600), (0, 600), (0, 0)] {
        (ledger.line.overtaken, ledger.line.disorder) = (overtaken, disorder);
        ledger.check(&[&mine()]);
        let answer = ledger.poll_answer(&[&mine()]);
        assert_eq!((&answer["passed"], &answer["disorder"]), (&overtaken.into(), &disorder.into()));
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn the_operators_message_is_not_changed() {
    for message in [
        "It's \"on\"",
        "zwölf Uhr 🦭\nzweite Zeile",
        "\\ / </script> {{x}} $util.escapeJavaScript('x') ${context} #set($a = 1) #if(true)x#end",
        "$status.origin.S",
        "",
    ] {
        let mut ledger = Ledger::new();
        ledger.room.settings.message = message.parse().unwrap();
        ledger.check(&[&mine()]);
        assert_eq!(ledger.poll_answer(&[&mine()])["message"], message);
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn the_shop_may_read_the_answer() {
    let answer = Ledger::new().ask("/client", &asked());
    assert_eq!(answer.headers["Access-Control-Allow-Origin"], "https://shop.example");
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn an_incomplete_response_of_the_table_is_an_error() {
    let status = |digit: &str| format!("status/{digit}");
    let visitor = format!("admission/{TOKEN}");
    for broken in [
        Ledger { has_settings: false, has_progress: false, ..Ledger::new() },
        Ledger { has_settings: false, ..Ledger::new() },
        Ledger { has_progress: false, ..Ledger::new() },
        Ledger { unprocessed: [status("0")].into(), ..Ledger::new() },
        Ledger { unprocessed: [visitor.clone()].into(), ..Ledger::new() },
        Ledger { unprocessed: [status("0"), visitor].into(), ..Ledger::new() },
    ] {
        // The status asks for no visitor.
        if broken.unprocessed.is_empty() || broken.unprocessed.contains(&status("0")) {
            is_unavailable(&broken.ask("/status", &asked()));
        }
        for path in ["/polling", "/client"] {
            is_unavailable(&broken.ask(path, &with_cookies(&[&mine()])));
        }
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_failure_of_the_table_is_an_error() {
    let errors = [
        (400, json!({ "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException" })),
        (400, json!({ "__type": "com.amazon.coral.service#AccessDeniedException", "Message": "no" })),
        (500, json!({ "__type": "com.amazonaws.dynamodb.v20120810#InternalServerError" })),
        (503, Value::Null),
        (302, Value::Null),
    ];
    for path in ["/polling", "/status", "/client", "/.well-known/jwks.json", "/wait/{file}"] {
        for (status, body) in errors.iter().filter(|(status, _)| path != "/wait/{file}" || *status != 400) {
            let (template, answered) = route(path).response(*status).unwrap();
            assert_eq!(answered, 503, "{path}");
            is_unavailable(&render(
                &template,
                &stack_template::TemplateRequest { body: body.to_string(), ..asked() },
            ));
        }
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn the_keys_are_answered_as_stored() {
    let keys = route("/.well-known/jwks.json");
    let request = render(&keys.request().unwrap(), &asked()).json().unwrap();
    assert_eq!(request, json!({ "TableName": "Ledger", "Key": { "id": { "S": "key/public" } } }));
    let (template, _) = keys.response(200).unwrap();
    let jwks = json!({ "keys": [{ "kty": "RSA", "n": "a-b_c", "e": "AQAB" }] });
    let answer = |body: Value| {
        render(&template, &stack_template::TemplateRequest { body: body.to_string(), ..asked() })
    };
    let item = json!({ "id": { "S": "key/public" }, "jwks": { "S": jwks.to_string() } });
    let found = answer(json!({ "Item": item }));
    assert_eq!((found.status, found.json().unwrap()), (None, jwks));
    is_unavailable(&answer(json!({})));
}

/// Checks that the response is an error and says when to retry.
fn is_unavailable(rendered: &Rendered) {
    assert_eq!(rendered.json().unwrap(), json!({ "error": problem::UNAVAILABLE }));
    assert_eq!(rendered.status, Some(503));
    assert_eq!(rendered.headers["Retry-After"], RETRY_AFTER.to_string());
    assert_eq!(rendered.headers["Cache-Control"], "no-store");
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn errors_are_readable_across_origins() {
    let (template, _) = route("/client").response(500).unwrap();
    for name in ["Origin", "origin"] {
        let headers = vec![(name.to_owned(), "https://shop.example".to_owned())];
        let rendered = render(&template, &stack_template::TemplateRequest { headers, ..asked() });
        assert_eq!(rendered.headers["Access-Control-Allow-Origin"], "https://shop.example");
        assert_eq!(rendered.headers["Access-Control-Allow-Credentials"], "true");
    }
    assert!(!render(&template, &asked()).headers.contains_key("Access-Control-Allow-Origin"));
}
