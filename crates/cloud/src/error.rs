//! What can fail in an account, and what a person can do about it.

use std::error::Error;

/// What failed, as far as a script needs to tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloudErrorKind {
    /// There is no such room in this account and region.
    NotFound,
    /// There are no credentials, AWS does not know them, or they belong to another account than the room.
    BadCredentials,
    /// The credentials have expired. Signing in again helps.
    ExpiredCredentials,
    /// The credentials are valid, but lack a permission.
    AccessDenied,
    /// The region is not enabled for the account.
    RegionDisabled,
    /// A limit of the account is used up.
    LimitReached,
    /// AWS refused the request for too long because there were too many.
    TooManyRequests,
    /// Something that is not this room's has a name that the room needs.
    NameTaken,
    /// Anything else.
    Other,
}

/// Something that failed. `Display` says what was attempted, and on what; `source` says why it failed.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt}")]
pub struct CloudError {
    attempt: String,
    kind: CloudErrorKind,
    advice: Option<String>,
    source: Box<dyn Error + Send + Sync>,
}

impl CloudError {
    /// `attempt` completes the sentence "could not …".
    pub(crate) fn new(kind: CloudErrorKind, attempt: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::caused_by(kind, attempt, reason.into())
    }

    /// The same with an error as the reason.
    pub(crate) fn caused_by(
        kind: CloudErrorKind,
        attempt: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { attempt: attempt.into(), kind, advice: None, source: source.into() }
    }

    /// AWS reported success, but left out something without which the result would be wrong.
    pub(crate) fn incomplete(attempt: impl Into<String>, missing: &str) -> Self {
        Self::new(CloudErrorKind::Other, attempt, format!("AWS answered without {missing}"))
            .with_advice("run the same command again")
    }

    #[must_use]
    pub(crate) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Adds this advice if there is none yet.
    #[must_use]
    pub(crate) fn or_advice(self, advice: &str) -> Self {
        if self.advice.is_some() { self } else { self.with_advice(advice) }
    }

    pub fn kind(&self) -> CloudErrorKind {
        self.kind
    }

    /// What the person can do, as a sentence of its own.
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Why it failed.
    pub(crate) fn reason(&self) -> String {
        self.source.to_string()
    }
}

/// The value, or an error that says what AWS left out. It is not for lists: AWS may leave out an empty list.
pub(crate) trait OrIncomplete<T> {
    fn or_incomplete(self, attempt: &str, missing: &str) -> Result<T, CloudError>;
}

impl<T> OrIncomplete<T> for Option<T> {
    fn or_incomplete(self, attempt: &str, missing: &str) -> Result<T, CloudError> {
        self.ok_or_else(|| CloudError::incomplete(attempt, missing))
    }
}
