use std::fmt;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use serde::{Deserialize, Serialize};

use crate::{BASE64, Jwk, Jwks, PassError};

/// A signing key, and the public key before it, so that passes signed with that one still verify. Rooms kept their keys in this
/// form before they had a [record](crate::KeyRecord) of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRing {
    pub current: PrivateKey,
    pub previous: Option<Jwk>,
}

/// An RSA private key, PKCS#8 in base64. Never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrivateKey(String);

impl KeyRing {
    pub fn generate() -> Result<Self, PassError> {
        Ok(Self { current: PrivateKey::generate()?, previous: None })
    }

    /// The public keys, the current one first.
    pub fn jwks(&self) -> Result<Jwks, PassError> {
        Ok(Jwks { keys: std::iter::once(self.current.public()?).chain(self.previous.clone()).collect() })
    }
}

impl PrivateKey {
    /// A new key. This takes some fifty milliseconds.
    pub fn generate() -> Result<Self, PassError> {
        let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| PassError::Generate)?;
        let der = pair.as_der().map_err(|_| PassError::Generate)?;
        Ok(Self(BASE64.encode(der.as_ref())))
    }

    /// The key that verifies what this one signs.
    pub fn public(&self) -> Result<Jwk, PassError> {
        Ok(public(&self.load()?))
    }

    pub(crate) fn load(&self) -> Result<KeyPair, PassError> {
        let der = BASE64.decode(&self.0).map_err(|_| PassError::Unreadable)?;
        KeyPair::from_pkcs8(&der).map_err(|_| PassError::Unreadable)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(…)")
    }
}

pub(crate) fn public(pair: &KeyPair) -> Jwk {
    let key = pair.public_key();
    let (modulus, exponent) = (key.modulus(), key.exponent());
    Jwk::new(modulus.big_endian_without_leading_zero(), exponent.big_endian_without_leading_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signer;

    #[test]
    fn keys_can_be_stored_and_are_never_printed() {
        let keys = KeyRing::generate().unwrap();
        let stored = serde_json::to_string(&keys).unwrap();
        assert_eq!(serde_json::from_str::<KeyRing>(&stored).unwrap(), keys);
        assert!(!format!("{keys:?}").contains(&keys.current.0[..20]));
    }

    #[test]
    fn a_damaged_key_is_an_error() {
        for damaged in ["", "AAAA", "not base64!"] {
            assert!(matches!(Signer::new(&PrivateKey(damaged.into())), Err(PassError::Unreadable)));
        }
    }

    #[test]
    fn the_previous_key_is_published_too() {
        let before = KeyRing::generate().unwrap().jwks().unwrap();
        let rotated = KeyRing { previous: before.keys.first().cloned(), ..KeyRing::generate().unwrap() };
        let jwks = rotated.jwks().unwrap();
        assert_eq!(jwks.keys.len(), 2);
        assert_ne!(jwks.keys[0].kid(), jwks.keys[1].kid());
        assert_eq!(jwks.keys[1], before.keys[0]);
    }
}
