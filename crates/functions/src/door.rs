//! Converts requests of visitors from the format of API Gateway, and from that of a function's URL, which an edge asks.

use std::fmt::Write;

use lambda_http::http::HeaderValue;
use lambda_http::http::header::COOKIE;
use lambda_http::request::{LambdaRequest, RequestContext};
use lambda_http::{LambdaEvent, Request, RequestExt};
use producer::DoorRequest;

/// Keeps what `lambda_http` would lose of an event, or panic at. It keeps only the last of several `Cookie` headers, which HTTP/2
/// allows, and drops the cookies that a function's URL lists if one has a letter beyond ASCII. So they are joined to one header here.
pub fn mended(mut event: LambdaEvent<LambdaRequest>) -> LambdaEvent<LambdaRequest> {
    let (headers, cookies): (_, Vec<Vec<u8>>) = match &mut event.payload {
        LambdaRequest::ApiGatewayV1(request) => {
            let all = request.multi_value_headers.get_all(COOKIE);
            (&mut request.headers, all.iter().map(|value| value.as_bytes().to_vec()).collect())
        }
        LambdaRequest::ApiGatewayV2(request) => {
            // It panics at a query that no URI may have.
            request.raw_query_string = request.raw_query_string.take().map(|query| in_a_uri(&query));
            let all = request.cookies.take().unwrap_or_default().into_iter().map(String::into_bytes);
            (&mut request.headers, all.filter(|cookie| HeaderValue::from_bytes(cookie).is_ok()).collect())
        }
        _ => return event,
    };
    if !cookies.is_empty()
        && let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..]))
    {
        headers.insert(COOKIE, joined);
    }
    event
}

/// The query, with each byte that no URI may have percent-encoded.
fn in_a_uri(query: &str) -> String {
    let mut encoded = String::with_capacity(query.len());
    for byte in query.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte) {
            encoded.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Converts the request to the producer's type, with these cookies.
pub fn door_request<'a>(request: &'a Request, cookies: &'a [&'a str]) -> DoorRequest<'a> {
    let parameter = |name: &str| request.query_string_parameters_ref().and_then(|query| query.first(name));
    let visit = DoorRequest::of(request.method(), request.headers(), cookies, parameter);
    // Without a limit: the firewall in front of the API or the edge has one.
    DoorRequest { path: path(request), ..visit }
}

/// The path of the route. API Gateway's own may begin with a base path of the operator's; its resource doesn't, and forgives a slash at
/// the end, below which the relative URLs of our answers would be wrong.
pub fn route_path(request: &Request) -> &str {
    let path = request.raw_http_path();
    match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV1(context)) if !path.ends_with('/') => {
            context.resource_path.as_deref().unwrap_or(path)
        }
        _ => path,
    }
}

