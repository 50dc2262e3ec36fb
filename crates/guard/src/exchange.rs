//! Which pass opened a session, and in which browser.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest;
use pass::Nonce;

use crate::bytes::{self, Bytes};

/// The exchange that opened a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub pass: Fingerprint,
    /// None if the browser had no cookie of the guard, because its visitor came to the room first.
    pub browser: Option<Fingerprint>,
}

/// What recognises a pass or a browser, and is worth nothing to whoever reads it: half of a SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(Bytes);

/// Sixteen random bytes that only the browser and the guard have ever seen. A pass carries no more than their fingerprint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BrowserSecret(Bytes);

impl Exchange {
    /// Of a pass that was verified. The signature is left out: what counts is what was signed.
    pub(crate) fn of(pass: &str, browser: Option<BrowserSecret>) -> Self {
        let signed = pass.rsplit_once('.').map_or(pass, |(signed, _)| signed);
        let pass = Fingerprint::of(signed.as_bytes());
        Self { pass, browser: browser.map(BrowserSecret::fingerprint) }
    }

    /// Whether both are of the same browser. Browsers that the guard cannot tell are never the same.
    pub(crate) fn is_of_browser(&self, other: &Self) -> bool {
        self.browser.is_some() && self.browser == other.browser
    }
}

impl Fingerprint {
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    fn of(what: &[u8]) -> Self {
        let mut half = Bytes::default();
        half.copy_from_slice(&digest::digest(&digest::SHA256, what).as_ref()[..16]);
        Self(half)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bytes::encode(self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        bytes::decode(text).map(Self).ok_or(())
    }
}

impl BrowserSecret {
    pub(crate) fn from_bytes(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// What the door signs into a pass for this browser.
    pub(crate) fn nonce(self) -> Nonce {
        Nonce::from_bytes(self.fingerprint().0)
    }

    fn fingerprint(self) -> Fingerprint {
        Fingerprint::of(&self.0)
    }

    /// For the browser's own cookie.
    pub(crate) fn reveal(self) -> String {
        bytes::encode(self.0)
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        bytes::decode(text).map(Self)
    }
}

/// Without the secret, so that no log has it.
impl fmt::Debug for BrowserSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_in_its_nonce() {
        let secret = BrowserSecret::from_bytes([7; 16]);
        // printf '\7%.0s' {1..16} | sha256sum | head -c 32 | xxd -r -p | base64
        assert_eq!(secret.nonce().as_str(), "12HUBq8qSloV9nySQ3jtiA");
        assert_ne!(BrowserSecret::read(secret.nonce().as_str()).unwrap().nonce(), secret.nonce());
        assert_eq!(BrowserSecret::read(&secret.reveal()), Some(secret));
        for wrong in ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAAB", "AAAAAAAAAAAAAAAAAAAAAA=="] {
            assert_eq!(BrowserSecret::read(wrong), None, "{wrong}");
        }
        assert!(!format!("{secret:?}").contains('7'));
    }

    #[test]
    fn an_exchange_knows_what_was_signed_and_who_is_who() {
        let [ours, theirs] = [[1; 16], [2; 16]].map(|bytes| Some(BrowserSecret(bytes)));
        assert_eq!(Exchange::of("head.claims.signature", ours), Exchange::of("head.claims.other", ours));
        assert_ne!(Exchange::of("head.claims.signature", ours), Exchange::of("head.other.signature", ours));
        let first = Exchange::of("a.b.c", ours);
        assert!(
            first.is_of_browser(&Exchange::of("d.e.f", ours))
                && !first.is_of_browser(&Exchange::of("a.b.c", theirs))
        );
        assert!(!Exchange::of("a.b.c", None).is_of_browser(&Exchange::of("a.b.c", None)));
    }
}
