use serde::{Deserialize, Serialize};

use crate::{PassError, PrivateKey, ProofKey};

/// What only the room knows: the private half of one of its published keys, and the key for its proofs, which is the same in
/// all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretKeys {
    pub signing: PrivateKey,
    pub proof: ProofKey,
}

impl SecretKeys {
    /// A new signing key. Without a proof key, as for a room's first keys, that one is new too.
    pub fn generate(proof: Option<ProofKey>) -> Result<Self, PassError> {
        let proof = proof.map_or_else(ProofKey::generate, Ok)?;
        Ok(Self { signing: PrivateKey::generate()?, proof })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_signing_key_keeps_the_proof_key_and_nothing_is_printed() {
        let first = SecretKeys::generate(None).unwrap();
        let second = SecretKeys::generate(Some(first.proof.clone())).unwrap();
        assert!(first.proof == second.proof && first.signing != second.signing);
        assert_eq!(format!("{first:?}"), "SecretKeys { signing: PrivateKey(…), proof: ProofKey(…) }");
        let json = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<SecretKeys>(&json).unwrap(), first);
    }
}
