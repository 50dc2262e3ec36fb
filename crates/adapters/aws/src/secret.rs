use aws_config::SdkConfig;
use aws_sdk_secretsmanager::Client;
use waitroom::ports::{PortError, PortResult};

use crate::retry::call;

/// The text of a secret that belongs to no room, such as the session key of a shop's guard.
pub async fn secret_text(config: &SdkConfig, arn: &str) -> PortResult<String> {
    const ATTEMPT: &str = "read the secret";
    let get = Client::new(config).get_secret_value().secret_id(arn);
    let answer = call(ATTEMPT, || get.clone().send()).await?;
    answer.secret_string.ok_or_else(|| PortError::broken(ATTEMPT)(format!("the secret {arn} has no text")))
}
