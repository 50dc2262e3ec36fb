//! Measures how much load the parts of a room can take.
//!
//! The room on one machine is compared with nginx: same number of workers, same load tool, same size of answer, logging
//! off. Absolute figures depend mostly on the machine, so the ratio comes first. It is the median of several rounds; in each
//! round the two are measured one after the other.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod bench_room;
mod bench_server;
mod function;
mod guard;
mod http;
mod load;
mod revision;
mod room;
mod stand_in;
mod table;
mod usage;

use std::fs;

use anyhow::{Result, bail};
use clap::ValueEnum;
use emulators::workspace::target;
use table::BenchTable;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Part {
    /// Cookies, plans, passes and sessions, one thread and no network
    Micro,
    /// The embedded store, beside the latency of its disk
    Store,
    /// The room on one machine, beside nginx (needs nginx and wrk)
    Room,
    /// nginx with the guard of a shop, beside the same nginx without it (needs nginx, wrk and openssl)
    Guard,
    /// A simulated crowd of a million
    Simulation,
    /// The producer as a Lambda function, against services that answer at once
    Producer,
}

/// Measures this part, or all parts, and prints the table of what was measured; the room, asked for alone, also beside this
/// other revision. Of all parts the table is kept in `target/bench/table.md`. A part that fails does not keep the others from
/// being measured.
pub(crate) fn run(part: Option<Part>, revision: Option<&str>) -> Result<()> {
    if let Some(revision) = revision
        && !matches!(part, Some(Part::Room))
    {
        bail!("only the room is compared: cargo xtask bench room --compare {revision}");
    }
    let parts = part.map_or_else(|| Part::value_variants().to_vec(), |part| vec![part]);
    let mut table = BenchTable::default();
    let mut failures = Vec::new();
    for part in parts {
        let measured = match part {
            Part::Micro => micro(&mut table),
            Part::Store => table.cargo_bench("embedded", "the store by itself, on the disk of `target`"),
            Part::Room => room::room(&mut table, revision),
            Part::Guard => guard::guard(&mut table),
            Part::Simulation => table.cargo_bench("simulation", "a room on AWS, one thread"),
            Part::Producer => function::producer(&mut table),
        };
        if let Err(error) = measured {
            failures.push(format!("{part:?} could not be measured: {error:#}"));
        }
    }
    if !table.is_empty() {
        let only = part.and_then(|part| part.to_possible_value());
        let only = only.map(|part| format!(" {}", part.get_name())).unwrap_or_default();
        let text = table.markdown(&format!("cargo xtask bench{only}"))?;
        println!("\n{text}");
        if part.is_none() {
            let folder = target().join("bench");
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("table.md"), &text)?;
            println!("This table is in {}.", folder.join("table.md").display());
        }
    }
    if failures.is_empty() { Ok(()) } else { bail!(failures.join("\n")) }
}

fn micro(table: &mut BenchTable) -> Result<()> {
    const MEDIANS: &str = "one thread, no network, medians of 51 rounds";

    table.cargo_bench("waitroom", MEDIANS)?;
    table.cargo_bench("guard", MEDIANS)
}
