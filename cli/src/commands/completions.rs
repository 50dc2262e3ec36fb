use anyhow::Result;
use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::printer::write;

pub(crate) fn run(completions: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Arguments::command(), "beekeeper", &mut script);
    Ok(write(&script)?)
}
