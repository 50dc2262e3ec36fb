//! Checks whether a URL answers, and where it redirects.

use std::fmt;
use std::time::Duration;

use url::Url;
use waitroom::ports::Probe;
use waitroom::{WebUrl, innermost};

/// A browser follows twenty redirects, but a shop that needs more than five is probably misconfigured.
const MOST_REDIRECTS: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(5);

/// The redirects that were followed, and the last response.
#[derive(Debug)]
pub struct Journey {
    redirects: Vec<(Url, u16, Url)>,
    end: End,
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Answer {
        at: Url,
        status: u16,
        took: Duration,
    },
    Silence {
        at: Url,
        why: String,
    },
    TooFar,
    /// The last redirect leads into the room that the URL is the shop of. It was not followed, because the request would
    /// join the line.
    OwnRoom,
}

impl Journey {
    pub async fn to(url: &Url, probe: &impl Probe, is_own_room: impl Fn(&Url) -> bool) -> Self {
        let mut redirects = Vec::new();
        let mut at = url.clone();
        loop {
            let asked = tokio::time::timeout(TIMEOUT, probe.ask(&at)).await;
            let reply = match asked {
                Ok(Ok(reply)) => reply,
                Ok(Err(error)) => {
                    return Self { redirects, end: End::Silence { at, why: innermost(&error) } };
                }
                Err(_) => {
                    let why = format!("no answer within {} seconds", TIMEOUT.as_secs());
                    return Self { redirects, end: End::Silence { at, why } };
                }
            };
            let leads_on = matches!(reply.status, 301 | 302 | 303 | 307 | 308);
            let next = reply.location.filter(|_| leads_on).and_then(|next| at.join(&next).ok());
            let Some(next) = next else {
                let end = End::Answer { at, status: reply.status, took: reply.took };
                return Self { redirects, end };
            };
            redirects.push((at, reply.status, next.clone()));
            if is_own_room(&next) {
                return Self { redirects, end: End::OwnRoom };
            }
            if redirects.len() > MOST_REDIRECTS {
                return Self { redirects, end: End::TooFar };
            }
            at = next;
        }
    }

    /// Whether a visitor with a pass would see a page, as far as a visit without a pass can tell.
    pub fn arrives(&self) -> bool {
        self.is_protected() || matches!(self.end, End::Answer { status, .. } if status < 400)
    }

    /// Whether the shop lets nobody in without a pass: it answers 403, or redirects to a waiting room.
    pub fn is_protected(&self) -> bool {
        matches!(self.end, End::OwnRoom | End::Answer { status: 403, .. })
            || self.redirects.iter().skip(1).any(is_door)
    }

    /// Whether the last redirect leads into the room that the URL is the shop of.
    pub(crate) fn leads_to_own_room(&self) -> bool {
        self.end == End::OwnRoom
    }

    pub fn redirects(&self) -> usize {
        self.redirects.len()
    }

    pub fn is_silent(&self) -> bool {
        matches!(self.end, End::Silence { .. })
    }

    /// Whether the shop asks for a sign-in, which is another way to let nobody in without a pass.
    pub(crate) fn is_unauthorized(&self) -> bool {
        matches!(self.end, End::Answer { status: 401, .. })
    }

    /// Whether a shop sends visitors without a pass to a waiting room that is not its own.
    pub(crate) fn leads_to_another_room(&self) -> bool {
        !self.leads_to_own_room() && self.redirects.iter().skip(1).any(is_door)
    }

    /// The other host name to which the shop leads its visitors on. What is behind the door of a waiting room doesn't count.
    pub fn leads_on_to(&self) -> Option<&str> {
        let end = match &self.end {
            End::Answer { at, .. } => Some(at),
            _ => None,
        };
        let visited = self.redirects.iter().map(|(from, ..)| from).chain(end);
        let mut hosts =
            visited.take_while(|url| !url.path().ends_with("/beekeeper")).filter_map(Url::host_str);
        let (own, last) = (hosts.next()?, hosts.last()?);
        (last != own).then_some(last)
    }

    /// Whether the URL itself is the door of a waiting room, which would send its visitors round in a circle.
    pub fn begins_at_a_door(&self) -> bool {
        self.redirects.first().is_some_and(is_door)
    }
}

/// Whether this is the redirect from a room's door to its page.
fn is_door((from, _, to): &(Url, u16, Url)) -> bool {
    let room = from.path().strip_suffix("/beekeeper");
    from.origin() == to.origin()
        && room.is_some_and(|room| to.path().strip_prefix(room) == Some("/wait/index.html"))
}

/// What a shop needs that leads on to this host name: a session of the guard is for one.
pub fn needs_host(host: &str) -> String {
    format!("the shop sends visitors on to {host}; if the shop is there, write that host into shop")
}

/// What a throttle needs whose shop is protected.
pub fn needs_health(shop: &WebUrl) -> String {
    format!(
        "the throttle cannot measure {shop}, because it has no pass; give it a URL that needs none with --health URL"
    )
}

