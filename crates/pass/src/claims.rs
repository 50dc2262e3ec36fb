use serde::{Deserialize, Serialize};

use crate::{Nonce, is_word, sha256_hex};

/// The `token_use` of every pass. It tells a pass from other tokens that might be signed with the same keys.
pub const TOKEN_USE: &str = "access";

/// What a pass says.
///
/// A later Beekeeper may add claims, and verifiers pass over those that they don't know. But each is a text of printable ASCII without
/// quotation marks and backslashes, or a whole number of at most 15 digits, and its name is of lower-case letters and `_`:
/// verifiers refuse everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The room's URL, without a slash at the end.
    pub iss: String,
    /// The room's short name.
    pub aud: String,
    /// The visitor: see [`subject`]. All passes of a visitor have the same.
    pub sub: String,
    /// The visitor's ticket. Absent for somebody who came straight in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u64>,
    /// The number of the window that released the visitor, if one did. A guard's [report](crate::GuardReport) names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// What binds the pass to one browser, if the shop asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<Nonce>,
    /// Always [`TOKEN_USE`].
    pub token_use: String,
    pub iat: u64,
    pub nbf: u64,
    pub exp: u64,
}

/// Whether this may be the subject of a pass: it can stand in a cookie and in a header. Those of a room are 64 hex digits.
pub fn is_subject(text: &str) -> bool {
    (1..=128).contains(&text.len()) && is_word(text)
}

/// The subject of a visitor's passes: a digest of their token, so that a pass does not reveal the token.
pub fn subject(token: &str) -> String {
    sha256_hex(token.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_the_sha_256_of_the_token() {
        // printf %s 01010101010101010101010101010101 | sha256sum
        let expected = "015a198ef7f44f5e19aeee0c127af5e0fdc1862da849ed87f70ec7138c6055d1";
        assert_eq!(subject(&"01".repeat(16)), expected);
    }

    #[test]
    fn a_subject_can_stand_in_a_header() {
        assert!(is_subject(&subject("")) && is_subject("visitor-1_a"));
        for wrong in ["", "a.b", "a b", "a\r\nx-beekeeper-number: 1", "a;b", "ü", &"a".repeat(129)] {
            assert!(!is_subject(wrong), "{wrong}");
        }
    }
}
