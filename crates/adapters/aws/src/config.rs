//! How AWS is reached: what all clients have in common.

use std::env;
use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::SharedCredentialsProvider;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// The environment does not say which region this is.
#[derive(Debug, thiserror::Error)]
#[error("AWS_REGION is not set; Lambda sets it, elsewhere name the region of the room, like eu-central-1")]
pub struct ConfigError;

/// A new connection is usually there in a few milliseconds.
const CONNECT: Duration = Duration::from_secs(1);
/// The ledger answers in milliseconds. Whoever has to wait longer is better served by asking again.
const LEDGER_ANSWERS: Duration = Duration::from_secs(2);
/// The line makes a message durable in several places before it answers.
pub(crate) const LINE_ANSWERS: Duration = Duration::from_secs(5);

/// The configuration of a Lambda function. Everything comes from the environment: no file and no other
/// service is asked, so that nothing delays the start.
pub fn functions_config() -> Result<SdkConfig, ConfigError> {
    let given = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let region = given("AWS_REGION").ok_or(ConfigError)?;
    let credentials = SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new());
    let mut builder = SdkConfig::builder().region(Region::new(region)).credentials_provider(credentials);
    builder.set_endpoint_url(given("AWS_ENDPOINT_URL"));
    Ok(tuned(builder.build()))
}

/// Adds what is decided here to a configuration that knows where and who.
///
/// The SDK does not try again by itself: [`retry::persistently`](crate::retry::persistently) does, because the
/// handlers have to know whether any of the attempts may have been successful.
pub fn tuned(config: SdkConfig) -> SdkConfig {
    let http = aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc));
    config
        .into_builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .http_client(http.build_https())
        .retry_config(RetryConfig::disabled())
        .timeout_config(answering_within(LEDGER_ANSWERS))
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build()
}

pub(crate) fn answering_within(time: Duration) -> TimeoutConfig {
    TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(time).build()
}
