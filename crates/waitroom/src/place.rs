//! A visitor's place, and the cookie that carries it: `bk_<room>=<epoch>-<token>-<ticket>`. A second cookie proves that the
//! room gave out this place: `bk_<room>_proof=<proof>`. The name of a room has no underscore, so no other room has that name.
//!
//! The cookie is untrusted input. It is found among other cookies, in any order and with any spacing. A value that is not
//! exactly what [`Place`] writes is ignored.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::newtypes::FormError;
use crate::{Epoch, RoomId, Ticket, Token};

/// A visitor's place, as the cookie and the line contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub epoch: Epoch,
    pub token: Token,
    pub ticket: Ticket,
}

/// How browsers reach the room. It decides the attributes of the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `SameSite=None`, so that the shop's pages can request `/client` with the cookie.
    Https,
    /// The same without it, for browsers from before it was understood.
    OldHttps,
    /// On one machine only: browsers refuse `SameSite=None` without `Secure`, and `Secure` without https.
    PlainLocalhost,
}

impl Scheme {
    /// For the browser with this header `User-Agent`. Of those that still run, Chrome 51 to 66 keep no cookie with `SameSite=None`. Safari
    /// on iOS 12 and macOS 10.14 takes it for `Strict`: whoever follows a link to the room once more would lose their place.
    #[must_use]
    pub fn for_browser(self, user_agent: &str) -> Self {
        if self != Self::Https {
            return self;
        }
        let version_of = |name: &str| {
            let (_, version) = user_agent.split_once(name)?;
            version.split_once('.')?.0.parse::<u32>().ok()
        };
        let chrome = version_of("Chrome/").or_else(|| version_of("Chromium/"));
        let is_old = match chrome {
            Some(version) => (51..=66).contains(&version),
            None => user_agent.contains(" OS 12_") || user_agent.contains("Mac OS X 10_14"),
        };
        if is_old { Self::OldHttps } else { self }
    }
}

impl Place {
    const MALFORMED: FormError = FormError("a place has the form <epoch>-<token>-<ticket>");
    /// How long a browser keeps the cookie. The ledger must keep an admission as long. Otherwise a visitor who has already
    /// entered would look like one who still waits.
    pub const MAX_AGE: Duration = Duration::from_hours(14 * 24);
    /// What the name of the cookie with the proof ends with.
    const PROOF: &str = "_proof";

    pub fn name(room: &RoomId) -> String {
        format!("bk_{room}")
    }

    fn proof_name(room: &RoomId) -> String {
        format!("bk_{room}{}", Self::PROOF)
    }

    /// Finds the room's cookie in the values of a request's `Cookie` headers.
    ///
    /// If there are several with its name, the first valid one of this epoch counts.
    pub fn find<'a>(room: &RoomId, epoch: Epoch, headers: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        cookies(Self::name(room), headers)
            .filter_map(|value| value.parse().ok())
            .find(|place: &Self| place.epoch == epoch)
    }

    /// Finds the first four proofs in the values of a request's `Cookie` headers. They have not been checked, which costs an HMAC each.
    /// A browser has two at most: the room sets them for one path or for all.
    pub fn find_proofs<'a>(
        room: &RoomId,
        headers: impl IntoIterator<Item = &'a str>,
    ) -> impl Iterator<Item = &'a str> {
        cookies(Self::proof_name(room), headers).take(4)
    }

    /// The value of the `Set-Cookie` header for this place.
    pub fn set(&self, room: &RoomId, scheme: Scheme) -> String {
        set_cookie(room, "", &self.to_string(), "/", scheme, Self::MAX_AGE)
    }

    /// The value of the `Set-Cookie` header by which a browser forgets its place.
    pub fn forget(room: &RoomId, scheme: Scheme) -> String {
        set_cookie(room, "", "", "/", scheme, Duration::ZERO)
    }

    /// The value of the `Set-Cookie` header for the proof of a place. The browser sends it to this path alone, or to all of
    /// them.
    pub fn set_proof(room: &RoomId, proof: &str, scheme: Scheme, path: Option<&str>) -> String {
        let path = path.filter(|path| is_cookie_path(path)).unwrap_or("/");
        set_cookie(room, Self::PROOF, proof, path, scheme, Self::MAX_AGE)
    }
}

/// The cookies of a `Cookie` header that are text. Those of the shop stand in the same header, and may have any bytes.
pub fn readable_cookies(header: &[u8]) -> impl Iterator<Item = &str> {
    header.split(|byte| *byte == b';').filter_map(|pair| str::from_utf8(pair).ok())
}

