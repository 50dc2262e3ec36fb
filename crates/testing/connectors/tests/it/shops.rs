//! Each connector in front of a shop in its language, over HTTP.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use connectors::{Answer, Expected, PassVerdict, Shop, ShopsRoom, Vectors, Visitor};

const HTML: &str = "text/html";

fn shops(vectors: &Vectors) -> impl Iterator<Item = Shop> {
    let keys = serde_json::to_string(&vectors.keys).unwrap();
    Shop::LANGUAGES.into_iter().map(move |language| {
        let (url, name, secret) = (&vectors.room, &vectors.name, &vectors.secret);
        Shop::start(language, ShopsRoom { url, name, secret, keys: &keys }).unwrap()
    })
}

/// The value of a cookie of the connector, set as it must be.
fn set<'a>(answer: &'a Answer, name: &str, seconds: u32) -> Option<&'a str> {
    let (value, attributes) = answer.cookie(name)?;
    assert_eq!(attributes, format!("Path=/; Max-Age={seconds}; HttpOnly; Secure; SameSite=Lax"), "{name}");
    Some(value)
}

fn session_of(answer: &Answer) -> Option<String> {
    set(answer, "__Host-bk_sale_session", 3600).map(|value| format!("__Host-bk_sale_session={value}"))
}

fn visitor(answer: &Answer) -> Option<Visitor> {
    (answer.status == 200).then(|| serde_json::from_str(&answer.body).unwrap())
}

#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn a_valid_pass_opens_a_session_and_no_other() {
    let vectors = Vectors::read().unwrap();
    for shop in shops(&vectors) {
        let ask = |target: &str, cookie: &str| Answer::of(shop.port(), "GET", target, HTML, cookie).unwrap();
        for vector in &vectors.passes {
            let place = format!("{}: a pass {}", shop.language, vector.what);
            let answer = ask(&format!("/a?bk_pass={}", vector.pass), "");
            let location = answer.headers.get("location").map(String::as_str);
            let door = format!("{}/beekeeper", vectors.room);
            let (status, leads) = match vector.verdict {
                PassVerdict::Accepted => (302, Some("/a")),
                PassVerdict::Expired => (302, Some(door.as_str())),
                PassVerdict::Refused => (403, None),
            };
            assert_eq!((answer.status, location), (status, leads), "{place}: {answer:?}");
            assert_eq!(answer.headers["cache-control"], "no-store", "{place}");
            let link = format!("<a href=\"{door}\">");
            assert_eq!(answer.body.contains(&link), vector.verdict == PassVerdict::Refused, "{place}");
            let asked = (vector.verdict == PassVerdict::Expired).then_some("1");
            assert_eq!(set(&answer, "__Host-bk_sale_asked", 60), asked, "{place}: once");
            let session = session_of(&answer);
            assert_eq!(session.is_some(), vector.verdict == PassVerdict::Accepted, "{place}");
            let entered = session.and_then(|session| visitor(&ask("/a", &session)));
            assert_eq!(entered, vector.enters, "{place}");
        }
    }
}

#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn a_session_lets_in_whom_it_was_made_for() {
    let vectors = Vectors::read().unwrap();
    for shop in shops(&vectors) {
        for vector in &vectors.sessions {
            let cookie = format!("__Host-bk_sale_session={}", vector.cookie);
            let answer = Answer::of(shop.port(), "GET", "/", HTML, &cookie).unwrap();
            assert_eq!(visitor(&answer), vector.enters, "{}: a session {}", shop.language, vector.what);
        }
    }
}

#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn a_cookie_header_lets_in_whom_it_should() {
    let vectors = Vectors::read().unwrap();
    for shop in shops(&vectors) {
        for vector in &vectors.cookies {
            let answer = Answer::of(shop.port(), "GET", "/a", HTML, &vector.header).unwrap();
            assert_eq!(visitor(&answer), vector.enters, "{}: a header {}", shop.language, vector.what);
        }
    }
}

