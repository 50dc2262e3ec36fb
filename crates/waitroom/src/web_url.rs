use std::fmt;
use std::str::FromStr;

use url::{Host, Url};

use crate::newtypes::stored_as_text;

/// An http or https URL with query and fragment: the shop's, its health check's or the room's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebUrl(Url);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebUrlError {
    #[error("not a URL ({0}); write it in full, such as https://shop.example/sale")]
    Malformed(url::ParseError),
    #[error("not a URL, because it has no https://; write it in full, such as https://shop.example/sale")]
    Relative,
    #[error("the URL must begin with http:// or https://, not {0}://")]
    Scheme(String),
    #[error("the URL must not contain a user name or password, because every visitor would see it")]
    Credentials,
    #[error("the URL is longer than {} characters", WebUrl::MAX_LENGTH)]
    TooLong,
}

impl WebUrl {
    /// The query parameter that carries the pass to the shop.
    pub const PASS_PARAMETER: &'static str = "bk_pass";
    const MAX_LENGTH: usize = 2000;

    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// Whether the URL leads to the machine of whoever opens it, so that nobody else reaches it.
    pub fn is_on_this_machine(&self) -> bool {
        match self.0.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
            Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
            None => false,
        }
    }

    /// The URL with the pass added to its query. The existing query stays unchanged.
    pub fn with_pass(&self, pass: &str) -> String {
        let mut url = self.0.clone();
        let parameter = format!("{}={pass}", Self::PASS_PARAMETER);
        let query = match url.query() {
            Some(query) if !query.is_empty() => format!("{query}&{parameter}"),
            _ => parameter,
        };
        url.set_query(Some(&query));
        url.into()
    }
}

stored_as_text!(WebUrl);

impl FromStr for WebUrl {
    type Err = WebUrlError;

    fn from_str(text: &str) -> Result<Self, WebUrlError> {
        let url = Url::parse(text.trim()).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => WebUrlError::Relative,
            error => WebUrlError::Malformed(error),
        })?;
        // The length of the normalized URL counts, because that one is stored. Normalizing percent-encodes
        // non-ASCII characters.
        if url.as_str().len() > Self::MAX_LENGTH {
            return Err(WebUrlError::TooLong);
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WebUrlError::Scheme(url.scheme().into()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebUrlError::Credentials);
        }
        Ok(Self(url))
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with_pass(url: &str) -> String {
        url.parse::<WebUrl>().unwrap().with_pass("a.b-c_d.e")
    }

    #[test]
    fn the_pass_is_added_to_the_query() {
        assert_eq!(with_pass("https://shop.example"), "https://shop.example/?bk_pass=a.b-c_d.e");
        assert_eq!(with_pass("https://shop.example/a?"), "https://shop.example/a?bk_pass=a.b-c_d.e");
        assert_eq!(
            with_pass("https://shop.example:8443/a?x=%20y&z#frag?ment"),
            "https://shop.example:8443/a?x=%20y&z&bk_pass=a.b-c_d.e#frag?ment",
        );
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let error = |url: &str| url.parse::<WebUrl>().unwrap_err().to_string();
        assert_eq!(
            error("shop.example/sale"),
            "not a URL, because it has no https://; write it in full, such as https://shop.example/sale"
        );
        assert_eq!(error("ftp://shop.example"), "the URL must begin with http:// or https://, not ftp://");
        assert_eq!(
            error("https://me:secret@shop.example"),
            "the URL must not contain a user name or password, because every visitor would see it"
        );
        assert_eq!(
            error(&format!("https://shop.example/{}", "a".repeat(2000))),
            "the URL is longer than 2000 characters"
        );
    }

    #[test]
    fn urls_on_this_machine_are_recognised() {
        let is_here = |url: &str| url.parse::<WebUrl>().unwrap().is_on_this_machine();
        for here in [
            "http://localhost:8080/a",
            "http://shop.localhost",
            "http://127.0.0.2",
            "http://[::1]:80",
            "http://0.0.0.0",
        ] {
            assert!(is_here(here), "{here}");
        }
        for elsewhere in
            ["https://shop.example", "http://192.168.0.1", "http://localhost.example", "http://[fe80::1]"]
        {
            assert!(!is_here(elsewhere), "{elsewhere}");
        }
    }

    proptest! {
        #[test]
        fn every_accepted_url_is_a_valid_header_value(text in prop_oneof![".*", "https?://[ -~]{1,60}", "https://shop.example/[a-zü]{900,2100}"]) {
            if let Ok(url) = text.parse::<WebUrl>() {
                prop_assert!(url.with_pass("p").bytes().all(|byte| (0x21..0x7f).contains(&byte)));
                prop_assert_eq!(url.to_string().parse::<WebUrl>(), Ok(url));
            }
        }
    }
}
