//! CloudFormation's request to a custom resource, and the answer to it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SetupEvent {
    pub request_type: RequestType,
    #[serde(rename = "ResponseURL")]
    pub response_url: ResponseUrl,
    pub stack_id: String,
    pub request_id: String,
    pub logical_resource_id: String,
    /// The properties as in the template, except that CloudFormation converts numbers to strings.
    #[serde(default)]
    pub resource_properties: BTreeMap<String, Value>,
}

/// Where the answer is sent. Anybody who knows this URL can send an answer, so it is never printed.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct ResponseUrl(String);

impl ResponseUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ResponseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseUrl(…)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum RequestType {
    Create,
    Update,
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SetupAnswer {
    status: &'static str,
    /// What to do about a failure. CloudFormation shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    physical_resource_id: &'static str,
    stack_id: String,
    request_id: String,
    logical_resource_id: String,
}

impl SetupAnswer {
    /// The resource's id, which never changes. If it did, CloudFormation would treat the room as replaced and delete
    /// the old one, which uses the same bucket.
    const PHYSICAL_ID: &str = "room";
    /// CloudFormation accepts an answer of up to 4 KB.
    const LONGEST_REASON: usize = 1000;

    pub fn new(event: &SetupEvent, outcome: Result<(), String>) -> Self {
        Self {
            status: if outcome.is_ok() { "SUCCESS" } else { "FAILED" },
            reason: outcome.err().map(|reason| reason.chars().take(Self::LONGEST_REASON).collect()),
            physical_resource_id: Self::PHYSICAL_ID,
            stack_id: event.stack_id.clone(),
            request_id: event.request_id.clone(),
            logical_resource_id: event.logical_resource_id.clone(),
        }
    }

    pub fn is_success(&self) -> bool {
        self.reason.is_none()
    }
}
