//! Measures how much load the parts of a room can take.
//!
//! The room on one machine is compared with nginx: same number of workers, same load tool, same size of answer, logging
//! off. Absolute figures depend mostly on the machine, so ratios are printed last. A ratio is the median of several
//! rounds; in each round the two are measured one after the other.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod bench_room;
mod bench_server;
mod function;
mod guard;
mod http;
mod load;
mod room;
mod stand_in;
mod usage;

use anyhow::Result;
use clap::ValueEnum;

use crate::process::{cargo, run as command};

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Part {
    /// The embedded store, beside the latency of its disk
    Store,
    /// The room on one machine, beside nginx (needs nginx and wrk)
    Room,
    /// nginx with the guard of a shop, beside the same nginx without it (needs nginx, wrk and openssl)
    Guard,
    /// The producer as a Lambda function, against services that answer at once
    Producer,
}

/// Measures this part, or all parts.
pub(crate) fn run(part: Option<Part>) -> Result<()> {
    let parts = part.map_or_else(|| Part::value_variants().to_vec(), |part| vec![part]);
    parts.into_iter().try_for_each(|part| match part {
        Part::Store => store(),
        Part::Room => room::room(),
        Part::Guard => guard::guard(),
        Part::Producer => function::producer(),
    })
}

fn store() -> Result<()> {
    command(cargo().args(["bench", "--locked", "--package", "embedded"]))
}
