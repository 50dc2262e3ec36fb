use std::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;

use crate::key_ring::public;
use crate::{BASE64, Claims, PassError, PrivateKey, parts};

/// Signs passes with one key.
pub struct Signer {
    pair: KeyPair,
    /// The JWT's header, encoded.
    header: String,
    random: SystemRandom,
}

impl Signer {
    pub fn new(key: &PrivateKey) -> Result<Self, PassError> {
        let pair = key.load()?;
        let header = parts::header(public(&pair).kid());
        Ok(Self { pair, header: BASE64.encode(header), random: SystemRandom::new() })
    }

    pub fn sign(&self, claims: &Claims) -> Result<String, PassError> {
        let claims = serde_json::to_vec(claims).map_err(|_| PassError::Sign)?;
        let mut pass = format!("{}.{}", self.header, BASE64.encode(claims));
        let mut signature = vec![0; self.pair.public_modulus_len()];
        self.pair
            .sign(&RSA_PKCS1_SHA256, &self.random, pass.as_bytes(), &mut signature)
            .map_err(|_| PassError::Sign)?;
        pass.push('.');
        BASE64.encode_string(signature, &mut pass);
        Ok(pass)
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("header", &self.header).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{KeyRing, fixture};

    fn claims() -> Claims {
        Claims { queue_position: None, ..fixture::claims(1) }
    }

    #[test]
    fn a_pass_names_its_key_and_says_its_claims() {
        let keys = KeyRing::generate().unwrap();
        let pass = Signer::new(&keys.current).unwrap().sign(&claims()).unwrap();
        let parts: Vec<_> = pass.split('.').collect();
        let decoded = |part: &str| serde_json::from_slice::<Value>(&BASE64.decode(part).unwrap()).unwrap();
        let jwks = keys.jwks().unwrap();
        let header = json!({ "alg": "RS256", "typ": "JWT", "kid": jwks.keys[0].kid() });
        assert_eq!(parts.len(), 3);
        assert_eq!(decoded(parts[0]), header);
        assert_eq!(decoded(parts[1]), serde_json::to_value(claims()).unwrap());
        assert_eq!(decoded(parts[1]).get("queue_position"), None);
    }

    /// Verified by another implementation (ring), from nothing but the published key.
    #[test]
    fn a_pass_verifies_with_the_published_key_and_no_other() {
        let keys = KeyRing::generate().unwrap();
        let verifies = |keys: &KeyRing, signed: &str, signature: &[u8]| {
            let jwks = serde_json::to_value(keys.jwks().unwrap()).unwrap();
            let part = |name: &str| BASE64.decode(jwks["keys"][0][name].as_str().unwrap()).unwrap();
            ring::signature::RsaPublicKeyComponents { n: part("n"), e: part("e") }
                .verify(&ring::signature::RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), signature)
                .is_ok()
        };
        let pass = Signer::new(&keys.current).unwrap().sign(&claims()).unwrap();
        let (signed, signature) = pass.rsplit_once('.').unwrap();
        let signature = BASE64.decode(signature).unwrap();
        assert!(verifies(&keys, signed, &signature));
        assert!(!verifies(&keys, &format!("{signed}x"), &signature));
        assert!(!verifies(&KeyRing::generate().unwrap(), signed, &signature));
    }
}
