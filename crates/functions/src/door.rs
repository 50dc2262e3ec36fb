//! Converts the door's requests and answers from and to the format of API Gateway.

use lambda_http::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE};
use lambda_http::http::{Error, HeaderValue, Method, Response};
use lambda_http::request::{LambdaRequest, RequestContext};
use lambda_http::{Body, LambdaEvent, Request, RequestExt};
use producer::{DoorRequest, GuardReport, Nonce, ReportAnswer, SessionRules};
use waitroom::readable_cookies;

/// Joins several `Cookie` headers into one. HTTP/2 allows a browser to send them apart, and `lambda_http` keeps only the
/// last of several headers with the same name.
pub fn join_cookies(mut event: LambdaEvent<LambdaRequest>) -> LambdaEvent<LambdaRequest> {
    if let LambdaRequest::ApiGatewayV1(request) = &mut event.payload {
        let all: Vec<_> =
            request.multi_value_headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
        if all.len() > 1
            && let Ok(joined) = HeaderValue::from_bytes(&all.join(&b"; "[..]))
        {
            request.headers.insert(COOKIE, joined);
        }
    }
    event
}

/// The request's cookies. The header's name may be in upper or lower case.
pub fn cookies(request: &Request) -> Vec<&str> {
    request.headers().get_all(COOKIE).iter().flat_map(|value| readable_cookies(value.as_bytes())).collect()
}

/// Converts the request to the producer's type, with these cookies.
pub fn door_request<'a>(request: &'a Request, cookies: &'a [&'a str]) -> DoorRequest<'a> {
    let header = |name: &str| request.headers().get(name).map(HeaderValue::as_bytes);
    let parameter = |name| request.query_string_parameters_ref().and_then(|query| query.first(name));
    DoorRequest {
        shown: DoorRequest::shown(request.method().as_str(), header),
        cookies,
        nonce: parameter(Nonce::PARAMETER),
        asks_for_help: parameter(DoorRequest::HELP).is_some(),
        runs_no_script: parameter(DoorRequest::PLAIN).is_some(),
        again: parameter(SessionRules::AGAIN),
        // The firewall in front of the API limits clients.
        limit: None,
        path: path(request),
    }
}

/// The path that the browser asked for: with the stage, or without it below a domain of the operator's own.
fn path(request: &Request) -> Option<&str> {
    match request.request_context_ref()? {
        RequestContext::ApiGatewayV1(context) => context.path.as_deref(),
        _ => None,
    }
}

/// Whether a guard of the shop reports.
pub fn is_report(request: &Request) -> bool {
    request.method() == Method::POST && request.raw_http_path().ends_with(GuardReport::PATH)
}

/// The header by which a guard shows that it may report.
pub fn authorization(request: &Request) -> Option<&str> {
    request.headers().get(AUTHORIZATION)?.to_str().ok()
}

/// What a guard is told.
pub fn told(answer: ReportAnswer) -> Result<Response<Body>, Error> {
    Response::builder()
        .status(answer.status())
        .header(CACHE_CONTROL, "no-store")
        .header(CONTENT_TYPE, "application/json")
        .body(answer.body().into())
}

/// Whether the path is exactly the door's. API Gateway also routes `/beekeeper/` here, but the relative URLs of our
/// answers would be wrong below that path.
pub fn is_door(request: &Request) -> bool {
    !request.raw_http_path().ends_with('/')
}

/// The same answer as API Gateway's for an unknown path.
pub fn not_found() -> Result<Response<Body>, Error> {
    Response::builder()
        .status(404)
        .header(CACHE_CONTROL, "no-store")
        .header(CONTENT_TYPE, "application/json")
        .body(r#"{"error":"there is nothing here; the room's door is /beekeeper"}"#.into())
}

#[cfg(test)]
mod tests {
    use lambda_http::Context;
    use lambda_http::request::from_str;
    use producer::{DoorAnswer, ShownIn};
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
        join_cookies(event).payload.into()
    }

    #[test]
    fn cookies_are_found_in_either_case_and_only_in_headers() {
        for name in ["Cookie", "cookie"] {
            let request = request("GET", &format!(r#"{{"{name}":["a=1; b=2"],"Host":["x"]}}"#));
            assert_eq!(cookies(&request), ["a=1", " b=2"], "{name}");
        }
        assert!(cookies(&request("GET", "{}")).is_empty(), "a query parameter is not a header");
        let apart = request("GET", r#"{"cookie":["a=1","bk_sale=x; b=2"],"Host":["x"]}"#);
        assert_eq!(cookies(&apart), ["a=1", " bk_sale=x", " b=2"]);
    }

    #[test]
    fn the_door_has_no_trailing_slash() {
        let slash = |path: &str| {
            let event = format!(
                r#"{{"resource":"/beekeeper","path":"{path}","httpMethod":"GET","headers":{{}},"requestContext":{{"httpMethod":"GET","path":"/prod{path}"}},"body":null,"isBase64Encoded":false}}"#
            );
            is_door(&from_str(&event).unwrap())
        };
        assert!(slash("/beekeeper") && !slash("/beekeeper/"));
    }

    #[test]
    fn an_unknown_path_gets_the_same_answer_as_on_one_machine() {
        let answer = not_found().unwrap();
        assert_eq!(answer.status(), 404);
        let body: Value = serde_json::from_slice(answer.body()).unwrap();
        assert_eq!(body, serde_json::json!({ "error": server::routes::problem::NOT_FOUND }));
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
            retry_after: None,
            content_type: "text/html; charset=utf-8",
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
