//! Turns AWS's errors into [`CloudError`]s with advice.
//!
//! AWS describes an error by a code and a sentence. Only this module recognises the errors that an operator can do
//! something about. It reads the errors of calls, and the reasons that CloudFormation gives for a resource. Those
//! reasons have no code.

use std::error::Error;

use aws_sdk_cloudformation::config::http::HttpResponse;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};
use config::Region;
use waitroom::ports::PortError;
use waitroom::with_causes;

use crate::error::{CloudError, CloudErrorKind};

/// What the advice depends on: the AWS profile and the region in use.
#[derive(Clone, Debug)]
pub(crate) struct ErrorTranslator {
    pub(crate) profile: Option<String>,
    pub(crate) region: String,
}

impl ErrorTranslator {
    /// A call to AWS failed. `attempt` completes the sentence "could not …".
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` passes the error by value")]
    pub(crate) fn call_failed<E>(
        &self,
        attempt: impl Into<String>,
        error: SdkError<E, HttpResponse>,
    ) -> CloudError
    where
        E: Error + ProvideErrorMetadata + Send + Sync + 'static,
    {
        let code = code(&error);
        let reason = match &error {
            SdkError::ServiceError(service) => {
                let message = service.err().message().unwrap_or("AWS gave no reason");
                if code.is_empty() { message.to_owned() } else { format!("{code}: {message}") }
            }
            other => with_causes(other),
        };
        let (kind, advice) = self.classify(code, &reason);
        // The last place that is looked at. A laptop is no machine of AWS, so the causes alone would mislead.
        let is_nowhere = reason.contains("failed to load IMDS session token");
        let reason = if is_nowhere { format!("no AWS credentials were found ({reason})") } else { reason };
        with_optional_advice(CloudError::new(kind, attempt, reason), advice)
    }

    /// For a failure that AWS reported only by a sentence. `reason` is the text to show, `sentence` is AWS's text.
    pub(crate) fn failed_with(
        &self,
        attempt: impl Into<String>,
        reason: impl Into<String>,
        sentence: &str,
    ) -> CloudError {
        let (kind, advice) = self.classify("", sentence);
        with_optional_advice(CloudError::new(kind, attempt, reason), advice)
    }

    /// What to do about a failure that AWS describes by this sentence.
    pub(crate) fn advice_for(&self, sentence: &str) -> Option<String> {
        self.classify("", sentence).1
    }

    fn classify(&self, code: &str, sentence: &str) -> (CloudErrorKind, Option<String>) {
        let Some((kind, remedy)) = recognise(code, sentence) else { return (CloudErrorKind::Other, None) };
        match remedy {
            Remedy::Advice(advice) => (kind, Some(advice)),
            Remedy::SignInAgain => (kind, Some(self.sign_in_again())),
            Remedy::ProvideCredentials => (kind, Some(self.provide_credentials())),
            // AWS gives the same answer if the region is not enabled, because no keys are known there.
            Remedy::CheckKeys if Region::is_opt_in(&self.region) => {
                (CloudErrorKind::RegionDisabled, Some(self.enable_region()))
            }
            Remedy::CheckKeys => {
                let advice = "check the access key: it may be deleted, or belong to another AWS partition";
                (kind, Some(advice.into()))
            }
            Remedy::EnableRegion => (kind, Some(self.enable_region())),
        }
    }

    fn sign_in_again(&self) -> String {
        let profile = self.profile.as_ref().map_or(String::new(), |profile| format!(" --profile {profile}"));
        format!("sign in again: aws sso login{profile}; or renew the credentials where you got them from")
    }

    fn provide_credentials(&self) -> String {
        match &self.profile {
            Some(profile) => format!(
                "check the profile {profile} in ~/.aws/config, or run: aws configure --profile {profile}"
            ),
            None => {
                "run: aws configure sso, or aws sso login if you have; or name a profile (AWS_PROFILE, or aws_profile in the \
                 configuration file), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                    .into()
            }
        }
    }

    fn enable_region(&self) -> String {
        format!(
            "enable {} for the account: AWS console, Account, AWS Regions; this takes some minutes",
            self.region
        )
    }
}

impl CloudError {
    /// A port of the room failed. `attempt` completes the sentence "could not …".
    pub fn from_port(attempt: impl Into<String>, error: PortError) -> Self {
        let (kind, advice) = match recognise("", &with_causes(&error)) {
            Some((kind, Remedy::SignInAgain)) => (kind, Some("sign in to AWS again".to_owned())),
            Some((kind, Remedy::Advice(advice))) => (kind, Some(advice)),
            _ => (CloudErrorKind::Other, None),
        };
        with_optional_advice(Self::caused_by(kind, attempt, error), advice)
    }
}

fn with_optional_advice(error: CloudError, advice: Option<String>) -> CloudError {
    match advice {
        Some(advice) => error.with_advice(advice),
        None => error,
    }
}

/// What a person can do. [`ErrorTranslator`] inserts the profile and the region.
enum Remedy {
    Advice(String),
    SignInAgain,
    ProvideCredentials,
    CheckKeys,
    EnableRegion,
}

/// Recognises an error by its code, or by the sentence where there is no code. One list, in which the first that fits counts, so it
/// is longer than a screen.
fn recognise(code: &str, sentence: &str) -> Option<(CloudErrorKind, Remedy)> {
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| sentence.contains(phrase));
    let is = |codes: &[&str]| codes.contains(&code) || says(codes);
    if says(&["SSO token has expired", "failed to load the cached SSO token", "InvalidGrantException"])
        || (says(&["SSO", "sso"]) && says(&["UnauthorizedException"]))
        || is(&["ExpiredToken", "ExpiredTokenException", "RequestExpired"])
    {
        return Some((CloudErrorKind::ExpiredCredentials, Remedy::SignInAgain));
    }
    if says(&[
        "no providers in chain provided credentials",
        "the credential provider was not enabled",
        "could not find profile",
        "was not defined",
        "an error occurred while loading credentials",
    ]) {
        return Some((CloudErrorKind::BadCredentials, Remedy::ProvideCredentials));
    }
    if is(&["OptInRequired", "RegionDisabledException"]) {
        return Some((CloudErrorKind::RegionDisabled, Remedy::EnableRegion));
    }
    if is(&["UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId", "AuthFailure"]) {
        return Some((CloudErrorKind::BadCredentials, Remedy::CheckKeys));
    }
    let (kind, advice) = if is(&["SignatureDoesNotMatch", "InvalidSignatureException"]) {
        let advice =
            "check that the secret key belongs to the access key, and that this machine's clock is right";
        (CloudErrorKind::BadCredentials, advice.to_owned())
    } else if says(&["account must be verified"]) {
        // It comes as a denied permission, and no policy helps.
        let advice = "no permission is missing: open a case with AWS Support, with this text; it may take days. A room without an edge needs no CloudFront";
        (CloudErrorKind::AccessDenied, advice.to_owned())
    } else if is(&["AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError"])
        || says(&["is not authorized to perform", "HandlerErrorCode: AccessDenied"])
    {
        (CloudErrorKind::AccessDenied, permission_advice(sentence))
    } else if is(&[
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "RequestLimitExceeded",
        "SlowDown",
    ]) || says(&["Rate exceeded"])
    {
        let advice = "AWS gets too many requests at the moment; run the same command again in a minute";
        (CloudErrorKind::TooManyRequests, advice.to_owned())
    } else if is(&[
        "LimitExceededException",
        "LimitExceeded",
        "ServiceQuotaExceededException",
        "TooManyBuckets",
        "AccountLimitExceeded",
    ]) || says(&[
        "HandlerErrorCode: ServiceLimitExceeded",
        "exceeds the quota",
        "Maximum number of",
    ]) {
        let advice = "the account has reached this limit: remove what you do not need, or ask for more in the AWS \
                      console, Service Quotas";
        (CloudErrorKind::LimitReached, advice.to_owned())
    } else if says(&["UnreservedConcurrentExecution below its minimum"]) {
        let advice = "the account's functions were reserved meanwhile; run the same command again, which reserves only \
                      what is left";
        (CloudErrorKind::LimitReached, advice.to_owned())
    // CloudFormation's answers to two runs at once. Other services' words are alike, so these codes are not looked for in a sentence.
    } else if ["ChangeSetNotFound", "InvalidChangeSetStatus", "AlreadyExistsException"].contains(&code)
        || says(&[
            "_IN_PROGRESS state and can",
            "cannot be deleted while in status",
            "cannot be created with the changeSet",
        ])
    {
        let advice = "somebody else is deploying or removing this room; run the same command again, which waits for them";
        (CloudErrorKind::Other, advice.to_owned())
    } else if says(&["HandlerErrorCode: AlreadyExists"]) {
        let advice = "something else in the account has this name; remove it, and run the same command again";
        (CloudErrorKind::NameTaken, advice.to_owned())
    } else if says(&["dns error", "failed to lookup address"]) {
        (CloudErrorKind::Other, "check the internet connection, and the name of the region".to_owned())
    } else {
        return None;
    };
    Some((kind, Remedy::Advice(advice)))
}

fn permission_advice(sentence: &str) -> String {
    match denied_action(sentence) {
        Some(action) => {
            format!(
                "you need the permission {action}; docs/operator-policy.md lists all that beekeeper needs"
            )
        }
        None => "docs/operator-policy.md lists the permissions that beekeeper needs".into(),
    }
}

/// From "… is not authorized to perform: lambda:CreateFunction on resource: …".
fn denied_action(sentence: &str) -> Option<&str> {
    let (_, rest) = sentence.split_once("not authorized to perform: ")?;
    let action = rest.split([' ', ',', '"', ')']).next()?;
    action.contains(':').then_some(action)
}

/// The code of the error, or "" if AWS sent none.
pub(crate) fn code<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> &str {
    let code = error.code().unwrap_or_default();
    code.rsplit('#').next().unwrap_or(code)
}

/// The message of the error, or "" if AWS sent none.
pub(crate) fn message<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> &str {
    error.message().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use aws_sdk_cloudformation::error::{ConnectorError, ErrorMetadata};
    use aws_sdk_cloudformation::operation::create_change_set::CreateChangeSetError;

    use super::*;

    fn translator(profile: Option<&str>, region: &str) -> ErrorTranslator {
        ErrorTranslator { profile: profile.map(ToOwned::to_owned), region: region.to_owned() }
    }

    /// An error that AWS sends as the response to a call.
    fn response(status: u16, code: &str, message: &str) -> SdkError<CreateChangeSetError, HttpResponse> {
        let metadata = ErrorMetadata::builder().code(code).message(message).build();
        let response = HttpResponse::new(status.try_into().unwrap(), "".into());
        SdkError::service_error(CreateChangeSetError::generic(metadata), response)
    }

    /// An error with a cause.
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

    const TWO_AT_ONCE: &str = "run the same command again, which waits for them";

    #[test]
    fn an_error_response_comes_with_advice() {
        let denied = "User: arn:aws:sts::123456789012:assumed-role/Developer/anna is not authorized to perform: \
                      cloudformation:CreateChangeSet on resource: arn:aws:cloudformation:eu-central-1:123456789012:stack/\
                      beekeeper-sale/* because no identity-based policy allows the cloudformation:CreateChangeSet action";
        let table = [
            (
                "AccessDenied",
                403,
                denied,
                CloudErrorKind::AccessDenied,
                "you need the permission cloudformation:CreateChangeSet;",
            ),
            (
                "ExpiredToken",
                403,
                "The security token included in the request is expired",
                CloudErrorKind::ExpiredCredentials,
                "aws sso login --profile shop",
            ),
            (
                "UnrecognizedClientException",
                403,
                "The security token included in the request is invalid.",
                CloudErrorKind::BadCredentials,
                "check the access key",
            ),
            (
                "InvalidClientTokenId",
                403,
                "The security token included in the request is invalid",
                CloudErrorKind::BadCredentials,
                "check the access key",
            ),
            (
                "SignatureDoesNotMatch",
                403,
                "Signature expired: 20260101T000000Z is now earlier than …",
                CloudErrorKind::BadCredentials,
                "clock",
            ),
            (
                "OptInRequired",
                403,
                "The AWS Access Key Id needs a subscription for the service",
                CloudErrorKind::RegionDisabled,
                "enable eu-central-1",
            ),
            ("Throttling", 400, "Rate exceeded", CloudErrorKind::TooManyRequests, "in a minute"),
            (
                "LimitExceededException",
                400,
                "Limit for stack has been exceeded",
                CloudErrorKind::LimitReached,
                "Service Quotas",
            ),
            (
                "InvalidParameterValueException",
                400,
                "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution \
                 below its minimum value of [100].",
                CloudErrorKind::LimitReached,
                "run the same command again",
            ),
            (
                "ChangeSetNotFound",
                404,
                "ChangeSet [arn:aws:cloudformation:eu-central-1:1:changeSet/beekeeper-deploy/1] does not exist",
                CloudErrorKind::Other,
                TWO_AT_ONCE,
            ),
            (
                "InvalidChangeSetStatus",
                400,
                "ChangeSet [beekeeper-deploy] cannot be executed in its current execution status of [OBSOLETE]",
                CloudErrorKind::Other,
                TWO_AT_ONCE,
            ),
            (
                "AlreadyExistsException",
                400,
                "ChangeSet beekeeper-deploy already exists for stack beekeeper-sale",
                CloudErrorKind::Other,
                TWO_AT_ONCE,
            ),
            (
                "ValidationError",
                400,
                "Stack:arn:aws:cloudformation:eu-central-1:1:stack/beekeeper-sale/1 is in UPDATE_IN_PROGRESS state and can \
                 not be updated.",
                CloudErrorKind::Other,
                TWO_AT_ONCE,
            ),
            (
                "ValidationError",
                400,
                "Stack [beekeeper-sale] already exists and cannot be created with the changeSet [beekeeper-deploy].",
                CloudErrorKind::Other,
                TWO_AT_ONCE,
            ),
            (
                "ValidationError",
                400,
                "Stack [beekeeper-sale] cannot be deleted while in status UPDATE_IN_PROGRESS",
                CloudErrorKind::Other,
                TWO_AT_ONCE,
            ),
        ];
        for (code, status, message, kind, advice) in table {
            let error = response(status, code, message);
            let error = translator(Some("shop"), "eu-central-1").call_failed("plan the stack", error);
            assert_eq!(error.kind(), kind, "{code}");
            assert!(error.advice().unwrap().contains(advice), "{code}: {:?}", error.advice());
            assert_eq!(error.to_string(), "could not plan the stack");
            assert_eq!(error.source().unwrap().to_string(), format!("{code}: {message}"));
        }
        let other = translator(None, "eu-central-1")
            .call_failed("plan the stack", response(400, "ValidationError", "no"));
        assert_eq!((other.kind(), other.advice()), (CloudErrorKind::Other, None));
    }

    #[test]
    fn unknown_keys_in_an_opt_in_region_mean_that_the_region_is_not_enabled() {
        let error =
            response(403, "InvalidClientTokenId", "The security token included in the request is invalid");
        let error = translator(None, "ap-east-1").call_failed("sign in to AWS", error);
        assert_eq!(error.kind(), CloudErrorKind::RegionDisabled);
        assert!(error.advice().unwrap().starts_with("enable ap-east-1 for the account"));
    }

    #[test]
    fn missing_and_expired_credentials_are_told_apart() {
        let none = [
            "other",
            "the credential provider was not enabled",
            "no providers in chain provided credentials",
        ];
        let error = translator(None, "eu-central-1").call_failed("sign in to AWS", never_sent(&none));
        assert_eq!(error.kind(), CloudErrorKind::BadCredentials);
        assert!(error.advice().unwrap().contains("aws configure sso"));

        for expiry in
            ["the SSO token has expired and cannot be refreshed", "failed to load the cached SSO token"]
        {
            let expired = ["other", "an error occurred while loading credentials", expiry];
            let error =
                translator(Some("shop"), "eu-central-1").call_failed("sign in to AWS", never_sent(&expired));
            assert_eq!(error.kind(), CloudErrorKind::ExpiredCredentials, "{expiry}");
            assert!(error.advice().unwrap().starts_with("sign in again: aws sso login --profile shop"));
        }

        let unknown = ["other", "could not find profile `shop`"];
        let error =
            translator(Some("shop"), "eu-central-1").call_failed("sign in to AWS", never_sent(&unknown));
        assert!(error.advice().unwrap().starts_with("check the profile shop"));
    }

    #[test]
    fn cloudformation_reasons_for_a_resource_are_recognised() {
        let reasons = [
            (
                "Resource handler returned message: \"User: arn:aws:iam::123456789012:user/anna is not authorized to \
                 perform: lambda:CreateFunction on resource: arn:aws:lambda:eu-central-1:123456789012:function:\
                 beekeeper-sale-Producer-x because no identity-based policy allows the lambda:CreateFunction action \
                 (Service: Lambda, Status Code: 403, Request ID: 1)\" (RequestToken: 2, HandlerErrorCode: AccessDenied)",
                CloudErrorKind::AccessDenied,
                "lambda:CreateFunction;",
            ),
            (
                "Resource handler returned message: \"Access denied for operation 'AWS::CloudFront::Distribution: Your account must be \
                 verified before you can add new CloudFront resources. To verify your account, please contact AWS Support\" \
                 (RequestToken: 2, HandlerErrorCode: AccessDenied)",
                CloudErrorKind::AccessDenied,
                "open a case with AWS Support",
            ),
            (
                "Resource handler returned message: \"Cannot exceed quota for RolesPerAccount: 1000 (Service: Iam, Status \
                 Code: 409)\" (RequestToken: 3, HandlerErrorCode: ServiceLimitExceeded)",
                CloudErrorKind::LimitReached,
                "Service Quotas",
            ),
            (
                "beekeeper-sale-Line already exists (RequestToken: 4, HandlerErrorCode: AlreadyExists)",
                CloudErrorKind::NameTaken,
                "remove it",
            ),
            (
                "Rate exceeded (Service: ApiGateway, Status Code: 429)",
                CloudErrorKind::TooManyRequests,
                "in a minute",
            ),
        ];
        for (reason, kind, expected) in reasons {
            let (found, advice) = translator(None, "eu-central-1").classify("", reason);
            assert_eq!(found, kind, "{reason}");
            assert!(advice.as_ref().is_some_and(|advice| advice.contains(expected)), "{advice:?}");
        }
    }
}
