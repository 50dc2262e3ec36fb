//! A room behind an edge: nginx, which keeps what the room allows it to keep, as a CDN does.

use std::time::{Duration, Instant};

use emulators::{Nginx, free_port};
use http_contract::{Client, Order, RoomUnderTest};
use serde_json::Value;

use crate::support::{Home, Local, even_on_a_busy_machine, text};

/// What a CDN does: of what is for everybody it keeps an answer for as long as that says, whatever the request says, asks for another
/// once at a time, and goes on with the last one while the room doesn't answer. All else it passes on, with cookies and addresses.
const EDGE: &str = "
pid nginx.pid;
error_log error.log warn;
worker_rlimit_nofile 65536;
events { worker_connections 8192; }
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    proxy_cache_path cache keys_zone=edge:1m;
    upstream room { server ROOM; keepalive 64; }
    server {
        listen 127.0.0.1:HTTP backlog=4096;
        listen 127.0.0.1:OTHER;
        proxy_http_version 1.1;
        proxy_set_header Connection '';
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_pass_header Date;
        location / {
            proxy_pass http://room;
            # It would keep an own answer, if the room let it.
            proxy_cache edge;
            # Otherwise a look at the door is a visit, which takes a place.
            proxy_cache_convert_head off;
            proxy_cache_key $request_method$uri;
            add_header X-Cache $upstream_cache_status;
        }
        location ~ ^/(status$|wait/|[.]well-known/) {
            proxy_pass http://room;
            proxy_cache edge;
            proxy_cache_convert_head off;
            proxy_cache_key $request_method$uri;
            proxy_cache_lock on;
            proxy_cache_use_stale error timeout updating http_500 http_502 http_503 http_504;
            add_header X-Cache $upstream_cache_status;
        }
    }
}";

/// A room, and nginx in front of it.
struct BehindEdge {
    room: Local,
    edge: Nginx,
}

impl BehindEdge {
    fn start(extra: &[&str]) -> Self {
        Self::start_with(extra, Local::start)
    }

    /// A room that is found by its URL.
    fn start_at_home(home: &Home, extra: &[&str]) -> Self {
        Self::start_with(extra, |flags| Local::start_at_home_with(home, "demo", flags))
    }

    fn start_with(extra: &[&str], start: impl FnOnce(&[&str]) -> Local) -> Self {
        let port = free_port().unwrap().to_string();
        let edge = Nginx::of_operator(|folder, [http, other]| {
            let here = [
                ("ROOM", format!("127.0.0.1:{port}")),
                ("HTTP", http.to_string()),
                ("OTHER", other.to_string()),
            ];
            let configuration =
                here.iter().fold(EDGE.to_owned(), |text, (name, value)| text.replace(name, value));
            std::fs::create_dir(folder.join("etc")).unwrap();
            std::fs::write(folder.join("etc/nginx.conf"), configuration).unwrap();
        });
        let edge = edge.unwrap();
        let url = format!("http://127.0.0.1:{}", edge.http_port());
        let behind = ["--edge", "--url", &url, "--port", &port, "--trust-proxy", "127.0.0.1"];
        Self { room: start(&[&behind[..], &["--shop", "https://shop.example/sale"], extra].concat()), edge }
    }

    fn client(&self) -> Client {
        Client::new(&self.base(), &self.name())
    }
}

impl RoomUnderTest for BehindEdge {
    fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.edge.http_port())
    }

    fn name(&self) -> String {
        self.room.name()
    }

    fn shop(&self) -> String {
        self.room.shop()
    }

    fn order(&self, order: Order) {
        self.room.order(order);
    }

    fn minute(&self) -> Duration {
        self.room.minute()
    }
}

#[test]
#[ignore = "needs nginx: cargo xtask test beekeeper"]
fn a_room_behind_an_edge_answers_as_any_other() {
    http_contract::check_behind_edge(&BehindEdge::start(&["--rate", "3000"]));
}

/// Two visitors in turn, on every route, with everything that could get an answer of one to the other.
#[test]
#[ignore = "needs nginx: cargo xtask test beekeeper"]
fn nobody_gets_from_the_edge_what_is_anothers() {
    even_on_a_busy_machine(nobody_gets_what_is_anothers);
}

