use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use http::{HeaderName, HeaderValue, Method};
use ipnet::IpNet;
use pass::is_word;

use crate::GuardedRequest;
use crate::request::only_reads;

/// Which requests reach the shop without a session. Nothing here is something that anybody can claim, such as the name of a
/// crawler.
///
/// Besides what is named here, whoever issues the shop's certificate may read its challenges, ten in a second.
#[derive(Clone, Debug, Default)]
pub struct Bypass {
    pub paths: Vec<BypassPath>,
    /// Such as `OPTIONS`, which browsers send without cookies.
    pub methods: Vec<Method>,
    /// For the shop's own programs and monitoring.
    pub secret: Option<SecretHeader>,
    /// The office, or the network of a payment provider.
    pub networks: Vec<IpNet>,
}

/// `/paid.php` is this path, `/static/` is what is read below it, `/pay.php?from` is `/pay.php` with this parameter in its query,
/// and `/pay.php?from=stripe` with this value of it. `/`, which would be the whole shop, is none.
///
/// Each has to be a file or a script of its own: a front controller does under any path what the query or the body says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BypassPath(String);

/// A header with a value that only the shop's own programs know.
#[derive(Clone)]
pub struct SecretHeader {
    name: HeaderName,
    value: HeaderValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BypassError {
    #[error(
        "a path that needs no pass begins with / and has no .. in it; /static/ is what is read below it, and /pay.php?from=stripe is \
         /pay.php with this parameter"
    )]
    Path,
    #[error("/ is every path of the shop: name what needs no pass, such as /static/")]
    Everything,
    #[error("not an address like 203.0.113.9 or a network like 10.0.0.0/8")]
    Network,
    #[error("a network with prefix 0 is everybody")]
    Everybody,
    #[error(
        "a secret header is written like x-shop-secret: 0b7e9a…, with a value of at least 16 visible characters"
    )]
    Secret,
}

impl Bypass {
    /// Checks a network as it is configured: an address, or a network like `10.0.0.0/8`.
    pub fn network(text: &str) -> Result<IpNet, BypassError> {
        let address = text.parse::<IpAddr>().map(IpNet::from);
        let network = address.or_else(|_| text.parse::<IpNet>()).map_err(|_| BypassError::Network)?;
        if network.prefix_len() == 0 { Err(BypassError::Everybody) } else { Ok(network) }
    }

    /// Whether the path and query of a request are among the paths.
    pub fn covers_target(&self, method: &Method, target: &str) -> bool {
        // No browser sends a fragment, and servers do not agree where a path with a `#` ends. So it stays a part of the path.
        let (path, query) = split(target);
        path.is_ascii()
            && is_plain(path)
            && self.paths.iter().any(|named| covers_path(&named.0, method, path, query))
    }

    pub(crate) fn covers(&self, request: &GuardedRequest<'_>) -> bool {
        self.methods.contains(request.method)
            || self.covers_target(request.method, request.target)
            || self.secret.as_ref().is_some_and(|secret| secret.is_in(request))
            || request.client.is_some_and(|client| {
                self.networks.iter().any(|network| network.contains(&client.to_canonical()))
            })
    }
}

/// The path, and the query if there is one.
fn split(target: &str) -> (&str, Option<&str>) {
    target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)))
}

/// A callback is posted to the path that is named, with a query. Below a folder may be no such file: then the program that answers for
/// all paths of a shop would do what the query or the body says, so its files are only read.
fn covers_path(named: &str, method: &Method, path: &str, query: Option<&str>) -> bool {
    match split(named) {
        (named, Some(parameter)) => path == named && query.is_some_and(|query| has(query, parameter)),
        (folder, None) if folder.ends_with('/') => {
            path.starts_with(folder) && only_reads(method) && query.is_none_or(is_version)
        }
        (named, None) => path == named,
    }
}

/// Whether the query only says which version of a file is meant, so that browsers keep no older one.
fn is_version(query: &str) -> bool {
    let version = query.strip_prefix("v=").or_else(|| query.strip_prefix("ver="));
    version.is_some_and(|version| version.split('.').all(is_word))
}

/// Whether this parameter, `name` or `name=value`, is in the query once, and every server reads the query in the same way: another spelling
/// of its name may be the same name for the shop, which then may take the other value. Some split at `;`, end a query at `#`, or read only
/// its first thousand parameters.
fn has(query: &str, parameter: &str) -> bool {
    const MOST: usize = 50;

    let is_named = |pair: &&str| name(pair).eq_ignore_ascii_case(name(parameter));
    let is_it =
        |pair: &str| if parameter.contains('=') { pair == parameter } else { name(pair) == parameter };
    let mut named = query.split('&').filter(is_named);
    named.next().is_some_and(is_it)
        && named.next().is_none()
        && !query.contains([';', '#'])
        && query.split('&').count() <= MOST
        && query.split('&').all(|pair| is_word(name(pair)))
}

