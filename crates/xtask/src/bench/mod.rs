//! Measures how much load the parts of a room can take.
//!
//! The room on one machine is compared with nginx: same number of workers, same load tool, same size of answer, logging
//! off. Absolute figures depend mostly on the machine, so ratios are printed last. A ratio is the median of several
//! rounds; in each round the two are measured one after the other.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod bench_server;
mod function;
mod load;
mod memory;
mod room;
mod stand_in;

use anyhow::Result;

use crate::process::{cargo, run as command};

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Part {
    /// The embedded store, beside the latency of its disk
    Store,
    /// The room on one machine, beside nginx (needs nginx, wrk and curl)
    Room,
    /// The producer as a Lambda function, against services that answer at once
    Producer,
}

/// Measures this part, or all parts.
pub(crate) fn run(part: Option<Part>) -> Result<()> {
    match part {
        Some(Part::Store) => store(),
        Some(Part::Room) => room::room(),
        Some(Part::Producer) => function::producer(),
        None => store().and_then(|()| room::room()).and_then(|()| function::producer()),
    }
}

fn store() -> Result<()> {
    command(cargo().args(["bench", "--locked", "--package", "embedded"]))
}
