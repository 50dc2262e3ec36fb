//! The files of the page, compressed once at start.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    IF_NONE_MATCH, VARY,
};
use hyper::{Request, Response, StatusCode};
use page::Page;

use routes::respond::{HttpResponse, finish};

#[derive(Debug)]
pub(crate) struct Files(HashMap<String, Packed>);

#[derive(Debug)]
struct Packed {
    content_type: &'static str,
    policy: String,
    /// The version of the file. A browser that has this version gets status 304 without the file.
    tag: String,
    plain: Bytes,
    /// The compressed file. Absent if it would not be smaller.
    zipped: Option<Bytes>,
}

impl Files {
    pub(crate) fn new(page: &Page) -> Self {
        let packed = page.files().map(|(name, file)| {
            let zipped = gzip(&file.body).filter(|zipped| zipped.len() < file.body.len());
            let mut hasher = DefaultHasher::new();
            (&file.body, &file.policy).hash(&mut hasher);
            let packed = Packed {
                tag: format!("\"{:016x}\"", hasher.finish()),
                content_type: file.content_type,
                policy: file.policy.clone(),
                plain: file.body.clone().into(),
                zipped: zipped.map(Bytes::from),
            };
            (name.to_owned(), packed)
        });
        Self(packed.collect())
    }

    /// The response for the file of this name. Headers that are the same for all files are in the table of routes.
    pub(crate) fn answer(&self, name: &str, request: &Request<Incoming>) -> Option<HttpResponse> {
        let file = self.0.get(name)?;
        let response = Response::builder()
            .header(ETAG, &file.tag)
            .header(CONTENT_TYPE, file.content_type)
            .header(CONTENT_SECURITY_POLICY, &file.policy)
            .header(VARY, "Accept-Encoding");
        if values(request, &IF_NONE_MATCH).any(|tag| tag == "*" || tag.trim_start_matches("W/") == file.tag) {
            return Some(finish(response.status(StatusCode::NOT_MODIFIED), ""));
        }
        Some(match &file.zipped {
            Some(zipped) if accepts_gzip(request) => {
                finish(response.header(CONTENT_ENCODING, "gzip"), zipped.clone())
            }
            _ => finish(response, file.plain.clone()),
        })
    }
}

fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

fn accepts_gzip(request: &Request<Incoming>) -> bool {
    values(request, &ACCEPT_ENCODING).any(|coding| {
        let (coding, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        coding.trim().eq_ignore_ascii_case("gzip") && weight.is_none_or(|weight| weight > 0.0)
    })
}

/// The elements of a list header, which may be spread over several lines.
fn values<'a>(request: &'a Request<Incoming>, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = request.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}
