use std::fmt::Debug;
use std::time::Duration;

use http::header::USER_AGENT;
use http::{HeaderMap, Method};
use pass::{Nonce, ShownIn};
use waitroom::ports::{Fault, PortError, PortResult};

/// What the producer needs to know of a request to `/beekeeper`.
#[derive(Clone, Copy, Debug)]
pub struct DoorRequest<'a> {
    pub shown: ShownIn,
    /// The values of the request's `Cookie` headers. HTTP/2 may send several.
    pub cookies: &'a [&'a str],
    /// The value of the parameter [`Nonce::PARAMETER`](pass::Nonce::PARAMETER) of the URL.
    pub nonce: Option<&'a str>,
    /// Whether the URL has the parameter [`HELP`](Self::HELP).
    pub asks_for_help: bool,
    /// Whether the URL has the parameter [`PLAIN`](Self::PLAIN).
    pub runs_no_script: bool,
    /// The value of the parameter [`SessionRules::AGAIN`](pass::SessionRules::AGAIN) of the URL.
    pub again: Option<&'a str>,
    /// The value of the header `User-Agent`, or nothing.
    pub user_agent: &'a str,
    /// How many places this client may take. `None`: any number.
    pub limit: Option<&'a dyn PlaceLimit>,
    /// The path of the door in the browser, if it is known. The proof of a place is for the door alone, so the browser sends
    /// it nowhere else. Over HTTP/2, browsers send each cookie in a header of its own, and a poll that has one cookie is
    /// understood by whoever reads only one header.
    pub path: Option<&'a str>,
}

/// Limits how many places one client takes. Only a request that would take a new place asks it, or while the room is off a
/// request without a place of the room's own.
pub trait PlaceLimit: Debug + Sync {
    /// Counts one more place. `Err` if the client took too many, with the time until it may take the next one.
    fn take(&self) -> Result<(), Duration>;

    /// Takes the last count back, because the place was certainly not stored.
    fn give_back(&self);
}

/// A place that a limit has counted. Gives the count back, unless the place may be stored.
#[derive(Debug)]
pub(crate) struct CountedPlace<'a>(Option<&'a dyn PlaceLimit>);

impl<'a> CountedPlace<'a> {
    /// Counts a place, if there is a limit.
    pub(crate) fn take(limit: Option<&'a dyn PlaceLimit>) -> Result<Self, Duration> {
        limit.map_or(Ok(()), PlaceLimit::take)?;
        Ok(Self(limit))
    }

    /// The place stays counted.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }

    /// Stores the place by this call. From then on it stays counted, unless the store says that it was not done: whoever closes the
    /// connection now, or waits too long, may have the place all the same.
    pub(crate) async fn store<T>(mut self, call: impl Future<Output = PortResult<T>>) -> PortResult<T> {
        let limit = self.0.take();
        let stored = call.await;
        if let (Some(limit), Err(PortError { fault: Fault::Busy | Fault::Broken, .. })) = (limit, &stored) {
            limit.give_back();
        }
        stored
    }
}

impl Drop for CountedPlace<'_> {
    fn drop(&mut self) {
        if let Some(limit) = self.0 {
            limit.give_back();
        }
    }
}

impl DoorRequest<'static> {
    /// The parameter of a visitor who asks for a help code, with any value.
    pub const HELP: &str = "help";
    /// The parameter by which the waiting page asks the door in a browser that runs no script, with any value.
    pub const PLAIN: &str = "plain";
    /// A visit by somebody without a place, and nothing else.
    pub const GET: Self = Self {
        shown: ShownIn::Window,
        cookies: &[],
        nonce: None,
        asks_for_help: false,
        runs_no_script: false,
        again: None,
        user_agent: "",
        limit: None,
        path: None,
    };
}

impl DoorRequest<'_> {
    /// Where the answer to a request is seen. Nobody sees the one to a `HEAD` request.
    pub fn shown(method: &Method, headers: &HeaderMap) -> ShownIn {
        let said = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        if method == Method::HEAD { ShownIn::Nothing } else { ShownIn::of(said) }
    }

    /// The browser that it comes from, by its headers.
    pub fn user_agent(headers: &HeaderMap) -> &str {
        headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
    }

    /// What the shop wants to find in the pass. Anything else than a nonce is ignored: the pass is good without it.
    pub(crate) fn nonce(&self) -> Option<Nonce> {
        self.nonce?.parse().ok()
    }
}
