//! Sixteen bytes as text that a cookie, a URL and a line of a file may contain.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub(crate) type Bytes = [u8; 16];

/// 22 characters.
pub(crate) fn encode(bytes: Bytes) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Option<Bytes> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}
