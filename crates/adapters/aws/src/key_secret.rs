//! The secret of Secrets Manager that has the private keys.

use aws_config::SdkConfig;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use aws_sdk_secretsmanager::operation::put_secret_value::PutSecretValueError;
use pass::SecretKeys;
use waitroom::ports::{Fault, PortError, PortResult};

use crate::retry::call_unless;

#[derive(Clone, Debug)]
pub(crate) struct KeySecret {
    client: Client,
    arn: String,
}

/// The version of the secret with this key. Secrets Manager takes the id from whoever creates the version, and requires 32
/// to 64 characters.
pub(crate) fn version(number: u64) -> String {
    format!("{number:032}")
}

impl KeySecret {
    pub(crate) fn new(config: &SdkConfig, arn: String) -> Self {
        Self { client: Client::new(config), arn }
    }

    /// `None` if the secret has no such version.
    pub(crate) async fn get(&self, attempt: &'static str, number: u64) -> PortResult<Option<SecretKeys>> {
        let get = self.client.get_secret_value().secret_id(&self.arn).version_id(version(number));
        let is_missing = GetSecretValueError::is_resource_not_found_exception;
        let answer = call_unless(attempt, || get.clone().send(), is_missing).await?;
        let Some(answer) = answer else { return Ok(None) };
        let text = answer.secret_string.unwrap_or_default();
        // The error must not contain the text.
        let unreadable = |_| {
            let why = format!("version {} of the secret {} cannot be read", version(number), self.arn);
            PortError::new(attempt, Fault::Broken, why)
        };
        serde_json::from_str(&text).map(Some).map_err(unreadable)
    }

    /// Creates the version, unless there is one.
    pub(crate) async fn create(
        &self,
        attempt: &'static str,
        number: u64,
        keys: &SecretKeys,
    ) -> PortResult<()> {
        let text = serde_json::to_string(keys).map_err(PortError::broken(attempt))?;
        let put = self.client.put_secret_value().secret_id(&self.arn);
        let put = put.client_request_token(version(number)).secret_string(text);
        let is_there = PutSecretValueError::is_resource_exists_exception;
        call_unless(attempt, || put.clone().send(), is_there).await.map(drop)
    }
}
