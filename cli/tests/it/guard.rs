//! A shop behind `beekeeper guard`: its flags, its answers, and nginx and Caddy with the shipped configurations.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use emulators::{Caddy, LocalEmu, Nginx, boto3};
use http_contract::{Client, HttpAnswer, RoomUnderTest};
use tempfile::TempDir;

use crate::support::{Home, Local, text, web_server};

const CADDY: &str = include_str!("../../../docs/guard/Caddyfile");

/// A guard that is stopped when this is dropped.
struct Guard {
    process: Child,
    output: BufReader<ChildStdout>,
    directory: TempDir,
    listens: String,
    metrics: String,
}

impl Guard {
    /// The guard of this room's shop.
    fn of(room: &Local, extra: &[&str]) -> Self {
        Self::start(&issuer(room), tempfile::tempdir().unwrap(), extra)
    }

    fn start(room: &str, directory: TempDir, extra: &[&str]) -> Self {
        Self::started(Command::new(env!("CARGO_BIN_EXE_beekeeper")), room, directory, extra)
    }

    fn started(mut command: Command, room: &str, directory: TempDir, extra: &[&str]) -> Self {
        command.args(["guard", "demo", "--listen", "0", "--metrics", "0", "--room", room, "--data"]);
        command.arg(directory.path()).args(extra).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            assert!(output.read_line(&mut greeting).unwrap() > 0, "{greeting}");
        }
        let named = |what: &str| {
            let line = greeting.lines().find_map(|line| line.trim().strip_prefix(what));
            line.unwrap_or_else(|| panic!("{what} in {greeting}")).trim().to_owned()
        };
        let listens = named("nginx").trim_end_matches("/auth-request").to_owned();
        let metrics = named("metrics").trim_end_matches("/metrics").to_owned();
        Self { process, output, directory, listens, metrics }
    }

    /// What the guard tells Traefik about a request.
    fn asked(&self, target: &str, headers: &[(&str, &str)]) -> HttpAnswer {
        self.asked_at("/forward-auth", target, headers)
    }

    fn asked_at(&self, path: &str, target: &str, headers: &[(&str, &str)]) -> HttpAnswer {
        let forwarded = [("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", target)];
        Client::new(&self.listens, "demo").send("GET", path, &[&forwarded, headers].concat())
    }

    fn port(&self) -> u16 {
        self.listens.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Stops the guard with SIGTERM. Returns its directory.
    fn terminate(mut self) -> TempDir {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let mut farewell = String::new();
        self.output.read_to_string(&mut farewell).unwrap();
        assert!(self.process.wait().unwrap().success());
        assert_eq!(farewell, "\nstopped; the sessions are kept\n");
        std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The room's URL, as its passes have it.
fn issuer(room: &Local) -> String {
    room.base().replace("127.0.0.1", "localhost")
}

/// A room that sends everybody to the shop. Nobody has to wait for a test.
fn room() -> Local {
    let room = Local::start(&["--shop", "https://shop.example/sale"]);
    let off = room.command(&["off", "--local", "--yes"]);
    assert!(off.status.success(), "{}", text(&off.stderr));
    std::thread::sleep(Duration::from_secs(3));
    room
}

/// A pass from the room's door.
fn pass(room: &Local) -> String {
    let answer = Client::new(&room.base(), "demo").get("/beekeeper");
    let (_, pass) = answer.location().split_once("?bk_pass=").unwrap_or_else(|| panic!("{answer:?}"));
    pass.to_owned()
}

/// A new pass of the visitor with this place. They may have to wait for their first.
fn pass_of(door: &Client, place: &str) -> String {
    let asked = Instant::now();
    loop {
        let answer = door.get_with("/beekeeper", place);
        if let Some((_, pass)) = answer.location().split_once("?bk_pass=") {
            return pass.to_owned();
        }
        assert!(asked.elapsed() < Duration::from_mins(2), "{answer:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// The `Cookie` header of a browser that got this answer.
fn cookie(answer: &HttpAnswer) -> String {
    answer.header("set-cookie").unwrap_or_else(|| panic!("{answer:?}")).split(';').next().unwrap().into()
}

#[test]
fn a_web_server_asks_and_is_told() {
    let room = room();
    let guard = Guard::of(&room, &["--http"]);
    let door = format!("{}/beekeeper", issuer(&room));
    let away = guard.asked("/tickets/7?seat=a", &[]);
    assert!(
        away.header("set-cookie")
            .is_some_and(|set| set.starts_with("bk_demo_guard=") && !set.contains("Secure"))
    );
    assert_eq!((away.status, away.location()), (302, &*door));
    let away_for_nginx = guard.asked_at("/auth-request", "/tickets/7", &[]);
    assert_eq!((away_for_nginx.status, away_for_nginx.header("location")), (401, None));
    assert_eq!(away_for_nginx.header("x-beekeeper-location"), Some(&*door));
    let (away, pass) = (cookie(&away), pass(&room));
    let exchanged = guard.asked(&format!("/sale?bk_pass={pass}"), &[("Cookie", &away)]);
    assert_eq!((exchanged.status, exchanged.location()), (302, "/tickets/7?seat=a"));
    let session = cookie(&exchanged);
    for path in ["/forward-auth", "/auth-request"] {
        let inside = guard.asked_at(path, "/tickets/7", &[("Cookie", &session), ("X-Beekeeper-Number", "1")]);
        assert_eq!((inside.status, inside.header("set-cookie")), (200, None));
        assert_eq!(inside.header("x-beekeeper-subject").map(str::len), Some(64));
        assert_eq!(inside.header("x-beekeeper-number"), Some(""), "nobody waited, and that is said");
    }

    let client = Client::new(&guard.listens, "demo");
    for headers in [
        &[][..],
        &[("X-Forwarded-Uri", "/")],
        &[("X-Forwarded-Method", "GET")],
        &[("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/"), ("X-Forwarded-Uri", "/static/")],
    ] {
        let unclear = client.send("GET", "/forward-auth", headers);
        assert_eq!(unclear.status, 500, "{headers:?}");
        assert!(
            unclear.body.contains("must send X-Forwarded-Method and X-Forwarded-Uri"),
            "{}",
            unclear.body
        );
    }
    assert_eq!(client.get("/").status, 404);
    assert_eq!(client.get("/refused").status, 403);
}

#[test]
fn upstream_addresses_never_come_from_a_request() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let door = format!("{}/beekeeper", issuer(&room));
    let headers = [
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "gopher"),
        ("Forwarded", "host=evil.example"),
        ("X-Original-URL", "https://evil.example/"),
    ];
    let away = guard.asked("https://evil.example/", &headers);
    assert_eq!(away.location(), door);
    let arrival = format!("https://evil.example/?bk_pass={}", pass(&room));
    let exchanged = guard.asked(&arrival, &[("Cookie", &cookie(&away))]);
    assert_eq!(exchanged.location(), "/");
}

#[test]
fn sessions_outlive_a_restart_of_the_guard() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let arrival = format!("/?bk_pass={}", pass(&room));
    let session = cookie(&guard.asked(&arrival, &[]));
    let directory = guard.terminate();
    let guard = Guard::start(&issuer(&room), directory, &[]);
    assert_eq!(guard.asked("/", &[("Cookie", &session)]).status, 200);
    std::thread::sleep(Duration::from_secs(4));
    let replayed = guard.asked(&arrival, &[]);
    assert_eq!((replayed.status, replayed.location()), (302, &*format!("{}/beekeeper", issuer(&room))));
    let another = Command::new(env!("CARGO_BIN_EXE_beekeeper"))
        .args(["guard", "demo", "--listen", "0", "--room", &issuer(&room), "--data"])
        .arg(guard.directory.path())
        .output()
        .unwrap();
    let error = text(&another.stderr);
    assert!(error.starts_with("error: another guard uses "), "{error}");
}

#[test]
fn what_bypasses_is_configured() {
    let room = room();
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "x-shop-secret: 0123456789abcdef0123456789abcdef\n").unwrap();
    let guard = Guard::of(
        &room,
        &[
            "--bypass-path",
            "/static/",
            "--bypass-method",
            "OPTIONS",
            "--bypass-network",
            "10.0.0.0/8",
            "--trust-proxy",
            "127.0.0.1",
            "--bypass-header",
            secret.to_str().unwrap(),
        ],
    );
    let status = |target: &str, headers: &[(&str, &str)]| guard.asked(target, headers).status;
    assert_eq!(status("/static/a.css", &[]), 200);
    assert_eq!(status("/static/../a", &[]), 302);
    assert_eq!(status("/", &[("X-Forwarded-For", "10.1.2.3")]), 200);
    assert_eq!(
        status("/", &[("X-Forwarded-For", "10.1.2.3, 203.0.113.9")]),
        302,
        "the browser wrote the first"
    );
    assert_eq!(status("/", &[("X-Shop-Secret", "0123456789abcdef0123456789abcdef")]), 200);
    assert_eq!(status("/", &[("X-Shop-Secret", "0123456789abcdef")]), 302);
    let metrics = Client::new(&guard.metrics, "demo").get("/metrics").body;
    assert!(metrics.contains("beekeeper_guard_requests_total{outcome=\"bypassed\"} 3\n"), "{metrics}");
}

#[test]
fn monitoring_says_whether_passes_can_be_verified() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let monitor = Client::new(&guard.metrics, "demo");
    assert_eq!(monitor.get("/healthz").body, "ok\n");
    let arrival = format!("/?bk_pass={}", pass(&room));
    let session = cookie(&guard.asked(&arrival, &[]));
    guard.asked("/", &[("Cookie", &session)]);
    guard.asked("/", &[]);
    let metrics = monitor.get("/metrics");
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "beekeeper_guard_requests_total{outcome=\"exchanged\"} 1",
        "beekeeper_guard_requests_total{outcome=\"entered\"} 1",
        "beekeeper_guard_requests_total{outcome=\"sent\"} 1",
        "beekeeper_guard_seconds_count 3",
        "beekeeper_guard_sessions 1",
        "beekeeper_guard_keys 1",
        "beekeeper_guard_open 0",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line} in {}", metrics.body);
    }
    let silent = tempfile::tempdir().unwrap();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let guard = Guard::start(&format!("http://{nobody}"), silent, &[]);
    let unhealthy = Client::new(&guard.metrics, "demo").get("/healthz");
    assert_eq!(unhealthy.status, 503);
    assert!(unhealthy.body.starts_with("no key of the room is known"), "{}", unhealthy.body);
}

