use aws_lc_rs::digest;
use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use base64::Engine;
use serde::{Deserialize, Serialize};

use crate::BASE64;

/// A public RSA key in the form of RFC 7517.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    key_use: String,
    alg: String,
    kid: String,
    n: String,
    e: String,
}

/// The public keys, as the room publishes them at `/.well-known/jwks.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwks {
    pub keys: Vec<Jwk>,
}

impl Jwk {
    pub(crate) fn new(modulus: &[u8], exponent: &[u8]) -> Self {
        let (n, e) = (BASE64.encode(modulus), BASE64.encode(exponent));
        // The thumbprint of RFC 7638, so that a key has the same id everywhere.
        let canonical = format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#);
        let kid = BASE64.encode(digest::digest(&digest::SHA256, canonical.as_bytes()));
        Self { kty: "RSA".into(), key_use: "sig".into(), alg: "RS256".into(), kid, n, e }
    }

    pub fn kid(&self) -> &str {
        &self.kid
    }
}

impl Jwks {
    /// Whether one of the keys made this signature. Keys that are not RSA keys for signatures are passed over.
    pub(crate) fn have_signed(&self, signed: &[u8], signature: &[u8]) -> bool {
        self.keys.iter().any(|key| {
            let (Ok(n), Ok(e)) = (BASE64.decode(&key.n), BASE64.decode(&key.e)) else { return false };
            let key = RsaPublicKeyComponents { n, e };
            key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
        })
    }
}
