//! An account whose AWS answers as a test says.

use std::sync::{Arc, Mutex};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::aws_errors::ErrorTranslator;
use crate::{Account, names};

/// What is asked: the request's line and headers, an empty line, and its body.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// The account, and what is asked of it. `answer` returns the status and the body.
pub(crate) async fn account(
    answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static,
) -> (Account, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let asked = Asked::default();
    let all = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let Some(request) = read(&mut connection).await else { continue };
            let (status, body) = answer(&request);
            all.lock().unwrap().push(request);
            let head =
                format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            // A client that is gone needs no answer.
            drop(connection.write_all((head + &body).as_bytes()).await);
        }
    });
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "test")))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(endpoint)
        .build();
    let errors = ErrorTranslator { profile: None, region: "eu-central-1".into() };
    let (id, arn) = ("123456789012".to_owned(), "arn:aws:iam::123456789012:user/anna".to_owned());
    (Account { id, arn, region: "eu-central-1".into(), config, errors }, asked)
}

/// What CloudFormation is asked to do, if it is asked at all.
pub(crate) fn action(request: &str) -> Option<&str> {
    let (_, action) = request.split_once("Action=")?;
    action.split_once('&').map(|(action, _)| action)
}

/// How CloudFormation answers.
pub(crate) fn answered(action: &str, result: &str) -> String {
    format!("<{action}Response><{action}Result>{result}</{action}Result></{action}Response>")
}

/// How CloudFormation describes a stack of the room `sale` that lacks no output.
pub(crate) fn described(status: &str, parameters: &[(&str, &str)]) -> String {
    let outputs = [
        "RoomUrl",
        "ClientUrl",
        "StageUrl",
        "LedgerTable",
        "LineUrl",
        "DeadLettersUrl",
        "TriggerFunction",
        "PageBucket",
        "ProducerFunction",
        "FirewallArn",
    ];
    let outputs = outputs.map(|name| {
        format!("<member><OutputKey>{name}</OutputKey><OutputValue>http://{name}</OutputValue></member>")
    });
    let parameters = parameters.iter().map(|(name, value)| {
        format!(
            "<member><ParameterKey>{name}</ParameterKey><ParameterValue>{value}</ParameterValue></member>"
        )
    });
    let (outputs, parameters) = (outputs.concat(), parameters.collect::<Vec<_>>().concat());
    let tag = format!("<member><Key>{}</Key><Value>sale</Value></member>", names::TAG);
    let stack = format!(
        "<StackId>stack</StackId><StackStatus>{status}</StackStatus><Tags>{tag}</Tags><Outputs>{outputs}</Outputs>\
         <Parameters>{parameters}</Parameters>"
    );
    answered("DescribeStacks", &format!("<Stacks><member>{stack}</member></Stacks>"))
}

/// `None` if the client says nothing more before the request is complete.
async fn read(connection: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    loop {
        if connection.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_lowercase();
        let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text.into_owned());
        }
    }
}
