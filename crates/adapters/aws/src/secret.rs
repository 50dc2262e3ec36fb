use aws_config::SdkConfig;
use aws_sdk_secretsmanager::Client;
use waitroom::ports::{Fault, PortError, PortResult};

use crate::retry::with_retries;

/// The text of a secret that belongs to no room, such as the session key of a shop's guard.
pub async fn secret_text(config: &SdkConfig, arn: &str) -> PortResult<String> {
    const ATTEMPT: &str = "read the secret";
    let get = Client::new(config).get_secret_value().secret_id(arn);
    let answer = with_retries(|| get.clone().send()).await;
    let answer = answer.map_err(|failure| failure.into_port_error(ATTEMPT))?;
    let missing = || PortError::new(ATTEMPT, Fault::Broken, format!("the secret {arn} has no text"));
    answer.secret_string.ok_or_else(missing)
}
