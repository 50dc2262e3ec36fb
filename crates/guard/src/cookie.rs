//! The guard's only cookie. It says either that a visitor was sent to the room, or that they have a session. So each answer
//! sets at most one cookie, which is what `auth_request` of nginx can pass on.

use std::time::Duration;

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::GuardRules;

/// For how long the page that a visitor asked for is remembered while they wait.
pub(crate) const REMEMBERED: Duration = Duration::from_hours(24);

/// The cookie's name.
///
/// With the prefix `__Host-`, browsers refuse a cookie that a page of another subdomain sets.
pub(crate) fn name(rules: &GuardRules) -> String {
    let prefix = if rules.https { "__Host-" } else { "" };
    format!("{prefix}bk_{}_guard", rules.name)
}

/// The values of cookies with this name, the first four. Anybody can write several. The shop's own cookies stand in the same
/// header, and may have any bytes in them.
pub(crate) fn sent<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes);
    let pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    // Only the spaces of ASCII are removed. With another one before `__Host-`, another subdomain can set the cookie.
    let pairs = pairs.filter_map(|pair| std::str::from_utf8(pair.trim_ascii()).ok()?.split_once('='));
    pairs.filter(move |(found, _)| *found == name).map(|(_, value)| value).take(4)
}

/// The value of a `Set-Cookie` header. `SameSite=Lax`: it is sent when the room's page leads to the shop, and not with
/// requests that other sites make.
pub(crate) fn set(rules: &GuardRules, name: &str, value: &str, max_age: Duration) -> String {
    let secure = if rules.https { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={}; HttpOnly{secure}; SameSite=Lax", max_age.as_secs())
}
