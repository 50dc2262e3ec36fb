//! Reads YAML with CloudFormation's short forms (`!Ref X`) as JSON.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

use super::{Misread, Result};

/// Reads a text with one YAML document.
pub fn parse(text: &str) -> Result<Value> {
    let documents = Yaml::load_from_str(text).map_err(|error| Misread(error.to_string()))?;
    let [document] = &documents[..] else { return Err(Misread("one YAML document is expected".into())) };
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
                let key = key.as_str().ok_or_else(|| Misread(format!("{key:?} is not a name")))?;
                Ok((key.to_owned(), value(member)?))
            });
            Value::Object(members.collect::<Result<Map<_, _>>>()?)
        }
        Yaml::Tagged(tag, inner) => short_form(&tag.suffix, &value(inner)?)?,
        other => return Err(Misread(format!("{other:?} is not YAML that CloudFormation accepts"))),
    })
}

/// `!Ref X` is `{"Ref": "X"}`, `!GetAtt X.Arn` is `{"Fn::GetAtt": ["X", "Arn"]}`, and so on.
fn short_form(name: &str, argument: &Value) -> Result<Value> {
    Ok(match name {
        "Ref" => json!({ "Ref": argument }),
        "GetAtt" => {
            let path = argument.as_str().and_then(|path| path.split_once('.'));
            let (resource, attribute) =
                path.ok_or_else(|| Misread(format!("!GetAtt {argument} has no dot")))?;
            json!({ "Fn::GetAtt": [resource, attribute] })
        }
        _ => json!({ format!("Fn::{name}"): argument }),
    })
}
