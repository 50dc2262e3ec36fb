use base64::Engine;

use crate::{BASE64, Claims, Jwks, TOKEN_USE};

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

    /// Checks the signature, the issuer, the audience, the use and the times. `now` is in seconds since 1970.
    ///
    /// The algorithm is always RS256, whatever the header of the token says.
    pub fn verify(&self, pass: &str, now: u64) -> Result<Claims, Refused> {
        let mut parts = pass.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Refused::Malformed);
        };
        let decode = |part: &str| BASE64.decode(part).map_err(|_| Refused::Malformed);
        let signature = decode(signature)?;
        let signed = &pass.as_bytes()[..header.len() + 1 + claims.len()];
        if !self.keys.have_signed(signed, &signature) {
            return Err(Refused::Signature);
        }
        let claims: Claims = serde_json::from_slice(&decode(claims)?).map_err(|_| Refused::Malformed)?;
        if claims.iss != self.issuer {
            return Err(Refused::Issuer);
        }
        if claims.aud != self.audience {
            return Err(Refused::Audience);
        }
        if claims.token_use != TOKEN_USE {
            return Err(Refused::TokenUse);
        }
        if now >= claims.exp.saturating_add(Self::LEEWAY) {
            return Err(Refused::Expired);
        }
        if now.saturating_add(Self::LEEWAY) < claims.nbf {
            return Err(Refused::NotYet);
        }
        Ok(claims)
    }
}

/// The id of the key that a pass says it is signed with. Anybody can write anything there: it only says which key to look
/// for.
pub fn key_id(pass: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Header {
        kid: String,
    }
    let header = BASE64.decode(pass.split('.').next()?).ok()?;
    Some(serde_json::from_slice::<Header>(&header).ok()?.kid)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::{KeyRing, Signer};

    const NOW: u64 = 1_800_000_000;

    static KEYS: LazyLock<KeyRing> = LazyLock::new(|| KeyRing::generate().unwrap());

    fn claims() -> Claims {
        Claims {
            iss: "https://room.example/prod".into(),
            aud: "sale".into(),
            sub: "visitor".into(),
            queue_position: Some(4711),
            nonce: None,
            token_use: TOKEN_USE.into(),
            iat: NOW,
            nbf: NOW,
            exp: NOW + 300,
        }
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
            assert!(shop(&KEYS).verify(malformed, NOW).is_err(), "{malformed}");
        }
    }
}
