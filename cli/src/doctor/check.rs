use std::fmt;

use serde::Serialize;

use crate::exit;

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
        Self::problem(name, format!("{error:#}"), exit::advice(error).unwrap_or("run the command again"))
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

/// One line, and what to do on the next.
impl fmt::Display for DoctorCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, result, found, advice } = self;
        let below = format!("\n{:27}", "");
        write!(f, "{result:<11}  {name:<12}  {}", found.replace('\n', &below))?;
        advice.as_ref().map_or(Ok(()), |advice| write!(f, "{below}{advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_a_line_and_what_to_do_is_below_it() {
        let fine = DoctorCheck::ok("clock", "as AWS's");
        assert_eq!(fine.to_string(), "ok           clock         as AWS's");
        let bad = DoctorCheck::problem("way-around", "everybody\nenters", "guard it");
        let expected = "problem      way-around    everybody\n                           enters\n                           guard it";
        assert_eq!(bad.to_string(), expected);
    }
}
