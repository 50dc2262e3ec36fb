//! Shows the checks of `beekeeper doctor` as they end.

use anyhow::Result;
use doctor::{DoctorCheck, DoctorReport, Examined, RunningCheck};

use crate::exit::{Exit, Failure};
use crate::printer::{Colours, LiveLine, say};

/// The checks that were made, which are printed as they end.
pub(crate) struct DoctorScreen {
    json: bool,
    checks: Vec<DoctorCheck>,
    printed: Result<()>,
}

impl DoctorScreen {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, checks: Vec::new(), printed: Ok(()) }
    }

    pub(crate) fn add(&mut self, check: DoctorCheck) {
        if !self.json && self.printed.is_ok() {
            self.printed = say(&text(&check, Colours::of_output())).map_err(Into::into);
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
        doctor::run(
            checks,
            |name| show(&format!("checking: {name}")),
            |check| {
                show("");
                self.add(check);
            },
        )
        .await;
    }

    /// Prints the summary. An error if there is a problem, also if the output was closed.
    pub(crate) fn end(self, examined: &Examined) -> Result<()> {
        let report = DoctorReport::of(examined, self.checks);
        let printed =
            if self.json { say(&serde_json::to_string(&report)?).map_err(Into::into) } else { self.printed };
        if !report.ready {
            let advice = "do what stands below each problem, and run the command again";
            return Err(Failure::new(Exit::Failed, report.verdict()).advising(advice).into());
        }
        printed?;
        if !self.json {
            let (verdict, colours) = (report.verdict(), Colours::of_output());
            say(&if report.has_warnings() { colours.yellow(&verdict) } else { colours.green(&verdict) })?;
        }
        Ok(())
    }
}

/// One line, and what to do on the next.
fn text(check: &DoctorCheck, colours: Colours) -> String {
    let DoctorCheck { name, result, found, advice } = check;
    let word = colours.marked(Some(result.mark()), &format!("{:<11}", result.as_str()));
    let below = format!("\n{:27}", "");
    let found = found.replace('\n', &below);
    let advice = advice.as_ref().map(|advice| format!("{below}{advice}")).unwrap_or_default();
    format!("{word}  {name:<12}  {found}{advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_a_line_and_what_to_do_is_below_it() {
        let fine = DoctorCheck::ok("clock", "as AWS's");
        assert_eq!(text(&fine, Colours::None), "ok           clock         as AWS's");
        assert_eq!(text(&fine, Colours::Ansi), "\x1b[32mok         \x1b[0m  clock         as AWS's");
        let bad = DoctorCheck::problem("way-around", "everybody\nenters", "guard it");
        let expected = "problem      way-around    everybody\n                           enters\n                           guard it";
        assert_eq!(text(&bad, Colours::None), expected);
        assert!(
            text(&bad, Colours::Ansi).starts_with("\x1b[1;31mproblem    \x1b[0m  way-around    everybody\n")
        );
        let slow = text(&DoctorCheck::warning("shop", "slow", "look at it"), Colours::Ansi);
        assert!(slow.starts_with("\x1b[33mwarning    \x1b[0m  shop "), "{slow:?}");
    }
}
