//! Invokes Lambda functions: the consumer, once for each slice, and the trigger when the valve changes.

use aws_config::SdkConfig;
use aws_sdk_lambda::Client;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use waitroom::Slice;
use waitroom::ports::{Dispatch, PortError, PortResult};

use crate::retry::call;

/// A Lambda function, by its name.
#[derive(Clone, Debug)]
pub(crate) struct InvokedFunction {
    client: Client,
    name: String,
}

impl InvokedFunction {
    pub(crate) fn new(config: &SdkConfig, name: String) -> Self {
        Self { client: Client::new(config), name }
    }

    /// Starts the function, and does not wait for it.
    async fn start(&self, attempt: &'static str, payload: Blob) -> PortResult<()> {
        let request = self.client.invoke().function_name(&self.name);
        let request = request.invocation_type(InvocationType::Event).payload(payload);
        call(attempt, || request.clone().send()).await.map(drop)
    }

    /// Of the trigger: the valve has changed.
    pub(crate) async fn start_trigger(&self) -> PortResult<()> {
        self.start("start the trigger", Blob::new(r#"{"valve_changed":true}"#)).await
    }
}

/// Starts a consumer by invoking its function, which gets its slice as JSON.
#[derive(Clone, Debug)]
pub struct FunctionDispatch(InvokedFunction);

impl FunctionDispatch {
    /// `consumer` is the function's name.
    pub fn new(config: &SdkConfig, consumer: String) -> Self {
        Self(InvokedFunction::new(config, consumer))
    }
}

impl Dispatch for FunctionDispatch {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        let attempt = "start a consumer";
        let payload = serde_json::to_vec(&slice).map_err(PortError::broken(attempt))?;
        self.0.start(attempt, Blob::new(payload)).await
    }
}
