//! Measures the room on one machine beside nginx, and beside another revision of itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use emulators::free_port;
use emulators::workspace::target;

use super::bench_room::{order, start_room, start_room_with};
use super::bench_server::BenchServer;
use super::http::ask;
use super::load::{LoadedServer, ROUND, ROUNDS, Turns, WORKERS, latency, wrk};
use super::revision::{OtherRevision, built, other_revision};
use super::table::BenchTable;
use super::usage::resident;

/// `revision` is one that git knows. It is built and takes its turns too.
pub(super) fn room(table: &mut BenchTable, revision: Option<&str>) -> Result<()> {
    let other = revision.map(other_revision).transpose()?;
    let program = built()?;
    let scratch = target().join("bench-room");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(scratch.join("www"))?;

    let room = PausedRoom::start(&program, &scratch.join("room"))?;
    let other = match other {
        Some(OtherRevision { program, name }) => {
            Some((name, PausedRoom::start(&program, &scratch.join("other"))?))
        }
        None => None,
    };
    let waits = poll(&room.url, &room.cookie)?;
    ensure!(waits.contains("\"waiting\":"), "the visitor who polls was let in: {waits}");
    fs::write(scratch.join("www/polling"), waits)?;
    let (_nginx, nginx) = start_nginx(&scratch, &join(&room.url)?)?;

    table.begin(&format!(
        "`cargo xtask bench room`: {WORKERS} workers each, wrk with keep-alive, {ROUNDS} rounds of {ROUND} in turns; medians, \
         and from the lowest to the highest ratio. nginx serves a file as large as the answer to a poll, and to a join \
         `return 302` with the same cookies; both without a log"
    ));
    let turns = |path, with_cookie, connections, beside: Option<LoadedServer<'_>>| {
        let url = format!("{nginx}{path}");
        let mut peers = vec![LoadedServer { name: "nginx", process: None, url, cookie: None }];
        peers.extend(beside);
        peers.extend(
            other.iter().map(|(name, other)| LoadedServer { name, ..other.loaded(path, with_cookie) }),
        );
        Turns::of(&room.loaded(path, with_cookie), &peers, connections)
    };
    turns("/polling", true, 64, None)?.tell(table, "polls, 64 connections");
    let polls = LoadedServer { name: "its own polls", ..room.loaded("/polling", true) };
    turns("/beekeeper", false, 256, Some(polls))?.tell(table, "durable joins, 256 connections");
    drop(other);
    crowded(table, room, &program, &scratch.join("room"))?;
    straight_in(table, &program, &scratch.join("overflow"))
}

/// A room in which those who poll keep waiting.
struct PausedRoom {
    process: BenchServer,
    url: String,
    cookie: String,
}

impl PausedRoom {
    fn start(program: &Path, data: &Path) -> Result<Self> {
        let (process, url) = start_room(program, data)?;
        order(program, data, &["pause"])?;
        // The order is in force a second later.
        sleep(Duration::from_secs(3));
        let answer = join(&url)?;
        let cookie = cookies(&answer).next().and_then(|set| set.split(';').next());
        let cookie = cookie.context("the room gave no cookie")?.to_owned();
        Ok(Self { process, url, cookie })
    }

    fn loaded(&self, path: &str, with_cookie: bool) -> LoadedServer<'_> {
        LoadedServer {
            name: "this room",
            process: Some(self.process.0.id()),
            url: format!("{}{path}", self.url),
            cookie: with_cookie.then_some(&self.cookie),
        }
    }
}

/// Measures the room while all visitors who joined in the rounds before are waiting.
fn crowded(
    table: &mut BenchTable,
    PausedRoom { process, url: room, cookie }: PausedRoom,
    program: &Path,
    directory: &Path,
) -> Result<()> {
    let status = poll(&room, &cookie)?;
    let waiting = status.split("\"waiting\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("?");
    table.begin(&format!("the same room, with {waiting} people waiting"));
    table.row("resident memory of the room", &resident(process.0.id())?);
    let polls = wrk(&format!("{room}/polling"), 64, &["--header", &format!("Cookie: {cookie}")])?;
    table.row("a poll among 64 connections", &latency(&polls)?);
    drop(process);
    let begun = Instant::now();
    let (_process, room) = start_room(program, directory)?;
    poll(&room, &cookie)?;
    table.row("the room started again, first answer", &format!("{:.1?}", begun.elapsed()));
    Ok(())
}

/// Measures the door while nobody waits and newcomers go straight in, beside a redirect of the same server that decides nothing.
fn straight_in(table: &mut BenchTable, program: &Path, data: &Path) -> Result<()> {
    const CONNECTIONS: u32 = 2;

    let (_process, room) = start_room_with(program, data, &["--mode", "overflow", "--rate", "270000"])?;
    // A process that has just begun lets nobody in for a moment.
    sleep(Duration::from_secs(2));
    let goes_in = || Ok::<_, anyhow::Error>(join(&room)?.contains("bk_pass="));
    ensure!(goes_in()?, "a newcomer had to wait");
    table.begin(&format!("a room in the mode `overflow`, {CONNECTIONS} connections"));
    for (what, path) in [("a redirect to the door", "/"), ("a newcomer who goes straight in", "/beekeeper")] {
        table.row(what, &latency(&wrk(&format!("{room}{path}"), CONNECTIONS, &[])?)?);
    }
    ensure!(goes_in()?, "a line has formed");
    Ok(())
}

/// `join` is the room's answer to somebody who joins.
fn start_nginx(scratch: &Path, join: &str) -> Result<(BenchServer, String)> {
    let port = free_port()?;
    let scratch_path = scratch.display();
    let location = header(join, "location").next().context("the room sent the newcomer nowhere")?;
    let cookies: String =
        cookies(join).flat_map(|cookie| ["add_header Set-Cookie \"", cookie, "\"; "]).collect();
    let configuration = format!(
        "worker_processes {WORKERS}; daemon off; pid {scratch_path}/nginx.pid; error_log {scratch_path}/error.log;
         events {{ worker_connections 4096; }}
         http {{
             access_log off; keepalive_requests 100000000; default_type application/json;
             sendfile on; tcp_nopush on; tcp_nodelay on; open_file_cache max=10; absolute_redirect off;
             server {{
                 listen 127.0.0.1:{port}; root {scratch_path}/www;
                 location / {{ add_header Cache-Control no-store; }}
                 location = /beekeeper {{ add_header Cache-Control no-store; {cookies} return 302 \"{location}\"; }}
             }}
         }}"
    );
    let path = scratch.join("nginx.conf");
    fs::write(&path, configuration)?;
    let nginx =
        Command::new("nginx").arg("-c").arg(path).arg("-p").arg(scratch).stderr(Stdio::null()).spawn();
    let nginx =
        BenchServer(nginx.context("nginx is needed as a peer; on Debian: apt-get install nginx wrk")?);
    sleep(Duration::from_secs(1));
    Ok((nginx, format!("http://127.0.0.1:{port}")))
}

/// The answer to somebody who joins.
fn join(room: &str) -> Result<String> {
    ask(&format!("{room}/beekeeper"), &[])
}

fn header<'a>(answer: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    answer.lines().filter_map(move |line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn cookies(answer: &str) -> impl Iterator<Item = &str> {
    header(answer, "set-cookie")
}

fn poll(room: &str, cookie: &str) -> Result<String> {
    let answer = ask(&format!("{room}/polling"), &[("Cookie", cookie)])?;
    let (_, body) = answer.split_once("\r\n\r\n").with_context(|| format!("the room answered {answer}"))?;
    Ok(body.to_owned())
}
