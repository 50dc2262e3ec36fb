//! The configuration that all clients of AWS have in common.

use std::env;
use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::SharedCredentialsProvider;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// The environment has no region.
#[derive(Debug, thiserror::Error)]
#[error(
    "AWS_REGION is not set; Lambda sets it, elsewhere set it to the region of the room, for example eu-central-1"
)]
pub struct ConfigError;

/// A new connection usually takes a few milliseconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The ledger responds in milliseconds. If it takes longer, a retry is faster than waiting.
const LEDGER_TIMEOUT: Duration = Duration::from_secs(2);
/// The line stores a message in several places before it responds.
pub(crate) const LINE_TIMEOUT: Duration = Duration::from_secs(5);
/// An operator may be on another continent, on a train. Then a new connection alone takes more than a second.
const OPERATOR_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const OPERATOR_TIMEOUT: Duration = Duration::from_secs(10);

/// The configuration of a Lambda function. Everything comes from the environment. No file and no other service is read,
/// so that nothing delays the start.
pub fn functions_config() -> Result<SdkConfig, ConfigError> {
    let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let region = variable("AWS_REGION").ok_or(ConfigError)?;
    let credentials = SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new());
    let mut builder = SdkConfig::builder().region(Region::new(region)).credentials_provider(credentials);
    builder.set_endpoint_url(variable("AWS_ENDPOINT_URL"));
    Ok(tuned(builder.build()))
}

/// Adds timeouts and other common settings to a configuration that has a region and credentials, and an HTTP client if it has
/// none.
///
/// The SDK's own retries are off. [`retry::with_retries`](crate::retry::with_retries) retries instead, because the
/// handlers must know whether any of the attempts may have succeeded.
pub fn tuned(config: SdkConfig) -> SdkConfig {
    let http = config.http_client().unwrap_or_else(|| {
        let http = aws_smithy_http_client::Builder::new();
        http.tls_provider(Provider::Rustls(CryptoMode::AwsLc)).build_https()
    });
    config
        .into_builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .http_client(http)
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts(LEDGER_TIMEOUT))
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build()
}

/// The same for the machine of an operator.
pub fn tuned_for_operator(config: SdkConfig) -> SdkConfig {
    let timeouts = TimeoutConfig::builder().connect_timeout(OPERATOR_CONNECT_TIMEOUT);
    let timeouts = timeouts.operation_attempt_timeout(OPERATOR_TIMEOUT).build();
    tuned(config).into_builder().timeout_config(timeouts).build()
}

/// The timeouts of one attempt.
pub(crate) fn timeouts(attempt: Duration) -> TimeoutConfig {
    TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).operation_attempt_timeout(attempt).build()
}
