use std::fmt;

use serde::Serialize;

use crate::ending;
use crate::printer::Colours;

/// What a check found, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DoctorCheck {
    pub(crate) name: &'static str,
    pub(crate) result: CheckResult,
    /// A fact, as it was measured.
    pub(crate) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CheckResult {
    Ok,
    /// The event can begin, but look at this.
    Warning,
    /// The room is not ready.
    Problem,
    /// It could not be checked; what was found says why.
    NotChecked,
}

impl DoctorCheck {
    pub(crate) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, result: CheckResult::Ok, found: found.into(), advice: None }
    }

    pub(crate) fn warning(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { result: CheckResult::Warning, advice: Some(advice.into()), ..Self::ok(name, found) }
    }

    pub(crate) fn problem(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { result: CheckResult::Problem, advice: Some(advice.into()), ..Self::ok(name, found) }
    }

    /// A check that ended with this error, which may have advice of its own.
    pub(crate) fn failed(name: &'static str, error: &anyhow::Error) -> Self {
        Self::problem(
            name,
            format!("{error:#}"),
            ending::advice(error).unwrap_or_else(|| "run the command again".into()),
        )
    }

    pub(crate) fn not_checked(name: &'static str, why: impl Into<String>) -> Self {
        Self { result: CheckResult::NotChecked, ..Self::ok(name, why) }
    }
}

impl fmt::Display for CheckResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
            Self::NotChecked => "not checked",
        })
    }
}

impl CheckResult {
    fn coloured(self, colours: Colours) -> String {
        let word = format!("{self:<11}");
        match self {
            Self::Ok => colours.green(&word),
            Self::Warning | Self::NotChecked => colours.yellow(&word),
            Self::Problem => colours.red(&word),
        }
    }
}

impl DoctorCheck {
    /// One line, and what to do on the next.
    pub(crate) fn text(&self, colours: Colours) -> String {
        let Self { name, result, found, advice } = self;
        let below = format!("\n{:27}", "");
        let found = found.replace('\n', &below);
        let advice = advice.as_ref().map(|advice| format!("{below}{advice}")).unwrap_or_default();
        format!("{}  {name:<12}  {found}{advice}", result.coloured(colours))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_a_line_and_what_to_do_is_below_it() {
        let fine = DoctorCheck::ok("clock", "as AWS's");
        assert_eq!(fine.text(Colours::None), "ok           clock         as AWS's");
        assert_eq!(fine.text(Colours::Ansi), "\x1b[32mok         \x1b[0m  clock         as AWS's");
        let bad = DoctorCheck::problem("way-around", "everybody\nenters", "guard it");
        let expected = "problem      way-around    everybody\n                           enters\n                           guard it";
        assert_eq!(bad.text(Colours::None), expected);
        assert!(
            bad.text(Colours::Ansi).starts_with("\x1b[1;31mproblem    \x1b[0m  way-around    everybody\n")
        );
        let slow = DoctorCheck::warning("shop", "slow", "look at it").text(Colours::Ansi);
        assert!(slow.starts_with("\x1b[33mwarning    \x1b[0m  shop "), "{slow:?}");
    }
}
