//! Sessions and requests, and what a shop has to do with each.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::forge::mac;
use crate::passes::{FUTURE, NAME, NUMBER, OVER, SECRET, SUBJECT, claims};
use crate::{Expected, RequestVector, SessionVector, VectorKey, Visitor};

pub(crate) const SESSION: &str = "__Host-bk_sale_session";
const PAGE: &str = "__Host-bk_sale_page";

/// A session cookie: the subject, the number, the end and the proof.
pub(crate) fn session(secret: &str, name: &str, text: &str) -> String {
    format!("{text}.{}", mac(secret.as_bytes(), &format!("{name}.{text}")))
}

fn valid_session() -> String {
    session(SECRET, NAME, &format!("{SUBJECT}.{NUMBER}.{FUTURE}"))
}

pub(crate) fn visitor(number: Option<u64>) -> Visitor {
    Visitor { subject: SUBJECT.into(), number }
}

pub(crate) fn sessions() -> Vec<SessionVector> {
    let valid = valid_session();
    let vector = |what: &str, cookie: String, enters| SessionVector { what: what.into(), cookie, enters };
    let refused = |what, cookie| vector(what, cookie, None);
    vec![
        vector("a session", valid.clone(), Some(visitor(Some(NUMBER)))),
        vector(
            "without a number",
            session(SECRET, NAME, &format!("{SUBJECT}..{FUTURE}")),
            Some(visitor(None)),
        ),
        refused("over", session(SECRET, NAME, &format!("{SUBJECT}.{NUMBER}.{OVER}"))),
        refused("of another room", session(SECRET, "other", &format!("{SUBJECT}.{NUMBER}.{FUTURE}"))),
        refused(
            "of another shop",
            session("another secret of 32 characters!", NAME, &format!("{SUBJECT}.{NUMBER}.{FUTURE}")),
        ),
        refused("with another number", valid.replace(".4711.", ".1.")),
        refused("with another end", valid.replace(&FUTURE.to_string(), &(FUTURE + 1).to_string())),
        refused("without its proof", format!("{SUBJECT}.{NUMBER}.{FUTURE}.")),
        refused("empty", String::new()),
        refused("of another form", "x".repeat(300)),
    ]
}

