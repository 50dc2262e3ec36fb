use std::fmt;

/// Why something is not done, and what the person who wants it can do about that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub problem: String,
    pub advice: Option<String>,
}

impl Refusal {
    pub fn new(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { problem: problem.into(), advice: Some(advice.into()) }
    }

    /// Without advice, because the problem says it.
    pub fn plain(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), advice: None }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Refusal {}