#[test]
fn mistakes_are_explained() {
    let home = Home::new();
    let room = room();
    let shop = web_server(|_| "404 Not Found");
    let refused =
        |arguments: &[&str]| home.refused(&[&["guard", "demo", "--listen", "0"], arguments].concat());
    let base = room.base();
    let (code, error) = refused(&["--room", &base]);
    assert_eq!(code, 1);
    let expected = format!(
        "error: the room at {base} says that its URL is {0}, and its passes say so too\nhint: start the guard with --room {0}\n",
        issuer(&room)
    );
    assert_eq!(error, expected);
    let (code, error) = refused(&["--room", &shop]);
    assert_eq!(code, 1);
    assert!(
        error.starts_with(
            "error: could not fetch the room's keys; check --room: the room answered with status 404 at "
        ),
        "{error}"
    );
    let missing = home.config_file("no-keys");
    for (arguments, expected) in [
        (&["--room", "wait.example"][..], "not a URL"),
        (&["--room", "https://wait.example/beekeeper"], "without /beekeeper"),
        (&["--room", "https://a.example", "--bypass-path", "/"], "/ is every path of the shop"),
        (&["--room", "https://a.example", "--bypass-network", "10.0.0.0/8"], "--trust-proxy <ADDRESS>"),
        (
            &["--room", "https://a.example", "--bypass-network", "::/0", "--trust-proxy", "::1"],
            "is everybody",
        ),
        (&["--room", "https://a.example", "--idle", "5s"], "must be from 1m to 1d"),
        (&["--room", "https://a.example", "--open-after", "5m", "--keys", "x"], "cannot be used with"),
    ] {
        let (code, error) = refused(arguments);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let (code, error) = refused(&["--room", "https://a.example", "--keys", missing.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(error.starts_with("error: could not read the keys in ~/"), "{error}");
}

#[test]
fn keys_can_be_given() {
    let room = room();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jwks.json");
    fs::write(&file, Client::new(&room.base(), "demo").get("/.well-known/jwks.json").body).unwrap();
    let guard = Guard::of(&room, &["--keys", file.to_str().unwrap()]);
    let arrival = format!("/?bk_pass={}", pass(&room));
    drop(room);
    assert_eq!(guard.asked(&arrival, &[]).location(), "/", "without a room");
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Creates the table that docs/guard.md describes, and prints its ARN.
const TABLE: &str = "
import boto3
table = boto3.client('dynamodb').create_table(
    TableName='spring-sale-sessions',
    AttributeDefinitions=[{'AttributeName': 'id', 'AttributeType': 'S'}],
    KeySchema=[{'AttributeName': 'id', 'KeyType': 'HASH'}],
    BillingMode='PAY_PER_REQUEST')
print(table['TableDescription']['TableArn'])
";

#[test]
#[ignore = "needs LocalEmu: cargo xtask test beekeeper"]
fn two_guards_share_their_sessions() {
    let aws = LocalEmu::shared().unwrap();
    let created = boto3().unwrap().envs(aws.environment()).args(["-c", TABLE]).output().unwrap();
    assert!(created.status.success(), "{}", text(&created.stderr));
    let table = text(&created.stdout).trim().to_owned();
    let room = Local::start(&["--shop", "https://shop.example/sale"]);
    let guard = |directory, table: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        command.envs(aws.environment());
        Guard::started(command, &issuer(&room), directory, &["--sessions-table", table])
    };
    let here = guard(tempfile::tempdir().unwrap(), &table);
    let other = tempfile::tempdir().unwrap();
    fs::copy(here.directory.path().join("session.key"), other.path().join("session.key")).unwrap();
    let there = guard(other, &table);

    let door = Client::new(&room.base(), "demo");
    let place = door.cookie(&door.get("/beekeeper"));
    let pass = || pass_of(&door, &place);
    let first = cookie(&here.asked(&format!("/?bk_pass={}", pass()), &[]));
    assert_eq!(there.asked("/", &[("Cookie", &first)]).status, 200, "known at the other guard");
    // A pass that was signed in a later second.
    std::thread::sleep(Duration::from_secs(4));
    let second = cookie(&there.asked(&format!("/?bk_pass={}", pass()), &[]));
    assert_eq!(here.asked("/", &[("Cookie", &second)]).status, 200);
    assert_eq!(here.asked("/", &[("Cookie", &first)]).status, 302, "the newest session ended it");

    let wrong = table.replace("spring-sale", "autumn-sale");
    let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
    command.envs(aws.environment()).args([
        "guard",
        "demo",
        "--listen",
        "0",
        "--room",
        &issuer(&room),
        "--data",
    ]);
    let refused =
        command.arg(tempfile::tempdir().unwrap().path()).args(["--sessions-table", &wrong]).output().unwrap();
    let said = text(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("autumn-sale") && said.contains("docs/guard.md"),
        "{said}"
    );
}

/// nginx with the shipped configuration, in front of the guard on this port. The shop says what it was told of the visitor.
fn nginx(guard: u16) -> Nginx {
    let says = "shop $request_uri subject=[$http_x_beekeeper_subject] number=[$http_x_beekeeper_number]";
    let shop = format!(
        "location / {{ return 200 '{says}'; }}
         location /broken {{ return 500 'the shop is broken'; }}
         location /forbidden {{ return 403 'the shop forbids'; }}"
    );
    Nginx::in_front_of_shop(guard, &shop, &[]).unwrap()
}

/// A request to the public URL of the shop. Returns the answer with its head.
fn visit(nginx: &Nginx, path: &str, more: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--include", "--max-time", "20", "--http2", "--path-as-is"]);
    curl.args(["--resolve", &format!("shop.example:{}:127.0.0.1", nginx.https_port()), "--cacert"]);
    curl.arg(nginx.folder().join("certificate.pem")).args(more);
    curl.arg(format!("https://shop.example:{}{path}", nginx.https_port()));
    let output = curl.output().unwrap_or_else(|error| panic!("{error}; on Debian: apt-get install curl"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::trim_end)
}

fn set(answer: &str) -> String {
    let cookie = header(answer, "set-cookie").unwrap_or_else(|| panic!("{answer}"));
    format!("Cookie: {}", cookie.split(';').next().unwrap())
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn nginx_with_the_shipped_configuration_keeps_everybody_out_who_did_not_wait() {
    let room = room();
    let guard = Guard::of(&room, &["--bypass-path", "/static/"]);
    let nginx = nginx(guard.port());
    let door = format!("{}/beekeeper", issuer(&room));

    let away = visit(&nginx, "/tickets/7?seat=a&row=%20b", &[]);
    assert_eq!((status(&away), header(&away, "location")), ("302", Some(&*door)));
    assert_eq!(header(&away, "cache-control"), Some("no-store"));
    let arrival = format!("/sale?bk_pass={}", pass(&room));
    let exchanged = visit(&nginx, &arrival, &["--header", &set(&away)]);
    let back = header(&exchanged, "location").unwrap();
    assert!(status(&exchanged) == "302" && back.ends_with("/tickets/7?seat=a&row=%20b"), "{exchanged}");
    let session = set(&exchanged);
    let inside = |path: &str, more: &[&str]| visit(&nginx, path, &[&["--header", &session], more].concat());
    for more in [&[][..], &["--header", "X-Beekeeper-Number: 1", "--header", "X-Beekeeper-Subject: me"]] {
        let page = inside("/tickets/7", more);
        assert!(subject(&page).len() == 64 && page.contains("number=[]"), "{page}");
    }
    assert_eq!(status(&inside("/order", &["--data", "ticket=7"])), "200", "a form");
    assert!(inside("/broken", &[]).contains("the shop is broken"), "the shop's own errors stay its own");
    assert!(inside("/forbidden", &[]).contains("the shop forbids"));

    std::thread::sleep(Duration::from_secs(4));
    let replayed = visit(&nginx, &arrival, &[]);
    assert_eq!((status(&replayed), header(&replayed, "location")), ("302", Some(&*door)));
    let script = visit(&nginx, "/api", &["--header", "Sec-Fetch-Mode: cors"]);
    assert_eq!((status(&script), header(&script, "location")), ("403", None));
    let spoofed = ["--header", "X-Beekeeper-Number: 1", "--header", "X-Forwarded-Uri: /static/"];
    let bypassed = visit(&nginx, "/static/a.css", &spoofed);
    assert!(bypassed.ends_with("subject=[] number=[]"), "{bypassed}");
    for sneaky in ["/static/../order", "/static/%2e%2e/order", "/_beekeeper/guard", "/order"] {
        let sent = visit(&nginx, sneaky, &spoofed);
        assert!(status(&sent) == "302" || status(&sent) == "404", "{sneaky}: {sent}");
    }
    let huge = format!("Cookie: a={}", "x".repeat(20_000));
    assert!(status(&visit(&nginx, "/", &["--http1.1", "--header", &huge])).starts_with('4'));

    drop(guard);
    let gone = inside("/tickets/7", &[]);
    assert!(status(&gone) == "503" && gone.contains("If you have a place in line, you keep it"), "{gone}");
}

/// Caddy with the shipped configuration, in front of the guard on this port. The shop is a site of Caddy itself, which says what
/// it was told of the visitor.
fn caddy(guard: u16) -> Caddy {
    let shop = free_port();
    let says = "shop {uri} subject=[{header.X-Beekeeper-Subject}] number=[{header.X-Beekeeper-Number}{header.X_Beekeeper_Number}]";
    let shop_itself =
        format!("http://127.0.0.1:{shop} {{\n\trespond \"{says}\"\n}}\n# Change shop.example to your domain");
    let changes = [
        ("# Change shop.example to your domain", &*shop_itself),
        ("127.0.0.1:8090", &format!("127.0.0.1:{guard}")),
        ("127.0.0.1:3000", &format!("127.0.0.1:{shop}")),
    ];
    Caddy::with_shipped(CADDY, "shop.example", &changes).unwrap()
}

#[test]
#[ignore = "needs Caddy: cargo xtask test beekeeper"]
fn caddy_with_the_shipped_configuration_keeps_everybody_out_who_did_not_wait() {
    let room = room();
    let guard = Guard::of(&room, &["--bypass-path", "/static/"]);
    let caddy = caddy(guard.port());
    let shop = Client::new(&format!("http://127.0.0.1:{}", caddy.port()), "demo");
    let get = |path: &str, more: &[(&str, &str)]| shop.send("GET", path, more);
    let door = format!("{}/beekeeper", issuer(&room));
    let away = get("/tickets/7?seat=a", &[]);
    assert_eq!((away.status, away.location()), (302, &*door));
    let exchanged = get(&format!("/sale?bk_pass={}", pass(&room)), &[("Cookie", &cookie(&away))]);
    assert_eq!(exchanged.status, 302);
    assert!(exchanged.location().ends_with("/tickets/7?seat=a"), "{exchanged:?}");
    let session = cookie(&exchanged);
    let spoofed = [("X-Beekeeper-Number", "1"), ("X_Beekeeper_Number", "1"), ("X-Beekeeper-Subject", "me")];
    for more in [&[][..], &spoofed] {
        let page = get("/tickets/7", &[&[("Cookie", &*session)], more].concat());
        let subject = page.body.split("subject=[").nth(1).unwrap().split(']').next().unwrap();
        assert!(subject.len() == 64 && page.body.contains("number=[]"), "{page:?}");
    }
    let bypassed = get("/static/a.css", &spoofed);
    assert!(bypassed.body.ends_with("subject=[] number=[]"), "{bypassed:?}");
    assert_eq!(get("/api", &[("Sec-Fetch-Mode", "cors")]).status, 403);
    for sneaky in ["/static/../order", "/static/%2e%2e/order", "/order"] {
        assert_eq!(get(sneaky, &[("X-Forwarded-Uri", "/static/")]).status, 302, "{sneaky}");
    }
    drop(guard);
    assert_eq!(get("/tickets/7", &[("Cookie", &session)]).status, 502);
}

/// The visitor of a page of the shop, as nginx told the shop.
fn subject(page: &str) -> &str {
    let told = page.split("subject=[").nth(1).and_then(|rest| rest.split(']').next());
    told.filter(|_| status(page) == "200").unwrap_or_else(|| panic!("{page}"))
}

/// Exchanges a pass. Returns the header of the session.
fn enter(nginx: &Nginx, pass: &str) -> String {
    set(&visit(nginx, &format!("/?bk_pass={pass}"), &[]))
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn nginx_keeps_an_answer_for_a_moment_and_for_nobody_else() {
    let room = room();
    let guard = Guard::of(&room, &["--bypass-path", "/static/"]);
    let nginx = nginx(guard.port());
    let sessions = [enter(&nginx, &pass(&room)), enter(&nginx, &pass(&room))];
    let with = |headers: &[&str], path: &str| {
        let headers = headers.iter().flat_map(|header| ["--header", header]);
        visit(&nginx, path, &headers.collect::<Vec<_>>())
    };
    let subjects = sessions.each_ref().map(|session| subject(&with(&[session], "/")).to_owned());
    assert_ne!(subjects[0], subjects[1]);
    for _ in 0..5 {
        for (session, subject) in sessions.iter().zip(&subjects) {
            // A page and its files: one request for each number.
            let page = with(&[session], "/file/[1-20]");
            let told = page.matches(&format!("subject=[{subject}]")).count();
            assert_eq!(told, 20, "{page}");
        }
    }
    let metrics = Client::new(&guard.metrics, "demo").get("/metrics").body;
    let entered = metrics
        .lines()
        .find_map(|line| line.strip_prefix("beekeeper_guard_requests_total{outcome=\"entered\"} "));
    let asked: u32 = entered.unwrap().parse().unwrap();
    assert!((2..150).contains(&asked), "the guard was asked about {asked} of 202 requests");

    let session = sessions[0].strip_prefix("Cookie: ").unwrap();
    let value = session.strip_prefix("__Host-bk_demo_guard=").unwrap();
    let made_up = "Cookie: __Host-bk_demo_guard=session.made-up";
    let poisoned = [
        &*format!("{made_up}; {session}"),
        &format!("{made_up};{session}; __Host-bk_demo_guard=session.made-up"),
        &format!("Cookie: x;\t{session}"),
        &format!("Cookie: __Host-bk_other_guard=session.made-up; {session}"),
    ];
    let without = [&[][..], &[made_up], &["Cookie: __Host-bk_other_guard=session.made-up"], &["Cookie: x"]];
    let nobody_else_enters = |how: &str| {
        for headers in without {
            assert_eq!(status(&with(headers, "/")), "302", "{headers:?} after {how}");
        }
    };
    for cookies in poisoned {
        assert_eq!(subject(&with(&[cookies], "/")), subjects[0], "{cookies}");
        nobody_else_enters(cookies);
    }
    for version in ["--http1.1", "--http2"] {
        let page = visit(&nginx, "/", &[version, "--header", made_up, "--header", &sessions[0]]);
        assert_eq!(subject(&page), subjects[0], "{page}");
        nobody_else_enters("two lines");
    }
    // What the guard would not take, nginx does not either, although it has an answer for this session.
    for other in ["bk_demo_guard", "__Host-bk_other_guard", "x__Host-bk_demo_guard", "__host-bk_demo_guard"] {
        subject(&with(&[&sessions[0]], "/"));
        let cookie = format!("Cookie: {other}={value}");
        assert_eq!(status(&with(&[&cookie], "/")), "302", "{cookie}");
    }

    for headers in without {
        assert_eq!(subject(&with(headers, "/static/a.css")), "", "it bypasses");
        assert_eq!(status(&with(headers, "/")), "302", "a bypass opens nothing else: {headers:?}");
    }
    subject(&with(&[&sessions[0]], "/static/a.css"));
    nobody_else_enters("a bypass with a session");
    subject(&with(&[&sessions[0]], "/"));
    let cleaned = with(&[&sessions[0]], &format!("/tickets/7?seat=a&bk_pass={}", pass(&room)));
    assert_eq!(
        (status(&cleaned), header(&cleaned, "location")),
        ("302", Some("/tickets/7?seat=a")),
        "{cleaned}"
    );
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn behind_nginx_a_session_that_was_ended_is_out_in_a_moment() {
    let room = Local::start(&["--shop", "https://shop.example/sale"]);
    let guard = Guard::of(&room, &[]);
    let nginx = nginx(guard.port());
    let client = Client::new(&room.base(), "demo");
    let place = client.cookie(&client.get("/beekeeper"));
    let pass = || pass_of(&client, &place);
    let is_inside = |session: &str| status(&visit(&nginx, "/", &["--header", session])) == "200";
    let first = enter(&nginx, &pass());
    assert!(is_inside(&first));
    // Passes of one second are the same to the guard.
    std::thread::sleep(Duration::from_millis(1100));
    let second = enter(&nginx, &pass());
    // Requests do not make nginx keep the answer for longer.
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_inside(&first) {
        assert!(Instant::now() < deadline, "the first session was not ended by the second");
        std::thread::sleep(Duration::from_millis(100));
    }
    let page = visit(&nginx, "/", &["--header", &second]);
    assert!(subject(&page).len() == 64 && page.contains("number=[1]"), "{page}");
}

/// The commands of the table of docs/guard.md are those of the command line.
#[test]
fn every_flag_is_documented() {
    let documented = include_str!("../../../docs/guard.md");
    let help = Home::new().printed(&["guard", "--help"]);
    let flags = help
        .split_whitespace()
        .filter(|word| word.starts_with("--"))
        .map(|word| word.trim_end_matches([',', ';', '.', ':']));
    for flag in flags.filter(|flag| !["--json", "--log", "--help", "--version"].contains(flag)) {
        assert!(documented.contains(&format!("`{flag}")), "{flag} in docs/guard.md");
    }
}
