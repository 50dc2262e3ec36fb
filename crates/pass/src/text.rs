//! Texts that need no escape in a URL, a cookie, a header or JSON.

use aws_lc_rs::{digest, rand};
use base64::Engine;

use crate::{BASE64, PassError};

/// Whether these are letters, digits, `-` and `_`. An empty text is one too: how long it may be is up to the caller.
pub fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// 32 random bytes in base64, which are 43 characters.
pub fn random_text() -> Result<String, PassError> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(|_| PassError::Generate)?;
    Ok(BASE64.encode(bytes))
}

/// The SHA-256 digest: 64 hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, bytes);
    let digits = digest.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
