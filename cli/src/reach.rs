//! Checks whether a URL answers, and where it redirects.

use std::fmt;
use std::time::Duration;

use url::Url;
use waitroom::ports::Probe;

/// A browser follows twenty redirects, but a shop that needs more than five is probably misconfigured.
const MOST_REDIRECTS: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(5);

/// The redirects that were followed, and the last response.
#[derive(Debug)]
pub(crate) struct Journey {
    redirects: Vec<(Url, u16, Url)>,
    end: End,
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Answer { at: Url, status: u16, took: Duration },
    Silence { at: Url, why: String },
    TooFar,
}

impl Journey {
    pub(crate) async fn to(url: &Url, probe: &impl Probe) -> Self {
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
            if redirects.len() > MOST_REDIRECTS {
                return Self { redirects, end: End::TooFar };
            }
            at = next;
        }
    }

    /// Whether a visitor would see a page.
    pub(crate) fn arrives(&self) -> bool {
        matches!(self.end, End::Answer { status, .. } if status < 400)
    }
}

/// The last error in a chain of causes, which is the most specific.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

impl fmt::Display for Journey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (from, status, to) in &self.redirects {
            writeln!(f, "{from} redirects to {to} ({status})")?;
        }
        match &self.end {
            End::Answer { at, status, took } => {
                write!(f, "{at} answers {status} after {} ms", took.as_millis())
            }
            End::Silence { at, why } => write!(f, "{at} does not answer: {why}"),
            End::TooFar => write!(f, "stopped after {MOST_REDIRECTS} redirects"),
        }
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
        let journey = Journey::to(&url.parse().unwrap(), &Shop(pages)).await;
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
}
