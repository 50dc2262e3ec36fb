use std::time::Duration;
use std::{mem, thread};

use emulators::LocalEmu;
use http_contract::Client;
use serde_json::{Value, json};

use crate::boto::Boto;
use crate::eventually;

const PATIENCE: Duration = Duration::from_mins(2);

/// A stack with a function, its URL, and a distribution in front of it.
pub(crate) struct EdgeStack {
    pub(crate) aws: Boto,
    pub(crate) name: &'static str,
    /// How many of the stack's events were seen.
    events: usize,
}

impl EdgeStack {
    pub(crate) fn create(name: &'static str, change: impl FnOnce(&mut Value)) -> Self {
        let mut stack = Self::new(name);
        assert_eq!(stack.deploy("CREATE", change), Ok("CREATE_COMPLETE".to_owned()));
        stack
    }

    /// Stores the function's package, and creates no stack.
    pub(crate) fn new(name: &'static str) -> Self {
        let mut aws = Boto::new(LocalEmu::shared().unwrap().environment());
        aws.call("s3", "create_bucket", json!({ "Bucket": name })).unwrap();
        let body = json!({ "bootstrap": include_str!("behind_url.py") });
        aws.call("s3", "put_object", json!({ "Bucket": name, "Key": "package", "Body": body })).unwrap();
        Self { aws, name, events: 0 }
    }

    /// The stack's status after a change set of this kind, or why it failed. `update_stack` itself would hide a failure.
    pub(crate) fn deploy(&mut self, kind: &str, change: impl FnOnce(&mut Value)) -> Result<String, String> {
        let mut template = template(self.name);
        change(&mut template);
        let stack = json!({
            "StackName": self.name,
            "ChangeSetName": "change",
            "ChangeSetType": kind,
            "TemplateBody": template.to_string(),
            "Capabilities": ["CAPABILITY_IAM"],
            "Tags": [{ "Key": "room", "Value": self.name }],
        });
        let made = self.aws.call("cloudformation", "create_change_set", stack)?;
        let set = json!({ "ChangeSetName": made["Id"] });
        eventually("the change set is ready", PATIENCE, || {
            let found = self.aws.call("cloudformation", "describe_change_set", set.clone()).unwrap();
            found["Status"] == "CREATE_COMPLETE"
        });
        self.aws.call("cloudformation", "execute_change_set", set)?;
        self.settled()
    }

    pub(crate) fn settled(&mut self) -> Result<String, String> {
        let name = json!({ "StackName": self.name });
        let mut status = String::new();
        eventually("the stack is done", PATIENCE, || {
            let found = self.aws.call("cloudformation", "describe_stacks", name.clone());
            status = found.map_or("DELETE_COMPLETE".into(), |found| text(&found["Stacks"][0]["StackStatus"]));
            !status.ends_with("_IN_PROGRESS")
        });
        let events = self.aws.call("cloudformation", "describe_stack_events", name);
        let events = events.map_or(vec![], |found| found["StackEvents"].as_array().unwrap().clone());
        let new = events.len() - mem::replace(&mut self.events, events.len()).min(events.len());
        if !status.contains("FAILED") && !status.contains("ROLLBACK") {
            return Ok(status);
        }
        // The newest is the first. What depends on the resource that failed fails after it.
        let failed = |event: &&Value| text(&event["ResourceStatus"]).ends_with("_FAILED");
        let first = events[..new].iter().rfind(failed);
        Err(first.map_or(status, |event| text(&event["ResourceStatusReason"])))
    }

    pub(crate) fn delete(&mut self) -> Result<String, String> {
        self.aws.call("cloudformation", "delete_stack", json!({ "StackName": self.name })).unwrap();
        self.settled()
    }

    pub(crate) fn output(&mut self, key: &str) -> String {
        let found =
            self.aws.call("cloudformation", "describe_stacks", json!({ "StackName": self.name })).unwrap();
        let outputs = found["Stacks"][0]["Outputs"].as_array().unwrap();
        text(&outputs.iter().find(|output| output["OutputKey"] == key).unwrap()["OutputValue"])
    }

