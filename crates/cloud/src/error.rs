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
    /// Anything else.
    Failed,
}

/// Something could not be done. `Display` says what was attempted, on what; the source says what was in the way.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt}")]
pub struct CloudError {
    attempt: String,
    kind: Kind,
    advice: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl CloudError {
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

    /// A port of the room's failed: its source says why. `attempt` completes the sentence "could not …".
    pub fn of_port(attempt: impl Into<String>, error: waitroom::ports::PortError) -> Self {
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
    #[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
    pub(crate) fn trouble<E>(
        &self,
        attempt: impl Into<String>,
        error: SdkError<E, HttpResponse>,
    ) -> CloudError
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
        CloudError { attempt, kind, advice, source: Some(Box::from(said)) }
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

#[cfg(test)]
mod tests {
    use std::fmt;

    use aws_sdk_cloudformation::error::{ConnectorError, ErrorMetadata};
    use aws_sdk_cloudformation::operation::create_change_set::CreateChangeSetError;

    use super::*;

    fn adviser(profile: Option<&str>, region: &str) -> Adviser {
        Adviser { profile: profile.map(ToOwned::to_owned), region: region.to_owned() }
    }

    /// As AWS answers a call.
    fn answered(status: u16, code: &str, message: &str) -> SdkError<CreateChangeSetError, HttpResponse> {
        let metadata = ErrorMetadata::builder().code(code).message(message).build();
        let response = HttpResponse::new(status.try_into().unwrap(), "".into());
        SdkError::service_error(CreateChangeSetError::generic(metadata), response)
    }

    /// An error inside an error.
    #[derive(Debug)]
    struct Link(&'static str, Option<Box<Link>>);

    impl fmt::Display for Link {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Link {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|link| link as _)
        }
    }

    fn never_sent(chain: &[&'static str]) -> SdkError<CreateChangeSetError, HttpResponse> {
        let link = chain.iter().rev().fold(None, |inner, &text| Some(Box::new(Link(text, inner))));
        SdkError::dispatch_failure(ConnectorError::other(link.unwrap(), None))
    }

    #[test]
    fn what_aws_answers_is_told_with_what_to_do() {
        let denied = "User: arn:aws:sts::123456789012:assumed-role/Developer/anna is not authorized to perform: \
                      cloudformation:CreateChangeSet on resource: arn:aws:cloudformation:eu-central-1:123456789012:stack/\
                      beekeeper-sale/* because no identity-based policy allows the cloudformation:CreateChangeSet action";
        let table = [
            (
                "AccessDenied",
                403,
                denied,
                Kind::Denied,
                "you need the permission cloudformation:CreateChangeSet;",
            ),
            (
                "ExpiredToken",
                403,
                "The security token included in the request is expired",
                Kind::Expired,
                "aws sso login --profile shop",
            ),
            (
                "UnrecognizedClientException",
                403,
                "The security token included in the request is invalid.",
                Kind::Credentials,
                "does not know these keys",
            ),
            (
                "InvalidClientTokenId",
                403,
                "The security token included in the request is invalid",
                Kind::Credentials,
                "does not know these keys",
            ),
            (
                "SignatureDoesNotMatch",
                403,
                "Signature expired: 20260101T000000Z is now earlier than …",
                Kind::Credentials,
                "clock",
            ),
            (
                "OptInRequired",
                403,
                "The AWS Access Key Id needs a subscription for the service",
                Kind::Region,
                "enabled",
            ),
            ("Throttling", 400, "Rate exceeded", Kind::Throttled, "in a minute"),
            (
                "LimitExceededException",
                400,
                "Limit for stack has been exceeded",
                Kind::Quota,
                "Service Quotas",
            ),
        ];
        for (code, status, message, kind, advice) in table {
            let error = answered(status, code, message);
            let trouble = adviser(Some("shop"), "eu-central-1").trouble("plan the stack", error);
            assert_eq!(trouble.kind(), kind, "{code}");
            assert!(trouble.advice().unwrap().contains(advice), "{code}: {:?}", trouble.advice());
            assert_eq!(trouble.to_string(), "could not plan the stack");
            assert_eq!(trouble.source().unwrap().to_string(), format!("{code}: {message}"));
        }
        let other =
            adviser(None, "eu-central-1").trouble("plan the stack", answered(400, "ValidationError", "no"));
        assert_eq!((other.kind(), other.advice()), (Kind::Failed, None));
    }

    #[test]
    fn a_region_that_has_to_be_enabled_first_is_recognised_by_keys_that_are_not() {
        let error =
            answered(403, "InvalidClientTokenId", "The security token included in the request is invalid");
        let trouble = adviser(None, "ap-east-1").trouble("enter AWS", error);
        assert_eq!(trouble.kind(), Kind::Region);
        assert!(trouble.advice().unwrap().starts_with("ap-east-1 has to be enabled"));
    }

    #[test]
    fn credentials_that_are_missing_or_over_are_told_apart() {
        let none = [
            "other",
            "the credential provider was not enabled",
            "no providers in chain provided credentials",
        ];
        let trouble = adviser(None, "eu-central-1").trouble("enter AWS", never_sent(&none));
        assert_eq!(trouble.kind(), Kind::Credentials);
        assert!(trouble.advice().unwrap().contains("aws configure sso"));

        for over in
            ["the SSO token has expired and cannot be refreshed", "failed to load the cached SSO token"]
        {
            let expired = ["other", "an error occurred while loading credentials", over];
            let trouble = adviser(Some("shop"), "eu-central-1").trouble("enter AWS", never_sent(&expired));
            assert_eq!(trouble.kind(), Kind::Expired, "{over}");
            assert!(trouble.advice().unwrap().starts_with("sign in again: aws sso login --profile shop"));
        }

        let unknown = ["other", "could not find profile `shop`"];
        let trouble = adviser(Some("shop"), "eu-central-1").trouble("enter AWS", never_sent(&unknown));
        assert!(trouble.advice().unwrap().starts_with("check the profile shop"));
    }

    #[test]
    fn the_reasons_that_cloudformation_gives_for_a_resource_are_recognised() {
        let reasons = [
            (
                "Resource handler returned message: \"User: arn:aws:iam::123456789012:user/anna is not authorized to \
                 perform: lambda:CreateFunction on resource: arn:aws:lambda:eu-central-1:123456789012:function:\
                 beekeeper-sale-Producer-x because no identity-based policy allows the lambda:CreateFunction action \
                 (Service: Lambda, Status Code: 403, Request ID: 1)\" (RequestToken: 2, HandlerErrorCode: AccessDenied)",
                Kind::Denied,
                "lambda:CreateFunction;",
            ),
            (
                "Resource handler returned message: \"Cannot exceed quota for RolesPerAccount: 1000 (Service: Iam, Status \
                 Code: 409)\" (RequestToken: 3, HandlerErrorCode: ServiceLimitExceeded)",
                Kind::Quota,
                "Service Quotas",
            ),
            (
                "beekeeper-sale-Line already exists (RequestToken: 4, HandlerErrorCode: AlreadyExists)",
                Kind::Taken,
                "remove it",
            ),
            ("Rate exceeded (Service: ApiGateway, Status Code: 429)", Kind::Throttled, "in a minute"),
        ];
        for (reason, kind, expected) in reasons {
            let (found, advice) = adviser(None, "eu-central-1").advice("", reason);
            assert_eq!(found, kind, "{reason}");
            assert!(advice.as_ref().is_some_and(|advice| advice.contains(expected)), "{advice:?}");
        }
    }
}
