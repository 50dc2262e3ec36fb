use crate::parts::{PassParts, are_plain};
use crate::{Claims, Jwks, TOKEN_USE, is_subject};

/// Checks passes of one room. It needs the room's public keys and nothing else of the room.
#[derive(Clone, Debug)]
pub struct Verifier {
    /// The room's URL, as the passes' `iss`.
    pub issuer: String,
    /// The room's short name, as the passes' `aud`.
    pub audience: String,
    pub keys: Jwks,
}

/// Why a pass is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("not a pass")]
    Malformed,
    #[error("not signed by this room")]
    Signature,
    #[error("a pass of another issuer")]
    Issuer,
    #[error("a pass for another room")]
    Audience,
    #[error("a token for another use")]
    TokenUse,
    #[error("the pass has expired")]
    Expired,
    #[error("the pass is not valid yet; is the clock right?")]
    NotYet,
}

impl Verifier {
    /// How much the shop's clock and the room's may differ, in seconds.
    pub const LEEWAY: u64 = 30;

    /// Whether a pass is good. `now` is in seconds since 1970. The rules are those of every connector: docs/connectors/README.md
    /// has them, and one file of test vectors.
    ///
    /// A pass is only called expired if nothing else is wrong with it, because the visitor then gets another one.
    pub fn verify(&self, pass: &str, now: u64) -> Result<Claims, Refused> {
        let PassParts { key_id, signed, claims, signature } =
            PassParts::read(pass).ok_or(Refused::Malformed)?;
        if !self.keys.have_signed(&key_id, signed, &signature) {
            return Err(Refused::Signature);
        }
        let claims: Claims = are_plain(&claims)
            .then(|| serde_json::from_slice(&claims).ok())
            .flatten()
            .ok_or(Refused::Malformed)?;
        if !is_subject(&claims.sub) || claims.queue_position == Some(0) {
            return Err(Refused::Malformed);
        }
        if claims.iss != self.issuer {
            return Err(Refused::Issuer);
        }
        if claims.aud != self.audience {
            return Err(Refused::Audience);
        }
        if claims.token_use != TOKEN_USE {
            return Err(Refused::TokenUse);
        }
        // Neither begun nor signed yet: a guard would take no older pass after one of next year.
        if now.saturating_add(Self::LEEWAY) < claims.nbf.max(claims.iat) {
            return Err(Refused::NotYet);
        }
        if now >= claims.exp.saturating_add(Self::LEEWAY) {
            return Err(Refused::Expired);
        }
        Ok(claims)
    }
}

/// The id of the key that a pass says it is signed with, if it is spelled like a pass. Anybody can write anything there: it only
/// says which key to look for.
pub fn key_id(pass: &str) -> Option<String> {
    PassParts::read(pass).map(|parts| parts.key_id)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::{KeyRing, Signer, fixture};

    const NOW: u64 = 1_800_000_000;

    static KEYS: LazyLock<KeyRing> = LazyLock::new(|| KeyRing::generate().unwrap());

    fn claims() -> Claims {
        fixture::claims(NOW)
    }

    fn signed(claims: &Claims) -> String {
        Signer::new(&KEYS.current).unwrap().sign(claims).unwrap()
    }

    /// A shop that has read the published JSON and nothing else.
    fn shop(keys: &KeyRing) -> Verifier {
        let published = serde_json::to_string(&keys.jwks().unwrap()).unwrap();
        let Claims { iss: issuer, aud: audience, .. } = claims();
        Verifier { issuer, audience, keys: serde_json::from_str(&published).unwrap() }
    }

    #[test]
    fn a_pass_is_accepted_while_it_is_valid() {
        let (shop, pass) = (shop(&KEYS), signed(&claims()));
        assert_eq!(shop.verify(&pass, NOW), Ok(claims()));
        assert_eq!(shop.verify(&pass, NOW + 329), Ok(claims()));
        assert_eq!(shop.verify(&pass, NOW + 330), Err(Refused::Expired));
        assert_eq!(shop.verify(&pass, NOW - 30), Ok(claims()));
        assert_eq!(shop.verify(&pass, NOW - 31), Err(Refused::NotYet));
    }

    #[test]
    fn every_claim_is_checked() {
        let shop = shop(&KEYS);
        let refused = |claims: Claims| shop.verify(&signed(&claims), NOW).unwrap_err();
        assert_eq!(refused(Claims { iss: "https://room.example".into(), ..claims() }), Refused::Issuer);
        assert_eq!(refused(Claims { aud: "other".into(), ..claims() }), Refused::Audience);
        assert_eq!(refused(Claims { token_use: "id".into(), ..claims() }), Refused::TokenUse);
        assert_eq!(refused(Claims { exp: NOW - 31, ..claims() }), Refused::Expired);
        assert_eq!(refused(Claims { nbf: NOW + 31, ..claims() }), Refused::NotYet);
        assert_eq!(refused(Claims { nbf: NOW + 31, exp: NOW - 31, ..claims() }), Refused::NotYet);
        assert_eq!(refused(Claims { queue_position: Some(0), ..claims() }), Refused::Malformed);
        assert_eq!(refused(Claims { sub: "a\r\nx-number: 1".into(), ..claims() }), Refused::Malformed);
    }

    #[test]
    fn only_the_rooms_keys_count() {
        let pass = signed(&claims());
        assert_eq!(shop(&KeyRing::generate().unwrap()).verify(&pass, NOW), Err(Refused::Signature));
        let previous = KEYS.jwks().unwrap().keys.first().cloned();
        let rotated = KeyRing { previous, ..KeyRing::generate().unwrap() };
        assert_eq!(shop(&rotated).verify(&pass, NOW), Ok(claims()), "signed with the previous key");
        let unsigned = format!("{}.", pass.rsplit_once('.').unwrap().0);
        assert_eq!(shop(&KEYS).verify(&unsigned, NOW), Err(Refused::Signature));
        assert_eq!(key_id(&pass).as_deref(), Some(KEYS.jwks().unwrap().keys[0].kid()));
        assert_eq!(["", "e30.e30.", "é", "e30"].map(key_id), [const { None }; 4], "no id in the header");
        for malformed in ["", ".", "..", "a.b.c.d", "é.é.é"] {
            assert_eq!(shop(&KEYS).verify(malformed, NOW), Err(Refused::Malformed), "{malformed}");
        }
    }

    #[test]
    fn the_key_with_the_passes_id_has_to_have_signed() {
        let other = KeyRing::generate().unwrap();
        let both = KeyRing { previous: other.jwks().unwrap().keys.pop(), ..KEYS.clone() };
        let (pass, stolen) =
            (signed(&claims()), Signer::new(&other.current).unwrap().sign(&claims()).unwrap());
        let (header, rest) = (pass.split_once('.').unwrap().0, stolen.split_once('.').unwrap().1);
        assert_eq!(shop(&both).verify(&stolen, NOW), Ok(claims()));
        assert_eq!(shop(&both).verify(&format!("{header}.{rest}"), NOW), Err(Refused::Signature));
    }
}
