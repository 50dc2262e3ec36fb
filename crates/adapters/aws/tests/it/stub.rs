//! Stands in for AWS where a test says what AWS answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

/// Answers each request by the last part of its name, such as `getitem`, and by its body. Returns its URL.
pub(crate) fn stub(mut answer: impl FnMut(&str, &str) -> (u16, String) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = BufReader::new(connection.unwrap());
            let (mut operation, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                connection.read_line(&mut line).unwrap();
                let line = line.trim_end().to_ascii_lowercase();
                if let Some(request) = line.strip_prefix("post ") {
                    operation = request.split([' ', '?']).next().unwrap().rsplit('/').next().unwrap().into();
                } else if let Some(target) = line.strip_prefix("x-amz-target: ") {
                    operation = target.rsplit('.').next().unwrap().into();
                } else if let Some(sent) = line.strip_prefix("content-length: ") {
                    length = sent.parse().unwrap();
                } else if line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            connection.read_exact(&mut body).unwrap();
            let (status, said) = answer(&operation, std::str::from_utf8(&body).unwrap());
            let head =
                format!("HTTP/1.1 {status} Said\r\nContent-Length: {}\r\nConnection: close", said.len());
            write!(connection.get_mut(), "{head}\r\nContent-Type: application/x-amz-json-1.0\r\n\r\n{said}")
                .unwrap();
        }
    });
    url
}
