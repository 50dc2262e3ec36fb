//! What can go wrong with an account, and what a person can do about it.
//!
//! AWS answers with codes and sentences. Those that an operator can do something about are recognised here, in one
//! place, whether they come as the answer to a call or as the reason that CloudFormation gives for a resource.

use std::error::Error;
use std::fmt::Debug;

use aws_sdk_cloudformation::config::http::HttpResponse;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};

/// What kind of trouble it is: what a script may want to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// There is no such room in this account and region.
    Absent,
    /// No credentials, or AWS does not know them.
    Credentials,
    /// They were good once. Signing in again helps.
    Expired,
    /// They are good, and not for this.
    Denied,
    /// The account does not use this region.
    Region,
    /// The account has as many of these as it may.
    Quota,
    /// Too many calls at once, for longer than it was worth waiting.
    Throttled,
    /// A name that the room needs belongs to something else.
    Taken,
    /// Somebody asked for it to stop.
    Interrupted,
    /// Anything else.
    Failed,
}

/// Something could not be done. `Display` says what was attempted, on what; the source says what was in the way.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt}")]
pub struct Trouble {
    attempt: String,
    kind: Kind,
    advice: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Trouble {
    /// `attempt` completes the sentence "could not …".
    pub(crate) fn new(kind: Kind, attempt: impl Into<String>, reason: impl Into<String>) -> Self {
        let source = Some(Box::from(reason.into()));
        Self { attempt: attempt.into(), kind, advice: None, source }
    }

    #[must_use]
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// This advice, unless there is a better one.
    #[must_use]
    pub(crate) fn or_advise(self, advice: &str) -> Self {
        if self.advice.is_some() { self } else { self.advise(advice) }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What the person can do, as a sentence of its own.
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// A port of the room's failed: its source says why.
    pub(crate) fn of_port(attempt: impl Into<String>, error: waitroom::ports::PortError) -> Self {
        let (kind, advice) = match judge("", &chain(&error)) {
            Some((kind, Remedy::SignIn)) => (kind, Some("sign in to AWS again".to_owned())),
            Some((kind, Remedy::Say(advice))) => (kind, Some(advice)),
            _ => (Kind::Failed, None),
        };
        Self { attempt: attempt.into(), kind, advice, source: Some(Box::new(error)) }
    }
}

/// Whom advice is for: which profile they use, and where.
#[derive(Clone, Debug)]
pub(crate) struct Adviser {
    pub(crate) profile: Option<String>,
    pub(crate) region: String,
}

impl Adviser {
    /// A call that failed. `attempt` completes the sentence "could not …".
    pub(crate) fn trouble<E>(&self, attempt: impl Into<String>, error: SdkError<E, HttpResponse>) -> Trouble
    where
        E: Error + ProvideErrorMetadata + Send + Sync + 'static,
    {
        let attempt = attempt.into();
        let code = code(&error).to_owned();
        let said = match &error {
            SdkError::ServiceError(answer) => {
                let message = answer.err().message().unwrap_or("it did not say why");
                if code.is_empty() { message.to_owned() } else { format!("{code}: {message}") }
            }
            other => chain(other),
        };
        let (kind, advice) = self.advice(&code, &said);
        Trouble { attempt, kind, advice, source: Some(Box::from(said)) }
    }

    /// What kind of trouble this is, and what to do about it.
    pub(crate) fn advice(&self, code: &str, said: &str) -> (Kind, Option<String>) {
        let Some((kind, remedy)) = judge(code, said) else { return (Kind::Failed, None) };
        let advice = match remedy {
            Remedy::Say(advice) => advice,
            Remedy::SignIn => self.sign_in(),
            Remedy::Present => match &self.profile {
                Some(profile) => format!("check the profile {profile} in ~/.aws/config, or run: aws configure --profile {profile}"),
                None => "run: aws configure sso, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into(),
            },
            Remedy::Recognise if is_opt_in(&self.region) => {
                return (Kind::Region, Some(self.enable()));
            }
            Remedy::Recognise => "AWS does not know these keys: have they been deleted, or belong to another partition?".into(),
            Remedy::Enable => self.enable(),
        };
        (kind, Some(advice))
    }

    fn sign_in(&self) -> String {
        let profile = self.profile.as_ref().map_or(String::new(), |profile| format!(" --profile {profile}"));
        format!("sign in again: aws sso login{profile}; or renew whatever gave you these credentials")
    }

    fn enable(&self) -> String {
        format!(
            "{} has to be enabled for the account first: AWS console, Account, AWS Regions; it takes some minutes",
            self.region
        )
    }
}

enum Remedy {
    Say(String),
    SignIn,
    /// There are no credentials.
    Present,
    /// There are some that AWS does not recognise.
    Recognise,
    Enable,
}

/// Whether an account has to enable this region before it can use it.
/// <https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-regions.html>
fn is_opt_in(region: &str) -> bool {
    const SINCE_2019: &[&str] = &[
        "af-south-1",
        "ap-east-1",
        "ap-east-2",
        "ap-south-2",
        "ap-southeast-3",
        "ap-southeast-4",
        "ap-southeast-5",
        "ap-southeast-6",
        "ap-southeast-7",
        "ca-west-1",
        "eu-central-2",
        "eu-south-1",
        "eu-south-2",
        "il-central-1",
        "me-central-1",
        "me-south-1",
        "mx-central-1",
    ];
    SINCE_2019.contains(&region)
}

/// Recognises an error by its code, or by what was said where there is none: CloudFormation's reasons have only that.
fn judge(code: &str, said: &str) -> Option<(Kind, Remedy)> {
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let is = |codes: &[&str]| codes.contains(&code) || has(codes);
    if has(&["SSO token has expired", "failed to load the cached SSO token", "InvalidGrantException"])
        || (has(&["SSO", "sso"]) && has(&["UnauthorizedException"]))
        || is(&["ExpiredToken", "ExpiredTokenException", "RequestExpired"])
    {
        return Some((Kind::Expired, Remedy::SignIn));
    }
    if has(&[
        "no providers in chain provided credentials",
        "the credential provider was not enabled",
        "could not find profile",
        "was not defined",
        "an error occurred while loading credentials",
    ]) {
        return Some((Kind::Credentials, Remedy::Present));
    }
    if is(&["OptInRequired", "RegionDisabledException"]) {
        return Some((Kind::Region, Remedy::Enable));
    }
    if is(&["UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId", "AuthFailure"]) {
        return Some((Kind::Credentials, Remedy::Recognise));
    }
    if is(&["SignatureDoesNotMatch", "InvalidSignatureException"]) {
        let advice = "the secret key does not belong to the access key, or this machine's clock is wrong";
        return Some((Kind::Credentials, Remedy::Say(advice.into())));
    }
    if is(&["AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError"])
        || has(&["is not authorized to perform", "HandlerErrorCode: AccessDenied"])
    {
        let advice = match denied_action(said) {
            Some(action) => format!(
                "you need the permission {action}; docs/operator-policy.md has all that beekeeper needs"
            ),
            None => "docs/operator-policy.md has the permissions that beekeeper needs".into(),
        };
        return Some((Kind::Denied, Remedy::Say(advice)));
    }
    if is(&[
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "RequestLimitExceeded",
        "SlowDown",
    ]) || has(&["Rate exceeded"])
    {
        return Some((
            Kind::Throttled,
            Remedy::Say("AWS is asked too much at the moment; run the same command again in a minute".into()),
        ));
    }
    if is(&[
        "LimitExceededException",
        "LimitExceeded",
        "ServiceQuotaExceededException",
        "TooManyBuckets",
        "AccountLimitExceeded",
    ]) || has(&["HandlerErrorCode: ServiceLimitExceeded", "exceeds the quota", "Maximum number of"])
    {
        let advice = "the account has as many of these as it may: remove what is not needed, or ask for more in the AWS \
                      console, Service Quotas";
        return Some((Kind::Quota, Remedy::Say(advice.into())));
    }
    if has(&["HandlerErrorCode: AlreadyExists"]) {
        let advice = "something else in the account has that name, perhaps left by hand; remove it, and run the same command again";
        return Some((Kind::Taken, Remedy::Say(advice.into())));
    }
    if has(&["dns error", "failed to lookup address"]) {
        let advice = "is there a connection to the internet, and is this the region's name?";
        return Some((Kind::Failed, Remedy::Say(advice.into())));
    }
    None
}

/// From "… is not authorized to perform: lambda:CreateFunction on resource: …".
fn denied_action(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("not authorized to perform: ")?;
    let action = rest.split([' ', ',', '"', ')']).next()?;
    action.contains(':').then_some(action)
}

/// The code that AWS gave the error, or nothing.
pub(crate) fn code<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> &str {
    let code = error.code().unwrap_or_default();
    code.rsplit('#').next().unwrap_or(code)
}

/// What AWS said, or nothing.
pub(crate) fn message<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> &str {
    error.message().unwrap_or_default()
}

fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
