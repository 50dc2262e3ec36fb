use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};

/// The answer to a request by `http`, with its head.
pub(super) fn ask(url: &str, headers: &[(&str, &str)]) -> Result<String> {
    let (host, path) = url.trim_start_matches("http://").split_once('/').context("a URL has a path")?;
    let mut stream = TcpStream::connect(host).with_context(|| format!("nobody listens at {host}"))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let headers: String = headers.iter().flat_map(|(name, value)| [*name, ": ", value, "\r\n"]).collect();
    // HTTP/1.0, so that the connection ends with the answer.
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {host}\r\n{headers}\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).with_context(|| format!("{url} was not answered"))?;
    Ok(answer)
}
