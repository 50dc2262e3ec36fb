//! Loads servers with wrk, and compares them.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::table::BenchTable;

pub(super) const ROUNDS: usize = 5;
pub(super) const ROUND: &str = "3s";
/// The threads of each server, and of the load generator.
pub(super) const WORKERS: &str = "2";

/// Requests a second. `more` are arguments of wrk.
pub(super) fn load(url: &str, connections: u32, more: &[&str]) -> Result<f64> {
    rate(&wrk(url, connections, more)?)
}

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

pub(super) fn compare(
    table: &mut BenchTable,
    what: &str,
    ours: impl Fn() -> Result<f64>,
    theirs: impl Fn() -> Result<f64>,
) -> Result<()> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((ours()?, theirs()?));
    }
    let ratio = median(rounds.iter().map(|(ours, theirs)| ours / theirs).collect());
    let mut shown = String::new();
    for (ours, theirs) in rounds {
        write!(shown, " {:.0}k:{:.0}k", ours / 1000.0, theirs / 1000.0)?;
    }
    table.row(what, &format!("{ratio:.2} of nginx: {}", shown.trim_start()));
    Ok(())
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
