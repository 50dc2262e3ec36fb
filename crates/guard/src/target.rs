//! URLs within the shop: where a visitor goes back to.

use std::fmt;

/// The query parameter that carries the pass.
const PASS: &str = "bk_pass";

/// The pass in the query of this path.
pub(crate) fn pass(target: &str) -> Option<&str> {
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix(PASS)?.strip_prefix('='))
}

/// A path of the shop with its query, without a pass. A redirect to it never leaves the shop, and it needs no escape in a
/// header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReturnPath(String);

impl ReturnPath {
    /// Longer URLs are not remembered, because the cookie would be too large.
    const MAX_LENGTH: usize = 1500;

    /// The shop's first page, where a path cannot be used.
    pub(crate) fn root() -> Self {
        Self("/".into())
    }

    /// None if a browser could read this as the URL of another site, or as more than a URL.
    pub(crate) fn new(target: &str) -> Option<Self> {
        // Browsers take `//other.example` for another host, a backslash for a slash, and ignore tabs and line breaks.
        let is_path = target.starts_with('/') && !target.starts_with("//");
        let plain = |byte: u8| (0x21..0x7f).contains(&byte) && byte != b'\\';
        let valid = is_path && target.len() <= Self::MAX_LENGTH && target.bytes().all(plain);
        valid.then(|| Self(without_pass(target)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReturnPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rest of the query stays as it is.
fn without_pass(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else { return target.into() };
    let is_pass =
        |pair: &&str| *pair == PASS || pair.strip_prefix(PASS).is_some_and(|rest| rest.starts_with('='));
    if !query.split('&').any(|pair| is_pass(&pair)) {
        return target.into();
    }
    let kept: Vec<_> = query.split('&').filter(|pair| !is_pass(pair)).collect();
    if kept.is_empty() { path.into() } else { format!("{path}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    fn clean(target: &str) -> Option<String> {
        ReturnPath::new(target).map(|path| path.to_string())
    }

    #[test]
    fn the_pass_is_taken_out_and_nothing_else() {
        assert_eq!(pass("/a?x=1&bk_pass=h.c.s&y"), Some("h.c.s"));
        assert_eq!(["/a", "/a?x", "/bk_pass=x", "/a?xbk_pass=1", "/a?bk_passes=1"].map(pass), [None; 5]);
        for (target, expected) in [
            ("/", "/"),
            ("/a?bk_pass=h.c.s", "/a"),
            ("/a?x=%20y&bk_pass=h.c.s&z", "/a?x=%20y&z"),
            ("/a?bk_pass=1&bk_pass=2", "/a"),
            ("/a?", "/a?"),
            ("/a?b?bk_pass=1", "/a?b?bk_pass=1"),
            ("/a?next=https://evil.example", "/a?next=https://evil.example"),
        ] {
            assert_eq!(clean(target).as_deref(), Some(expected), "{target}");
        }
    }

    #[test]
    fn other_sites_and_headers_are_no_return_paths() {
        for target in [
            "",
            "a",
            "https://evil.example/",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/a\r\nSet-Cookie: x=1",
            "/a b",
            "/ü",
            "/a\0",
        ] {
            assert_eq!(clean(target), None, "{target:?}");
        }
        assert_eq!(clean(&format!("/{}", "a".repeat(1500))), None);
    }

    proptest! {
        #[test]
        fn a_return_path_stays_in_the_shop_and_has_no_pass(target in prop_oneof!["/[ -~]{0,40}", "[/\\\\.a:?&=@\t]{0,12}", ".*", "/a\\?(x=1&|bk_pass=a.b&|&){0,5}"]) {
            if let Some(path) = ReturnPath::new(&target) {
                let shop = Url::parse("https://shop.example/somewhere/else").unwrap();
                prop_assert_eq!(shop.join(path.as_str()).unwrap().origin(), shop.origin());
                prop_assert_eq!(pass(path.as_str()), None);
                prop_assert_eq!(ReturnPath::new(path.as_str()), Some(path), "a clean path stays as it is");
            }
        }
    }
}
