//! Browsers that join, wait and enter, many at once, each on a connection that a thread keeps.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

const THREADS: usize = 8;
const PATIENCE: Duration = Duration::from_mins(2);

/// The cookies of everybody who joined.
pub(crate) struct Crowd {
    port: u16,
    cookies: Vec<String>,
}

struct Answer {
    status: u16,
    headers: Vec<String>,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&String| line.to_lowercase().starts_with(&format!("{name}:"));
        Some(self.headers.iter().find(named)?[name.len() + 1..].trim())
    }
}

struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(BufReader::new(stream))
    }

    fn get(&mut self, path: &str, cookie: &str) -> Answer {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: wait.example\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n\
             Cookie: {cookie}\r\n\r\n"
        );
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "{path}: the room hung up");
            if line.trim().is_empty() {
                break;
            }
            headers.push(line.trim().to_owned());
        }
        let status = headers[0].split(' ').nth(1).unwrap().parse().unwrap();
        let answer = Answer { status, headers, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        Answer { body: String::from_utf8(body).unwrap(), ..answer }
    }
}

impl Crowd {
    /// So many join the room at this port.
    pub(crate) fn join(port: u16, people: usize) -> Self {
        let shares: Vec<_> =
            (0..THREADS).map(|share| people / THREADS + usize::from(share < people % THREADS)).collect();
        let cookies = in_threads(shares, |share| {
            let mut connection = Connection::open(port);
            let join = |_| {
                let answer = connection.get("/beekeeper", "");
                let cookie =
                    answer.header("set-cookie").unwrap_or_else(|| panic!("{}: no place", answer.status));
                cookie.split(';').next().unwrap().to_owned()
            };
            (0..share).map(join).collect()
        });
        Self { port, cookies }
    }

    /// Waits until everybody is admitted, lets all of them enter, and returns their numbers in line, by their passes.
    pub(crate) fn enter(&self) -> BTreeSet<u64> {
        let shares = self.cookies.chunks(self.cookies.len().div_ceil(THREADS)).map(<[_]>::to_vec);
        let numbers = in_threads(shares.collect(), |cookies| {
            let mut connection = Connection::open(self.port);
            let begin = Instant::now();
            let mut numbers = Vec::new();
            for cookie in cookies {
                while !connection.get("/polling", &cookie).body.contains(r#""allow":true"#) {
                    assert!(begin.elapsed() < PATIENCE, "{cookie} still waits");
                    thread::sleep(Duration::from_millis(100));
                }
                let answer = connection.get("/beekeeper", &cookie);
                let shop =
                    answer.header("location").unwrap_or_else(|| panic!("{}: no way in", answer.status));
                numbers.push(number_in(shop));
            }
            numbers
        });
        let entered = numbers.len();
        let different: BTreeSet<_> = numbers.into_iter().collect();
        assert_eq!(different.len(), entered, "two have the same number");
        different
    }
}

/// The number in the pass that an address of the shop carries.
fn number_in(shop: &str) -> u64 {
    let pass = shop.split("bk_pass=").nth(1).unwrap_or_else(|| panic!("{shop}: no pass"));
    let claims = URL_SAFE_NO_PAD.decode(pass.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    claims["queue_position"].as_u64().unwrap()
}

fn in_threads<T: Send, R: Send>(shares: Vec<T>, work: impl Fn(T) -> Vec<R> + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let workers: Vec<_> = shares.into_iter().map(|share| scope.spawn(|| work(share))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}
