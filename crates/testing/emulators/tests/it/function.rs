use emulators::LocalEmu;
use serde_json::{Value, json};

use crate::boto::Boto;

/// A function that runs `bootstrap.py`. Its role has no permissions at first.
pub(crate) struct Function {
    pub(crate) aws: Boto,
    pub(crate) name: &'static str,
    pub(crate) arn: String,
}

impl Function {
    pub(crate) fn new(name: &'static str) -> Self {
        Self::of(LocalEmu::shared().unwrap(), name)
    }

    pub(crate) fn of(aws: &LocalEmu, name: &'static str) -> Self {
        let mut aws = Boto::new(aws.environment());
        let trust = json!({ "Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": "sts:AssumeRole", "Principal": { "Service": "lambda.amazonaws.com" },
        }] });
        let role = json!({ "RoleName": name, "AssumeRolePolicyDocument": trust.to_string() });
        let role = aws.call("iam", "create_role", role).unwrap();
        let function = json!({
            "FunctionName": name,
            "Runtime": "provided.al2023",
            "Handler": "bootstrap",
            "Code": { "ZipFile": { "bootstrap": include_str!("bootstrap.py") } },
            "Role": role["Role"]["Arn"],
            // The one that is to take too long is soon over.
            "Timeout": if name == "dies" { 10 } else { 100 },
            "MemorySize": 128,
            "Environment": { "Variables": { "GREETING": "hello" } },
        });
        let created = aws.call("lambda", "create_function", function).unwrap();
        Self { aws, name, arn: created["FunctionArn"].as_str().unwrap().to_owned() }
    }

    /// Allows the function's role this action on this resource.
    pub(crate) fn allow(&mut self, action: &str, resource: &str) {
        let statement = json!({ "Effect": "Allow", "Action": action, "Resource": resource });
        self.permit(&action.replace([':', '*'], "-"), &statement);
    }

    /// Adds a policy with this name to the function's role.
    pub(crate) fn permit(&mut self, name: &str, statement: &Value) {
        let policy = json!({ "Version": "2012-10-17", "Statement": [statement] });
        let policy =
            json!({ "RoleName": self.name, "PolicyName": name, "PolicyDocument": policy.to_string() });
        self.aws.call("iam", "put_role_policy", policy).unwrap();
    }

    /// The function's response, or the type of its error.
    pub(crate) fn invoke(&mut self, event: &Value) -> Result<Value, String> {
        let invoke = json!({ "FunctionName": self.name, "Payload": event.to_string() });
        let answer = self.aws.call("lambda", "invoke", invoke)?;
        let payload: Value = serde_json::from_str(answer["Payload"].as_str().unwrap()).unwrap();
        match answer["FunctionError"] {
            Value::Null => Ok(payload),
            _ => Err(payload["errorType"].as_str().unwrap().to_owned()),
        }
    }

    /// Invokes the function without waiting for its response.
    pub(crate) fn send(&mut self, event: &Value) {
        let event = event.to_string();
        let invoke = json!({ "FunctionName": self.name, "InvocationType": "Event", "Payload": event });
        assert_eq!(self.aws.call("lambda", "invoke", invoke).unwrap()["StatusCode"], 202);
    }

    /// The function's log.
    pub(crate) fn log(&self) -> String {
        LocalEmu::shared().unwrap().function_log(self.name).unwrap()
    }
}