/// The values of the cookies with this name, in the values of `Cookie` headers.
fn cookies<'a>(name: String, headers: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    headers
        .into_iter()
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.split_once('='))
        .filter(move |(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// Anything else might end the attribute, or mean another path to the browser.
fn is_cookie_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte))
}

/// Put together piece by piece: everybody who joins gets two, and the formatter takes several times as long.
fn set_cookie(room: &RoomId, ending: &str, value: &str, path: &str, scheme: Scheme, age: Duration) -> String {
    let attributes = match scheme {
        Scheme::Https => "; HttpOnly; Secure; SameSite=None; Max-Age=",
        Scheme::OldHttps => "; HttpOnly; Secure; Max-Age=",
        Scheme::PlainLocalhost => "; HttpOnly; SameSite=Lax; Max-Age=",
    };
    let age = age.as_secs().to_string();
    ["bk_", room.as_str(), ending, "=", value, "; Path=", path, attributes, &age].concat()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (token, ticket) = (self.token.digits(), self.ticket.get().to_string());
        f.write_str(&[self.epoch.as_str(), "-", token.as_str(), "-", &ticket].concat())
    }
}

impl FromStr for Place {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let mut parts = text.split('-');
        let (Some(epoch), Some(token), Some(ticket), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Self::MALFORMED);
        };
        Ok(Self {
            epoch: epoch.parse().map_err(|_| Self::MALFORMED)?,
            token: token.parse().map_err(|_| Self::MALFORMED)?,
            ticket: ticket.parse().map_err(|_| Self::MALFORMED)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: &str = "00112233445566778899aabbccddeeff";

    fn room() -> RoomId {
        "spring-sale".parse().unwrap()
    }

    fn find(headers: &[&str]) -> Option<String> {
        Place::find(&room(), "ab12".parse().unwrap(), headers.iter().copied())
            .map(|cookie| cookie.ticket.to_string())
    }

    #[test]
    fn the_cookie_is_found_among_others_in_any_order_and_spacing() {
        let ours = format!("bk_spring-sale=ab12-{TOKEN}-7");
        for header in [
            ours.clone(),
            format!("a=1; {ours}; b=2"),
            format!("a=1;{ours};b=2"),
            format!("  a = 1 ;  bk_spring-sale = ab12-{TOKEN}-7  ; b"),
            format!("bk_spring-sale=nonsense; {ours}"),
            format!("bk_spring-sale=zz99-{TOKEN}-3; {ours}"),
            format!(";;=;x=y=z;{ours}"),
        ] {
            assert_eq!(find(&[&header]), Some("7".into()), "{header}");
        }
        assert_eq!(find(&["a=1", &ours]), Some("7".into()), "HTTP/2 may split the header");
    }

    #[test]
    fn a_cookie_of_the_shop_may_have_any_bytes() {
        let ours = format!("bk_spring-sale=ab12-{TOKEN}-7");
        for other in [&b"city=Z\xfcrich; "[..], "city=Zürich;".as_bytes(), b"\xff\xfe=\0;"] {
            let header = [other, ours.as_bytes()].concat();
            let readable: Vec<_> = readable_cookies(&header).collect();
            assert_eq!(find(&readable), Some("7".into()), "{}", String::from_utf8_lossy(&header));
        }
    }

    #[test]
    fn invalid_cookies_are_ignored() {
        for header in [
            String::new(),
            "bk_spring-sale".into(),
            "bk_spring-sale=".into(),
            format!("bk_spring-sale2=ab12-{TOKEN}-7"),
            format!("xbk_spring-sale=ab12-{TOKEN}-7"),
            format!("BK_SPRING-SALE=ab12-{TOKEN}-7"),
            format!("bk_spring-sale=ab12-{}-7", TOKEN.to_uppercase()),
            format!("bk_spring-sale=ab12-{TOKEN}-0"),
            format!("bk_spring-sale=ab12-{TOKEN}-7-8"),
            format!("bk_spring-sale=\"ab12-{TOKEN}-7\""),
            format!("bk_spring-sale=last-{TOKEN}-7"),
        ] {
            assert_eq!(find(&[&header]), None, "{header}");
        }
    }

    #[test]
    fn the_cookie_has_the_attributes_that_browsers_need() {
        let cookie: Place = format!("ab12-{TOKEN}-7").parse().unwrap();
        assert_eq!(
            cookie.set(&room(), Scheme::Https),
            format!(
                "bk_spring-sale=ab12-{TOKEN}-7; Path=/; HttpOnly; Secure; SameSite=None; Max-Age=1209600"
            ),
        );
        assert_eq!(
            cookie.set(&room(), Scheme::PlainLocalhost),
            format!("bk_spring-sale=ab12-{TOKEN}-7; Path=/; HttpOnly; SameSite=Lax; Max-Age=1209600"),
        );
        assert_eq!(
            Place::forget(&room(), Scheme::Https),
            "bk_spring-sale=; Path=/; HttpOnly; Secure; SameSite=None; Max-Age=0"
        );
    }

    #[test]
    fn browsers_that_misunderstand_same_site_get_a_cookie_without() {
        let scheme = |agent: &str| Scheme::Https.for_browser(&format!("Mozilla/5.0 {agent}"));
        for old in [
            "(iPhone; CPU iPhone OS 12_5_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Mobile/15E148 Safari/604.1",
            "(iPad; CPU OS 12_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/92.0.4515.90 Mobile/15E148 Safari/604.1",
            "(Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Safari/605.1.15",
            "(Linux; Android 5.1; SM-J320H) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/66.0.3359.126 Mobile Safari/537.36",
        ] {
            assert_eq!(scheme(old), Scheme::OldHttps, "{old}");
        }
        for new in [
            "(iPhone; CPU iPhone OS 13_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0.4 Mobile/15E148 Safari/604.1",
            "(Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15",
            "(Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/116.0.0.0 Safari/537.36",
            "(Macintosh; Intel Mac OS X 10.14; rv:115.0) Gecko/20100101 Firefox/115.0",
            "(Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
            "",
        ] {
            assert_eq!(scheme(new), Scheme::Https, "{new}");
        }
        let old_on_this_machine = Scheme::PlainLocalhost.for_browser("Chrome/66.0.1");
        assert_eq!(old_on_this_machine, Scheme::PlainLocalhost);
        let cookie: Place = format!("ab12-{TOKEN}-7").parse().unwrap();
        assert_eq!(
            cookie.set(&room(), Scheme::OldHttps),
            format!("bk_spring-sale=ab12-{TOKEN}-7; Path=/; HttpOnly; Secure; Max-Age=1209600")
        );
    }

    #[test]
    fn the_proof_is_in_a_cookie_of_its_own_with_the_same_attributes() {
        let set = |path| Place::set_proof(&room(), "a_-9", Scheme::Https, path);
        let with = |path| {
            format!(
                "bk_spring-sale_proof=a_-9; Path={path}; HttpOnly; Secure; SameSite=None; Max-Age=1209600"
            )
        };
        assert_eq!(set(Some("/prod/beekeeper")), with("/prod/beekeeper"));
        for path in [None, Some(""), Some("beekeeper"), Some("/beekeeper; Domain=x"), Some("/a b")] {
            assert_eq!(set(path), with("/"), "{path:?}");
        }
        let header = format!(
            "bk_spring-sale=ab12-{TOKEN}-7; bk_spring-sale_proof=a_-9;bk_sale_proof=b; bk_spring-sale_proof = c"
        );
        assert_eq!(Place::find_proofs(&room(), [&*header]).collect::<Vec<_>>(), ["a_-9", "c"]);
        assert_eq!(find(&[&header]), Some("7".into()), "the place is found beside it");
    }

    #[test]
    fn only_the_first_four_proofs_are_worth_a_check() {
        let three = "bk_spring-sale_proof=;".repeat(3);
        let headers = [&*three, "bk_spring-sale_proof=d; bk_spring-sale_proof=e"];
        assert_eq!(Place::find_proofs(&room(), headers).collect::<Vec<_>>(), ["", "", "", "d"]);
    }

    proptest! {
        #[test]
        fn no_header_panics(header in ".*") {
            let _ = find(&[&header]);
        }

        #[test]
        fn a_found_place_is_contained_in_the_header(
            before in "[ -~]{0,20}", inner in "[a-z0-9]{3,5}-[0-9a-f]{31,33}-[0-9]{0,3}", after in "[ -~]{0,20}",
        ) {
            let header = format!("{before}; bk_spring-sale={inner}; {after}");
            if let Some(cookie) = Place::find(&room(), inner[..4].parse().unwrap_or("ab12".parse().unwrap()), [header.as_str()]) {
                prop_assert!(header.contains(&cookie.to_string()));
            }
        }
    }
}
