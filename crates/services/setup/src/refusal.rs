use std::fmt;

/// Why the setup does not go on, and what the owner of the machine can do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct SetupRefusal {
    problem: String,
    pub advice: Option<String>,
}

impl SetupRefusal {
    pub(crate) fn new(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { problem: problem.into(), advice: Some(advice.into()) }
    }

    /// Without advice, because the problem says it.
    pub(crate) fn plain(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), advice: None }
    }
}

impl fmt::Display for SetupRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for SetupRefusal {}
