//! `cargo xtask try-aws`: builds `beekeeper` as operators get it, and tries a room with it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use emulators::workspace::target;
use serde::Serialize;

use crate::arch::Arch;
use crate::dist::Dist;
use crate::process::{cargo, run};

#[derive(Debug, Args, Serialize)]
pub(crate) struct TryAws {
    /// The AWS region
    #[arg(long)]
    region: String,
    /// Where the room's alarms are sent
    #[arg(long)]
    email: String,
    /// How many visitors join, and are released
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=5000))]
    visitors: u32,
    /// The room's name
    #[arg(long, default_value = "aws-trial")]
    room: String,
    /// A domain of your own for the room
    #[arg(long, requires = "certificate")]
    domain: Option<String>,
    /// The ARN of the domain's certificate in that region
    #[arg(long, requires = "domain")]
    certificate: Option<String>,
    /// Try the access log too, in an account with API Gateway's role for logs
    #[arg(long)]
    access_log: bool,
    /// Only remove what an earlier run left, because it was killed
    #[arg(long)]
    only_remove: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// The `TrialRequest` of the program `try_aws`.
#[derive(Serialize)]
struct TrialArguments<'a> {
    #[serde(flatten)]
    arguments: &'a TryAws,
    beekeeper: PathBuf,
    architecture: &'static str,
    folder: PathBuf,
}

impl TryAws {
    pub(crate) fn run(&self) -> Result<()> {
        // The sale's room has these functions too: whoever tries a room deploys it from the same machine.
        let here = Arch::of_this_machine()?;
        Dist::with(here).make()?;
        let request = TrialArguments {
            arguments: self,
            beekeeper: Dist::program(),
            architecture: here.name(),
            folder: target().join("try-aws"),
        };
        let try_room =
            ["run", "--locked", "--quiet", "--features", "beekeeper/aws", "--bin", "try_aws", "--"];
        run(cargo().args(try_room).arg(serde_json::to_string(&request)?))
    }
}
