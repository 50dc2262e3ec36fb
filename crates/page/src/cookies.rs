//! The cookies of one visitor, as a browser keeps them.

use url::Url;
use waitroom::Place;

#[derive(Clone, Debug, Default)]
pub struct CookieJar(Vec<KeptCookie>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct KeptCookie {
    /// The host that set it, and the only one that it is sent to.
    host: Option<String>,
    name: String,
    value: String,
    path: String,
}

impl CookieJar {
    /// Keeps the cookie of a `Set-Cookie` header in the answer of this URL.
    pub fn keep(&mut self, url: &Url, header: &str) {
        let mut parts = header.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        let path = parts.find_map(|part| part.strip_prefix("Path=").or_else(|| part.strip_prefix("path=")));
        let path = path.unwrap_or("/").into();
        let kept = KeptCookie { host: host(url), name: name.into(), value: value.into(), path };
        self.0.retain(|KeptCookie { host, name, path, .. }| {
            (host, name, path) != (&kept.host, &kept.name, &kept.path)
        });
        self.0.push(kept);
    }

    /// The value of the `Cookie` header for a request to this URL.
    pub fn for_url(&self, url: &Url) -> Option<String> {
        let host = host(url);
        let sent = self.0.iter().filter(|cookie| cookie.host == host && cookie.is_for(url.path()));
        let sent: Vec<_> = sent.map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        (!sent.is_empty()).then(|| sent.join("; "))
    }

    /// The visitor's place in line.
    pub fn place(&self) -> Option<Place> {
        self.0.iter().find_map(|cookie| cookie.value.parse().ok())
    }
}

impl KeptCookie {
    fn is_for(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.path.trim_end_matches('/'));
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }
}

fn host(url: &Url) -> Option<String> {
    url.host_str().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_sent_to_its_path_and_replaced_by_a_newer_one() {
        let at = |path: &str| Url::parse("https://queue.example").unwrap().join(path).unwrap();
        let mut cookies = CookieJar::default();
        cookies.keep(&at("/beekeeper"), "bk_sale=ab12-00112233445566778899aabbccddeeff-7; Path=/; HttpOnly");
        cookies.keep(&at("/beekeeper"), "bk_sale_proof=x; Path=/beekeeper; HttpOnly");
        assert_eq!(cookies.place().unwrap().ticket.get(), 7);
        assert_eq!(
            cookies.for_url(&at("/polling")).unwrap(),
            "bk_sale=ab12-00112233445566778899aabbccddeeff-7"
        );
        assert!(cookies.for_url(&at("/beekeeper")).unwrap().ends_with("; bk_sale_proof=x"));
        assert!(!cookies.for_url(&at("/beekeepers")).unwrap().contains("proof"));
        let shop = Url::parse("https://shop.example/").unwrap();
        assert_eq!(cookies.for_url(&shop), None, "the place is a secret between visitor and room");
        cookies.keep(&shop, "bk_sale=other");
        cookies.keep(&at("/"), "bk_sale=ab12-00112233445566778899aabbccddeeff-9; Path=/");
        assert_eq!(cookies.place().unwrap().ticket.get(), 9);
        assert_eq!(cookies.for_url(&shop).unwrap(), "bk_sale=other");
        assert_eq!(CookieJar::default().for_url(&shop), None);
    }
}