fn name(pair: &str) -> &str {
    pair.split('=').next().unwrap_or_default()
}

fn is_plain_parameter(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, "0"));
    !name.is_empty() && is_word(name) && !value.is_empty() && is_word(value)
}

/// Whether every server reads this path in the same way. `/static/../checkout` is below `/static/` for the guard, and may be
/// `/checkout` for the shop.
fn is_plain(path: &str) -> bool {
    let escapes_nothing = !path.contains(['%', '\\', ';', '?', '#']);
    escapes_nothing && !path.contains("//") && path.split('/').all(|part| part != "." && part != "..")
}

impl FromStr for BypassPath {
    type Err = BypassError;

    fn from_str(text: &str) -> Result<Self, BypassError> {
        let (path, parameter) = split(text);
        match path {
            "/" if parameter.is_none() => Err(BypassError::Everything),
            _ if path.starts_with('/') && is_plain(path) && parameter.is_none_or(is_plain_parameter) => {
                Ok(Self(text.into()))
            }
            _ => Err(BypassError::Path),
        }
    }
}

impl fmt::Display for BypassPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl SecretHeader {
    /// A shorter secret can be guessed.
    const MIN_LENGTH: usize = 16;

    fn is_in(&self, request: &GuardedRequest<'_>) -> bool {
        let mut values = request.headers.get_all(&self.name).iter();
        // In constant time, so that nobody finds it out character by character.
        values.any(|value| verify_slices_are_equal(value.as_bytes(), self.value.as_bytes()).is_ok())
    }
}

impl FromStr for SecretHeader {
    type Err = BypassError;

    fn from_str(text: &str) -> Result<Self, BypassError> {
        let (name, value) = text.trim().split_once(':').ok_or(BypassError::Secret)?;
        let value = value.trim();
        if value.len() < Self::MIN_LENGTH || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BypassError::Secret);
        }
        let name = name.trim().parse().map_err(|_| BypassError::Secret)?;
        Ok(Self { name, value: value.parse().map_err(|_| BypassError::Secret)? })
    }
}

