//! One request to the shop, as a visitor would make it.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use url::Url;
use waitroom::Room;
use waitroom::ports::{Clock, Probe, ProbeError};

/// Why a request does not count as answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("no connection to {1}")]
    NoAnswer(#[source] ProbeError, Url),
    #[error("no answer within {} seconds", TIME_OUT.as_secs())]
    TimeOut,
    #[error("{url} answered with status {status}")]
    ServerError { url: Url, status: u16 },
    /// Followed, the throttle would stand in its own line and measure the room.
    #[error("{0} redirects into the waiting room; give a health URL that is let through")]
    IntoTheRoom(Url),
    #[error("more than {MOST_REDIRECTS} redirects, the last to {0}")]
    TooManyRedirects(Url),
}

const TIME_OUT: Duration = Duration::from_secs(5);
const MOST_REDIRECTS: u32 = 3;

/// Asks the shop and says how long its answer took, redirects within its own host included.
pub(crate) async fn visit(probe: &impl Probe, clock: &impl Clock, room: &Room) -> Result<Duration, Failure> {
    let answered = pin!(follow(probe, room));
    let too_late = pin!(clock.sleep_until(clock.now() + TIME_OUT));
    match select(answered, too_late).await {
        Either::Left((answered, _)) => answered,
        Either::Right(((), _)) => Err(Failure::TimeOut),
    }
}

async fn follow(probe: &impl Probe, room: &Room) -> Result<Duration, Failure> {
    let mut took = Duration::ZERO;
    let mut url = room.settings.health.as_ref().unwrap_or(&room.settings.shop).as_url().clone();
    let mut redirects = 0;
    loop {
        let reply = match probe.ask(&url).await {
            Ok(reply) => reply,
            Err(error) => return Err(Failure::NoAnswer(error, url)),
        };
        took += reply.took;
        if reply.status >= 500 {
            return Err(Failure::ServerError { url, status: reply.status });
        }
        let is_redirect = matches!(reply.status, 301 | 302 | 303 | 307 | 308);
        let Some(next) = reply.location.filter(|_| is_redirect).and_then(|to| url.join(&to).ok()) else {
            return Ok(took);
        };
        if room.is_entered_by(&next) {
            return Err(Failure::IntoTheRoom(url));
        }
        if next.host() != url.host() {
            return Ok(took);
        }
        redirects += 1;
        if redirects > MOST_REDIRECTS {
            return Err(Failure::TooManyRedirects(next));
        }
        url = next;
    }
}
