use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};

/// What a shop answers. It is read without a client library, which would change the URLs of the vectors.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    /// By names in lower case. Without cookies.
    pub headers: BTreeMap<String, String>,
    /// The `Set-Cookie` headers.
    pub cookies: Vec<String>,
    pub body: String,
}

impl Answer {
    /// Sends a request to a server of this machine, and reads the answer to its end.
    pub fn of(port: u16, method: &str, target: &str, accept: &str, cookie: &str) -> Result<Self> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("the shop is gone")?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        // HTTP/1.0, so that the body does not come in chunks.
        let head = format!("{method} {target} HTTP/1.0\r\nHost: shop.example\r\nConnection: close");
        let cookie = if cookie.is_empty() { String::new() } else { format!("Cookie: {cookie}\r\n") };
        let request = format!("{head}\r\nAccept: {accept}\r\nContent-Length: 0\r\n{cookie}\r\n");
        // Each character is one byte.
        let request = request.chars().map(u8::try_from).collect::<Result<Vec<_>, _>>()?;
        stream.write_all(&request)?;
        let mut text = Vec::new();
        stream.read_to_end(&mut text).with_context(|| format!("{method} {target} was not answered"))?;
        let text = String::from_utf8_lossy(&text);
        let (head, body) =
            text.split_once("\r\n\r\n").with_context(|| format!("{method} {target}: {text}"))?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let pairs = lines.filter_map(|line| line.split_once(':'));
        let pairs = pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        let (cookies, headers): (Vec<_>, Vec<_>) = pairs.partition(|(name, _)| name == "set-cookie");
        Ok(Self {
            status: status.with_context(|| format!("{method} {target}: {head}"))?,
            headers: headers.into_iter().collect(),
            cookies: cookies.into_iter().map(|(_, value)| value).collect(),
            body: body.to_owned(),
        })
    }

    /// The value of the cookie that is set under this name, and how it is set.
    pub fn cookie(&self, name: &str) -> Option<(&str, &str)> {
        let values = self.cookies.iter().filter_map(|set| set.strip_prefix(name)?.strip_prefix('='));
        values.map(|value| value.split_once("; ").unwrap_or((value, ""))).next()
    }
}
