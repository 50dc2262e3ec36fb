//! The files of the page, packed once and handed out as they are.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Request, Response};
use page::Page;

use crate::Answer;
use crate::app::finish;

#[derive(Debug)]
pub(crate) struct Files(HashMap<String, Packed>);

#[derive(Debug)]
struct Packed {
    content_type: &'static str,
    policy: String,
    plain: Bytes,
    /// If that is smaller.
    zipped: Option<Bytes>,
}

impl Files {
    pub(crate) fn new(page: &Page) -> Self {
        let packed = page.files().map(|(name, file)| {
            let zipped = gzip(&file.body).filter(|zipped| zipped.len() < file.body.len());
            let packed = Packed {
                content_type: file.content_type,
                policy: file.policy.clone(),
                plain: file.body.clone().into(),
                zipped: zipped.map(Bytes::from),
            };
            (name.to_owned(), packed)
        });
        Self(packed.collect())
    }

    /// The file of this name; without one, the page itself.
    pub(crate) fn answer(
        &self,
        name: &str,
        request: &Request<Incoming>,
        cache: &'static str,
    ) -> Option<Answer> {
        let file = self.0.get(if name.is_empty() { Page::DOCUMENT } else { name })?;
        let response = Response::builder()
            .header(CONTENT_TYPE, file.content_type)
            .header(CACHE_CONTROL, cache)
            .header(CONTENT_SECURITY_POLICY, &file.policy)
            .header(REFERRER_POLICY, "no-referrer")
            .header(VARY, "Accept-Encoding")
            .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
            .header("x-robots-tag", "noindex");
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
    let accepted = request.headers().get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && parts.next() != Some("q=0")
    })
}