impl fmt::Display for Journey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (from, status, to) in &self.redirects {
            writeln!(f, "{from} redirects to {to} ({status})")?;
        }
        match &self.end {
            End::Answer { at, status, took } => {
                write!(f, "{at} answers {status} after {} ms", took.as_millis())?;
            }
            End::Silence { at, why } => write!(f, "{at} does not answer: {why}")?,
            End::TooFar => write!(f, "stopped after {MOST_REDIRECTS} redirects")?,
            End::OwnRoom => write!(f, "that is this room")?,
        }
        if self.is_protected() {
            write!(f, "\nprotected as recommended: the shop refuses visitors without a pass")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use waitroom::ports::{ProbeError, ProbeReply};

    use super::*;

    struct Shop(&'static [(&'static str, u16, Option<&'static str>)]);

    impl Probe for Shop {
        async fn ask(&self, url: &Url) -> Result<ProbeReply, ProbeError> {
            if url.path() == "/hangs" {
                std::future::pending::<()>().await;
            }
            let page = self.0.iter().find(|(page, ..)| *page == url.as_str());
            let (_, status, location) = page.ok_or_else(|| ProbeError("connection refused".into()))?;
            let location = location.map(Into::into);
            Ok(ProbeReply { status: *status, location, took: Duration::from_millis(12) })
        }
    }

    async fn visited(
        pages: &'static [(&'static str, u16, Option<&'static str>)],
        url: &str,
    ) -> (bool, String) {
        let is_own_room = |url: &Url| url.host_str() == Some("own.example");
        let journey = Journey::to(&url.parse().unwrap(), &Shop(pages), is_own_room).await;
        (journey.arrives(), journey.to_string())
    }

    const SALE: &str = "https://shop.example/sale";

    #[tokio::test(start_paused = true)]
    async fn every_redirect_is_shown() {
        let led = visited(
            &[
                ("http://shop.example/sale", 301, Some(SALE)),
                (SALE, 302, Some("/now")),
                ("https://shop.example/now", 200, None),
            ],
            "http://shop.example/sale",
        );
        let expected = "http://shop.example/sale redirects to https://shop.example/sale (301)\n\
            https://shop.example/sale redirects to https://shop.example/now (302)\n\
            https://shop.example/now answers 200 after 12 ms";
        assert_eq!(led.await, (true, expected.into()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_url_that_shows_no_page_is_explained() {
        assert_eq!(
            visited(&[(SALE, 404, None)], SALE).await,
            (false, format!("{SALE} answers 404 after 12 ms"))
        );
        assert_eq!(visited(&[], SALE).await, (false, format!("{SALE} does not answer: connection refused")));
        let hangs = "https://shop.example/hangs";
        assert_eq!(
            visited(&[], hangs).await,
            (false, format!("{hangs} does not answer: no answer within 5 seconds"))
        );
        let (arrives, circle) = visited(&[(SALE, 302, Some("/sale"))], SALE).await;
        assert!(!arrives && circle.ends_with("\nstopped after 5 redirects"), "{circle}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_shop_that_wants_a_pass_is_protected() {
        let protected = "\nprotected as recommended: the shop refuses visitors without a pass";
        assert_eq!(
            visited(&[(SALE, 403, None)], SALE).await,
            (true, format!("{SALE} answers 403 after 12 ms{protected}"))
        );
        // The own room is not asked, because that would take a place.
        let (arrives, own) = visited(&[(SALE, 302, Some("https://own.example/beekeeper"))], SALE).await;
        assert!(arrives && own.ends_with(&format!("\nthat is this room{protected}")), "{own}");
        let through_the_page = visited(
            &[
                (SALE, 302, Some("https://room.example/prod/beekeeper")),
                ("https://room.example/prod/beekeeper", 302, Some("wait/index.html#ab12-7")),
                ("https://room.example/prod/wait/index.html#ab12-7", 200, None),
            ],
            SALE,
        );
        let (arrives, other) = through_the_page.await;
        assert!(arrives && other.ends_with(protected), "{other}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_shop_that_leads_on_to_another_name_is_found() {
        const WWW: &str = "https://www.shop.example/sale";
        const OWN: Option<&str> = Some("https://own.example/beekeeper");
        const DOOR: &str = "https://room.example/prod/beekeeper";
        const BY_HTTP: &str = "http://shop.example/sale";
        let leads_on_to = |pages: &'static [_], url: &'static str| async move {
            let is_own_room = |url: &Url| url.host_str() == Some("own.example");
            let journey = Journey::to(&url.parse().unwrap(), &Shop(pages), is_own_room).await;
            journey.leads_on_to().map(ToOwned::to_owned)
        };
        let www = Some("www.shop.example".into());
        assert_eq!(leads_on_to(&[(SALE, 301, Some(WWW)), (WWW, 200, None)], SALE).await, www);
        assert_eq!(leads_on_to(&[(SALE, 301, Some(WWW)), (WWW, 302, OWN)], SALE).await, www, "it is guarded");
        assert_eq!(leads_on_to(&[(SALE, 302, OWN)], SALE).await, None);
        let through_a_door = &[(SALE, 302, Some(DOOR)), (DOOR, 302, Some(BY_HTTP)), (BY_HTTP, 200, None)];
        assert_eq!(leads_on_to(through_a_door, SALE).await, None, "it lets everyone pass");
        assert_eq!(leads_on_to(&[(BY_HTTP, 301, Some(SALE)), (SALE, 200, None)], BY_HTTP).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_door_is_recognised_by_where_it_leads() {
        let begins_at_a_door = |location: &'static str| async move {
            let url: Url = "https://shop.example/prod/beekeeper".parse().unwrap();
            let at_door = ("https://shop.example/prod/beekeeper", 302, Some(location));
            let pages = Box::leak(Box::new([at_door]));
            Journey::to(&url, &Shop(pages), |_| false).await.begins_at_a_door()
        };
        assert!(begins_at_a_door("wait/index.html#ab12-7").await);
        assert!(begins_at_a_door("/prod/wait/index.html").await);
        for elsewhere in ["/honey", "/wait/index.html", "https://other.example/prod/wait/index.html"] {
            assert!(!begins_at_a_door(elsewhere).await, "a shop for beekeepers: {elsewhere}");
        }
    }
}
