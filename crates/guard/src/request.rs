use std::net::IpAddr;

use http::{HeaderMap, HeaderValue, Method};

/// What the guard needs to know of a request to the shop.
#[derive(Clone, Copy, Debug)]
pub struct GuardedRequest<'a> {
    pub method: &'a Method,
    /// Path and query, as the browser sent them.
    pub target: &'a str,
    pub headers: &'a HeaderMap,
    /// The address of the visitor, if it is known. Only [networks that bypass](crate::Bypass::networks) need it.
    pub client: Option<IpAddr>,
}

/// Where the answer to a request is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownIn {
    /// In a window or a tab of its own.
    Window,
    /// Inside another page, perhaps of another site, which decides about its URL. Often the browser sends no cookie with it.
    Frame,
    /// It is an image, or for a script, or fetched before anybody asks for it.
    Nothing,
}

impl GuardedRequest<'_> {
    pub(crate) fn only_reads(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }

    /// Where a person sees the answer. Browsers since 2023 say so; of others it is assumed that they show it in a window.
    pub(crate) fn shown(&self) -> ShownIn {
        let header = |name: &str| self.headers.get(name).map(HeaderValue::as_bytes);
        let mode = header("sec-fetch-mode");
        if mode.is_some_and(|mode| mode != b"navigate") || self.is_prefetch() {
            return ShownIn::Nothing;
        }
        match header("sec-fetch-dest") {
            None | Some(b"document") => ShownIn::Window,
            // The shop's own service worker passes a navigation on. No script of another site can: it may not fetch in this mode.
            Some(b"empty") if mode.is_some() => ShownIn::Window,
            Some(b"iframe" | b"frame" | b"object" | b"embed" | b"fencedframe") => ShownIn::Frame,
            Some(_) => ShownIn::Nothing,
        }
    }

    /// Whether nobody has asked for the page yet. Safari and older versions of Chrome say so in the second header.
    fn is_prefetch(&self) -> bool {
        let purposes = ["sec-purpose", "purpose"].map(|name| self.headers.get_all(name));
        let mut purposes = purposes.into_iter().flatten().map(HeaderValue::as_bytes);
        purposes.any(|purpose| {
            purpose
                .split(|byte| b";,".contains(byte))
                .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"prefetch"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_window_is_a_window() {
        let [window, frame, nothing] = [ShownIn::Window, ShownIn::Frame, ShownIn::Nothing];
        for (dest, mode, purpose, expected) in [
            ("", "", "", window),
            ("", "navigate", "", window),
            ("document", "", "", window),
            ("document", "navigate", "", window),
            ("iframe", "navigate", "", frame),
            ("iframe", "", "", frame),
            ("fencedframe", "navigate", "", frame),
            ("object", "navigate", "", frame),
            ("embed", "navigate", "", frame),
            ("frame", "navigate", "", frame),
            ("image", "no-cors", "", nothing),
            ("", "cors", "", nothing),
            ("empty", "cors", "", nothing),
            ("empty", "same-origin", "", nothing),
            ("empty", "navigate", "", window),
            ("empty", "", "", nothing),
            ("document", "no-cors", "", nothing),
            ("something-new", "navigate", "", nothing),
            ("document", "navigate", "prefetch", nothing),
            ("document", "navigate", "prefetch;prerender", nothing),
            ("document", "navigate", "Prefetch; anonymous-client-ip", nothing),
            ("document", "navigate", "prefetching", window),
        ] {
            for purpose_header in ["sec-purpose", "purpose"] {
                let said = [("sec-fetch-dest", dest), ("sec-fetch-mode", mode), (purpose_header, purpose)];
                let said = said.into_iter().filter(|(_, value)| !value.is_empty());
                let headers =
                    said.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
                let request =
                    GuardedRequest { method: &Method::GET, target: "/", headers: &headers, client: None };
                assert_eq!(request.shown(), expected, "{headers:?}");
            }
        }
    }
}
