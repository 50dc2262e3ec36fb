//! What a run measured, in one table, with how and on what.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::process::cargo;

/// The rows so far. Each is printed when it is measured, since a whole run takes minutes.
#[derive(Debug, Default)]
pub(super) struct BenchTable {
    rows: Vec<BenchRow>,
    how: String,
}

#[derive(Debug)]
struct BenchRow {
    what: String,
    figure: String,
    how: String,
}

impl BenchTable {
    /// The rows from here on were measured like this.
    pub(super) fn begin(&mut self, how: &str) {
        println!("\n{how}");
        how.clone_into(&mut self.how);
    }

    pub(super) fn row(&mut self, what: &str, figure: &str) {
        println!("{what:<50}  {figure}");
        let (what, figure) = (what.to_owned(), figure.to_owned());
        self.rows.push(BenchRow { what, figure, how: self.how.clone() });
    }

    /// Runs the benchmark of a crate. It prints a row on each line: what, at least two spaces, and the figure.
    pub(super) fn cargo_bench(&mut self, package: &str, how: &str) -> Result<()> {
        self.begin(&format!("`cargo bench -p {package}`: {how}"));
        let mut bench = cargo();
        bench.args(["bench", "--locked", "--package", package]).stdout(Stdio::piped());
        let mut bench = bench.spawn().context("could not start cargo")?;
        let lines = bench.stdout.take().context("it has an output")?;
        for line in BufReader::new(lines).lines() {
            let line = line?;
            match line.split_once("  ") {
                Some((what, figure)) if !what.is_empty() => self.row(what, figure.trim()),
                _ => println!("{line}"),
            }
        }
        let ended = bench.wait()?;
        ensure!(ended.success(), "the benchmark of {package} failed: {ended}");
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table, below what it was measured on.
    pub(super) fn markdown(&self, command: &str) -> Result<String> {
        let mut text =
            format!("`{command}`, {}\n\n| what | measured | how |\n| --- | --- | --- |\n", machine()?);
        let mut before = "";
        for BenchRow { what, figure, how } in &self.rows {
            // Said once for all rows below.
            let said = if how == before { "" } else { how };
            before = how;
            writeln!(text, "| {} | {} | {} |", cell(what), cell(figure), cell(said))?;
        }
        Ok(text)
    }
}

fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|")
}

/// What the numbers depend on.
fn machine() -> Result<String> {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next());
    let gigabytes = memory.and_then(|kilobytes| kilobytes.parse::<u64>().ok()).map_or(0, |all| all >> 20);
    Ok(format!(
        "{}, on {} cores of {}, {gigabytes} GB, {}; {}, release profiles of `Cargo.toml`, commit {}",
        said("date", &["-u", "+%Y-%m-%d"])?,
        std::thread::available_parallelism()?,
        model.map_or("an unknown processor", |(_, model)| model),
        said("uname", &["-sr"])?,
        said("rustc", &["--version"])?,
        said("git", &["describe", "--always", "--dirty"]).unwrap_or_else(|_| "unknown".into()),
    ))
}

fn said(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("could not start {program}"))?;
    ensure!(output.status.success(), "{program} failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_how_once_and_escapes_its_cells() {
        let mut table = BenchTable::default();
        assert!(table.is_empty());
        table.begin("one thread");
        table.row("read", "1.2 µs");
        table.row("a | b", "3");
        table.begin("wrk");
        table.row("polls", "0.86 of nginx");
        let text = table.markdown("cargo xtask bench").unwrap();
        let rows = "| read | 1.2 µs | one thread |\n| a \\| b | 3 |  |\n| polls | 0.86 of nginx | wrk |\n";
        assert!(text.starts_with("`cargo xtask bench`, 20") && text.ends_with(rows), "{text}");
    }
}
