use std::net::IpAddr;

use http::{HeaderMap, Method};
use pass::ShownIn;

/// What the guard needs to know of a request to the shop.
#[derive(Clone, Copy, Debug)]
pub struct GuardedRequest<'a> {
    pub method: &'a Method,
    /// Path and query, as the browser sent them.
    pub target: &'a str,
    pub headers: &'a HeaderMap,
    /// The address of the visitor, if it is known. Only [networks that bypass](crate::Bypass::networks) need it.
    pub client: Option<IpAddr>,
}

impl GuardedRequest<'_> {
    pub(crate) fn only_reads(&self) -> bool {
        only_reads(self.method)
    }

    pub(crate) fn shown(&self) -> ShownIn {
        ShownIn::of(self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
    }
}

pub(crate) fn only_reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
