//! Whose account it is, and where.

use std::time::Duration;

use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use waitroom::RoomId;

use crate::error::Adviser;
use crate::{CloudError, Kind, names};

/// A call is made again this often, with growing pauses: nobody is kept waiting by it but the operator.
const ATTEMPTS: u32 = 6;
const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_mins(1);

/// How an account is entered: what a room's profile says. What it leaves open is taken from the environment and the
/// files of AWS's own tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub region: String,
    /// A profile in `~/.aws/config`. It counts for more than keys in the environment.
    pub aws_profile: Option<String>,
    /// The account in which the room was deployed first. Another one is refused.
    pub account: Option<String>,
}

/// An account that has let us in, in one region.
#[derive(Clone, Debug)]
pub struct Account {
    /// Twelve digits.
    pub id: String,
    /// Whose credentials these are.
    pub arn: String,
    pub region: String,
    pub(crate) config: SdkConfig,
    pub(crate) adviser: Adviser,
}

impl Account {
    /// Finds credentials, and asks AWS whose they are.
    pub async fn enter(access: &Access) -> Result<Self, CloudError> {
        let http = aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc));
        let (http, region) = (http.build_https(), Region::new(access.region.clone()));
        let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .region(region.clone())
            .http_client(http.clone())
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            .timeout_config(
                TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(ANSWER).build(),
            );
        if let Some(profile) = &access.aws_profile {
            // A profile may itself have to ask AWS: single sign-on, or a role.
            let asking = ProviderConfig::without_region().with_http_client(http).with_region(Some(region));
            let provider = ProfileFileCredentialsProvider::builder().configure(&asking).profile_name(profile);
            let provider = provider.build();
            loader = loader.profile_name(profile).credentials_provider(provider);
        }
        Self::with(loader.load().await, access).await
    }

    /// The same with a configuration of one's own: asks AWS whose credentials it has.
    pub async fn with(config: SdkConfig, access: &Access) -> Result<Self, CloudError> {
        let adviser = Adviser {
            profile: access.aws_profile.clone().or_else(|| std::env::var("AWS_PROFILE").ok()),
            region: access.region.clone(),
        };
        let whose = aws_sdk_sts::Client::new(&config).get_caller_identity().send().await;
        let attempt = format!("enter AWS in {}", access.region);
        let whose = whose.map_err(|error| adviser.trouble(&attempt, error))?;
        let id = whose.account.unwrap_or_default();
        if let Some(expected) = access.account.as_ref().filter(|expected| **expected != id) {
            let reason = format!("the room belongs to account {expected}, and these credentials to {id}");
            let advice = "use the credentials of that account, or take the line `account` out of the room's profile to deploy it anew in this one";
            return Err(CloudError::new(Kind::Credentials, attempt, reason).advise(advice));
        }
        Ok(Self { id, arn: whose.arn.unwrap_or_default(), region: access.region.clone(), config, adviser })
    }

    /// Whether something else stands in for AWS.
    pub(crate) fn is_stand_in(&self) -> bool {
        self.config.endpoint_url().is_some()
    }

    pub(crate) fn cloudformation(&self) -> aws_sdk_cloudformation::Client {
        aws_sdk_cloudformation::Client::new(&self.config)
    }

    pub(crate) fn logs(&self) -> aws_sdk_cloudwatchlogs::Client {
        aws_sdk_cloudwatchlogs::Client::new(&self.config)
    }

    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        // What stands in for AWS has no host name for each bucket.
        let config = aws_sdk_s3::config::Builder::from(&self.config).force_path_style(self.is_stand_in());
        aws_sdk_s3::Client::from_conf(config.build())
    }

    /// Where a room is, as a sentence ends with it.
    pub(crate) fn place(&self, room: &RoomId) -> String {
        format!("the stack {} in {} of account {}", names::stack(room), self.region, self.id)
    }
}
