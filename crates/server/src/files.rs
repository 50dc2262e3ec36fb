//! The files of the page, packed once and handed out as they are.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderName, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Request, Response, StatusCode};
use page::Page;

use crate::HttpResponse;
use crate::app::finish;

#[derive(Debug)]
pub(crate) struct Files(HashMap<String, Packed>);

#[derive(Debug)]
struct Packed {
    content_type: &'static str,
    policy: String,
    /// A browser that has this version need not be sent it again.
    tag: String,
    plain: Bytes,
    /// If that is smaller.
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

    /// The file of this name.
    pub(crate) fn answer(
        &self,
        name: &str,
        request: &Request<Incoming>,
        cache: &'static str,
    ) -> Option<HttpResponse> {
        let file = self.0.get(name)?;
        let response = Response::builder()
            .header(ETAG, &file.tag)
            .header(CONTENT_TYPE, file.content_type)
            .header(CACHE_CONTROL, cache)
            .header(CONTENT_SECURITY_POLICY, &file.policy)
            .header(REFERRER_POLICY, "no-referrer")
            .header(VARY, "Accept-Encoding")
            .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
            .header("x-robots-tag", "noindex");
        if values(request, &IF_NONE_MATCH).any(|tag| tag == "*" || tag.trim_start_matches("W/") == file.tag) {
            return Some(finish(response.status(StatusCode::NOT_MODIFIED), ""));
        }
        Some(match &file.zipped {
            Some(zipped) if unpacks(request) => {
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

/// Whether the browser takes gzip.
fn unpacks(request: &Request<Incoming>) -> bool {
    values(request, &ACCEPT_ENCODING).any(|coding| {
        let (coding, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        coding.trim().eq_ignore_ascii_case("gzip") && weight.is_none_or(|weight| weight > 0.0)
    })
}

/// What a header lists, over all its lines.
fn values<'a>(request: &'a Request<Incoming>, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = request.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}
