//! Measures nginx with the guard in front of a shop, beside the same nginx without the guard.
//!
//! Many visitors ask for a page and its files, as browsers do: over TLS, with the shipped configuration. The shop is a file
//! that nginx serves itself, so it costs next to nothing. In front of a real shop, the guard costs less of the whole.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use emulators::Nginx;
use emulators::workspace::target;

use super::bench_room::{order, start_room};
use super::bench_server::BenchServer;
use super::http::ask;
use super::load::{ROUND, count, median, rate, wrk};
use super::revision::built;
use super::table::BenchTable;
use super::usage::cpu;

/// So many that nobody comes again while nginx keeps the answer to their last page.
const VISITORS: usize = 4000;
const ROUNDS: usize = 7;
const CONNECTIONS: u32 = 64;
const PAGE: usize = 8 << 10;

const ASK_THE_GUARD: &str = "proxy_pass http://guard/auth-request;";
/// How nginx is configured, and what is replaced in the shipped configuration for it.
const CONFIGURATIONS: [(&str, &[(&str, &str)]); 4] = [
    ("without the guard", &[("auth_request /_beekeeper/guard;", "")]),
    ("auth_request answered by nginx", &[(ASK_THE_GUARD, "return 204;")]),
    ("the guard, as shipped", &[]),
    ("the guard, each answer asked for", &[("proxy_cache guard;", "")]),
];

pub(super) fn guard(table: &mut BenchTable) -> Result<()> {
    let program = built()?;
    let scratch = target().join("bench-guard");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(scratch.join("www"))?;
    fs::write(scratch.join("www/page"), "x".repeat(PAGE))?;

    let (_room, room) = start_room(&program, &scratch.join("room"))?;
    // Off, so that nobody has to wait for a pass.
    order(&program, &scratch.join("room"), &["off", "--yes"])?;
    let issuer = room.replace("127.0.0.1", "localhost");
    let arguments = ["guard", "demo", "--listen", "0", "--room", &issuer];
    let (process, asked) = BenchServer::beekeeper(&program, &arguments, &scratch.join("guard"), "nginx")?;
    let guard = asked.trim_end_matches("/auth-request");
    let cookies = scratch.join("cookies");
    fs::write(&cookies, sessions(&room, guard)?)?;
    let script = scratch.join("visitors.lua");
    fs::write(&script, include_str!("visitors.lua").replace("COOKIES", &cookies.display().to_string()))?;

    let port = guard.rsplit(':').next().unwrap_or_default().parse()?;
    let folder = scratch.join("www");
    let shop = format!(
        "access_log off; keepalive_requests 100000000; root {}; location / {{ try_files /page =404; }}",
        folder.display()
    );
    let mut servers = Vec::new();
    for (number, (_, changes)) in CONFIGURATIONS.iter().enumerate() {
        let cache = cache(number);
        let changes = [&[("guard-cache", &*cache)], *changes].concat();
        servers.push(Nginx::in_front_of_shop(port, &shop, &changes)?);
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let visit = |nginx: &Nginx| Visits::measure(nginx, &process, &script);
        rounds.push(servers.iter().map(visit).collect::<Result<Vec<_>>>()?);
    }
    drop(servers);
    (0..CONFIGURATIONS.len()).try_for_each(|number| fs::remove_dir_all(cache(number)))?;
    table.begin(&format!(
        "`cargo xtask bench guard`: nginx over TLS in front of a page of {PAGE} bytes, {VISITORS} visitors, wrk with \
         {CONNECTIONS} connections, {ROUNDS} rounds of {ROUND} in turns; medians, as parts of nginx without the guard"
    ));
    for (at, (what, _)) in CONFIGURATIONS.iter().enumerate() {
        let of_rounds = |figure: fn(&Visits, &Visits) -> f64| {
            median(rounds.iter().map(|round| figure(&round[at], &round[0])).collect())
        };
        let figure = format!(
            "{:.2} by requests a second, {:.2} by processor time ({:.1}k/s, {:.0} µs for each)",
            of_rounds(|this, first| this.rate / first.rate),
            of_rounds(|this, first| first.work / this.work),
            of_rounds(|this, _| this.rate / 1e3),
            of_rounds(|this, _| this.work * 1e6),
        );
        table.row(&format!("nginx, {what}"), &figure);
    }
    Ok(())
}

/// Where this nginx keeps the guard's answers: in memory, as in /run.
fn cache(number: usize) -> String {
    format!("/dev/shm/beekeeper-bench-{number}")
}

/// What a round of visits measured.
struct Visits {
    /// Requests a second. The load generator needs the processors too.
    rate: f64,
    /// Seconds of processor time of nginx and the guard for each request. A busy machine changes it less.
    work: f64,
}

impl Visits {
    fn measure(nginx: &Nginx, guard: &BenchServer, script: &Path) -> Result<Self> {
        let url = format!("https://127.0.0.1:{}/", nginx.https_port());
        let workers = workers(nginx)?;
        let used = || -> Result<Duration> {
            workers.iter().copied().chain([guard.0.id()]).map(cpu).sum::<Result<Duration>>()
        };
        let before = used()?;
        let report = wrk(&url, CONNECTIONS, &["--script", &script.display().to_string()])?;
        let work = used()?.saturating_sub(before).as_secs_f64() / f64::from(count(&report)?);
        Ok(Self { rate: rate(&report)?, work })
    }
}

/// The processes of nginx that work while it answers. Its cache loader has nothing to load, and ends by itself.
fn workers(nginx: &Nginx) -> Result<Vec<u32>> {
    let master = fs::read_to_string(nginx.folder().join("nginx.pid"))?;
    let master = master.trim();
    let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
    let mut workers = Vec::new();
    for pid in children.split_whitespace() {
        if !fs::read_to_string(format!("/proc/{pid}/cmdline"))?.contains("cache loader") {
            workers.push(pid.parse()?);
        }
    }
    Ok(workers)
}

/// A line for each visitor: the cookie of their session.
fn sessions(room: &str, guard: &str) -> Result<String> {
    (0..VISITORS).map(|_| Ok(session(&pass(room)?, guard)? + "\n")).collect()
}

fn pass(room: &str) -> Result<String> {
    let begun = Instant::now();
    loop {
        let answer = ask(&format!("{room}/beekeeper"), &[])?;
        if let Some((_, rest)) = answer.split_once("?bk_pass=") {
            return Ok(rest.lines().next().unwrap_or_default().trim().to_owned());
        }
        // An order is in force after two seconds.
        ensure!(begun.elapsed() < Duration::from_secs(30), "the room gave no pass: {answer}");
        sleep(Duration::from_millis(200));
    }
}

fn session(pass: &str, guard: &str) -> Result<String> {
    let target = format!("/?bk_pass={pass}");
    let asked = [("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", target.as_str())];
    let answer = ask(&format!("{guard}/auth-request"), &asked)?;
    let set = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = set.and_then(|set| set.split(';').next());
    Ok(cookie.with_context(|| format!("the guard gave no session: {answer}"))?.to_owned())
}
