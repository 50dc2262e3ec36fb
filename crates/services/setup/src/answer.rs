//! Asks what listens on this machine, as nginx would.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);
/// More than a room or a guard answers to these questions.
const LONGEST: u64 = 64 * 1024;

#[derive(Debug)]
pub(crate) struct LocalAnswer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl LocalAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// Asks with GET, and these lines of headers.
pub(crate) fn ask(address: SocketAddr, path: &str, headers: &str) -> io::Result<LocalAnswer> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n")?;
    let mut text = Vec::new();
    stream.take(LONGEST).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "this is no answer in HTTP");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(unreadable)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(unreadable)?;
    Ok(LocalAnswer { status, head: head.to_owned(), body: body.to_owned() })
}