impl fmt::Debug for SecretHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretHeader({}: …)", self.name)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn of(paths: &[&str]) -> Bypass {
        let paths = paths.iter().map(|path| path.parse().unwrap()).collect();
        Bypass { paths, ..Bypass::default() }
    }

    fn covers(
        bypass: &Bypass,
        method: &Method,
        target: &str,
        headers: &[(&'static str, &str)],
        client: &str,
    ) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        bypass.covers(&GuardedRequest { method, target, headers: &map, client: client.parse().ok() })
    }

    #[test]
    fn named_paths_bypass_and_no_other_way_of_writing_them() {
        let bypass = of(&["/paid.php", "/static/"]);
        let covers = |target: &str| covers(&bypass, &Method::GET, target, &[], "");
        for covered in ["/paid.php", "/paid.php?x", "/static/", "/static/a/b.css?v=1.2-rc_3", "/static/.well"]
        {
            assert!(covers(covered), "{covered}");
        }
        for guarded in [
            "/",
            "/paid.php/",
            "/paid.php.bak",
            "/static",
            "/Static/a",
            "//static/a",
            "/static//a",
            "/static/../checkout",
            "/static/./a",
            "/static/..",
            "/static/%2e%2e/checkout",
            "/static/%2E%2e/a",
            "/static/..%2fcheckout",
            "/static/..\\checkout",
            "/static/..;/checkout",
            "/static/a%00",
            "?/static/",
            "/x?/static/",
            "/static/#/../x/..",
            "/paid.php#",
            "/static/ü",
            "http://shop.example/static/",
        ] {
            assert!(!covers(guarded), "{guarded}");
        }
        for good in ["/static/", "/a?b", "/?wc-api", "/?wc-api=wc_stripe"] {
            assert_eq!(good.parse::<BypassPath>(), Ok(BypassPath(good.into())));
        }
        assert_eq!("/".parse::<BypassPath>(), Err(BypassError::Everything));
        for wrong in [
            "", "static/", "/a/../b", "//", "/%61", "/?", "/a?", "/?=b", "/?b=", "/?a&b", "/?a?b", "/?a=b=c",
            "/?%61", "?a", "/..?a",
        ] {
            assert_eq!(wrong.parse::<BypassPath>(), Err(BypassError::Path), "{wrong}");
        }
    }

    /// Where there is no such file, a front controller does what the query or the body says: `?rest_route=/wc/store/v1/checkout`.
    #[test]
    fn below_a_folder_files_are_read_and_nothing_else() {
        let bypass = of(&["/static/", "/paid.php"]);
        let covers = |method, target: &str| covers(&bypass, &method, target, &[], "");
        for read in ["/static/a.css", "/static/a.css?v=7", "/static/a.css?ver=6.4.2", "/static/a.css?v="] {
            assert!(covers(Method::GET, read) && covers(Method::HEAD, read), "{read}");
            for method in [Method::POST, Method::PUT, Method::OPTIONS, Method::DELETE] {
                assert!(!covers(method.clone(), read), "{method} {read}");
            }
        }
        for asked in ["?", "?v", "?v=1&rest_route=/wc/store", "?v=/wc", "?v=%2f", "?V=1", "?x=1", "?ver[]=1"]
        {
            assert!(!covers(Method::GET, &format!("/static/a.css{asked}")), "{asked}");
        }
        assert!(covers(Method::POST, "/paid.php?order=7"), "a callback");
    }

    #[test]
    fn a_path_with_a_parameter_bypasses_with_it_only() {
        let (any, stripe) = (of(&["/?wc-api"]), of(&["/?wc-api=wc_stripe"]));
        for (target, by_name, by_value) in [
            ("/?wc-api=wc_stripe", true, true),
            ("/?order=7%20a&wc-api=wc_stripe", true, true),
            ("/?wc-api=x", true, false),
            ("/?wc-api", true, false),
            ("/", false, false),
            ("/?x=wc-api", false, false),
            ("/?x=wc_stripe", false, false),
            ("/shop?wc-api=wc_stripe", false, false),
            ("//?wc-api=wc_stripe", false, false),
            ("/?wc-apis=wc_stripe", false, false),
            ("/?wc-api=wc_stripe&wc-api=", false, false),
            ("/?wc-api=wc_stripe&WC-API=", false, false),
            ("/?wc-api=wc_stripe&wc%2Dapi=", false, false),
            ("/?wc-api=wc_stripe&wc-api[]=", false, false),
            ("/?wc-api=wc_stripe&x;wc-api=", false, false),
            ("/?wc-api=wc_stripe&x=1;wc-api=other", false, false),
            ("/?wc-ajax=checkout#&wc-api=wc_stripe", false, false),
            (&format!("/?wc-ajax=checkout{}&wc-api=wc_stripe", "&a".repeat(1000)), false, false),
            ("/?wc-api=wc_stripe&+wc-api=", false, false),
        ] {
            assert_eq!(covers(&any, &Method::POST, target, &[], ""), by_name, "{target}");
            assert_eq!(covers(&stripe, &Method::GET, target, &[], ""), by_value, "{target}");
        }
    }

    #[test]
    fn a_secret_header_bypasses_with_its_whole_value() {
        let secret: SecretHeader = "X-Shop-Secret: 0123456789abcdef\n".parse().unwrap();
        assert_eq!(format!("{secret:?}"), "SecretHeader(x-shop-secret: …)");
        let bypass = Bypass { secret: Some(secret), ..Bypass::default() };
        let covers = |headers: &[_]| covers(&bypass, &Method::GET, "/", headers, "");
        assert!(covers(&[("x-shop-secret", "0123456789abcdef")]));
        assert!(covers(&[("x-shop-secret", "wrong"), ("x-shop-secret", "0123456789abcdef")]));
        for wrong in ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF"] {
            assert!(!covers(&[("x-shop-secret", wrong)]), "{wrong}");
        }
        assert!(!covers(&[("user-agent", "Googlebot")]) && !covers(&[]));
        for wrong in
            ["", "x-secret", "x-secret: short", "x secret: 0123456789abcdef", "x-secret: 0123456789 abcdef"]
        {
            assert_eq!(wrong.parse::<SecretHeader>().unwrap_err(), BypassError::Secret, "{wrong}");
        }
    }

    #[test]
    fn a_network_is_not_everybody() {
        assert_eq!(Bypass::network("203.0.113.9").unwrap().to_string(), "203.0.113.9/32");
        assert_eq!(Bypass::network("2001:db8::/32").unwrap().to_string(), "2001:db8::/32");
        assert_eq!(Bypass::network("office"), Err(BypassError::Network));
        assert_eq!(["0.0.0.0/0", "::/0"].map(Bypass::network), [Err(BypassError::Everybody); 2]);
    }

    #[test]
    fn methods_and_networks_bypass() {
        let networks = vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
        let bypass = Bypass { methods: vec![Method::OPTIONS], networks, ..Bypass::default() };
        let covers =
            |method, client: &str| covers(&bypass, method, "/", &[("x-forwarded-for", "10.1.1.1")], client);
        assert!(covers(&Method::OPTIONS, ""));
        for inside in ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::1"] {
            assert!(covers(&Method::GET, inside), "{inside}");
        }
        for outside in ["11.1.2.3", "2001:db9::1", ""] {
            assert!(!covers(&Method::POST, outside), "{outside}");
        }
    }
}
