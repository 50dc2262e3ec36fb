//! Measures the room on one machine beside nginx.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use emulators::workspace::target;

use super::bench_room::{order, start_room};
use super::bench_server::BenchServer;
use super::http::ask;
use super::load::{ROUND, ROUNDS, WORKERS, compare, load, wrk};
use super::table::BenchTable;
use super::usage::resident;
use crate::process::{cargo, run as command};

pub(super) fn room(table: &mut BenchTable) -> Result<()> {
    command(cargo().args(["build", "--release", "--locked", "--package", "beekeeper"]))?;
    let scratch = target().join("bench-room");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(scratch.join("www"))?;

    let (process, room) = start_room(&scratch.join("room"))?;
    // Paused, so that the visitors who poll keep waiting.
    order(&scratch.join("room"), &["pause"])?;
    // The order is in force a second later.
    sleep(Duration::from_secs(3));
    let cookie = first_cookie(&room)?;
    let waits = poll(&room, &cookie)?;
    ensure!(waits.contains("\"waiting\":"), "the visitor who polls was let in: {waits}");
    fs::write(scratch.join("www/polling"), waits)?;
    let (_nginx, nginx) = start_nginx(&scratch)?;

    table.begin(&format!(
        "`cargo xtask bench room`: beside nginx with a file as large, {WORKERS} workers each, wrk with keep-alive; \
         {ROUNDS} rounds of {ROUND} in turns, the median of the ratios, requests a second of room:nginx"
    ));
    let header = format!("Cookie: {cookie}");
    let peer = || load(&format!("{nginx}/polling"), 64, &[]);
    compare(
        table,
        "polls, 64 connections",
        || load(&format!("{room}/polling"), 64, &["--header", &header]),
        peer,
    )?;
    let peer = || load(&format!("{nginx}/polling"), 256, &[]);
    compare(table, "durable joins, 256 connections", || load(&format!("{room}/beekeeper"), 256, &[]), peer)?;
    crowded(table, process, &room, &cookie, &scratch.join("room"))
}

/// Measures the room while all visitors who joined in the rounds before are waiting.
fn crowded(
    table: &mut BenchTable,
    process: BenchServer,
    room: &str,
    cookie: &str,
    directory: &Path,
) -> Result<()> {
    let status = poll(room, cookie)?;
    let waiting = status.split("\"waiting\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("?");
    table.begin(&format!("the same room, with {waiting} people waiting"));
    table.row("resident memory of the room", &resident(process.0.id())?);
    let latency = wrk(&format!("{room}/polling"), 64, &["--header", &format!("Cookie: {cookie}")])?;
    let latency = latency
        .lines()
        .filter_map(|line| line.trim().strip_prefix("50%").or(line.trim().strip_prefix("99%")));
    let (median, p99) = (latency.clone().next().unwrap_or("?"), latency.clone().nth(1).unwrap_or("?"));
    table.row(
        "a poll among 64 connections",
        &format!("{} at the median, {} at the 99th percentile", median.trim(), p99.trim()),
    );
    drop(process);
    let begun = Instant::now();
    let (_process, room) = start_room(directory)?;
    poll(&room, cookie)?;
    table.row("the room started again, first answer", &format!("{:.1?}", begun.elapsed()));
    Ok(())
}

fn start_nginx(scratch: &Path) -> Result<(BenchServer, String)> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let scratch_path = scratch.display();
    let configuration = format!(
        "worker_processes {WORKERS}; daemon off; pid {scratch_path}/nginx.pid; error_log {scratch_path}/error.log;
         events {{ worker_connections 4096; }}
         http {{
             access_log off; keepalive_requests 100000000; default_type application/json;
             sendfile on; tcp_nopush on; tcp_nodelay on; open_file_cache max=10;
             server {{ listen 127.0.0.1:{port}; root {scratch_path}/www; add_header Cache-Control no-store; }}
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

fn first_cookie(room: &str) -> Result<String> {
    let answer = ask(&format!("{room}/beekeeper"), &[])?;
    let set = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    Ok(set.and_then(|set| set.split(';').next()).context("the room gave no cookie")?.to_owned())
}

fn poll(room: &str, cookie: &str) -> Result<String> {
    let answer = ask(&format!("{room}/polling"), &[("Cookie", cookie)])?;
    let (_, body) = answer.split_once("\r\n\r\n").with_context(|| format!("the room answered {answer}"))?;
    Ok(body.to_owned())
}
