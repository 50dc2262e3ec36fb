//! Answering CloudFormation, which waits for an hour if nobody does.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use lambda_http::http::header::CONTENT_TYPE;
use lambda_http::http::{Method, Request};

use crate::stack_setup::SetupAnswer;

const ATTEMPTS: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the answer did not arrive. The URL is left out: whoever knows it can answer in our place.
#[derive(Debug, thiserror::Error)]
pub enum Unheard {
    #[error("this machine has no certificates to trust")]
    Certificates(#[source] std::io::Error),
    #[error("the answer cannot be sent to the URL that CloudFormation gave")]
    Request(#[from] lambda_http::http::Error),
    #[error("CloudFormation did not take the answer: {0}")]
    NotTaken(String),
}

/// Puts the answer where CloudFormation looks for it.
pub async fn tell(url: &str, answer: &SetupAnswer) -> Result<(), Unheard> {
    let connector = HttpsConnectorBuilder::new().with_native_roots().map_err(Unheard::Certificates)?;
    let connector = connector.https_or_http().enable_http1().build();
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let body = Bytes::from(serde_json::to_vec(answer).unwrap_or_default());
    let mut attempt = 1;
    loop {
        // The URL is signed for an answer without a type.
        let request = Request::builder().method(Method::PUT).uri(url).header(CONTENT_TYPE, "");
        let request = request.body(Full::new(body.clone()))?;
        let problem = match tokio::time::timeout(PATIENCE, client.request(request)).await {
            Ok(Ok(response)) if response.status().is_success() => return Ok(()),
            Ok(Ok(response)) => format!("status {}", response.status()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".into(),
        };
        if attempt == ATTEMPTS {
            return Err(Unheard::NotTaken(problem));
        }
        tokio::time::sleep(Duration::from_millis(500) * attempt).await;
        attempt += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_put_until_it_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/answer?signature=secret", listener.local_addr().unwrap());
        let cloudformation = std::thread::spawn(move || {
            let mut heard = String::new();
            for status in ["503 Later", "200 OK"] {
                let (mut connection, _) = listener.accept().unwrap();
                let mut bytes = [0; 4096];
                let mut request = String::new();
                while !request.contains("\r\n\r\n{") || !request.ends_with('}') {
                    let length = connection.read(&mut bytes).unwrap();
                    request += std::str::from_utf8(&bytes[..length]).unwrap();
                }
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                connection.write_all(answer.as_bytes()).unwrap();
                heard = request;
            }
            heard
        });
        let event = serde_json::json!({
            "RequestType": "Delete", "ResponseURL": url, "StackId": "s", "RequestId": "r", "LogicalResourceId": "l",
        });
        let event = serde_json::from_value(event).unwrap();
        tell(&url, &SetupAnswer::new(&event, Ok(()))).await.unwrap();
        let heard = cloudformation.join().unwrap();
        assert!(heard.starts_with("PUT /answer?signature=secret HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains("content-type: \r\n"), "{heard}");
        assert!(heard.ends_with(r#""RequestId":"r","LogicalResourceId":"l"}"#), "{heard}");
    }

    #[tokio::test]
    async fn an_error_does_not_tell_the_url() {
        let event =
            r#"{"RequestType":"Delete","ResponseURL":"","StackId":"","RequestId":"","LogicalResourceId":""}"#;
        let answer = SetupAnswer::new(&serde_json::from_str(event).unwrap(), Ok(()));
        let error = tell("not a url signature=secret", &answer).await.unwrap_err();
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    }
}
