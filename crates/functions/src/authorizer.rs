//! What API Gateway asks a Lambda authorizer, and what it is answered: authorizers of type TOKEN and REQUEST of REST APIs,
//! and those of HTTP APIs with payload format 1.0.

use std::collections::HashMap;

use guard::AuthorizedVisitor;
use lambda_http::http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

/// A question of API Gateway.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "UPPERCASE", rename_all_fields = "camelCase")]
pub enum AuthorizerEvent {
    /// About one header, which the authorizer's identity source names.
    Token { authorization_token: String, method_arn: String },
    /// About a whole request.
    Request {
        method_arn: String,
        /// Each with its last value.
        #[serde(default)]
        headers: Option<HashMap<String, String>>,
        /// Each with all of its values.
        #[serde(default)]
        multi_value_headers: Option<HashMap<String, Vec<String>>>,
    },
}

impl AuthorizerEvent {
    /// The headers of the request, as far as they are known.
    pub fn headers(&self) -> HeaderMap {
        let Self::Request { headers, multi_value_headers, .. } = self else { return HeaderMap::new() };
        let all = multi_value_headers
            .iter()
            .flatten()
            .flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
        let last = headers.iter().flatten().filter(|_| multi_value_headers.is_none());
        // A header that is none has nothing to say about the visitor.
        all.chain(last)
            .filter_map(|(name, value)| {
                Some((name.parse::<HeaderName>().ok()?, HeaderValue::from_str(value).ok()?))
            })
            .collect()
    }

    /// The pass: the value of the identity source, or the bearer token in [these headers](Self::headers).
    pub fn pass<'a>(&'a self, headers: &'a HeaderMap) -> Option<&'a str> {
        match self {
            Self::Token { authorization_token, .. } => {
                Some(bearer(authorization_token).unwrap_or(authorization_token))
            }
            Self::Request { .. } => headers.get("authorization")?.to_str().ok().and_then(bearer),
        }
    }

    /// Lets the visitor in, and gives their subject and number to the integration.
    pub fn allowed(&self, visitor: &AuthorizedVisitor) -> Value {
        let (Self::Token { method_arn, .. } | Self::Request { method_arn, .. }) = self;
        let number = visitor.number.map(|number| number.to_string()).unwrap_or_default();
        json!({
            "principalId": visitor.subject,
            "policyDocument": {
                "Version": "2012-10-17",
                "Statement": [{
                    "Effect": "Allow", "Action": "execute-api:Invoke", "Resource": whole_stage(method_arn),
                }],
            },
            "context": { "subject": visitor.subject, "number": number },
        })
    }
}

/// API Gateway keeps an answer for all methods of the stage, so it must not name only the one that was asked for first.
fn whole_stage(method_arn: &str) -> String {
    // arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH
    let stage: Vec<_> = method_arn.splitn(3, '/').take(2).collect();
    format!("{}/*", stage.join("/"))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: &str = "arn:aws:execute-api:eu-central-1:123456789012:a1b2c3/prod/GET/tickets/7";

    fn event(event: Value) -> AuthorizerEvent {
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn a_token_is_a_pass_with_or_without_its_scheme() {
        for token in ["abc", "Bearer abc", "bearer  abc "] {
            let asked = event(json!({ "type": "TOKEN", "authorizationToken": token, "methodArn": METHOD }));
            let headers = asked.headers();
            assert_eq!((asked.pass(&headers), headers.len()), (Some("abc"), 0), "{token}");
        }
    }

    #[test]
    fn a_request_has_a_bearer_token_and_cookies() {
        let asked = event(json!({
            "type": "REQUEST", "methodArn": METHOD, "path": "/tickets/7", "httpMethod": "GET",
            "headers": { "Authorization": "Bearer abc", "cookie": "b=2" },
            "multiValueHeaders": { "Authorization": ["Bearer abc"], "cookie": ["a=1", "b=2"], "not a header": ["x"] },
            "queryStringParameters": null, "requestContext": { "stage": "prod" },
        }));
        let headers = asked.headers();
        assert_eq!(asked.pass(&headers), Some("abc"));
        // Browsers send each cookie in a header of its own over HTTP/2.
        assert_eq!(headers.get_all("cookie").iter().collect::<Vec<_>>(), ["a=1", "b=2"]);

        let asked = event(json!({ "type": "REQUEST", "methodArn": METHOD, "headers": { "cookie": "b=2" } }));
        let headers = asked.headers();
        assert_eq!((asked.pass(&headers), headers["cookie"].to_str().unwrap()), (None, "b=2"));
        for headers in [json!({ "authorization": "Basic abc" }), json!(null)] {
            let asked = event(json!({ "type": "REQUEST", "methodArn": METHOD, "headers": headers }));
            assert_eq!(asked.pass(&asked.headers()), None);
        }
    }

    #[test]
    fn who_is_let_in_may_use_the_whole_stage() {
        let asked = event(json!({ "type": "TOKEN", "authorizationToken": "abc", "methodArn": METHOD }));
        let allowed = asked.allowed(&AuthorizedVisitor { subject: "ab12".into(), number: Some(7) });
        assert_eq!(
            allowed["policyDocument"]["Statement"][0]["Resource"],
            "arn:aws:execute-api:eu-central-1:123456789012:a1b2c3/prod/*"
        );
        assert_eq!(allowed["context"], json!({ "subject": "ab12", "number": "7" }));
        let never_waited = asked.allowed(&AuthorizedVisitor { subject: "ab12".into(), number: None });
        assert_eq!(never_waited["context"]["number"], "");
    }
}
