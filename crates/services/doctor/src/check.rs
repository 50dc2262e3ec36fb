use std::error::Error;

use document::CheckMark;
use serde::Serialize;
use waitroom::with_causes;

/// What a check found, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    pub name: &'static str,
    pub result: CheckResult,
    /// A fact, as it was measured.
    pub found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckResult {
    Ok,
    /// The event can begin, but look at this.
    Warning,
    /// The room is not ready.
    Problem,
    /// It could not be checked; what was found says why.
    NotChecked,
}

impl DoctorCheck {
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, result: CheckResult::Ok, found: found.into(), advice: None }
    }

    pub fn warning(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { result: CheckResult::Warning, advice: Some(advice.into()), ..Self::ok(name, found) }
    }

    pub fn problem(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { result: CheckResult::Problem, advice: Some(advice.into()), ..Self::ok(name, found) }
    }

    /// A check that ended with this error, for which there may be advice.
    pub fn failed(name: &'static str, error: &(dyn Error + 'static), advice: Option<&str>) -> Self {
        Self::problem(name, with_causes(error), advice.unwrap_or("run the command again"))
    }

    pub fn not_checked(name: &'static str, why: impl Into<String>) -> Self {
        Self { result: CheckResult::NotChecked, ..Self::ok(name, why) }
    }
}

impl CheckResult {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
            Self::NotChecked => "not checked",
        }
    }

    pub fn mark(self) -> CheckMark {
        match self {
            Self::Ok => CheckMark::Good,
            Self::Warning | Self::NotChecked => CheckMark::Doubtful,
            Self::Problem => CheckMark::Bad,
        }
    }
}
