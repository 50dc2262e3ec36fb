//! One request to the shop, as a visitor would make it.

use std::pin::pin;
use std::time::Duration;

use url::Url;
use waitroom::Room;
use waitroom::ports::{Clock, Probe, ProbeError, within};

/// Why a request does not count as answered. All but [`Self::Refused`] are failures of the shop.
#[derive(Debug, thiserror::Error)]
pub enum VisitFailure {
    #[error("no connection to {1}")]
    NoAnswer(#[source] ProbeError, Url),
    #[error("no answer within {} seconds", TIME_OUT.as_secs())]
    TimeOut,
    /// Status 500 or above, or 429: a shop that sheds load by either is quick to say so.
    #[error("{url} answered with status {status}")]
    Status { url: Url, status: u16 },
    /// The shop answered 403, or sent the throttle to the waiting room: it lets nobody in without a pass, as it should.
    /// That is quickly done, and says nothing about how the shop is.
    #[error("{0} refuses visitors without a pass; give a health URL that needs none")]
    Refused(Url),
    #[error("more than {MOST_REDIRECTS} redirects, the last to {0}")]
    TooManyRedirects(Url),
}

const TIME_OUT: Duration = Duration::from_secs(5);
const MOST_REDIRECTS: u32 = 3;

/// How long the shop took to answer, including redirects within its own host.
pub(crate) async fn visit(
    probe: &impl Probe,
    clock: &impl Clock,
    room: &Room,
) -> Result<Duration, VisitFailure> {
    let answered = within(clock, TIME_OUT, pin!(follow(probe, room))).await;
    answered.unwrap_or(Err(VisitFailure::TimeOut))
}

async fn follow(probe: &impl Probe, room: &Room) -> Result<Duration, VisitFailure> {
    let mut took = Duration::ZERO;
    let mut url = room.settings.measured().as_url().clone();
    let mut redirects = 0;
    loop {
        let reply = match probe.ask(&url).await {
            Ok(reply) => reply,
            Err(error) => return Err(VisitFailure::NoAnswer(error, url)),
        };
        took += reply.took;
        if matches!(reply.status, 429 | 500..) {
            return Err(VisitFailure::Status { url, status: reply.status });
        }
        if reply.status == 403 {
            return Err(VisitFailure::Refused(url));
        }
        let is_redirect = matches!(reply.status, 301 | 302 | 303 | 307 | 308);
        let Some(next) = reply.location.filter(|_| is_redirect).and_then(|to| url.join(&to).ok()) else {
            return Ok(took);
        };
        if room.is_entered_by(&next) {
            return Err(VisitFailure::Refused(url));
        }
        if next.host() != url.host() {
            return Ok(took);
        }
        redirects += 1;
        if redirects > MOST_REDIRECTS {
            return Err(VisitFailure::TooManyRedirects(next));
        }
        url = next;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::future::{pending, ready};

    use futures_executor::block_on;
    use waitroom::ports::ProbeReply;
    use waitroom::{Settings, Timestamp, fixture};

    use super::*;
    use crate::measure;

    /// A shop where every page takes ten milliseconds, and an unknown page refuses the connection.
    struct Shop(HashMap<&'static str, (u16, Option<&'static str>)>);

    impl Probe for Shop {
        async fn ask(&self, url: &Url) -> Result<ProbeReply, ProbeError> {
            if url.path() == "/hangs" {
                pending::<()>().await;
            }
            let refused = || ProbeError("connection refused".into());
            let (status, location) = *self.0.get(url.as_str()).ok_or_else(refused)?;
            Ok(ProbeReply { status, location: location.map(Into::into), took: Duration::from_millis(10) })
        }
    }

    /// A clock on which a timeout is over at once.
    struct Impatient;

    impl Clock for Impatient {
        fn now(&self) -> Timestamp {
            Timestamp::default()
        }

        fn sleep_until(&self, _: Timestamp) -> impl Future<Output = ()> + Send {
            ready(())
        }
    }

    fn room(shop: &str) -> Room {
        let settings = Settings { shop: shop.parse().unwrap(), ..fixture::settings(1) };
        Room { settings, url: "https://room.example/prod".parse().unwrap(), ..fixture::room(1) }
    }

    fn visited(shop: &str, pages: &[(&'static str, u16, Option<&'static str>)]) -> Result<u128, String> {
        let pages = pages.iter().map(|&(url, status, location)| (url, (status, location))).collect();
        block_on(visit(&Shop(pages), &Impatient, &room(shop)))
            .map(|took| took.as_millis())
            .map_err(|failure| failure.to_string())
    }

    const SHOP: &str = "https://shop.example/";

    #[test]
    fn every_status_below_500_but_403_and_429_is_an_answer() {
        for status in [200, 204, 304, 401, 404] {
            assert_eq!(visited(SHOP, &[(SHOP, status, None)]), Ok(10), "{status}");
        }
        assert_eq!(visited(SHOP, &[(SHOP, 302, None)]), Ok(10), "a redirect to nowhere");
        assert_eq!(visited(SHOP, &[(SHOP, 200, Some("/elsewhere"))]), Ok(10), "not a redirect");
    }

    #[test]
    fn redirects_within_the_host_are_followed_and_count() {
        let pages = [(SHOP, 301, Some("/sale")), ("https://shop.example/sale", 200, None)];
        assert_eq!(visited(SHOP, &pages), Ok(20));
        let upgraded = [("http://shop.example/", 308, Some(SHOP)), (SHOP, 200, None)];
        assert_eq!(visited("http://shop.example", &upgraded), Ok(20));
        let elsewhere = [(SHOP, 302, Some("https://login.example/"))];
        assert_eq!(visited(SHOP, &elsewhere), Ok(10), "another host is not measured");
    }

    #[test]
    fn four_redirects_are_too_many() {
        let three = [
            (SHOP, 302, Some("/1")),
            ("https://shop.example/1", 302, Some("/2")),
            ("https://shop.example/2", 302, Some("/3")),
            ("https://shop.example/3", 200, None),
        ];
        assert_eq!(visited(SHOP, &three), Ok(40));
        let circle = visited(SHOP, &[(SHOP, 302, Some("/"))]);
        assert_eq!(circle, Err("more than 3 redirects, the last to https://shop.example/".into()));
    }

    #[test]
    fn a_shop_that_wants_a_pass_refuses_the_request() {
        let expected =
            "https://shop.example/ refuses visitors without a pass; give a health URL that needs none";
        let forbidden = visited(SHOP, &[(SHOP, 403, None)]);
        assert_eq!(forbidden, Err(expected.into()));
        let sent_to_the_room = visited(SHOP, &[(SHOP, 302, Some("https://room.example/prod/beekeeper"))]);
        assert_eq!(sent_to_the_room, Err(expected.into()));
    }

    #[test]
    fn no_connection_no_answer_overload_and_server_errors_are_failures() {
        assert_eq!(visited(SHOP, &[]), Err("no connection to https://shop.example/".into()));
        assert_eq!(visited("https://shop.example/hangs", &[]), Err("no answer within 5 seconds".into()));
        for status in [429, 500, 503] {
            let expected = format!("https://shop.example/ answered with status {status}");
            assert_eq!(visited(SHOP, &[(SHOP, status, None)]), Err(expected));
        }
    }

    #[test]
    fn a_measurement_keeps_why_requests_failed() {
        let measured = |pages: &[(&'static str, (u16, Option<&'static str>))]| {
            let shop = Shop(pages.iter().copied().collect());
            let measurement = block_on(measure(&shop, &Impatient, &room(SHOP)));
            let why = measurement.last_failure.map(|failure| failure.to_string());
            (measurement.sample.failed, measurement.refused, why)
        };
        assert_eq!(measured(&[]), (20, 0, Some("no connection to https://shop.example/".into())));
        let expected = "https://shop.example/ answered with status 503".to_owned();
        assert_eq!(measured(&[(SHOP, (503, None))]), (20, 0, Some(expected)));
        assert_eq!(measured(&[(SHOP, (403, None))]), (0, 20, None), "a refusal is no failure");
    }
}
