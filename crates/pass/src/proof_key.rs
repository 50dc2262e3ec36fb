//! Proves that the room gave out a number, with a key that no other program needs.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine;
use serde::{Deserialize, Serialize};

use crate::{BASE64, PassError, random_text};

/// The room's key for proofs, 32 random bytes in base64. It never changes, because proofs are as old as visitors' cookies.
/// Never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProofKey(String);

/// Makes proofs and checks them: HMAC-SHA256.
pub struct Prover(hmac::Key);

impl ProofKey {
    const BYTES: usize = 32;

    pub fn generate() -> Result<Self, PassError> {
        random_text().map(Self)
    }

    pub fn prover(&self) -> Result<Prover, PassError> {
        let bytes = BASE64.decode(&self.0).map_err(|_| PassError::UnreadableProofKey)?;
        if bytes.len() == Self::BYTES {
            Ok(Prover(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
        } else {
            Err(PassError::UnreadableProofKey)
        }
    }
}

impl Prover {
    /// The proof for this text: 43 characters that a cookie may contain.
    pub fn prove(&self, text: &str) -> String {
        BASE64.encode(hmac::sign(&self.0, text.as_bytes()))
    }

    /// Whether the proof was made for this text with this key. Takes as long whether or not it was.
    pub fn is_proven(&self, text: &str, proof: &str) -> bool {
        BASE64.decode(proof).is_ok_and(|proof| hmac::verify(&self.0, text.as_bytes(), &proof).is_ok())
    }
}

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProofKey(…)")
    }
}

impl fmt::Debug for Prover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prover(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_for_one_text_and_one_key() {
        let key = ProofKey::generate().unwrap();
        let (prover, other) = (key.prover().unwrap(), ProofKey::generate().unwrap().prover().unwrap());
        let proof = prover.prove("ab12-00-7");
        assert_eq!(proof.len(), 43);
        assert!(prover.is_proven("ab12-00-7", &proof));
        assert!(!prover.is_proven("ab12-00-6", &proof) && !other.is_proven("ab12-00-7", &proof));
        for forged in ["", "AAAA", "not base64!", &proof[..42], &format!("{proof}A")] {
            assert!(!prover.is_proven("ab12-00-7", forged), "{forged}");
        }
    }

    /// Computed by another implementation (ring), from the stored key.
    #[test]
    fn a_proof_is_an_hmac_of_the_stored_key() {
        let key = ProofKey::generate().unwrap();
        let stored: String = serde_json::from_str(&serde_json::to_string(&key).unwrap()).unwrap();
        let ring = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &BASE64.decode(stored).unwrap());
        let expected = BASE64.encode(ring::hmac::sign(&ring, b"ab12-00-7"));
        assert_eq!(key.prover().unwrap().prove("ab12-00-7"), expected);
        assert_eq!(format!("{key:?}"), "ProofKey(…)");
    }

    #[test]
    fn a_damaged_key_is_an_error() {
        for damaged in ["", "AAAA", "not base64!"] {
            assert!(matches!(ProofKey(damaged.into()).prover(), Err(PassError::UnreadableProofKey)));
        }
    }
}
