//! `Cookie` headers, and whom each lets in.

use crate::passes::{FUTURE, NAME, NUMBER, OVER, SECRET, SUBJECT};
use crate::requests::{SESSION, session, visitor};
use crate::{CookieVector, Visitor};

/// The number in line of somebody else.
const OTHER: u64 = 42;

fn valid(number: u64) -> String {
    session(SECRET, NAME, &format!("{SUBJECT}.{number}.{FUTURE}"))
}

pub(crate) fn cookies() -> Vec<CookieVector> {
    let vector = |what: &str, header: String, enters: Option<Visitor>| CookieVector {
        what: what.into(),
        header,
        enters,
    };
    let ours = || Some(visitor(Some(NUMBER)));
    let value = valid(NUMBER);
    let good = format!("{SESSION}={value}");
    let other = format!("{SESSION}={}", valid(OTHER));
    let over = format!("{SESSION}={}", session(SECRET, NAME, &format!("{SUBJECT}.{NUMBER}.{OVER}")));
    let wrong = format!("{SESSION}=x; ");
    let bytes = format!("{SESSION}=\u{ff}; ");
    let mut vectors = vec![
        vector("of a session", good.clone(), ours()),
        vector("with other cookies", format!("a=1; {good}; b=2"), ours()),
        vector("without spaces", format!("a=1;{good};b=2"), ours()),
        vector("with spaces and tabs", format!("a=1 ; \t{good} \t; b=2"), ours()),
        vector("with nothing between semicolons", format!("a=1;; ;{good};"), ours()),
        vector("with a cookie that has no value", format!("a; {good}; b="), ours()),
        vector("with bytes that are no UTF-8 in another cookie", format!("a=\u{ff}\u{fe}; {good}"), ours()),
        vector("with two sessions", format!("{good}; {other}"), ours()),
        vector(
            "with two sessions in the other order",
            format!("{other}; {good}"),
            Some(visitor(Some(OTHER))),
        ),
        vector("with something else before the session", format!("{wrong}{good}"), ours()),
        vector("with bytes that are no UTF-8 before the session", format!("{bytes}{good}"), ours()),
        vector("with the session in fourth place", format!("{}{good}", wrong.repeat(3)), ours()),
        vector("with the session in fifth place", format!("{}{good}", wrong.repeat(4)), None),
        vector(
            "with the session in fifth place, behind bytes that are no UTF-8",
            format!("{}{good}", bytes.repeat(4)),
            None,
        ),
        vector("with the session behind one that is over", format!("{over}; {good}"), ours()),
        vector("with a quoted session", format!("{SESSION}=\"{value}\""), None),
        vector("with an escaped session", format!("{SESSION}={}", value.replace('.', "%2E")), None),
        vector("with a space before the value", format!("{SESSION}= {value}"), None),
        vector("with a space behind the name", format!("{SESSION} ={value}"), None),
        vector("with two signs of equality", format!("{SESSION}=={value}"), None),
        vector("with a comma before the session", format!("a=1, {good}"), None),
    ];
    for (name, space) in [
        ("a no-break space", "\u{a0}"),
        ("a no-break space in UTF-8", "\u{c2}\u{a0}"),
        ("an ideographic space", "\u{e3}\u{80}\u{80}"),
        ("a line separator", "\u{e2}\u{80}\u{a8}"),
        ("a byte order mark", "\u{ef}\u{bb}\u{bf}"),
        ("a next line", "\u{85}"),
        ("a vertical tab", "\u{b}"),
        ("a form feed", "\u{c}"),
        ("a file separator", "\u{1c}"),
        ("a unit separator", "\u{1f}"),
    ] {
        vectors.push(vector(&format!("with {name} before the session"), format!("a=1;{space}{good}"), None));
        vectors.push(vector(&format!("with {name} behind the session"), format!("{good}{space}; a=1"), None));
    }
    for name in [
        "bk_sale_session",
        "__host-bk_sale_session",
        "__Host-bk_sale_SESSION",
        "__Host-bk.sale.session",
        "__Host-bk sale session",
        "..Host-bk_sale_session",
        "__Host-bk_sale[session",
        "%5F_Host-bk_sale_session",
        "x__Host-bk_sale_session",
    ] {
        vectors.push(vector(&format!("with the session as {name}"), format!("{name}={value}"), None));
    }
    vectors
}