pub(crate) fn requests(current: &VectorKey) -> Result<Vec<RequestVector>> {
    const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";
    let pass = current.pass(&claims(&json!({})))?;
    let expired = current.pass(&claims(&json!({ "exp": OVER })))?;
    let session = format!("{SESSION}={}", valid_session());
    let page = |path: &str| format!("{PAGE}={}", URL_SAFE_NO_PAD.encode(path));
    let vector = |what: &str, target: String, cookie: String, expected| RequestVector {
        what: what.into(),
        method: "GET".into(),
        target,
        accept: HTML.into(),
        cookie,
        expected,
    };
    let waits = |path: &str| Expected::Waits { remembers: Some(path.into()) };
    let opened = |location: &str| Expected::Cleaned { location: location.into(), opens_session: true };
    let none = String::new;
    let enters = || Expected::Enters(visitor(Some(NUMBER)));
    let target = "/a%20b/?x=1&y";
    let mut vectors = vec![
        vector("without anything", target.into(), none(), waits(target)),
        vector("with a pass", format!("/a?x=1&bk_pass={pass}&y"), none(), opened("/a?x=1&y")),
        vector("with nothing but a pass in the query", format!("/a?bk_pass={pass}"), none(), opened("/a")),
        vector(
            "with a pass, for the page of before",
            format!("/?bk_pass={pass}"),
            page("/tickets/7?seat=a;b"),
            opened("/tickets/7?seat=a;b"),
        ),
        vector(
            "with a page of before that is another site",
            format!("/a?bk_pass={pass}"),
            page("//evil.example/"),
            opened("/a"),
        ),
        vector(
            "with a page of before that is another header",
            format!("/a?bk_pass={pass}"),
            page("/\r\nx-evil: 1"),
            opened("/a"),
        ),
        vector(
            "with a page of before that is a whole URL",
            format!("/a?bk_pass={pass}"),
            page("https://evil.example/"),
            opened("/a"),
        ),
        vector(
            "with a pass at a path that browsers take for a site",
            format!("//evil.example/?bk_pass={pass}"),
            none(),
            opened("/"),
        ),
        vector("for a path that browsers take for a site", "//evil.example/".into(), none(), waits("/")),
        vector("for a path with a backslash", "/\\evil.example/".into(), none(), waits("/")),
        vector(
            "with a page of before that is in another spelling",
            format!("/a?bk_pass={pass}"),
            format!("{}=", page("/tickets/7")),
            opened("/a"),
        ),
        vector(
            "with a pass behind a name without a value",
            format!("/a?bk_pass&bk_pass={pass}"),
            none(),
            opened("/a"),
        ),
        vector(
            "with a pass and another one",
            format!("/a?bk_pass={pass}&bk_pass=x.y.z"),
            none(),
            opened("/a"),
        ),
        vector(
            "with a pass behind another one",
            format!("/a?bk_pass=x.y.z&bk_pass={pass}"),
            none(),
            Expected::Refused,
        ),
        vector("with a pass behind an empty one", format!("/a?bk_pass=&bk_pass={pass}"), none(), waits("/a")),
        vector(
            "with an escaped pass",
            format!("/a?bk_pass={}", pass.replace('.', "%2E")),
            none(),
            Expected::Refused,
        ),
        vector("with a pass and an escaped space", format!("/a?bk_pass={pass}+"), none(), Expected::Refused),
        vector(
            "with a pass in a parameter with an escaped name",
            format!("/a?bk%5Fpass={pass}"),
            none(),
            waits(&format!("/a?bk%5Fpass={pass}")),
        ),
        vector(
            "with a pass in a parameter in capitals",
            format!("/a?BK_PASS={pass}"),
            none(),
            waits(&format!("/a?BK_PASS={pass}")),
        ),
        vector("with an expired pass", format!("/a?bk_pass={expired}"), none(), waits("/a")),
        vector(
            "with an expired pass, and a page of before",
            format!("/a?bk_pass={expired}"),
            page("/tickets/7?seat=a;b"),
            waits("/tickets/7?seat=a;b"),
        ),
        vector(
            "with an expired pass, and a page of before that is another site",
            format!("/a?bk_pass={expired}"),
            page("//evil.example/"),
            waits("/a"),
        ),
        vector(
            "with an expired pass, just after another one",
            format!("/a?bk_pass={expired}"),
            "__Host-bk_sale_asked=1".into(),
            Expected::Refused,
        ),
        vector("without a pass, and with a page of before", target.into(), page("/tickets/7"), waits(target)),
        vector("with an empty pass", "/a?bk_pass=".into(), none(), waits("/a")),
        vector("with a session", target.into(), session.clone(), enters()),
        vector("with a session among other cookies", target.into(), format!("a=1; {session}; b=2"), enters()),
        vector(
            "with a session and a pass",
            format!("/a?bk_pass={pass}&x"),
            session.clone(),
            Expected::Cleaned { location: "/a?x".into(), opens_session: false },
        ),
        vector(
            "with a session and a forged pass",
            "/a?bk_pass=x.y.z".into(),
            session.clone(),
            Expected::Cleaned { location: "/a".into(), opens_session: false },
        ),
        vector(
            "with the session in a cookie of another name",
            target.into(),
            session.replace("_session", "_sessions"),
            waits(target),
        ),
        vector(
            "with the pass in another parameter",
            format!("/a?xbk_pass={pass}"),
            none(),
            waits(&format!("/a?xbk_pass={pass}")),
        ),
    ];
    let other =
        |what: &str, method: &str, accept: &str, target: String, cookie: String, expected| RequestVector {
            method: method.into(),
            accept: accept.into(),
            ..vector(what, target, cookie, expected)
        };
    let goes = || Expected::Waits { remembers: None };
    vectors.extend([
        other("of a script without a session", "GET", "*/*", target.into(), none(), Expected::Refused),
        other(
            "of a script with a pass",
            "GET",
            "*/*",
            format!("/a?bk_pass={pass}"),
            none(),
            Expected::Refused,
        ),
        other(
            "of a script with a session",
            "GET",
            "application/json",
            target.into(),
            session.clone(),
            enters(),
        ),
        other("of a form without a session", "POST", HTML, target.into(), none(), goes()),
        other("of a form of a script", "POST", "*/*", target.into(), none(), Expected::Refused),
        other("of a form with a pass", "POST", HTML, format!("/a?bk_pass={pass}"), none(), goes()),
        other("of a form with a session", "POST", HTML, target.into(), session.clone(), enters()),
        other(
            "of a form with a session and a pass",
            "POST",
            HTML,
            format!("/a?bk_pass={pass}"),
            session,
            enters(),
        ),
    ]);
    Ok(vectors)
}
