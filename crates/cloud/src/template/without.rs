use serde_json::{Map, Value};

/// The template without what depends on this condition, as if that were false: resources and outputs, and the first choice of
/// every `!If`.
pub(crate) fn without(template: Value, condition: &str) -> Value {
    let mut template = decided(template, condition);
    for section in ["Resources", "Outputs"] {
        if let Some(Value::Object(members)) = template.get_mut(section) {
            members.retain(|_, member| member.get("Condition").is_none_or(|found| found != condition));
        }
    }
    template
}

fn decided(value: Value, condition: &str) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| decided(item, condition)).collect(),
        Value::Object(mut object) => match object.get_mut("Fn::If").map(Value::take) {
            Some(Value::Array(choice)) if choice.first().is_some_and(|name| name == condition) => {
                decided(choice.into_iter().nth(2).unwrap_or_default(), condition)
            }
            Some(choice) => {
                Value::Object(Map::from_iter([("Fn::If".to_owned(), decided(choice, condition))]))
            }
            None => object.into_iter().map(|(name, member)| (name, decided(member, condition))).collect(),
        },
        plain => plain,
    }
}
