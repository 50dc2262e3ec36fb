//! `cargo xtask order`: the tables of docs/order.md, which a simulation prints.

use anyhow::Result;

use crate::process::{cargo, run};

pub(crate) fn print(seeds: u64) -> Result<()> {
    let run_table =
        ["run", "--locked", "--quiet", "--features", "beekeeper/aws", "--bin", "order_table", "--"];
    run(cargo().args(run_table).arg(seeds.to_string()))
}
