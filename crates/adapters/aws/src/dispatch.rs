//! Invokes Lambda functions: the consumer, once for each slice, and the trigger when the valve changes.

use aws_config::SdkConfig;
use aws_sdk_lambda::Client;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use waitroom::Slice;
use waitroom::ports::{Dispatch, Fault, PortError, PortResult};

use crate::retry::with_retries;

/// Starts a consumer by invoking a Lambda function, which gets its slice as JSON.
#[derive(Clone, Debug)]
pub struct FunctionDispatch {
    client: Client,
    consumer: String,
}

impl FunctionDispatch {
    /// `consumer` is the function's name.
    pub fn new(config: &SdkConfig, consumer: String) -> Self {
        Self { client: Client::new(config), consumer }
    }
}

/// Starts the trigger by invoking its Lambda function.
#[derive(Clone, Debug)]
pub(crate) struct TriggerFunction {
    client: Client,
    name: String,
}

impl TriggerFunction {
    pub(crate) fn new(config: &SdkConfig, name: String) -> Self {
        Self { client: Client::new(config), name }
    }

    pub(crate) async fn start(&self) -> PortResult<()> {
        let request = self.client.invoke().function_name(&self.name).invocation_type(InvocationType::Event);
        let started =
            with_retries(|| request.clone().payload(Blob::new(r#"{"valve_changed":true}"#)).send()).await;
        started.map(drop).map_err(|failure| failure.into_port_error("start the trigger"))
    }
}

impl Dispatch for FunctionDispatch {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        let attempt = "start a consumer";
        let payload =
            serde_json::to_vec(&slice).map_err(|error| PortError::new(attempt, Fault::Broken, error))?;
        let request = self
            .client
            .invoke()
            .function_name(&self.consumer)
            .invocation_type(InvocationType::Event)
            .payload(Blob::new(payload));
        let started = with_retries(|| request.clone().send()).await;
        started.map(drop).map_err(|failure| failure.into_port_error(attempt))
    }
}
