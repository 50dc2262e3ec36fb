//! A browser sends each cookie in a header of its own over HTTP/2, and a mapping template sees one header. Behind the older policies
//! of API Gateway it is the joined one; behind those whose names begin with `SecurityPolicy_` it is the last. So both policies are
//! pinned, and no parameter and no definition can set another.

use serde_json::{Value, json};

use crate::support::stack;

/// Where each name of a member is in the template, with its value.
fn find<'a>(value: &'a Value, at: &str, found: &mut Vec<(String, &'a Value)>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), member)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        _ => Vec::new(),
    };
    for (name, member) in members {
        let at = format!("{at}/{name}");
        find(member, &at, found);
        found.push((at, member));
    }
}

#[test]
fn the_policies_that_join_cookies_are_pinned() {
    let mut found = Vec::new();
    find(&stack().template, "", &mut found);
    let policies: Vec<_> = found
        .iter()
        .filter(|(at, _)| {
            at.ends_with("/SecurityPolicy") || at.ends_with("/x-amazon-apigateway-security-policy")
        })
        .map(|(at, value)| (at.as_str(), *value))
        .collect();
    // AWS's default for an API, which an API cannot leave for TLS_1_2 later.
    let (api, domain) = (json!("TLS_1_0"), json!("TLS_1_2"));
    assert_eq!(
        policies,
        [
            ("/Resources/Api/Properties/SecurityPolicy", &api),
            ("/Resources/Domain/Properties/SecurityPolicy", &domain)
        ],
        "as texts, which no parameter changes, and in no other place"
    );
    for (at, value) in found {
        let has_mode =
            at.ends_with("/EndpointAccessMode") || at.ends_with("/x-amazon-apigateway-endpoint-access-mode");
        assert!(!has_mode, "{at}: the older policies have none");
        let text = value.as_str().unwrap_or_default();
        assert!(!text.starts_with("SecurityPolicy_"), "{at}: {text} loses cookies");
    }
    let regional = json!("REGIONAL");
    assert_eq!(stack().template["Resources"]["Api"]["Properties"]["EndpointConfiguration"]["Type"], regional);
    let domain = &stack().template["Resources"]["Domain"]["Properties"]["EndpointConfiguration"];
    assert_eq!(domain["Types"], json!([regional]));
}
