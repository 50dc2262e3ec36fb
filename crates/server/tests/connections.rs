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
use tokio::sync::Notify;
use tokio::time::timeout;

/// Much longer than anything takes here.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Default)]
struct Hello {
    has_asked: Notify,
    /// `/slow` is answered after this.
    go: Notify,
}

impl HttpService for Hello {
    async fn answer(&self, request: &mut Request<Incoming>, _: IpAddr) -> HttpResponse {
        if request.uri().path() == "/slow" {
            self.has_asked.notify_one();
            self.go.notified().await;
        }
        let length = if request.uri().path() == "/large" { 1 << 20 } else { 5 };
        Response::new(Full::from("hello".repeat(length / 5)))
    }
}

struct Server {
    address: std::net::SocketAddr,
    hello: Arc<Hello>,
}

impl Server {
    async fn start(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, hello) = (listener.local_addr().unwrap(), Arc::new(Hello::default()));
        tokio::spawn(serve(listener, hello.clone(), limits, AccessLog::Off, std::future::pending()));
        Self { address, hello }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

async fn ask_for(stream: &mut TcpStream, path: &str) -> String {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = vec![0; 1024];
    let length = timeout(PATIENCE, stream.read(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

async fn ask(stream: &mut TcpStream) -> String {
    ask_for(stream, "/").await
}

/// What the server sends until it closes the connection. A reset is an end too.
async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    drop(timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap());
    String::from_utf8_lossy(&rest).into_owned()
}

#[tokio::test]
async fn a_newcomer_takes_the_slot_of_the_connection_that_was_silent_for_longest() {
    let server = Server::start(Limits { connections: 2, patience: PATIENCE, ..Limits::default() }).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    assert!(ask(&mut second).await.ends_with("hello"));
    assert!(ask(&mut first).await.ends_with("hello"));
    let mut third = server.connect().await;
    assert!(ask(&mut third).await.ends_with("hello"));
    assert_eq!(rest(&mut second).await, "", "it asked before the first did");
    assert!(ask(&mut first).await.ends_with("hello"));
    let mut fourth = server.connect().await;
    assert!(ask(&mut fourth).await.ends_with("hello"));
    assert_eq!(rest(&mut third).await, "");
}

#[tokio::test]
async fn a_newcomer_waits_for_an_answer_that_is_being_given() {
    let server = Server::start(Limits { connections: 1, ..Limits::default() }).await;
    let mut first = server.connect().await;
    let answer = tokio::spawn(async move { (ask_for(&mut first, "/slow").await, rest(&mut first).await) });
    server.hello.has_asked.notified().await;
    let mut second = server.connect().await;
    let waiting = tokio::spawn(async move { ask(&mut second).await });
    // A server that cuts the answer off would do so by now. It may also learn of the newcomer later: that is no failure.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    server.hello.go.notify_one();
    let (answer, rest) = answer.await.unwrap();
    assert!(answer.contains("connection: close") && answer.ends_with("hello"), "{answer}");
    assert_eq!(rest, "");
    assert!(waiting.await.unwrap().ends_with("hello"));
}

#[tokio::test]
async fn connections_that_send_nothing_keep_nobody_out() {
    let server = Server::start(Limits { connections: 20, patience: PATIENCE, ..Limits::default() }).await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        let mut stream = server.connect().await;
        stream.write_all(b"GET / HTTP/1.1\r\nHo").await.unwrap();
        silent.push(stream);
    }
    for _ in 0..10 {
        let mut stream = server.connect().await;
        assert!(ask(&mut stream).await.ends_with("hello"));
    }
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let server = Server::start(Limits { patience: Duration::from_secs(2), ..Limits::default() }).await;
    let (mut silent, mut halfway, mut idle) =
        (server.connect().await, server.connect().await, server.connect().await);
    halfway.write_all(b"GET / HTTP/1.1\r\nHo").await.unwrap();
    assert!(ask(&mut idle).await.ends_with("hello"));
    for stream in [&mut silent, &mut halfway, &mut idle] {
        assert!(!rest(stream).await.contains("200 OK"));
    }
}

#[tokio::test]
async fn a_head_that_nginx_lets_through_is_answered_and_one_of_100_kb_is_not() {
    let server = Server::start(Limits::default()).await;
    for (length, is_answered) in [(36_000, true), (100_000, false)] {
        let mut stream = server.connect().await;
        let cookie = "a".repeat(length);
        let head = format!("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n");
        // The server may refuse the head before it has all of it.
        drop(stream.write_all(head.as_bytes()).await);
        let answer = rest(&mut stream).await;
        assert_eq!(answer.starts_with("HTTP/1.1 200 "), is_answered, "{length}: {answer}");
    }
}

#[tokio::test]
async fn a_client_that_closes_its_half_or_never_sends_its_body_is_let_go() {
    let server = Server::start(Limits { patience: PATIENCE, ..Limits::default() }).await;
    let mut half = server.connect().await;
    half.shutdown().await.unwrap();
    assert_eq!(rest(&mut half).await, "");
    let mut body = server.connect().await;
    body.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n").await.unwrap();
    assert!(rest(&mut body).await.ends_with("hello"));
}

/// A client that pipelines requests and reads no answer, and one that reads a byte now and then.
#[tokio::test]
async fn answers_that_nobody_reads_do_not_keep_a_connection() {
    let server = Server::start(Limits { reading: Duration::from_secs(1), ..Limits::default() }).await;
    for reads in [false, true] {
        let mut stream = server.connect().await;
        let request = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
        stream.write_all(&request.repeat(100)).await.unwrap();
        let until_closed = async {
            // Only a connection that is closed refuses a byte.
            while stream.write_all(b"G").await.is_ok() {
                if reads && stream.read_u8().await.is_err() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(timeout(PATIENCE, until_closed).await.is_ok(), "reads: {reads}");
    }
}

#[test]
fn the_limit_of_connections_is_at_least_1_and_at_most_20000() {
    let connections = Limits::of_this_process().connections;
    assert!((1..=20_000).contains(&connections), "{connections}");
}
