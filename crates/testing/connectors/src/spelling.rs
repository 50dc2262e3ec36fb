//! Other ways to write base64url.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::RngExt;
use rand::rngs::StdRng;

use crate::pick::pick;

/// The same bytes, with a last character whose spare bits are not zero. What has no spare bits gets padding.
pub(crate) fn with_spare_bits(part: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let last = part.bytes().last().and_then(|last| ALPHABET.iter().position(|byte| *byte == last));
    match (part.len() % 4, last) {
        (2 | 3, Some(last)) => format!("{}{}", &part[..part.len() - 1], char::from(ALPHABET[last + 1])),
        _ => format!("{part}="),
    }
}

pub(crate) fn with_noise(part: &str, rng: &mut StdRng) -> String {
    let (before, behind) = part.split_at(rng.random_range(0..=part.len()));
    format!("{before}{}{behind}", pick(rng, &["*", "!", "~", "%0A", "%20", "+", "/", "=", "\u{24}"]))
}

/// With `+` and `/`, as base64 is elsewhere. What has neither gets padding.
pub(crate) fn in_other_alphabet(part: &str) -> String {
    let other = part.replace('-', "+").replace('_', "/");
    if other == part { format!("{part}=") } else { other }
}

pub(crate) fn recode(signature: &mut String, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = URL_SAFE_NO_PAD.decode(&signature).unwrap_or_default();
    change(&mut bytes);
    *signature = URL_SAFE_NO_PAD.encode(bytes);
}
