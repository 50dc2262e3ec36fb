use std::fs;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::arguments::{Arguments, Man};
use crate::printer::{say, write};

pub(crate) fn run(man: &Man, json: bool) -> Result<()> {
    let Some(directory) = &man.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
        return Ok(write(&page)?);
    };
    let attempt = || format!("could not write manual pages into {}", directory.display());
    fs::create_dir_all(directory).with_context(attempt)?;
    clap_mangen::generate_to(Arguments::command().disable_help_subcommand(true), directory)
        .with_context(attempt)?;
    if json {
        return Ok(say(&serde_json::json!({ "directory": directory }).to_string())?);
    }
    Ok(say(&format!("manual pages for every command are in {}", directory.display()))?)
}
