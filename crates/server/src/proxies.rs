//! The address of a client behind proxies.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use guard::{Bypass, BypassError};
use hyper::HeaderMap;
use hyper::header::HeaderName;
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of a proxy, or a network of proxies, whose `X-Forwarded-For` is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustedProxyError {
    #[error("not an address like 127.0.0.1 or a network like 10.0.0.0/8")]
    NotAnAddress,
    #[error("a network with prefix 0 is everybody: name the addresses of your proxies")]
    Everybody,
}

impl FromStr for TrustedProxy {
    type Err = TrustedProxyError;

    fn from_str(text: &str) -> Result<Self, TrustedProxyError> {
        Bypass::network(text).map(Self).map_err(|error| match error {
            BypassError::Everybody => TrustedProxyError::Everybody,
            _ => TrustedProxyError::NotAnAddress,
        })
    }
}

/// Finds the client's address. A client can write what it wants into `X-Forwarded-For`, so only what named proxies wrote is
/// believed: each proxy appends the address that it got the request from.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Vec<TrustedProxy>);

impl TrustedProxies {
    pub fn new(named: Vec<TrustedProxy>) -> Self {
        Self(named)
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|TrustedProxy(network)| network.contains(&address))
    }

    /// The sender of the request, or behind named proxies the last hop that is not one. `None` if all hops are named proxies,
    /// or the header has something else than addresses before a hop was found: then nobody can say who the client is.
    pub(crate) fn client(&self, sender: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        // A socket that accepts both versions of IP shows IPv4 addresses inside IPv6.
        let sender = sender.to_canonical();
        if !self.contains(sender) {
            return Some(sender);
        }
        let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
        let hops = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        for hop in hops {
            let hop = address(hop.trim())?;
            if !self.contains(hop) {
                return Some(hop);
            }
        }
        None
    }
}

/// Whether a proxy on this machine passed on what this machine itself sent, as when its operator tries the room.
pub(crate) fn is_from_here(sender: IpAddr, headers: &HeaderMap) -> bool {
    let lines = headers.get_all(X_FORWARDED_FOR).iter();
    let mut hops = lines.flat_map(|line| line.to_str().unwrap_or_default().split(',')).peekable();
    let is_here = |hop: &str| address(hop.trim()).is_some_and(|address| address.is_loopback());
    sender.to_canonical().is_loopback() && hops.peek().is_some() && hops.all(is_here)
}

/// Some proxies write a port behind the address.
fn address(hop: &str) -> Option<IpAddr> {
    let with_port = || Some(hop.parse::<SocketAddr>().ok()?.ip());
    let bracketed = || hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    hop.parse().ok().or_else(with_port).or_else(bracketed).map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn proxies(named: &[&str]) -> TrustedProxies {
        TrustedProxies::new(named.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn client(named: &[&str], sender: &str, lines: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_static(line));
        }
        let found = proxies(named).client(sender.parse().unwrap(), &headers);
        found.map(|address| address.to_string())
    }

    #[test]
    fn nobody_is_believed_who_was_not_named() {
        assert_eq!(client(&[], "127.0.0.1", &["203.0.113.9"]).as_deref(), Some("127.0.0.1"));
        assert_eq!(client(&["10.0.0.1"], "10.0.0.2", &["203.0.113.9"]).as_deref(), Some("10.0.0.2"));
        assert_eq!(client(&["10.0.0.0/8"], "11.0.0.1", &["203.0.113.9"]).as_deref(), Some("11.0.0.1"));
    }

    #[test]
    fn the_client_is_the_last_hop_that_is_no_named_proxy() {
        let named = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"];
        let client = |lines: &[&'static str]| client(&named, "127.0.0.1", lines);
        assert_eq!(client(&["203.0.113.9"]).as_deref(), Some("203.0.113.9"));
        assert_eq!(
            client(&["1.2.3.4, 203.0.113.9"]).as_deref(),
            Some("203.0.113.9"),
            "the client wrote 1.2.3.4"
        );
        assert_eq!(client(&["1.2.3.4,203.0.113.9 , 10.1.2.3,2001:db8::7"]).as_deref(), Some("203.0.113.9"));
        assert_eq!(
            client(&["203.0.113.9", "10.1.2.3"]).as_deref(),
            Some("203.0.113.9"),
            "several lines are one list"
        );
        assert_eq!(client(&["nonsense, 203.0.113.9"]).as_deref(), Some("203.0.113.9"));
    }

    #[test]
    fn a_client_that_nobody_named_is_unknown() {
        let client = |lines: &[&'static str]| client(&["127.0.0.1", "10.0.0.0/8"], "127.0.0.1", lines);
        for lines in [
            &[][..],
            &[""],
            &["10.1.2.3"],
            &["203.0.113.9, nonsense"],
            &["203.0.113.9, 10.1.2.3,"],
            &["unknown"],
        ] {
            assert_eq!(client(lines), None, "{lines:?}");
        }
    }

    #[test]
    fn addresses_have_many_forms() {
        let client = |line: &'static str| client(&["127.0.0.1"], "::ffff:127.0.0.1", &[line]);
        for line in ["203.0.113.9", "203.0.113.9:4711", "::ffff:203.0.113.9", "[::ffff:203.0.113.9]:4711"] {
            assert_eq!(client(line).as_deref(), Some("203.0.113.9"), "{line}");
        }
        for line in ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:4711"] {
            assert_eq!(client(line).as_deref(), Some("2001:db8::1"), "{line}");
        }
    }

    #[test]
    fn a_proxy_is_an_address_or_a_network() {
        for text in ["127.0.0.1", "::1", "10.0.0.0/8", "2001:db8::/32"] {
            assert!(text.parse::<TrustedProxy>().is_ok(), "{text}");
        }
        for text in ["", "localhost", "10.0.0.0/33", "10.0.0.1:80", "10.*"] {
            assert_eq!(text.parse::<TrustedProxy>(), Err(TrustedProxyError::NotAnAddress), "{text}");
        }
        for text in ["0.0.0.0/0", "::/0"] {
            assert_eq!(text.parse::<TrustedProxy>(), Err(TrustedProxyError::Everybody), "{text}");
        }
    }

    #[test]
    fn what_this_machine_sends_to_its_own_proxy_is_from_here() {
        let is_from_here = |sender: &str, lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(X_FORWARDED_FOR, HeaderValue::from_static(line));
            }
            super::is_from_here(sender.parse().unwrap(), &headers)
        };
        assert!(is_from_here("127.0.0.1", &["127.0.0.1"]) && is_from_here("::1", &["::1, 127.0.0.1"]));
        assert!(!is_from_here("127.0.0.1", &[]), "a proxy that does not say from whom it has the request");
        assert!(!is_from_here("127.0.0.1", &["10.0.0.7", "127.0.0.1"]));
        assert!(!is_from_here("10.0.0.7", &["127.0.0.1"]) && !is_from_here("127.0.0.1", &["unknown"]));
    }
}
