/// Why something is not done, and what the person who wants it can do about that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
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
