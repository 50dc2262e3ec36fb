use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use parking_lot::Mutex;
use pass::is_word;

use crate::GuardedRequest;

/// Lets the issuer of a certificate read what proves whose the shop's name is. It comes from anywhere, and knows no secret.
///
/// So anybody may ask for that, and a shop with one program for all paths works for it each time. An issuer asks a handful of times.
#[derive(Debug, Default)]
pub(crate) struct Challenges(Mutex<Second>);

#[derive(Debug, Default)]
struct Second {
    at: u64,
    let_in: u32,
}

impl Challenges {
    /// In one second, from everywhere.
    const MOST: u32 = 10;

    pub(crate) fn lets_in(&self, request: &GuardedRequest<'_>, now: u64) -> bool {
        is_challenge(request) && self.has_room(now)
    }

    /// Whether one more may come in this second. Then it has come.
    fn has_room(&self, now: u64) -> bool {
        let mut second = self.0.lock();
        if second.at != now {
            *second = Second { at: now, let_in: 0 };
        }
        let has_room = second.let_in < Self::MOST;
        second.let_in += u32::from(has_room);
        has_room
    }
}

fn is_challenge(request: &GuardedRequest<'_>) -> bool {
    let token = request.target.strip_prefix("/.well-known/acme-challenge/");
    let has_body = request.headers.contains_key(TRANSFER_ENCODING)
        || request.headers.get_all(CONTENT_LENGTH).iter().any(|length| length != "0");
    request.only_reads() && !has_body && token.is_some_and(|token| !token.is_empty() && is_word(token))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue, Method};

    use super::*;

    fn is_let_in(method: &Method, path: &str, header: Option<(HeaderName, &'static str)>) -> bool {
        let target = format!("/.well-known/acme-challenge{path}");
        let header = header.map(|(name, value)| (name, HeaderValue::from_static(value)));
        let headers: HeaderMap = header.into_iter().collect();
        let request = GuardedRequest { method, target: &target, headers: &headers, client: None };
        Challenges::default().lets_in(&request, 1_800_000_000)
    }

    #[test]
    fn the_shops_certificate_is_renewed_and_its_path_opens_nothing_else() {
        for method in [Method::GET, Method::HEAD] {
            assert!(is_let_in(&method, "/evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr_oA", None));
            assert!(is_let_in(&method, "/token", Some((CONTENT_LENGTH, "0"))));
        }
        for other in [
            "",
            "/",
            "/a/b",
            "/a/",
            "/token?rest_route=/wc/store/v1/checkout",
            "/token?",
            "/a.php",
            "/%61",
            "/..",
        ] {
            assert!(!is_let_in(&Method::GET, other, None), "{other}");
        }
        for method in [Method::POST, Method::OPTIONS] {
            assert!(!is_let_in(&method, "/token", None), "{method}");
        }
        for body in [(CONTENT_LENGTH, "7"), (TRANSFER_ENCODING, "chunked")] {
            assert!(!is_let_in(&Method::GET, "/token", Some(body.clone())), "{body:?}");
        }
    }

    #[test]
    fn ten_come_in_each_second_whatever_the_clock_does() {
        let challenges = Challenges::default();
        let come_in = |now| (0..50).filter(|_| challenges.has_room(now)).count();
        assert_eq!([1000, 1001, 1001, 1002, 500, 501].map(come_in), [10, 10, 0, 10, 10, 10]);
    }
}
