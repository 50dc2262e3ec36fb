//! What happens at the limits.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response};
use server::connections::{AccessLog, Limits, serve};
use server::{HttpResponse, HttpService};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct Hello;

impl HttpService for Hello {
    async fn answer(&self, _: &Request<Incoming>, _: IpAddr) -> HttpResponse {
        Response::new(Full::from("hello"))
    }
}

async fn connect(limits: Limits) -> impl AsyncFn() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Arc::new(Hello), limits, AccessLog::Off, std::future::pending()));
    async move || TcpStream::connect(address).await.unwrap()
}

async fn ask(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = vec![0; 1024];
    let length = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_until_one_closes() {
    let connect = connect(Limits { connections: 2, ..Limits::default() }).await;
    let (mut first, mut second, mut third) = (connect().await, connect().await, connect().await);
    assert!(ask(&mut first).await.ends_with("hello"));
    assert!(ask(&mut second).await.ends_with("hello"));
    let waiting = tokio::spawn(async move { ask(&mut third).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    drop(first);
    assert!(waiting.await.unwrap().ends_with("hello"));
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let connect = connect(Limits { patience: Duration::from_millis(200), ..Limits::default() }).await;
    let (mut silent, mut halfway) = (connect().await, connect().await);
    halfway.write_all(b"GET / HTTP/1.1\r\nHo").await.unwrap();
    for stream in [&mut silent, &mut halfway] {
        let mut rest = Vec::new();
        // A reset is an end too: on a slow machine the connection may be closed before the bytes above arrive.
        drop(stream.read_to_end(&mut rest).await);
        assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    }
}

#[test]
fn the_limit_of_connections_is_at_least_1_and_at_most_20000() {
    let connections = Limits::of_this_process().connections;
    assert!((1..=20_000).contains(&connections), "{connections}");
}
