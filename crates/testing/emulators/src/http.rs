use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// The status of a response to `GET path` from a server on this machine, if it responds.
pub(crate) fn get(port: u16, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n").ok()?;
    // "HTTP/1.1 200"
    let mut start = [0; 12];
    stream.read_exact(&mut start).ok()?;
    std::str::from_utf8(&start[9..]).ok()?.parse().ok()
}

/// The JSON that a server on this machine responds with to `GET path`.
pub(crate) fn get_json(port: u16, path: &str) -> Result<Value> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    // By HTTP/1.0 the body ends with the connection.
    // At once: the server may close as soon as it knows what to say.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
    serde_json::from_str(body.unwrap_or_default()).with_context(|| format!("no JSON at {path}: {answer}"))
}
