//! One statement of an IAM policy.

use serde_json::Value;

#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) id: String,
    pub(crate) actions: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) condition: Value,
}

impl Statement {
    pub(crate) fn all_of(policy: &str) -> Vec<Self> {
        let policy: Value = serde_json::from_str(policy).unwrap();
        let statements = policy["Statement"].as_array().unwrap().iter();
        let read = |statement: &Value| {
            assert_eq!(statement["Effect"], "Allow");
            Self {
                id: statement["Sid"].as_str().unwrap().to_owned(),
                actions: texts(&statement["Action"]),
                resources: texts(&statement["Resource"]),
                condition: statement["Condition"].clone(),
            }
        };
        statements.map(read).collect()
    }

    /// Whether it is about this action, on a resource with this ARN. Conditions are not looked at.
    pub(crate) fn allows(&self, action: &str, arn: &str) -> bool {
        self.actions.iter().any(|pattern| matches(pattern, action))
            && self.resources.iter().any(|pattern| matches(pattern, arn))
    }

    /// Whether it holds only for calls that CloudFormation makes for the operator.
    pub(crate) fn is_for_stacks_alone(&self) -> bool {
        self.condition["ForAnyValue:StringEquals"]["aws:CalledVia"] == "cloudformation.amazonaws.com"
    }

    /// Whether it holds only for what has a room's tag: in the request (`aws:RequestTag`) or already (`aws:ResourceTag`).
    pub(crate) fn needs_tag(&self, key: &str) -> bool {
        self.condition["Null"][format!("{key}/beekeeper:room")] == "false"
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        other => other.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
    }
}

/// Whether the text fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(left) = text.strip_prefix(start) else { return false };
    (0..=left.len()).any(|at| left.is_char_boundary(at) && matches(rest, &left[at..]))
}

#[test]
fn a_star_stands_for_any_text() {
    assert!(matches("s3:Get*", "s3:GetObject") && matches("*", "") && matches("a*b*c", "a--b-b-c"));
    assert!(!matches("s3:Get*", "s3:PutObject") && !matches("a*b", "a*bc") && !matches("a", "ab"));
}
