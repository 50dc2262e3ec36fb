//! Hostile and unusual cookies: the mapping templates and the room's own types agree on who has a place.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use waitroom::Ticket;

use crate::support::{Ledger, NOW, OTHER, TOKEN, asked, place, render, route, with_cookies};

/// A ledger in which both tokens are admitted, so that a wrongly parsed place changes the answer.
fn ledger() -> Ledger {
    let hour = Duration::from_hours(1);
    Ledger::new().admit(TOKEN, NOW + hour).admit(OTHER, NOW + hour)
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn hostile_cookies_are_ignored() {
    let value = format!("ab12-{TOKEN}-7");
    let long = "a".repeat(8000);
    let forged = [
        String::new(),
        "bk_sale".into(),
        "bk_sale=".into(),
        "bk_sale=--".into(),
        format!("bk_sale=ab12-{TOKEN}"),
        format!("bk_sale={value}-1"),
        format!("bk_sale=ab12-{TOKEN}-0"),
        format!("bk_sale=ab12-{TOKEN}-01"),
        format!("bk_sale=ab12-{TOKEN}--1"),
        format!("bk_sale=ab12-{TOKEN}-+1"),
        format!("bk_sale=ab12-{TOKEN}-1e3"),
        format!("bk_sale=ab12-{TOKEN}-1.0"),
        format!("bk_sale=ab12-{TOKEN}-"),
        format!("bk_sale=ab12-{TOKEN}-9007199254740992"),
        format!("bk_sale=ab12-{TOKEN}-9999999999999999"),
        format!("bk_sale=ab12-{TOKEN}-99999999999999999999"),
        format!("bk_sale=ab12-{}-7", TOKEN.to_uppercase()),
        format!("bk_sale=ab12-{}-7", &TOKEN[1..]),
        format!("bk_sale=ab12-{TOKEN}g-7"),
        format!("bk_sale=ab1-{TOKEN}-7"),
        format!("bk_sale=ab123-{TOKEN}-7"),
        format!("bk_sale=AB12-{TOKEN}-7"),
        format!("bk_sale=äb12-{TOKEN}-7"),
        format!("bk_sale=zzzz-{TOKEN}-7"),
        format!("bk_sale=\"{value}\""),
        format!("bk_sale={value}\""),
        format!("bk_sale={value}'"),
        format!("bk_sale={value}\n\"x"),
        format!("bk_sale={value}\\"),
        format!("bk_sale={value}\"}}}},{{\"id\":{{\"S\":\"key/private"),
        format!("bk_sale={value},{value}"),
        format!("bk_sale=={value}"),
        format!("bk_sale= {value} x"),
        format!("bk_sale:{value}"),
        "bk_sale=$util.parseJson('x')".into(),
        format!("bk_sale=ab12-{TOKEN}-$util.base64Encode('x')"),
        format!("bk_sale=#set($token = \"{TOKEN}\")"),
        format!("#set($cookies = \"bk_sale={value}\")"),
        "bk_sale=#end #end #foreach($x in [1..999999])x#end".into(),
        "bk_sale=${stageVariables.table}".into(),
        "bk_sale={\"S\":\"x\"}".into(),
        "bk_sale=$1 \\1 $0".into(),
        format!("xbk_sale={value}"),
        format!("bk_salex={value}"),
        format!("bk_sale2={value}"),
        format!("BK_SALE={value}"),
        format!("bk_sale=%00{value}"),
        format!("bk_sale={long}"),
        format!("{long}={value}"),
        format!("bk_sale=ab12-{TOKEN}-{long}"),
        "ä=ö; 🦭=🦭".into(),
        "=".into(),
        ";".into(),
        ";;;;".into(),
        ";".repeat(8000),
        " \t ; \t ".into(),
    ];
    for cookie in forged {
        let shown: String = cookie.chars().take(80).collect();
        let ledger = ledger();
        ledger.check(&[&cookie]);
        assert_eq!(ledger.poll_answer(&[&cookie])["join"], true, "{shown}");
        // No part of the cookie is sent to the table.
        let request =
            render(&route("/polling").request().unwrap(), &with_cookies(&[&cookie])).json().unwrap();
        let keys = request["RequestItems"]["Ledger"]["Keys"].as_array().unwrap();
        let expected = if shown.contains("zzzz") { 2 } else { 1 };
        assert_eq!(keys.len(), expected, "{shown}: only a place of another epoch is asked for");
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_place_is_found_among_other_cookies_in_any_order_and_spacing() {
    let ours = format!("bk_sale=ab12-{TOKEN}-7");
    for cookie in [
        ours.clone(),
        format!("a=1; {ours}; b=2"),
        format!("a=1;{ours};b=2"),
        format!("  a = 1 ;  bk_sale = ab12-{TOKEN}-7  ; b"),
        format!("\tbk_sale\t=\tab12-{TOKEN}-7\t"),
        format!("bk_sale=nonsense; {ours}"),
        format!("bk_sale=zz99-{OTHER}-3; {ours}"),
        format!("bk_sale=zz99-{TOKEN}-3; {ours}"),
        format!("{ours}; {ours}"),
        format!("bk_sale_proof={}; {ours}; bk_sale_proof=ab12-{OTHER}-3", "a-_9".repeat(11)),
        format!("{ours}; bk_sale=ab12-{OTHER}-3"),
        format!(";;=;x=y=z;{ours}"),
        format!("x={}; {ours}", "a".repeat(8000)),
        place("ab12", TOKEN, "9007199254740991"),
        place("ab12", TOKEN, "9007199254740990"),
        place("ab12", TOKEN, "8999999999999999"),
        place("ab12", TOKEN, "999999999999999"),
    ] {
        let ledger = ledger();
        ledger.check(&[&cookie]);
        assert_eq!(ledger.poll_answer(&[&cookie])["allow"], true, "{cookie}");
    }
    ledger().check(&["a=1", &ours]);
    ledger().check(&[&ours, &ours]);
    ledger().check(&["bk_sale=nonsense", &ours]);
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_token_chooses_the_copy_of_the_status_by_its_first_digit() {
    let copies = "0123456789abcdef".chars().map(|digit| (format!("{digit}{}", &TOKEN[1..]), digit));
    for (token, digit) in copies {
        let request =
            render(&route("/polling").request().unwrap(), &with_cookies(&[&place("ab12", &token, "1")]));
        assert!(request.text.contains(&format!("\"status/{digit}\"")), "{}", request.text);
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn without_a_token_the_last_digit_of_the_requests_id_chooses_the_copy() {
    let id = "3f2d1c6e-8a4b-4f70-9c55-0d1e2f3a4b5";
    for digit in "0123456789abcdef".chars() {
        let asked = stack_template::TemplateRequest { id: Some(format!("{id}{digit}")), ..asked() };
        let request = render(&route("/polling").request().unwrap(), &asked);
        assert!(request.text.contains(&format!("\"status/{digit}\"")), "{}", request.text);
    }
    // An engine without request IDs reads the first copy.
    let request = render(&route("/polling").request().unwrap(), &asked());
    assert!(request.text.contains("\"status/0\""), "{}", request.text);
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_query_parameter_is_not_a_cookie() {
    let ours = format!("bk_sale=ab12-{TOKEN}-7");
    for name in ["cookie", "Cookie"] {
        let query = vec![(name.to_owned(), ours.clone())];
        let answer =
            ledger().ask("/polling", &stack_template::TemplateRequest { query, ..asked() }).json().unwrap();
        assert_eq!(answer["join"], true, "{name}");
    }
}

/// A cookie header of places, near misses and other text.
fn headers() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        4 => Just(TOKEN.to_owned()),
        2 => Just(OTHER.to_owned()),
        1 => "[0-9a-f]{32}",
        1 => "[0-9a-g]{31,33}",
    ];
    let ticket = prop_oneof![
        4 => "[1-9][0-9]{0,5}",
        2 => (Ticket::MAX - 3..=Ticket::MAX + 3).prop_map(|number| number.to_string()),
        1 => "[0-9]{14,18}",
        1 => "[0-9a-z+-]{0,4}",
    ];
    let epoch = prop_oneof![4 => Just("ab12".to_owned()), 1 => "[a-z0-9]{4}", 1 => "[A-Za-z0-9]{3,5}"];
    let space = "[ \t]{0,2}";
    let name =
        prop_oneof![6 => Just("bk_sale".to_owned()), 1 => "[a-zA-Z_]{0,8}", 1 => Just("bk_sale2".to_owned())];
    let value = (epoch, token, ticket).prop_map(|(epoch, token, ticket)| format!("{epoch}-{token}-{ticket}"));
    let cookie = (
        space,
        name,
        space,
        prop_oneof![8 => Just("="), 1 => Just(""), 1 => Just("==")],
        space,
        value,
        space,
    )
        .prop_map(|(a, name, b, equals, c, value, d)| format!("{a}{name}{b}{equals}{c}{value}{d}"));
    // The characters that a header may contain. HTTP allows two kinds of white space.
    let other = "[\t -:<-~äß🦭]{0,12}";
    let pieces = prop_oneof![1 => cookie, 1 => other];
    prop::collection::vec(pieces, 0..=4).prop_map(|pieces| pieces.join(";"))
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn the_template_and_the_room_read_every_header_alike() {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let admitted = ledger();
    let result = TestRunner::new(config).run(&headers(), |header| {
        let answer = admitted.ask("/polling", &with_cookies(&[&header]));
        prop_assert_eq!(answer.json().ok(), Some(admitted.poll_answer(&[&header])));
        Ok(())
    });
    result.unwrap();
}
