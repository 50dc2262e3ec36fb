//! The template with parameters filled in and conditions evaluated.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Result, TEMPLATE, TemplateError, yaml};

/// In the form of AWS's, so that the template can take it apart.
const STACK_ID: &str =
    "arn:aws:cloudformation:AWS::Region:AWS::AccountId:stack/AWS::StackName/0-0-0-0-AWS::StackId";

/// The stack that the template describes. Values that only AWS knows are replaced by their names: `Ledger` for a reference
/// to the table, `Ledger.Arn` for its ARN, `AWS::Region` for the region.
#[derive(Clone, Debug)]
pub struct Stack {
    pub template: Value,
    parameters: BTreeMap<String, Value>,
}

impl Stack {
    /// With these parameters, and the defaults for the others.
    pub fn with(parameters: &[(&str, &str)]) -> Result<Self> {
        let template = yaml::parse(TEMPLATE)?;
        let mut all = BTreeMap::new();
        for (name, declared) in members(&template, "Parameters")? {
            if let Some(default) = declared.get("Default") {
                all.insert(name.clone(), default.clone());
            }
        }
        all.extend(parameters.iter().map(|&(name, value)| (name.to_owned(), json!(value))));
        Ok(Self { template, parameters: all })
    }

    /// All of them, as CloudFormation gets them.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        self.parameters.iter().map(|(name, value)| (name.clone(), plain(value))).collect()
    }

    /// The resources that would be created: names and types.
    pub fn resources(&self) -> Result<BTreeMap<String, String>> {
        let mut resources = BTreeMap::new();
        for (name, resource) in members(&self.template, "Resources")? {
            let exists = match resource.get("Condition").and_then(Value::as_str) {
                Some(condition) => self.condition(condition)?,
                None => true,
            };
            if exists {
                let kind = resource["Type"]
                    .as_str()
                    .ok_or_else(|| TemplateError(format!("the resource {name} has no type")))?;
                resources.insert(name.clone(), kind.to_owned());
            }
        }
        Ok(resources)
    }

    /// The properties of a resource, resolved.
    pub fn properties(&self, resource: &str) -> Result<Value> {
        let found = self.template["Resources"].get(resource);
        self.resolve(
            &found.ok_or_else(|| TemplateError(format!("there is no resource {resource}")))?["Properties"],
        )
    }

    pub fn resolve(&self, value: &Value) -> Result<Value> {
        match value {
            Value::Array(items) => {
                let items = items.iter().map(|item| self.resolve(item)).collect::<Result<Vec<_>>>()?;
                Ok(items.into_iter().filter(|item| *item != no_value()).collect())
            }
            Value::Object(object) => {
                if let Some((function, argument)) = intrinsic(object) {
                    return self.call(function, argument);
                }
                let mut resolved = Map::new();
                for (name, member) in object {
                    let member = self.resolve(member)?;
                    if member != no_value() {
                        resolved.insert(name.clone(), member);
                    }
                }
                Ok(Value::Object(resolved))
            }
            plain => Ok(plain.clone()),
        }
    }

    fn call(&self, function: &str, argument: &Value) -> Result<Value> {
        let text = || {
            argument.as_str().ok_or_else(|| {
                TemplateError(format!("the argument of {function} is not a string: {argument}"))
            })
        };
        match function {
            "Ref" => Ok(self.reference(text()?)),
            "Fn::GetAtt" => Ok(json!(strings(argument)?.join("."))),
            "Fn::Sub" => Ok(json!(self.substitute(text()?)?)),
            "Fn::Join" => {
                let [separator, items] = list(argument)? else {
                    return Err(TemplateError(format!("!Join needs two arguments: {argument}")));
                };
                let items = self.resolve(items)?;
                Ok(json!(strings(&items)?.join(string(separator)?)))
            }
            "Fn::Split" => {
                let [separator, text] = list(argument)? else {
                    return Err(TemplateError(format!("!Split needs two arguments: {argument}")));
                };
                let text = self.resolve(text)?;
                Ok(string(&text)?.split(string(separator)?).collect())
            }
            "Fn::Select" => {
                let [index, items] = list(argument)? else {
                    return Err(TemplateError(format!("!Select needs two arguments: {argument}")));
                };
                let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
                let selected = index.and_then(|index| self.resolve(items).ok()?.get(index).cloned());
                selected.ok_or_else(|| TemplateError(format!("!Select finds nothing: {argument}")))
            }
            "Fn::If" => {
                let [condition, then, otherwise] = list(argument)? else {
                    return Err(TemplateError(format!("!If needs three arguments: {argument}")));
                };
                self.resolve(if self.condition(string(condition)?)? { then } else { otherwise })
            }
            other => Err(TemplateError(format!("{other} is not supported"))),
        }
    }

    fn reference(&self, name: &str) -> Value {
        if name == "AWS::NoValue" {
            return no_value();
        }
        if name == "AWS::StackId" {
            return json!(STACK_ID);
        }
        self.parameters.get(name).cloned().unwrap_or_else(|| json!(name))
    }

    fn substitute(&self, text: &str) -> Result<String> {
        let mut parts = text.split("${");
        let mut substituted = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part
                .split_once('}')
                .ok_or_else(|| TemplateError(format!("a closing }} is missing in {text}")))?;
            substituted += &plain(&self.reference(name));
            substituted += rest;
        }
        Ok(substituted)
    }

    fn condition(&self, name: &str) -> Result<bool> {
        let condition = self.template["Conditions"].get(name);
        self.evaluate(condition.ok_or_else(|| TemplateError(format!("there is no condition {name}")))?)
    }

    fn evaluate(&self, condition: &Value) -> Result<bool> {
        let object = condition
            .as_object()
            .ok_or_else(|| TemplateError(format!("this is not a condition: {condition}")))?;
        if let Some(name) = object.get("Condition") {
            return self.condition(string(name)?);
        }
        let (function, argument) = intrinsic(object)
            .ok_or_else(|| TemplateError(format!("this is not a condition: {condition}")))?;
        match (function, list(argument)?) {
            ("Fn::Equals", [left, right]) => Ok(plain(&self.resolve(left)?) == plain(&self.resolve(right)?)),
            ("Fn::Not", [inner]) => Ok(!self.evaluate(inner)?),
            ("Fn::And", all) => all.iter().try_fold(true, |so_far, one| Ok(self.evaluate(one)? && so_far)),
            ("Fn::Or", any) => any.iter().try_fold(false, |so_far, one| Ok(self.evaluate(one)? || so_far)),
            _ => Err(TemplateError(format!("this condition is not supported: {condition}"))),
        }
    }
}

/// CloudFormation's marker for a property that is left out.
fn no_value() -> Value {
    json!({ "Ref": "AWS::NoValue" })
}

fn intrinsic(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, argument) = object.iter().next()?;
    (object.len() == 1 && (name == "Ref" || name.starts_with("Fn::"))).then_some((name.as_str(), argument))
}

/// As CloudFormation writes it into a text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn string(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| TemplateError(format!("{value} is not a string")))
}

fn strings(value: &Value) -> Result<Vec<&str>> {
    list(value)?.iter().map(string).collect()
}

fn list(value: &Value) -> Result<&[Value]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| TemplateError(format!("{value} is not a list")))
}

fn members<'a>(template: &'a Value, section: &str) -> Result<&'a Map<String, Value>> {
    template[section].as_object().ok_or_else(|| TemplateError(format!("the section {section} is missing")))
}
