//! The AWS account, and the operator's role in it.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::Credentials;
use emulators::boto3;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::options::TrialOptions;
use crate::operator_policies::operator_policies;
use crate::stage::sdk_config;

/// Asks AWS with the caller's permissions.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/trial.py");

/// The account, as the caller sees it.
#[derive(Debug)]
pub(super) struct TrialAccount {
    pub(super) id: String,
    pub(super) caller: String,
    region: String,
}

#[derive(Deserialize)]
struct Caller {
    account: String,
    arn: String,
}

/// A call that CloudTrail recorded.
#[derive(Debug, Deserialize)]
pub(super) struct RecordedCall {
    service: String,
    pub(super) call: String,
    pub(super) error: String,
}

impl RecordedCall {
    /// Whether this is the action of a policy. CloudTrail adds the version of the API to some names, and has another name for
    /// one service.
    pub(super) fn is_of(&self, action: &str) -> bool {
        let service = if self.service == "monitoring" { "cloudwatch" } else { &self.service };
        let call = self.call.trim_end_matches(|end: char| end.is_ascii_digit() || end == '_' || end == 'v');
        action.split_once(':') == Some((service, call))
    }
}

impl fmt::Display for RecordedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}:{}` {}", self.service, self.call, self.error)
    }
}

/// A role with the permissions of docs/operator-policy.md and no others.
#[derive(Debug)]
pub(super) struct OperatorRole {
    arn: String,
    /// The name of its sessions, by which CloudTrail finds their calls.
    pub(super) session: String,
    since: u64,
}

impl TrialAccount {
    pub(super) fn new(options: &TrialOptions) -> Result<Self> {
        let region = options.region.clone();
        let caller: Caller = asked(&region, &["caller"])
            .context("AWS does not say who you are; log in, or set AWS_PROFILE, and try again")?;
        Ok(Self { id: caller.account, caller: caller.arn, region })
    }

    fn asked<T: DeserializeOwned>(&self, arguments: &[&str]) -> Result<T> {
        asked(&self.region, arguments)
    }

    /// The caller's own permissions, for the SDK.
    pub(super) fn config(&self, options: &TrialOptions) -> Result<SdkConfig> {
        let (id, secret, token): (String, String, Option<String>) = self.asked(&["credentials"])?;
        let credentials = Credentials::new(id, secret, token, None, "trial");
        Ok(sdk_config(&self.region, credentials, options.endpoint.clone()))
    }

    pub(super) fn operator(&self, room: &str) -> Result<OperatorRole> {
        let [policy, optional] = operator_policies();
        let (policy, optional) = (policy.to_string_lossy(), optional.to_string_lossy());
        let arn = self.asked(&["operator", &role_name(room), &policy, &optional])?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        Ok(OperatorRole { arn, session: format!("trial-{since}"), since })
    }

    /// The environment in which `beekeeper` has this role.
    pub(super) fn environment(&self, role: &OperatorRole) -> Result<Vec<(&'static str, String)>> {
        let [id, secret, token]: [String; 3] = self.asked(&["session", &role.arn, &role.session])?;
        Ok(vec![("AWS_ACCESS_KEY_ID", id), ("AWS_SECRET_ACCESS_KEY", secret), ("AWS_SESSION_TOKEN", token)])
    }

    pub(super) fn outputs(&self, room: &str) -> Result<BTreeMap<String, String>> {
        self.asked(&["outputs", &format!("beekeeper-{room}")])
    }

    /// The state of each alarm, by its name in the template.
    pub(super) fn alarms(&self, room: &str) -> Result<BTreeMap<String, String>> {
        let prefix = format!("beekeeper-{room}-");
        let alarms: BTreeMap<String, String> = self.asked(&["alarms", &prefix])?;
        let named = alarms.into_iter().map(|(name, state)| {
            let name = name.trim_start_matches(&prefix);
            (name.split('-').next().unwrap_or(name).to_owned(), state)
        });
        Ok(named.collect())
    }

    pub(super) fn calls(&self, role: &OperatorRole) -> Result<Vec<RecordedCall>> {
        self.asked(&["calls", &role.session, &role.since.to_string()])
    }

    /// What still has the room's tag.
    pub(super) fn left(&self, room: &str) -> Result<Vec<String>> {
        self.asked(&["left", room])
    }

    pub(super) fn remove_operator(&self, room: &str) -> Result<()> {
        self.asked(&["remove", &role_name(room)])
    }
}

fn role_name(room: &str) -> String {
    format!("beekeeper-operator-{room}")
}

fn asked<T: DeserializeOwned>(region: &str, arguments: &[&str]) -> Result<T> {
    let mut python: Command = boto3()?;
    let output = python.arg(SCRIPT).args(arguments).env("AWS_DEFAULT_REGION", region).output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{arguments:?}: {}", complaint.lines().last().unwrap_or_default());
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_compared_with_actions_whatever_their_version() {
        let call = |service: &str, call: &str| RecordedCall {
            service: service.to_owned(),
            call: call.to_owned(),
            error: String::new(),
        };
        assert!(call("lambda", "CreateFunction20150331").is_of("lambda:CreateFunction"));
        assert!(call("lambda", "UpdateFunctionCode20150331v2").is_of("lambda:UpdateFunctionCode"));
        assert!(call("monitoring", "PutMetricAlarm").is_of("cloudwatch:PutMetricAlarm"));
        assert!(!call("sns", "CreateTopic").is_of("sns:DeleteTopic"));
    }
}
