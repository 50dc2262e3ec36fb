use anyhow::Result;
use document::words::things;
use serde_json::json;

use super::check::{CheckResult, DoctorCheck};
use super::examined::Examined;
use super::running::{self, RunningCheck};
use crate::exit::{Exit, Failure};
use crate::printer::{Colours, LiveLine, say};

/// The checks that were made, which are printed as they end.
pub(crate) struct DoctorReport {
    json: bool,
    checks: Vec<DoctorCheck>,
    printed: Result<()>,
}

impl DoctorReport {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, checks: Vec::new(), printed: Ok(()) }
    }

    pub(crate) fn add(&mut self, check: DoctorCheck) {
        if !self.json && self.printed.is_ok() {
            self.printed = say(&check.text(Colours::of_output())).map_err(Into::into);
        }
        self.checks.push(check);
    }

    /// A line on the terminal that says what is waited for, unless the output is for scripts.
    pub(crate) fn waits_for(&self, what: &str) -> Option<LiveLine> {
        let line = (!self.json).then(LiveLine::new)?;
        line.show(&format!("checking: {what}"));
        Some(line)
    }

    pub(crate) async fn run(&mut self, checks: Vec<RunningCheck<'_>>) {
        let line = (!self.json).then(LiveLine::new);
        let show = |text: &str| {
            if let Some(line) = &line {
                line.show(text);
            }
        };
        running::run(
            checks,
            |name| show(&format!("checking: {name}")),
            |check| {
                show("");
                self.add(check);
            },
        )
        .await;
    }

    fn count(&self, result: CheckResult) -> u64 {
        self.checks.iter().filter(|check| check.result == result).count() as u64
    }

    /// Prints the summary. An error if there is a problem.
    pub(crate) fn end(self, examined: &Examined) -> Result<()> {
        let is_deployed = examined.status().is_some();
        let (problems, warnings) = (self.count(CheckResult::Problem), self.count(CheckResult::Warning));
        let (name, is_ready) = (&examined.name, problems == 0);
        self.printed?;
        if self.json {
            let report =
                json!({ "room": name, "ready": is_ready, "deployed": is_deployed, "checks": self.checks });
            say(&report.to_string())?;
        }
        let counts = format!("{}, {}", things(problems, "problem"), things(warnings, "warning"));
        if !is_ready {
            let advice = "do what stands below each problem, and run the command again";
            return Err(Failure::new(Exit::Failed, format!("{name} is not ready: {counts}"))
                .advising(advice)
                .into());
        }
        if !self.json {
            let ready = if is_deployed { "ready" } else { "ready to be deployed" };
            let verdict = format!("{name} is {ready}: {counts}");
            let colours = Colours::of_output();
            say(&if warnings == 0 { colours.green(&verdict) } else { colours.yellow(&verdict) })?;
        }
        Ok(())
    }
}
