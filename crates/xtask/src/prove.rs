//! `cargo xtask prove-aws`: builds `beekeeper` as operators get it, and proves a room with it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use emulators::workspace::target;
use serde::Serialize;

use crate::dist::Dist;
use crate::package::Arch;
use crate::process::{cargo, run};

#[derive(Debug, Args, Serialize)]
pub(crate) struct ProveAws {
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
    #[arg(long, default_value = "aws-proof")]
    room: String,
    /// A domain of your own for the room
    #[arg(long, requires = "certificate")]
    domain: Option<String>,
    /// The ARN of the domain's certificate in that region
    #[arg(long, requires = "domain")]
    certificate: Option<String>,
    /// Only remove what an earlier run left, because it was killed
    #[arg(long)]
    only_remove: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// The `ProofRequest` of the program `prove_aws`.
#[derive(Serialize)]
struct ProofArguments<'a> {
    #[serde(flatten)]
    arguments: &'a ProveAws,
    beekeeper: PathBuf,
    architecture: &'static str,
    folder: PathBuf,
}

impl ProveAws {
    pub(crate) fn run(&self) -> Result<()> {
        Dist::for_lambda().make()?;
        let request = ProofArguments {
            arguments: self,
            beekeeper: Dist::program(),
            architecture: Arch::Arm64.name(),
            folder: target().join("prove-aws"),
        };
        let prove = ["run", "--locked", "--quiet", "--features", "beekeeper/aws", "--bin", "prove_aws", "--"];
        run(cargo().args(prove).arg(serde_json::to_string(&request)?))
    }
}
