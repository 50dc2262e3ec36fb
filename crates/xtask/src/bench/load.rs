//! Loads servers with wrk, and compares them.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::table::BenchTable;
use super::usage::cpu;

pub(super) const ROUNDS: usize = 5;
pub(super) const ROUND: &str = "3s";
/// The threads of each server, and of the load generator.
pub(super) const WORKERS: &str = "2";

/// Requests a second, as wrk reports them.
pub(super) fn rate(report: &str) -> Result<f64> {
    let figure = report.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    Ok(figure.with_context(|| format!("wrk said: {report}"))?.trim().parse()?)
}

/// All requests that were answered.
pub(super) fn count(report: &str) -> Result<u32> {
    let figure = report.lines().find_map(|line| line.split_once(" requests in "));
    let (count, _) = figure.with_context(|| format!("wrk said: {report}"))?;
    Ok(count.trim().parse()?)
}

/// How long answers took, at the median and at the 99th percentile.
pub(super) fn latency(report: &str) -> Result<String> {
    let at = |part| report.lines().find_map(|line| line.trim().strip_prefix(part)).map(str::trim);
    let (median, p99) = at("50%").zip(at("99%")).with_context(|| format!("wrk said: {report}"))?;
    Ok(format!("{median} at the median, {p99} at the 99th percentile"))
}

pub(super) fn wrk(url: &str, connections: u32, more: &[&str]) -> Result<String> {
    let mut wrk = Command::new("wrk");
    wrk.args(["--latency", "-t", WORKERS, "-d", ROUND, "-c", &connections.to_string()]).args(more).arg(url);
    let output = wrk.output().context("wrk makes the load; on Debian: apt-get install wrk")?;
    let report = String::from_utf8(output.stdout)?;
    if report.contains("Non-2xx") {
        bail!("not every request was answered as it should be:\n{report}");
    }
    Ok(report)
}

/// A server that takes its turns under load.
pub(super) struct LoadedServer<'a> {
    pub(super) name: &'a str,
    /// Whose processor time is measured.
    pub(super) process: Option<u32>,
    pub(super) url: String,
    pub(super) cookie: Option<&'a str>,
}

/// What a round measured.
#[derive(Clone, Copy, Debug)]
struct Turn {
    a_second: f64,
    /// Microseconds a request, if it was measured.
    cpu: Option<f64>,
}

impl LoadedServer<'_> {
    fn turn(&self, connections: u32) -> Result<Turn> {
        let used = || self.process.map(cpu).transpose();
        let cookie = self.cookie.map(|cookie| format!("Cookie: {cookie}"));
        let more: Vec<&str> = cookie.iter().flat_map(|cookie| ["--header", cookie]).collect();
        let before = used()?;
        let report = wrk(&self.url, connections, &more)?;
        let took = used()?.zip(before).map(|(after, before)| after.saturating_sub(before));
        let requests = f64::from(count(&report)?);
        let cpu = took.map(|took| took.as_secs_f64() * 1e6 / requests);
        Ok(Turn { a_second: rate(&report)?, cpu })
    }
}

/// Rounds in which a server and its peers were under the same load, one after the other.
pub(super) struct Turns {
    ours: Vec<Turn>,
    peers: Vec<(String, Vec<Turn>)>,
}

impl Turns {
    pub(super) fn of(ours: &LoadedServer<'_>, peers: &[LoadedServer<'_>], connections: u32) -> Result<Self> {
        let mut turns = Self {
            ours: Vec::new(),
            peers: peers.iter().map(|peer| (peer.name.to_owned(), Vec::new())).collect(),
        };
        for _ in 0..ROUNDS {
            turns.ours.push(ours.turn(connections)?);
            for (peer, (_, rounds)) in peers.iter().zip(&mut turns.peers) {
                rounds.push(peer.turn(connections)?);
            }
        }
        Ok(turns)
    }

    /// A row for each peer.
    pub(super) fn tell(&self, table: &mut BenchTable, what: &str) {
        for (peer, rounds) in &self.peers {
            let pairs = self.ours.iter().zip(rounds);
            let mut figure = spread(pairs.clone().map(|(ours, peer)| ours.a_second / peer.a_second));
            write!(figure, " of {peer}, requests a second:").ok();
            for (ours, peer) in pairs.clone() {
                write!(figure, " {:.0}k:{:.0}k", ours.a_second / 1000.0, peer.a_second / 1000.0).ok();
            }
            let ratios: Option<Vec<f64>> = pairs.map(|(ours, peer)| Some(ours.cpu? / peer.cpu?)).collect();
            if let Some(ratios) = ratios {
                write!(figure, "; {} of its processor time", spread(ratios.into_iter())).ok();
            }
            table.row(what, &figure);
        }
    }
}

/// The median, the lowest and the highest.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let values: Vec<f64> = values.collect();
    let (lowest, highest) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    format!("{:.2} ({lowest:.2} to {highest:.2})", median(values))
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
