//! The names that the template, polls, cookies and passes make public, against `infra/frozen-names.txt`.

use std::collections::BTreeSet;
use std::time::Duration;

use frozen_names::{Section, assert_frozen};
use pass::{Claims, Discovery, Nonce, TOKEN_USE};
use serde_json::{Map, Value};
use waitroom::{Place, RoomState, Scheme, Ticket};

use crate::support::{Ledger, NOW, TOKEN, place, stack};

fn section(name: &str) -> &'static Map<String, Value> {
    stack().template[name].as_object().unwrap()
}

fn keys(answers: impl IntoIterator<Item = Value>) -> BTreeSet<String> {
    answers
        .into_iter()
        .flat_map(|answer| answer.as_object().unwrap().keys().cloned().collect::<Vec<_>>())
        .collect()
}

#[test]
fn resources_keep_their_names_and_types() {
    let resources = section("Resources").iter().flat_map(|(name, resource)| {
        let events = resource["Properties"]["Events"].as_object().into_iter().flatten();
        let events = events.map(move |(event, definition)| (format!("{name}.{event}"), &definition["Type"]));
        std::iter::once((name.clone(), &resource["Type"])).chain(events)
    });
    assert_frozen(
        Section::Resources,
        resources.map(|(name, kind)| format!("{name} {}", kind.as_str().unwrap())),
    );
}

#[test]
fn parameters_keep_their_names_and_words() {
    let parameters = section("Parameters").iter().map(|(name, parameter)| {
        let allowed = parameter["AllowedValues"].as_array().into_iter().flatten();
        let words = allowed.filter_map(Value::as_str);
        std::iter::once(name.as_str()).chain(words).collect::<Vec<_>>().join(" ")
    });
    assert_frozen(Section::Parameters, parameters);
}

#[test]
fn outputs_stage_and_routes_keep_their_names() {
    assert_frozen(Section::Outputs, section("Outputs").keys());
    let states = RoomState::ALL.map(RoomState::as_str).join(" ");
    assert_eq!(
        section("Outputs")["States"]["Value"],
        format!("{states} stock release overflow observe"),
        "the command orders only these"
    );
    let api = stack().properties("Api").unwrap();
    assert_frozen(Section::Stage, [api["StageName"].as_str().unwrap()]);
    let paths = api["DefinitionBody"]["paths"].as_object().unwrap().keys();
    // Everything else is "not found".
    assert_frozen(Section::Routes, paths.filter(|path| *path != "/{other+}"));
}

/// The answers in every state of the room to every kind of visitor. `polls.rs` and `cookies.rs` check that the mapping
/// templates give the same answers.
#[test]
fn polls_and_client_checks_keep_their_fields() {
    let on = Ledger::new().admit(TOKEN, NOW + Duration::from_hours(1));
    let mut off = on.clone();
    off.room.state = RoomState::Off;
    let mut paused = on.clone();
    paused.room.open_at(NOW + Duration::from_hours(1));
    let mut rehearsed = on.clone();
    rehearsed.room.rehearsal = Some("abcdefghijkmnpqr".parse().unwrap());
    let mut closed = on.clone();
    closed.room.state = RoomState::Closed;
    closed.room.notice.link = Some("https://shop.example/next".parse().unwrap());
    let mut selling = on.clone();
    selling.room.sell(5000.try_into().unwrap());
    selling.line.left = Some(200);
    let mut behind_edge = on.clone();
    behind_edge.room.settings.edge = true;
    let admitted = place("ab12", TOKEN, "7");
    let waiting = place("ab12", crate::support::OTHER, "8");
    let asked =
        [&on, &off, &paused, &closed, &selling, &rehearsed, &behind_edge].into_iter().flat_map(|ledger| {
            [vec![], vec![waiting.as_str()], vec![admitted.as_str()]].map(|cookies| (ledger, cookies))
        });
    let asked: Vec<_> = asked.collect();
    assert_frozen(
        Section::PollFields,
        keys(asked.iter().map(|(ledger, cookies)| ledger.poll_answer(cookies)).chain([on.status_answer()])),
    );
    let checks = asked.iter().map(|(ledger, cookies)| ledger.client_answer(cookies));
    assert_frozen(Section::ClientCheckFields, keys(checks));
}

/// `routes.rs` checks that the mapping template says the same.
#[test]
fn the_discovery_keeps_its_fields() {
    let discovery = Discovery::of("https://room.example".into(), "sale");
    assert_frozen(Section::DiscoveryFields, keys([serde_json::to_value(discovery).unwrap()]));
}

#[test]
fn the_cookie_keeps_its_form() {
    let place = Place {
        epoch: "ab12".parse().unwrap(),
        token: TOKEN.parse().unwrap(),
        ticket: Ticket::new(4711).unwrap(),
    };
    let cookie = place.set(&"sale".parse().unwrap(), Scheme::Https);
    let varying = [("sale", "<room>"), ("ab12", "<epoch>"), (TOKEN, "<token>"), ("4711", "<ticket>")];
    let form = varying.iter().fold(cookie, |form, (value, name)| form.replacen(value, name, 1));
    let proof = Place::set_proof(&"sale".parse().unwrap(), "<proof>", Scheme::Https, None);
    let proof = proof.replacen("sale", "<room>", 1);
    assert_frozen(
        Section::Cookie,
        [&form, &proof].map(|cookie| cookie.split(';').next().unwrap().to_owned()),
    );
}

#[test]
fn a_pass_keeps_its_claims() {
    let claims = Claims {
        iss: "https://room.example".into(),
        aud: "sale".into(),
        sub: "visitor".into(),
        queue_position: Some(7),
        window: Some(3),
        nonce: Some(Nonce::from_bytes([0; 16])),
        token_use: TOKEN_USE.into(),
        iat: 0,
        nbf: 0,
        exp: 1,
    };
    assert_frozen(Section::PassClaims, keys([serde_json::to_value(claims).unwrap()]));
}