    /// How often the function was asked this.
    pub(crate) fn asked(&self, request: &str) -> usize {
        // What it wrote a moment ago.
        thread::sleep(Duration::from_millis(100));
        let log = LocalEmu::shared().unwrap().function_log(self.name).unwrap();
        log.lines().filter(|line| line.strip_prefix("asked ") == Some(request)).count()
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// As a room would write it, with one path that is kept and one that takes no more than looks.
fn template(name: &str) -> Value {
    let behavior = |policy: &str, more: Value| {
        let mut behavior = json!({
            "TargetOriginId": "door", "ViewerProtocolPolicy": "redirect-to-https", "CachePolicyId": policy,
        });
        behavior.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        behavior
    };
    let off = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad";
    let all = json!(["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "POST", "DELETE"]);
    let to_origin =
        json!({ "OriginRequestPolicyId": "b689b0a8-53d0-40ab-baf2-68738e2966ac", "AllowedMethods": all });
    let permission = |more: Value| {
        let mut permission = json!({
            "FunctionName": { "Ref": "Door" }, "Principal": "cloudfront.amazonaws.com",
            "SourceArn": { "Fn::Sub": "arn:aws:cloudfront::${AWS::AccountId}:distribution/${Edge}" },
        });
        permission.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "Type": "AWS::Lambda::Permission", "Properties": permission })
    };
    let errors = [404, 500, 502, 503, 504].map(|code| json!({ "ErrorCode": code, "ErrorCachingMinTTL": 0 }));
    json!({
        "Resources": {
            "Role": { "Type": "AWS::IAM::Role", "Properties": { "AssumeRolePolicyDocument": {
                "Version": "2012-10-17",
                "Statement": [{ "Effect": "Allow", "Action": "sts:AssumeRole", "Principal": { "Service": "lambda.amazonaws.com" } }],
            } } },
            "Door": { "Type": "AWS::Lambda::Function", "Properties": {
                "FunctionName": name, "Runtime": "provided.al2023", "Handler": "bootstrap",
                "Role": { "Fn::GetAtt": ["Role", "Arn"] }, "Timeout": 10,
                "Code": { "S3Bucket": name, "S3Key": "package" },
            } },
            "DoorUrl": { "Type": "AWS::Lambda::Url", "Properties": {
                "TargetFunctionArn": { "Fn::GetAtt": ["Door", "Arn"] }, "AuthType": "AWS_IAM",
            } },
            "EdgeMayAsk": permission(json!({ "Action": "lambda:InvokeFunctionUrl", "FunctionUrlAuthType": "AWS_IAM" })),
            "EdgeMayInvoke": permission(json!({ "Action": "lambda:InvokeFunction", "InvokedViaFunctionUrl": true })),
            "EdgeAccess": { "Type": "AWS::CloudFront::OriginAccessControl", "Properties": { "OriginAccessControlConfig": {
                "Name": name, "OriginAccessControlOriginType": "lambda", "SigningBehavior": "always", "SigningProtocol": "sigv4",
            } } },
            "Edge": { "Type": "AWS::CloudFront::Distribution", "Properties": { "DistributionConfig": {
                "Enabled": true, "HttpVersion": "http2and3", "IPV6Enabled": true, "PriceClass": "PriceClass_100",
                "Comment": name,
                "Origins": [{
                    "Id": "door",
                    "DomainName": { "Fn::Select": [2, { "Fn::Split": ["/", { "Fn::GetAtt": ["DoorUrl", "FunctionUrl"] }] }] },
                    "OriginAccessControlId": { "Ref": "EdgeAccess" },
                    "CustomOriginConfig": { "OriginProtocolPolicy": "https-only", "OriginSSLProtocols": ["TLSv1.2"] },
                }],
                "DefaultCacheBehavior": behavior(off, to_origin),
                "CacheBehaviors": [
                    behavior("658327ea-f89d-4fab-a63d-7e88639e58f6", json!({ "PathPattern": "/kept/*", "Compress": true })),
                    behavior(off, json!({ "PathPattern": "/only-look*" })),
                ],
                "CustomErrorResponses": errors,
            } } },
        },
        "Outputs": {
            "Domain": { "Value": { "Fn::GetAtt": ["Edge", "DomainName"] } },
            "Id": { "Value": { "Ref": "Edge" } },
            "Url": { "Value": { "Fn::GetAtt": ["DoorUrl", "FunctionUrl"] } },
        },
    })
}

/// A client of this machine's port.
pub(crate) fn client(port: u16) -> Client {
    Client::new(&format!("http://127.0.0.1:{port}"), "edge")
}
