//! Tries a room in an AWS account. Its one argument is a [`TrialRequest`] in JSON, which `cargo xtask try-aws` writes.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that is read")]

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use deployed_rooms::trial::{TrialOptions, remove, try_room};
use serde::Deserialize;

#[derive(Deserialize)]
struct TrialRequest {
    #[serde(flatten)]
    options: TrialOptions,
    only_remove: bool,
    /// Do not ask.
    yes: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let request = env::args().nth(1).context("use cargo xtask try-aws")?;
    let request: TrialRequest = serde_json::from_str(&request).context("use cargo xtask try-aws")?;
    if request.only_remove {
        return remove(&request.options);
    }
    try_room(&request.options, |plan| {
        println!("{plan}");
        if request.yes { Ok(true) } else { agreed() }
    })
}

fn agreed() -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("nobody can be asked here; add --yes to agree");
    }
    print!("Go on? [y/N] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
