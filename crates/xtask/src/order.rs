//! `cargo xtask order`: how far from first come, first served a room is, and what its visitors are told meanwhile.

use anyhow::Result;

use crate::{cargo, run};

pub(crate) fn print_table(seed: u64) -> Result<()> {
    let table = ["run", "--locked", "--quiet", "--features", "beekeeper/aws", "--bin", "order_table", "--"];
    run(cargo().args(table).arg(seed.to_string()))
}
