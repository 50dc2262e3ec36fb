//! An AWS account: signing in, and the clients of its services.

use std::error::Error;
use std::time::Duration;

use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sts::config::SharedHttpClient;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use crate::aws_errors::ErrorTranslator;
use crate::error::OrIncomplete;
use crate::{CloudError, CloudErrorKind};

/// How many times a call is attempted, with growing pauses. Only the operator waits for it, so many attempts are
/// acceptable.
const ATTEMPTS: u32 = 6;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const ATTEMPT_TIMEOUT: Duration = Duration::from_mins(1);

/// How to sign in to an account, from the room's configuration. A value that is `None` is taken from the
/// environment and from the files of AWS's own tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub region: String,
    /// A profile in `~/.aws/config`. It overrides keys in the environment.
    pub aws_profile: Option<String>,
    /// The account that the room was first deployed to. Any other account is refused.
    pub account: Option<String>,
}

/// An account that accepted the credentials, in one region.
#[derive(Clone, Debug)]
pub struct Account {
    /// Twelve digits.
    pub id: String,
    /// The ARN of the user or role that the credentials belong to.
    pub arn: String,
    pub region: String,
    pub(crate) config: SdkConfig,
    pub(crate) errors: ErrorTranslator,
}

/// Trusts what all our clients trust. The SDK's own would trust nobody on a machine without certificate authorities.
fn http_client() -> Result<SharedHttpClient, Box<dyn Error + Send + Sync>> {
    let pem = roots::certificates()?.iter().fold(String::new(), |pem, certificate| {
        format!(
            "{pem}-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            STANDARD.encode(certificate)
        )
    });
    let trusted = TlsContext::builder().with_trust_store(TrustStore::empty().with_pem_certificate(pem));
    let http = aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc));
    Ok(http.tls_context(trusted.build()?).build_https())
}

impl Account {
    /// The emulator of AWS that is asked instead of AWS.
    pub(crate) fn endpoint(&self) -> Option<Url> {
        self.config.endpoint_url().and_then(|endpoint| endpoint.parse().ok())
    }

    /// Finds credentials, and asks AWS for their account.
    pub async fn sign_in(access: &Access) -> Result<Self, CloudError> {
        let http = http_client().map_err(|error| {
            CloudError::caused_by(CloudErrorKind::Other, "prepare connections to AWS", error)
        })?;
        let region = Region::new(access.region.clone());
        let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .region(region.clone())
            .http_client(http.clone())
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            .timeout_config(
                TimeoutConfig::builder()
                    .connect_timeout(CONNECT_TIMEOUT)
                    .operation_attempt_timeout(ATTEMPT_TIMEOUT)
                    .build(),
            );
        if let Some(profile) = &access.aws_profile {
            // A profile with single sign-on or a role has to call AWS itself.
            let provider = ProviderConfig::without_region().with_http_client(http).with_region(Some(region));
            let provider =
                ProfileFileCredentialsProvider::builder().configure(&provider).profile_name(profile);
            loader = loader.profile_name(profile).credentials_provider(provider.build());
        }
        Self::with_config(loader.load().await, access).await
    }

    /// The same with a given SDK configuration.
    pub async fn with_config(config: SdkConfig, access: &Access) -> Result<Self, CloudError> {
        let errors = ErrorTranslator {
            profile: access.aws_profile.clone().or_else(|| std::env::var("AWS_PROFILE").ok()),
            region: access.region.clone(),
        };
        let attempt = format!("sign in to AWS in {}", access.region);
        let identity = aws_sdk_sts::Client::new(&config).get_caller_identity().send().await;
        let identity = identity.map_err(|error| errors.call_failed(&attempt, error))?;
        let id = identity.account.or_incomplete(&attempt, "an account number")?;
        let arn = identity.arn.or_incomplete(&attempt, "the ARN of the credentials")?;
        if let Some(expected) = access.account.as_ref().filter(|expected| **expected != id) {
            let reason =
                format!("the room belongs to account {expected}, but these credentials belong to {id}");
            let advice = "use credentials of that account; or, to deploy a new room to this account, remove the line \
                          `account` from the room's configuration file";
            let error = CloudError::new(CloudErrorKind::BadCredentials, attempt, reason);
            return Err(error.with_advice(advice));
        }
        Ok(Self { id, arn, region: access.region.clone(), config, errors })
    }

    /// Whether calls go to an emulator, or to another endpoint that is not AWS's own.
    pub(crate) fn has_custom_endpoint(&self) -> bool {
        self.config.endpoint_url().is_some()
    }

    pub(crate) fn cloudformation(&self) -> aws_sdk_cloudformation::Client {
        aws_sdk_cloudformation::Client::new(&self.config)
    }

    pub(crate) fn logs(&self) -> aws_sdk_cloudwatchlogs::Client {
        aws_sdk_cloudwatchlogs::Client::new(&self.config)
    }

    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        // Emulators have no host name for each bucket.
        let config = aws_sdk_s3::config::Builder::from(&self.config);
        aws_sdk_s3::Client::from_conf(config.force_path_style(self.has_custom_endpoint()).build())
    }

    /// The same account in another region.
    pub(crate) fn in_region(&self, region: &str) -> Self {
        let config = self.config.to_builder().region(Region::new(region.to_owned())).build();
        let errors = ErrorTranslator { region: region.to_owned(), ..self.errors.clone() };
        Self { region: region.to_owned(), config, errors, ..self.clone() }
    }

    /// A stack with its region and account, for error texts.
    pub(crate) fn describe_stack(&self, stack: &str) -> String {
        format!("the stack {stack} in {} of account {}", self.region, self.id)
    }
}
