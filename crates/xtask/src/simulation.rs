//! `cargo xtask order` and `cargo xtask stampede`: the tables in the docs that a simulation prints.

use anyhow::Result;

use crate::process::{cargo, run};

/// `table` is a program of the crate `fault_simulation`. It takes a seed, or how many.
pub(crate) fn print(table: &str, seeds: u64) -> Result<()> {
    let run_table = ["run", "--locked", "--quiet", "--features", "beekeeper/aws", "--bin", table, "--"];
    run(cargo().args(run_table).arg(seeds.to_string()))
}