#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn each_request_is_answered_as_it_should_be() {
    let vectors = Vectors::read().unwrap();
    let door = format!("{}/beekeeper", vectors.room);
    for shop in shops(&vectors) {
        // Python's servers decode the path, and its own takes the second slash away, before the connector sees it. The
        // connector escapes it again.
        let is_told = |target: &str| match shop.language {
            "wsgi" => !target.starts_with("//") && !target.contains('\\'),
            "asgi" => !target.contains('\\'),
            _ => true,
        };
        for vector in vectors.requests.iter().filter(|vector| is_told(&vector.target)) {
            let place = format!("{}: a request {}", shop.language, vector.what);
            let answer =
                Answer::of(shop.port(), &vector.method, &vector.target, &vector.accept, &vector.cookie)
                    .unwrap();
            let leads = answer.headers.get("location");
            match &vector.expected {
                Expected::Enters(expected) => {
                    assert_eq!(visitor(&answer).as_ref(), Some(expected), "{place}: {answer:?}");
                }
                Expected::Cleaned { location, opens_session } => {
                    assert_eq!((answer.status, leads), (302, Some(location)), "{place}: {answer:?}");
                    assert_eq!(session_of(&answer).is_some(), *opens_session, "{place}");
                    let forgotten = set(&answer, "__Host-bk_sale_page", 0);
                    assert_eq!(forgotten, opens_session.then_some(""), "{place}");
                }
                Expected::Waits { remembers } => {
                    let status = if remembers.is_some() { 302 } else { 303 };
                    assert_eq!((answer.status, leads), (status, Some(&door)), "{place}: {answer:?}");
                    let page = set(&answer, "__Host-bk_sale_page", 86_400);
                    let page =
                        page.map(|page| String::from_utf8(URL_SAFE_NO_PAD.decode(page).unwrap()).unwrap());
                    assert_eq!(page, *remembers, "{place}");
                }
                Expected::Refused => assert_eq!((answer.status, leads), (403, None), "{place}: {answer:?}"),
            }
            if !matches!(vector.expected, Expected::Enters(_)) {
                assert_eq!(answer.headers["cache-control"], "no-store", "{place}");
            }
        }
    }
}

/// Their last page still loads its images, and then they need a new place.
#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn a_visit_that_the_shop_ends_leads_to_the_room_for_a_new_place() {
    let vectors = Vectors::read().unwrap();
    let lasting = format!("__Host-bk_sale_session={}", vectors.sessions[0].cookie);
    let Visitor { subject, .. } = vectors.sessions[0].enters.clone().unwrap();
    for shop in shops(&vectors) {
        let language = shop.language;
        let ask = |target: &str, accept: &str, cookie: &str| {
            Answer::of(shop.port(), "GET", target, accept, cookie).unwrap()
        };
        assert_eq!(ask("/", HTML, &lasting).cookies, [""; 0], "{language}: nothing ends by itself");
        let thanks = ask("/thanks", HTML, &lasting);
        assert_eq!(visitor(&thanks), vectors.sessions[0].enters, "{language}");
        assert_eq!(thanks.headers.get("beekeeper-session"), None, "{language}: browsers need not know");
        assert!(
            thanks.cookies.contains(&"basket=".to_owned()),
            "{language}: the shop's own stays: {thanks:?}"
        );

        let farewell = set(&thanks, "__Host-bk_sale_session", 30).unwrap();
        let images = visitor(&ask("/", "image/*", &format!("__Host-bk_sale_session={farewell}")));
        assert_eq!(images, vectors.sessions[0].enters, "{language}");
        let ends: u64 = farewell.split('.').nth(2).unwrap().parse().unwrap();
        let in_half_a_minute = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 30;
        assert!(ends <= in_half_a_minute && ends + 20 >= in_half_a_minute, "{language}: {farewell}");

        let ended = set(&thanks, "__Host-bk_sale_ended", 86_400).unwrap();
        assert_eq!(ended, subject, "{language}");
        let ended = format!("__Host-bk_sale_ended={ended}");
        let away = ask("/a", HTML, &ended);
        let door = format!("{}/beekeeper?again={subject}", vectors.room);
        assert_eq!((away.status, away.headers.get("location")), (302, Some(&door)), "{language}: {away:?}");
        assert_eq!(ask("/a", "image/*", &ended).status, 403, "{language}");
        let form = Answer::of(shop.port(), "POST", "/a", HTML, &ended).unwrap();
        assert_eq!((form.status, form.headers.get("location")), (303, Some(&door)), "{language}: {form:?}");
        let back = ask(&format!("/a?bk_pass={}", vectors.passes[0].pass), HTML, &ended);
        assert!(session_of(&back).is_some(), "{language}: with their new place they come in: {back:?}");

        let forged = ask("/a", HTML, "__Host-bk_sale_ended=a&b=c");
        let door = format!("{}/beekeeper", vectors.room);
        assert_eq!(forged.headers.get("location"), Some(&door), "{language}: no more than a subject");

        // In PHP, a page that needs no pass doesn't ask the connector.
        if language != "php" {
            let bypassed = ask("/notify", HTML, &lasting);
            let told = (bypassed.status, bypassed.headers.get("beekeeper-session"));
            assert_eq!(told, (200, None), "{language}: browsers need not know");
            assert_eq!(bypassed.cookies, ["basket="], "{language}: it ends nothing");
        }
    }
}
