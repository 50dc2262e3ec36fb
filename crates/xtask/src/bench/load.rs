//! Loads servers with wrk, and compares them.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result, bail};

pub(super) const ROUNDS: usize = 5;
pub(super) const ROUND: &str = "3s";
/// The threads of each server, and of the load generator.
pub(super) const WORKERS: &str = "2";

/// Requests a second.
pub(super) fn load(url: &str, connections: u32, cookie: Option<&str>) -> Result<f64> {
    let report = wrk(url, connections, cookie)?;
    let figure = report.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    Ok(figure.with_context(|| format!("wrk said: {report}"))?.trim().parse()?)
}

pub(super) fn wrk(url: &str, connections: u32, cookie: Option<&str>) -> Result<String> {
    let mut wrk = Command::new("wrk");
    wrk.args(["--latency", "-t", WORKERS, "-d", ROUND, "-c", &connections.to_string()]);
    if let Some(cookie) = cookie {
        wrk.args(["-H", &format!("Cookie: {cookie}")]);
    }
    let output = wrk.arg(url).output().context("wrk makes the load; on Debian: apt-get install wrk")?;
    let report = String::from_utf8(output.stdout)?;
    if report.contains("Non-2xx") {
        bail!("not every request was answered as it should be:\n{report}");
    }
    Ok(report)
}

pub(super) fn compare(
    what: &str,
    ours: impl Fn() -> Result<f64>,
    theirs: impl Fn() -> Result<f64>,
) -> Result<()> {
    let mut rounds = Vec::new();
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let (ours, theirs) = (ours()?, theirs()?);
        rounds.push((ours, theirs));
        ratios.push(ours / theirs);
    }
    ratios.sort_by(f64::total_cmp);
    let mut shown = String::new();
    for (ours, theirs) in rounds {
        write!(shown, "  {:.0}k:{:.0}k", ours / 1000.0, theirs / 1000.0)?;
    }
    println!("{what:<32} {:.2} of nginx {shown}", ratios[ROUNDS / 2]);
    Ok(())
}
