//! A minimal HTTP client that can also send malformed requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

/// Sends requests to one room.
#[derive(Clone, Debug)]
pub struct Client {
    authority: String,
    prefix: String,
    cookie_name: String,
    /// None for a URL that begins with `http://`.
    tls: Option<Arc<ClientConfig>>,
    refused_joins: Arc<AtomicUsize>,
    asks_again: bool,
}

/// How often a visitor asks a busy room before the test fails.
const MOST_REFUSALS: usize = 30;

/// How long a visitor waits for a pass before the test fails.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

#[derive(Clone, Debug)]
pub struct HttpAnswer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Client {
    pub fn new(base: &str, room: &str) -> Self {
        let (scheme, rest) = base.split_once("://").expect("a base URL with a scheme");
        let (authority, prefix) =
            rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
        let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
        Self {
            authority: authority.into(),
            prefix,
            cookie_name: format!("bk_{room}"),
            tls: (scheme == "https").then(with_this_machines_certificates),
            refused_joins: Arc::default(),
            asks_again: false,
        }
    }

    /// Asks again whenever the room says that it is busy, as a browser does: on a busy machine, a store may take longer
    /// than the room waits.
    #[must_use]
    pub fn asking_again(self) -> Self {
        Self { asks_again: true, ..self }
    }

    /// Joins, and returns the cookie of the place.
    pub fn join(&self) -> String {
        self.cookie(&self.newcomer(&[]))
    }

    /// The door's answer to somebody without a place, who always asks again.
    pub fn newcomer(&self, headers: &[(&str, &str)]) -> HttpAnswer {
        self.ask_again(|| {
            let answer = self.send_once("GET", "/beekeeper", headers);
            self.refused_joins.fetch_add(usize::from(answer.is_busy()), Ordering::Relaxed);
            answer
        })
    }

    fn ask_again(&self, ask: impl Fn() -> HttpAnswer) -> HttpAnswer {
        let mut answer = ask();
        for _ in 1..MOST_REFUSALS {
            if !answer.is_busy() {
                return answer;
            }
            thread::sleep(Duration::from_secs(1));
            answer = ask();
        }
        panic!("the room at {} refused a visitor {MOST_REFUSALS} times: {answer:?}", self.authority)
    }

    /// A new pass of the visitor with this place. They may have to wait for their first.
    pub fn wait_for_pass(&self, place: &str) -> String {
        let begun = Instant::now();
        loop {
            let answer = self.get_with("/beekeeper", place);
            let admitted = answer.header("location").and_then(|location| location.split_once("bk_pass="));
            if let Some((_, pass)) = admitted {
                return pass.to_owned();
            }
            assert!(begun.elapsed() < LONGEST_WAIT, "not admitted within five minutes: {answer:?}");
            thread::sleep(Duration::from_millis(500));
        }
    }

    /// How many requests for a place this client and its clones were refused. Each may have left somebody in the line
    /// whom no browser knows, because the store may have put them there after the door gave up.
    pub fn refused_joins(&self) -> usize {
        self.refused_joins.load(Ordering::Relaxed)
    }

    pub fn get(&self, path: &str) -> HttpAnswer {
        self.send("GET", path, &[])
    }

    pub fn get_with(&self, path: &str, cookie: &str) -> HttpAnswer {
        self.send("GET", path, &[("Cookie", cookie)])
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
        if self.asks_again {
            return self.ask_again(|| self.send_once(method, path, headers));
        }
        self.send_once(method, path, headers)
    }

    /// Sends one request, whatever this client does about a busy room.
    pub fn send_once(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
        let mut request = self.head(method, path);
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        request += "\r\n";
        self.raw(request.as_bytes()).unwrap_or_else(|| panic!("no answer to {method} {path}"))
    }

    /// The beginning of a request to the room. The caller may continue it with bytes that are not valid HTTP.
    pub fn head(&self, method: &str, path: &str) -> String {
        format!(
            "{method} {}{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.prefix, self.authority
        )
    }

    /// Sends these bytes, and reads until the room closes the connection. None if the answer is not HTTP.
    pub fn raw(&self, request: &[u8]) -> Option<HttpAnswer> {
        let connected = match &self.tls {
            Some(_) => TcpStream::connect((self.authority.as_str(), 443)),
            None => TcpStream::connect(&self.authority),
        };
        let mut stream = connected.expect("the room accepts connections");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out");
        let Some(tls) = &self.tls else { return exchange(&mut stream, request) };
        let name = ServerName::try_from(self.authority.clone()).expect("the name of a host");
        let connection = ClientConnection::new(Arc::clone(tls), name).expect("a connection with TLS");
        exchange(&mut StreamOwned::new(connection, stream), request)
    }

    /// The room's cookie from the answer's `Set-Cookie`, in the form for a later `Cookie` header.
    pub fn cookie(&self, answer: &HttpAnswer) -> String {
        let set = answer.header("set-cookie").unwrap_or_else(|| panic!("no Set-Cookie in {answer:?}"));
        let pair = set.split(';').next().unwrap_or_default();
        assert!(pair.starts_with(&format!("{}=", self.cookie_name)), "{set}");
        pair.to_owned()
    }

    /// The place and its proof from the answer's `Set-Cookie`, as a browser sends them.
    pub fn cookies(&self, answer: &HttpAnswer) -> String {
        let sets = answer.headers("set-cookie");
        sets.iter().filter_map(|set| set.split(';').next()).collect::<Vec<_>>().join("; ")
    }

    /// A place of this epoch that the room did not give out, as a later `Cookie` header. Far behind in line.
    pub fn invented_place(&self) -> String {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        let epoch = self.get("/polling").json()["epoch"].as_str().expect("an epoch").to_owned();
        format!("{}={epoch}-{:032x}-987654321", self.cookie_name, LAST.fetch_add(1, Ordering::Relaxed))
    }

    pub fn cookie_name(&self) -> &str {
        &self.cookie_name
    }
}

impl HttpAnswer {
    fn is_busy(&self) -> bool {
        self.status >= 500
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// All headers with this name.
    pub fn headers(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    pub fn location(&self) -> &str {
        self.header("location").unwrap_or_else(|| panic!("no Location in {self:?}"))
    }

    pub fn json(&self) -> Value {
        let kind = self.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/json"), "{kind}: {}", self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }
}

/// Trusts whom this machine trusts.
fn with_this_machines_certificates() -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Arc::new(config.expect("its own versions of TLS").with_root_certificates(roots).with_no_client_auth())
}

fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> Option<HttpAnswer> {
    // A write error is ignored: the room may answer and close the connection before it has read everything.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    parse(&String::from_utf8_lossy(&answer))
}

fn parse(text: &str) -> Option<HttpAnswer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    Some(HttpAnswer { status, headers, body: body.to_owned() })
}
