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

    fn signs_passes(&self) -> bool {
        (&*self.kty, &*self.key_use, &*self.alg) == ("RSA", "sig", "RS256")
    }
}

impl Jwks {
    /// The keys in what a room publishes, if that is a key set. What is there besides RSA keys for signatures is passed over:
    /// a later Beekeeper may publish other keys too.
    pub fn published(document: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct PublishedJwks {
            keys: Vec<serde_json::Value>,
        }
        let document: PublishedJwks = serde_json::from_slice(document).ok()?;
        let keys = document.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        Some(Self { keys: keys.filter(Jwk::signs_passes).collect() })
    }

    /// Whether the key of this id made this signature. If two have it, the first counts.
    pub(crate) fn have_signed(&self, key_id: &str, signed: &[u8], signature: &[u8]) -> bool {
        let found = self.keys.iter().filter(|key| key.signs_passes()).find(|key| key.kid == key_id);
        found.is_some_and(|key| {
            let (Ok(n), Ok(e)) = (BASE64.decode(&key.n), BASE64.decode(&key.e)) else { return false };
            let key = RsaPublicKeyComponents { n, e };
            key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_keys_in_the_document_are_passed_over() {
        let key = Jwk::new(&[7; 256], &[1, 0, 1]);
        let with = |name: &str, value: serde_json::Value| {
            let mut other = serde_json::to_value(&key).unwrap();
            other[name] = value;
            other
        };
        let others = [
            with("kty", "EC".into()),
            with("use", "enc".into()),
            with("alg", "RS512".into()),
            with("kid", 7.into()),
            with("n", serde_json::Value::Null),
            "a text".into(),
        ];
        let ours = serde_json::to_value(&key).unwrap();
        let keys = [&others[..], &[ours]].concat();
        let document = serde_json::json!({ "keys": keys, "more": 1 }).to_string();
        assert_eq!(Jwks::published(document.as_bytes()), Some(Jwks { keys: vec![key] }));
        for other in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":null}"#] {
            assert_eq!(Jwks::published(other.as_bytes()), None, "{other}");
        }
    }
}
