//! The guard's only cookie. It says either that a visitor was sent to the room, or that they have a session. So each answer
//! sets at most one cookie, which is what `auth_request` of nginx can pass on.
//!
//! There is another one that a web server sets for the guard, when the shop ends a session: the web server sees the shop's answer,
//! and the guard does not.

use std::time::Duration;

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::GuardRules;

/// For how long the page that a visitor asked for is remembered while they wait, and the word of the shop that their session is over.
/// No session is as long.
pub(crate) const REMEMBERED: Duration = Duration::from_hours(24);

/// The name of the guard's cookie.
pub(crate) fn name(rules: &GuardRules) -> String {
    prefixed(rules, "guard")
}

/// The name of the cookie with the id of the session that the shop has ended.
pub(crate) fn end_name(rules: &GuardRules) -> String {
    prefixed(rules, "end")
}

/// With the prefix `__Host-`, browsers refuse a cookie that a page of another subdomain sets.
fn prefixed(rules: &GuardRules, what: &str) -> String {
    let prefix = if rules.https { "__Host-" } else { "" };
    format!("{prefix}bk_{}_{what}", rules.name)
}

/// The values of cookies with this name, the first four. Anybody can write several. The shop's own cookies stand in the same
/// header, and may have any bytes in them.
///
/// Only spaces and tabs around a cookie are removed. With anything else before `__Host-`, another subdomain can set it. Connectors
/// read cookies by the same rule: docs/connectors/README.md.
pub(crate) fn sent<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let lines = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes);
    let cookies = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    let values = cookies.filter_map(move |cookie| {
        let begin = cookie.iter().position(|byte| !is_space(byte))?;
        let end = cookie.iter().rposition(|byte| !is_space(byte))?;
        cookie[begin..=end].strip_prefix(name.as_bytes())?.strip_prefix(b"=")
    });
    values.take(4).filter_map(|value| std::str::from_utf8(value).ok())
}

/// The value of a `Set-Cookie` header. `SameSite=Lax`: it is sent when the room's page leads to the shop, and not with
/// requests that other sites make.
pub(crate) fn set(rules: &GuardRules, name: &str, value: &str, max_age: Duration) -> String {
    let secure = if rules.https { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={}; HttpOnly{secure}; SameSite=Lax", max_age.as_secs())
}
