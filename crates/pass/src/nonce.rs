use std::fmt;
use std::str::FromStr;

use base64::Engine;
use serde::{Deserialize, Serialize};

use crate::{BASE64, is_word};

/// What a shop gives to a browser and to the room, so that the room signs it into the pass. A pass with a nonce opens the
/// shop to that browser only.
///
/// It comes from outside: the room signs only what has this form, so that a pass stays short and contains no text of
/// somebody else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Nonce(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a nonce is 16 to 64 letters, digits, hyphens and underscores")]
pub struct NonceError;

impl Nonce {
    /// The parameter of `GET /beekeeper` that carries it.
    pub const PARAMETER: &str = "nonce";

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(BASE64.encode(bytes))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Nonce {
    type Err = NonceError;

    fn from_str(text: &str) -> Result<Self, NonceError> {
        let valid = (16..=64).contains(&text.len()) && is_word(text);
        valid.then(|| Self(text.into())).ok_or(NonceError)
    }
}

impl TryFrom<String> for Nonce {
    type Error = NonceError;

    fn try_from(text: String) -> Result<Self, NonceError> {
        text.parse()
    }
}

impl From<Nonce> for String {
    fn from(nonce: Nonce) -> Self {
        nonce.0
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_needs_no_escape_in_a_url_a_cookie_or_json() {
        for valid in ["AAAAAAAAAAAAAAAA", &"z-_9".repeat(16), Nonce::from_bytes([255; 16]).as_str()] {
            assert_eq!(valid.parse::<Nonce>().unwrap().as_str(), valid);
        }
        let long = "a".repeat(65);
        for wrong in [
            "",
            "AAAAAAAAAAAAAAA",
            &long,
            "AAAAAAAAAAAAAAA=",
            "AAAAAAAA AAAAAAA",
            "ääääääääääääääää",
            "\"AAAAAAAAAAAAAAAA",
        ] {
            assert_eq!(wrong.parse::<Nonce>(), Err(NonceError), "{wrong}");
        }
    }
}