fn nobody_gets_what_is_anothers() {
    let behind = BehindEdge::start(&["--rate", "60"]);
    behind.order(Order::Pause);
    let client = behind.client();
    let places = [client.join(), client.join()];
    assert_ne!(places[0], places[1]);
    for path in ["/.well-known/openid-configuration", "/.well-known/jwks.json", "/status", "/wait/index.html"]
    {
        let request = format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
        assert_eq!(client.raw(request.as_bytes()).unwrap().status, 200, "{path}");
        let kept = client.get(path);
        assert!(kept.header("x-cache") == Some("HIT") && !kept.body.contains("evil"), "{path}: {kept:?}");
    }
    for hostile in [
        &[][..],
        &[("Cache-Control", "public, max-age=60")],
        &[("Vary", "Accept"), ("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-Host", "evil.example")],
        &[("Forwarded", "for=203.0.113.9;host=evil.example"), ("X-Forwarded-Proto", "gopher")],
        &[("Accept-Encoding", "gzip"), ("Pragma", "no-cache"), ("Authorization", "Bearer x")],
    ] {
        for place in &places {
            let headers = [&[("Cookie", &**place)], hostile].concat();
            for path in ["/beekeeper", "/beekeeper?x=1"] {
                let answer = client.send("GET", path, &headers);
                let ticket = place.rsplit('-').next().unwrap();
                assert!(
                    answer.header("location").unwrap().ends_with(&format!("-{ticket}")),
                    "{path} {hostile:?}"
                );
                assert_ne!(answer.header("x-cache"), Some("HIT"), "{path} {hostile:?}");
            }
            for path in ["/polling", "/client"] {
                let answer = client.send("GET", path, &headers);
                assert!(
                    answer.status != 200 || answer.header("x-cache") == Some("MISS"),
                    "{path} {hostile:?}"
                );
            }
            let newcomer = client.send("GET", "/polling", hostile).json();
            assert_eq!(newcomer["join"], true, "a newcomer among those who wait: {hostile:?}");
            let status = client.send("GET", "/status?other=key", &headers);
            assert_eq!((status.header("set-cookie"), status.json().get("join")), (None, None), "{hostile:?}");
            assert!(!status.body.contains("evil"), "{}", status.body);
        }
        let newcomer = client.newcomer(hostile);
        assert!(places.iter().all(|place| !client.cookie(&newcomer).contains(&**place)), "{hostile:?}");
    }
}

/// However many ask: about one request a second, and the answer of before while the room does not answer.
#[test]
#[ignore = "needs nginx: cargo xtask test beekeeper"]
fn the_edge_asks_the_room_how_the_line_stands_once_a_second() {
    even_on_a_busy_machine(the_edge_asks_once_a_second);
}

fn the_edge_asks_once_a_second() {
    let mut behind = BehindEdge::start(&["--rate", "60", "--access-log"]);
    let client = behind.client();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut asked = 0;
                while begun.elapsed() < Duration::from_secs(5) {
                    assert_eq!(client.get("/status").status, 200);
                    asked += 1;
                }
                assert!(asked > 5, "{asked}");
            });
        }
    });
    let took = begun.elapsed();
    client.get("/polling");
    let log = behind.room.log();
    let asked =
        log.take_while(|line| !line.contains("/polling")).filter(|line| line.contains("/status")).count();
    assert!((1..=2 + usize::try_from(took.as_secs()).unwrap()).contains(&asked), "{asked} in {took:?}");

    let before = client.get("/status").json();
    let own = client.get("/polling");
    behind.room.signal("-KILL");
    std::thread::sleep(Duration::from_secs(3));
    let stale = client.get("/status");
    assert_eq!((stale.status, &stale.json()["at"]), (200, &before["at"]), "pages see how old it is,");
    assert!(own.header("date").is_some(), "by the time of their own answers,");
    assert!(client.get("/polling").status >= 500, "and nobody's own answer is kept");
}

/// Their pages ask the edge while their turn is far, and the room when it comes.
#[test]
#[ignore = "needs nginx: cargo xtask test beekeeper"]
fn a_thousand_visitors_come_through_the_edge() {
    even_on_a_busy_machine(a_thousand_come_through);
}

fn a_thousand_come_through() {
    let home = Home::new();
    let behind = BehindEdge::start_at_home(&home, &["--rate", "600", "--minute", "60s"]);
    let output = home.run(&["rehearse", &behind.base(), "--json", "--arrivals", "5s", "--visitors", "1000"]);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((&report["passed"], &report["ends"]["entered"]), (&true.into(), &1000.into()), "{report}");
    let asked = |name: &str| {
        let route = report["latency"].as_array().unwrap().iter().find(|route| route["route"] == name);
        route.map_or(0, |route| route["requests"].as_u64().unwrap())
    };
    println!("{} shared, {} polls", asked("status"), asked("poll"));
    // Without an edge, they ask 3.9 times each.
    assert!(asked("poll") < 3 * 1000 && asked("status") > 1000, "{report}");
}
