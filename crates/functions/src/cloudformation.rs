//! Sends answers to CloudFormation, which waits for up to an hour for them.

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
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why the answer did not arrive. The URL is left out, because anyone who has it can answer in our place.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("could not read this machine's root certificates")]
    Certificates(#[source] std::io::Error),
    #[error("could not build a request for the response URL")]
    Request(#[from] lambda_http::http::Error),
    #[error("CloudFormation did not accept the answer: {0}")]
    NotAccepted(String),
}

/// Puts the answer to the response URL of the event.
pub async fn send(url: &str, answer: &SetupAnswer) -> Result<(), SendError> {
    let config = roots::client_config().map_err(SendError::Certificates)?;
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().build();
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let body = Bytes::from(serde_json::to_vec(answer).unwrap_or_default());
    let mut attempt = 1;
    loop {
        // The URL is signed for an empty content type.
        let request = Request::builder().method(Method::PUT).uri(url).header(CONTENT_TYPE, "");
        let request = request.body(Full::new(body.clone()))?;
        let failure = match tokio::time::timeout(TIMEOUT, client.request(request)).await {
            Ok(Ok(response)) if response.status().is_success() => return Ok(()),
            Ok(Ok(response)) => format!("status {}", response.status()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "timeout".into(),
        };
        if attempt == ATTEMPTS {
            return Err(SendError::NotAccepted(failure));
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
    async fn an_answer_is_sent_until_it_is_accepted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/answer?signature=secret", listener.local_addr().unwrap());
        let cloudformation = std::thread::spawn(move || {
            let mut received = String::new();
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
                received = request;
            }
            received
        });
        let event = serde_json::json!({
            "RequestType": "Delete", "ResponseURL": url, "StackId": "s", "RequestId": "r", "LogicalResourceId": "l",
        });
        let event = serde_json::from_value(event).unwrap();
        send(&url, &SetupAnswer::new(&event, Ok(()))).await.unwrap();
        let received = cloudformation.join().unwrap();
        assert!(received.starts_with("PUT /answer?signature=secret HTTP/1.1\r\n"), "{received}");
        assert!(received.contains("content-type: \r\n"), "{received}");
        assert!(received.ends_with(r#""RequestId":"r","LogicalResourceId":"l"}"#), "{received}");
    }

    #[tokio::test]
    async fn an_error_does_not_contain_the_url() {
        let event =
            r#"{"RequestType":"Delete","ResponseURL":"","StackId":"","RequestId":"","LogicalResourceId":""}"#;
        let answer = SetupAnswer::new(&serde_json::from_str(event).unwrap(), Ok(()));
        let error = send("not a url signature=secret", &answer).await.unwrap_err();
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    }
}