/// The path that the browser asked for: with the stage, or without it below a domain of the operator's own or an edge.
fn path(request: &Request) -> Option<&str> {
    match request.request_context_ref()? {
        RequestContext::ApiGatewayV1(context) => context.path.as_deref(),
        RequestContext::ApiGatewayV2(context) => context.http.path.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lambda_http::Context;
    use lambda_http::request::from_str;
    use producer::{DoorAnswer, ShownIn};
    use routes::cookies;
    use serde_json::{Map, Value};

    use super::*;

    /// A request as API Gateway sends it: every header twice, with its last value and with all its values.
    fn event(method: &str, headers: &str) -> String {
        let all: Map<String, Value> = serde_json::from_str(headers).unwrap();
        let last: Map<String, Value> = all
            .iter()
            .map(|(name, values)| (name.clone(), values.as_array().unwrap().last().unwrap().clone()))
            .collect();
        let last = Value::from(last);
        format!(
            r#"{{"resource":"/beekeeper","path":"/beekeeper","httpMethod":"{method}","headers":{last},"multiValueHeaders":{headers},
                "queryStringParameters":{{"cookie":"bk_sale=ab12-00000000000000000000000000000000-1","nonce":"c29tZS1ub25jZS0xMjM0NQ"}},
                "requestContext":{{"httpMethod":"{method}","path":"/prod/beekeeper"}},"body":null,"isBase64Encoded":false}}"#
        )
    }

    fn request(method: &str, headers: &str) -> Request {
        let event =
            LambdaEvent::new(serde_json::from_str(&event(method, headers)).unwrap(), Context::default());
        mended(event).payload.into()
    }

    #[test]
    fn cookies_are_found_in_either_case_and_only_in_headers() {
        let found = |headers: &str| {
            cookies(request("GET", headers).headers()).map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        for name in ["Cookie", "cookie"] {
            let headers = format!(r#"{{"{name}":["a=1; b=2"],"Host":["x"]}}"#);
            assert_eq!(found(&headers), ["a=1", " b=2"], "{name}");
        }
        assert!(found("{}").is_empty(), "a query parameter is not a header");
        assert_eq!(
            found(r#"{"cookie":["a=1","bk_sale=x; b=2"],"Host":["x"]}"#),
            ["a=1", " bk_sale=x", " b=2"]
        );
    }

    /// A request as a function's URL sends it.
    fn by_url(cookies: &str) -> Request {
        let event = format!(
            r#"{{"version":"2.0","routeKey":"$default","rawPath":"/beekeeper","rawQueryString":"nonce=c29tZS1ub25jZS0xMjM0NQ&x=<\" ä%zz>",
                "cookies":{cookies},"headers":{{"sec-fetch-dest":"document","sec-fetch-mode":"navigate","host":"x.lambda-url.eu-central-1.on.aws"}},
                "requestContext":{{"accountId":"anonymous","apiId":"x","domainName":"x.lambda-url.eu-central-1.on.aws","domainPrefix":"x",
                "http":{{"method":"GET","path":"/beekeeper","protocol":"HTTP/1.1","sourceIp":"192.0.2.1","userAgent":"x"}},
                "requestId":"7c31","routeKey":"$default","stage":"$default","time":"12/Mar/2026:19:03:58 +0000","timeEpoch":1773342238000}},
                "isBase64Encoded":false}}"#
        );
        let event = LambdaEvent::new(serde_json::from_str(&event).unwrap(), Context::default());
        mended(event).payload.into()
    }

    #[test]
    fn an_edge_asks_through_the_functions_url() {
        let request = by_url("[\"a=1\",\"b\\u0001=2\",\"shop=Ä\",\"bk_sale=x\"]");
        let all: Vec<_> = cookies(request.headers()).map(str::trim).collect();
        assert_eq!(all, ["a=1", "shop=Ä", "bk_sale=x"]);
        let visit = door_request(&request, &all);
        assert_eq!((request.raw_http_path(), visit.path), ("/beekeeper", Some("/beekeeper")));
        assert_eq!((visit.shown, visit.nonce), (ShownIn::Window, Some("c29tZS1ub25jZS0xMjM0NQ")));
        assert_eq!(cookies(by_url("null").headers()).count(), 0);
    }

    #[test]
    fn a_route_is_found_below_a_base_path_and_with_no_slash_at_its_end() {
        let found = |path: &str, resource: &str| {
            let event = format!(
                r#"{{"resource":"{resource}","path":"{path}","httpMethod":"GET","headers":{{}},
                    "requestContext":{{"httpMethod":"GET","path":"/prod{path}","resourcePath":"{resource}"}},"body":null,"isBase64Encoded":false}}"#
            );
            let request: Request = from_str(&event).unwrap();
            route_path(&request).to_owned()
        };
        assert_eq!(found("/beekeeper", "/beekeeper"), "/beekeeper");
        assert_eq!(found("/queue/beekeeper", "/beekeeper"), "/beekeeper");
        assert_eq!(found("/beekeeper/", "/beekeeper"), "/beekeeper/");
    }

    #[test]
    fn what_the_browser_says_is_passed_on() {
        let head = request("HEAD", "{}");
        let head = door_request(&head, &[]);
        assert_eq!(head.shown, ShownIn::Nothing);
        assert_eq!(head.nonce, Some("c29tZS1ub25jZS0xMjM0NQ"));
        assert_eq!(head.path, Some("/prod/beekeeper"));
        for (headers, shown) in [
            ("{}", ShownIn::Window),
            (r#"{"Sec-Purpose":["prefetch;prerender"]}"#, ShownIn::Nothing),
            (r#"{"Purpose":["prefetch"]}"#, ShownIn::Nothing),
            (r#"{"Purpose":["prefetch"],"Sec-Purpose":["other"]}"#, ShownIn::Nothing),
            (r#"{"Sec-Fetch-Dest":["document"],"Sec-Fetch-Mode":["navigate"]}"#, ShownIn::Window),
            (r#"{"sec-fetch-dest":["image"],"sec-fetch-mode":["no-cors"]}"#, ShownIn::Nothing),
            (r#"{"SEC-FETCH-DEST":["iframe"],"Sec-Fetch-Mode":["navigate"]}"#, ShownIn::Frame),
            (r#"{"Sec-Fetch-Dest":["empty"],"Sec-Fetch-Mode":["navigate"]}"#, ShownIn::Window),
            (r#"{"Sec-Fetch-Dest":["empty"],"Sec-Fetch-Mode":["cors"]}"#, ShownIn::Nothing),
        ] {
            let request = request("GET", headers);
            assert_eq!(door_request(&request, &[]).shown, shown, "{headers}");
        }
    }

    #[test]
    fn an_answer_keeps_its_headers_and_is_never_cached() {
        let answer = DoorAnswer {
            status: 302,
            location: Some("wait/index.html#ab12-7".into()),
            set_cookie: Some("bk_sale=x; Path=/".into()),
            set_proof: Some("bk_sale_proof=y; Path=/".into()),
            hands_out_place: true,
            retry_after: None,
            body: "".into(),
        };
        let response = answer.clone().into_response();
        assert_eq!(response.status(), 302);
        let header = |name| response.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("location"), answer.location.as_deref());
        let set: Vec<_> = response.headers().get_all("set-cookie").iter().collect();
        assert_eq!(set, ["bk_sale=x; Path=/", "bk_sale_proof=y; Path=/"]);
        assert_eq!((header("cache-control"), header("retry-after")), (Some("no-store"), None));

        let busy = DoorAnswer { location: Some("https://shop.example/\n".into()), ..answer };
        let busy = busy.into_response();
        assert_eq!((busy.status().as_u16(), busy.headers()["retry-after"].to_str().unwrap()), (503, "30"));
    }
}
