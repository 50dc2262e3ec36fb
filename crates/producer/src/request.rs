use std::fmt::Debug;
use std::time::Duration;

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName, Method};
use pass::{Nonce, SessionRules, ShownIn};
use waitroom::ports::{Fault, PortError, PortResult};

/// What the producer needs to know of a request to `/beekeeper`.
#[derive(Clone, Copy, Debug)]
pub struct DoorRequest<'a> {
    pub shown: ShownIn,
    /// The values of the request's `Cookie` headers. HTTP/2 may send several.
    pub cookies: &'a [&'a str],
    /// The value of the parameter [`Nonce::PARAMETER`] of the URL.
    pub nonce: Option<&'a str>,
    /// Whether the URL has the parameter [`HELP`](Self::HELP).
    pub asks_for_help: bool,
    /// Whether the URL has the parameter [`PLAIN`](Self::PLAIN).
    pub runs_no_script: bool,
    /// The value of the parameter [`SessionRules::AGAIN`] of the URL.
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
    /// connection now, or waits too long, may have the place all the same, unless the store of one machine hears of it in time.
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

/// Whether a program says that it is one of those that fetch each link of a message for a preview, or each page for a search engine.
/// Whoever only claims to be one gets no place.
fn looks_at_links(user_agent: &str) -> bool {
    user_agent.split([' ', '/', ';', '(', ')']).any(|word| {
        matches!(
            word,
            "Applebot"
                | "Discordbot"
                | "Facebot"
                | "Googlebot"
                | "LinkedInBot"
                | "Pinterestbot"
                | "SkypeUriPreview"
                | "Slackbot"
                | "Slackbot-LinkExpanding"
                | "TelegramBot"
                | "Twitterbot"
                | "WhatsApp"
                | "bingbot"
                | "facebookexternalhit"
                | "redditbot"
        )
    })
}

impl<'a> DoorRequest<'a> {
    /// A request with these cookies. `parameter` finds the value of a parameter of its URL by the name.
    pub fn of(
        method: &Method,
        headers: &'a HeaderMap,
        cookies: &'a [&'a str],
        parameter: impl Fn(&str) -> Option<&'a str>,
    ) -> Self {
        Self {
            shown: Self::shown(method, headers),
            cookies,
            nonce: parameter(Nonce::PARAMETER),
            asks_for_help: parameter(DoorRequest::HELP).is_some(),
            runs_no_script: parameter(DoorRequest::PLAIN).is_some(),
            again: parameter(SessionRules::AGAIN),
            user_agent: Self::user_agent(headers),
            limit: None,
            path: None,
        }
    }

    /// Where the answer to a request is seen. Nobody sees the one to a `HEAD` request, nor one to a program that looks what a link
    /// leads to. Without a place, the door leads that to the waiting page, which is what a preview is to show.
    fn shown(method: &Method, headers: &HeaderMap) -> ShownIn {
        const DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
        let is_look = || !headers.contains_key(DEST) && looks_at_links(Self::user_agent(headers));
        if method == Method::HEAD || is_look() {
            return ShownIn::Nothing;
        }
        ShownIn::of(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
    }

    /// The browser that it comes from, by its headers.
    fn user_agent(headers: &HeaderMap) -> &str {
        headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
    }

    /// What the shop wants to find in the pass. Anything else than a nonce is ignored: the pass is good without it.
    pub(crate) fn nonce(&self) -> Option<Nonce> {
        self.nonce?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_of_a_link_is_a_look() {
        let iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 \
                      Mobile/15E148 Safari/604.1";
        let imessage = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 \
                        Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0";
        let google = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
        let cubot = "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/79.0 Mobile Safari/537.36";
        for (agent, is_look) in [
            ("WhatsApp/2.23.20.0 A", true),
            ("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", true),
            ("TelegramBot (like TwitterBot)", true),
            (imessage, true),
            (google, true),
            (iphone, false),
            (cubot, false),
            ("curl/8.5.0", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(USER_AGENT, agent.parse().unwrap());
            let shown = DoorRequest::shown(&Method::GET, &headers);
            assert_eq!(shown == ShownIn::Nothing, is_look, "{agent}");
            headers.insert("sec-fetch-dest", "document".parse().unwrap());
            assert_eq!(DoorRequest::shown(&Method::GET, &headers), ShownIn::Window, "a browser: {agent}");
        }
    }
}
