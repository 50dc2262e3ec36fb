//! Converts YAML with CloudFormation's short forms to JSON.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

use super::{Result, TemplateError};

/// The text has to contain exactly one document.
pub fn parse(text: &str) -> Result<Value> {
    let documents = Yaml::load_from_str(text).map_err(|error| TemplateError(error.to_string()))?;
    let [document] = &documents[..] else {
        return Err(TemplateError("expected exactly one YAML document".into()));
    };
    value(document)
}

fn value(node: &Yaml) -> Result<Value> {
    Ok(match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(is)) => json!(is),
        Yaml::Value(Scalar::Integer(number)) => json!(number),
        Yaml::Value(Scalar::FloatingPoint(number)) => json!(number.into_inner()),
        Yaml::Value(Scalar::String(text)) => json!(text),
        Yaml::Sequence(items) => items.iter().map(value).collect::<Result<_>>()?,
        Yaml::Mapping(members) => {
            let members = members.iter().map(|(key, member)| {
                let key =
                    key.as_str().ok_or_else(|| TemplateError(format!("the key {key:?} is not a string")))?;
                Ok((key.to_owned(), value(member)?))
            });
            Value::Object(members.collect::<Result<Map<_, _>>>()?)
        }
        Yaml::Tagged(tag, inner) => short_form(&tag.suffix, &value(inner)?)?,
        other => return Err(TemplateError(format!("{other:?} is not supported"))),
    })
}

/// `!Ref X` is `{"Ref": "X"}`, `!GetAtt X.Arn` is `{"Fn::GetAtt": ["X", "Arn"]}`, and so on.
fn short_form(name: &str, argument: &Value) -> Result<Value> {
    Ok(match name {
        "Ref" => json!({ "Ref": argument }),
        "GetAtt" => {
            let path = argument.as_str().and_then(|path| path.split_once('.'));
            let (resource, attribute) = path.ok_or_else(|| {
                TemplateError(format!("!GetAtt {argument} does not have the form Resource.Attribute"))
            })?;
            json!({ "Fn::GetAtt": [resource, attribute] })
        }
        _ => json!({ format!("Fn::{name}"): argument }),
    })
}
