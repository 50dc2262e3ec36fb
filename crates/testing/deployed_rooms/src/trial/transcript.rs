//! What happened, for the terminal and for an issue.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use super::account::TrialAccount;
use super::options::TrialOptions;

/// A file in Markdown. Each line is in it as soon as it is known.
#[derive(Debug)]
pub(super) struct Transcript {
    path: PathBuf,
    file: File,
    account: String,
}

impl Transcript {
    pub(super) fn create(options: &TrialOptions, account: &TrialAccount) -> Result<Self> {
        let TrialOptions { folder, room, region, visitors, .. } = options;
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let path = folder.join(format!("{room}-{seconds}.md"));
        fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
        let file = File::create(&path).with_context(|| format!("could not create {}", path.display()))?;
        let mut transcript = Self { path, file, account: account.id.clone() };
        let on = options.endpoint.as_ref().map_or("AWS", |_| "an emulator");
        transcript.say(&format!(
            "# A trial of Beekeeper {} on {on}\n\nRegion {region}, {visitors} visitors, second {seconds} since 1970.\n",
            env!("CARGO_PKG_VERSION"),
        ))?;
        Ok(transcript)
    }

    /// The transcript may become public, so it does not name the account.
    fn say(&mut self, text: &str) -> Result<()> {
        let text = text.replace(&self.account, "ACCOUNT");
        let mut terminal = io::stdout().lock();
        terminal.write_all(text.as_bytes())?;
        terminal.flush()?;
        self.file
            .write_all(text.as_bytes())
            .with_context(|| format!("could not write {}", self.path.display()))
    }

    pub(super) fn begin(&mut self, step: &str) -> Result<()> {
        self.say(&format!("\n## {step}\n\n"))
    }

    pub(super) fn end(&mut self, took: Duration, outcome: &Result<StepOutcome>) -> Result<()> {
        let seconds = took.as_secs();
        match outcome {
            Ok(StepOutcome::Shown(findings)) => {
                let mut text = format!("**Shown** in {seconds} s.\n\n");
                for finding in findings {
                    let _ = writeln!(text, "- {finding}");
                }
                self.say(&text)
            }
            Ok(StepOutcome::Skipped(why)) => self.say(&format!("**Skipped**: {why}.\n")),
            Err(error) => self.say(&format!("**Failed** after {seconds} s.\n\n```text\n{error:#}\n```\n")),
        }
    }

    pub(super) fn close(mut self, failed: usize) -> Result<()> {
        let result = if failed == 0 { "Nothing failed.".to_owned() } else { format!("{failed} failed.") };
        self.say(&format!("\n{result}\n"))?;
        let path = self.path.display();
        Ok(writeln!(io::stdout(), "\nThe transcript is {path}. Please attach it to an issue.")?)
    }
}

/// What a step came to, if it did not fail.
#[derive(Debug)]
pub(super) enum StepOutcome {
    /// What it found.
    Shown(Vec<String>),
    /// Why it was not tried.
    Skipped(&'static str),
}
