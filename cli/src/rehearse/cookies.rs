use waitroom::Place;

/// The cookies of one visitor, as a browser keeps them.
#[derive(Clone, Debug, Default)]
pub(crate) struct VisitorCookies(Vec<KeptCookie>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct KeptCookie {
    name: String,
    value: String,
    path: String,
}

impl VisitorCookies {
    /// Keeps the cookie of a `Set-Cookie` header.
    pub(crate) fn keep(&mut self, header: &str) {
        let mut parts = header.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        let path = parts.find_map(|part| part.strip_prefix("Path=").or_else(|| part.strip_prefix("path=")));
        let kept = KeptCookie { name: name.into(), value: value.into(), path: path.unwrap_or("/").into() };
        self.0.retain(|cookie| (&cookie.name, &cookie.path) != (&kept.name, &kept.path));
        self.0.push(kept);
    }

    /// The value of the `Cookie` header for a request to this path.
    pub(crate) fn for_path(&self, path: &str) -> Option<String> {
        let sent = self.0.iter().filter(|cookie| cookie.is_for(path));
        let sent: Vec<_> = sent.map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        (!sent.is_empty()).then(|| sent.join("; "))
    }

    /// The visitor's place in line.
    pub(crate) fn place(&self) -> Option<Place> {
        self.0.iter().find_map(|cookie| cookie.value.parse().ok())
    }
}

impl KeptCookie {
    fn is_for(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.path.trim_end_matches('/'));
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_sent_to_its_path_and_replaced_by_a_newer_one() {
        let mut cookies = VisitorCookies::default();
        cookies.keep("bk_sale=ab12-00112233445566778899aabbccddeeff-7; Path=/; HttpOnly");
        cookies.keep("bk_sale_proof=x; Path=/beekeeper; HttpOnly");
        assert_eq!(cookies.place().unwrap().ticket.get(), 7);
        assert_eq!(cookies.for_path("/polling").unwrap(), "bk_sale=ab12-00112233445566778899aabbccddeeff-7");
        assert!(cookies.for_path("/beekeeper").unwrap().ends_with("; bk_sale_proof=x"));
        assert!(!cookies.for_path("/beekeepers").unwrap().contains("proof"));
        cookies.keep("bk_sale=ab12-00112233445566778899aabbccddeeff-9; Path=/");
        assert_eq!(cookies.place().unwrap().ticket.get(), 9);
        assert_eq!(VisitorCookies::default().for_path("/"), None);
    }
}
