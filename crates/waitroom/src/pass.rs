//! The pass that the shop verifies: a JWT signed with RS256, and the keys that sign it.
//!
//! RS256 because API Gateway's own JWT authorizer, load balancers and every OpenID client accept it. The
//! shop verifies offline with the public keys of [`KeyRing::jwks`].

use std::fmt;

use aws_lc_rs::digest;
use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaPublicKeyComponents,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};

use crate::{Room, RoomId, Ticket, Timestamp, Token};

#[derive(Debug, thiserror::Error)]
pub enum PassError {
    #[error("could not make a signing key")]
    Generate,
    #[error("the stored signing key is not an RSA key in PKCS#8; rotate the keys")]
    Unreadable,
    #[error("could not sign a pass")]
    Sign,
}

/// The room's signing keys. The previous one is kept so that passes signed with it still verify.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRing {
    pub current: PrivateKey,
    pub previous: Option<Jwk>,
}

/// An RSA private key, PKCS#8 in base64. Never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrivateKey(String);

/// A public key, as the shop reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    purpose: String,
    alg: String,
    kid: String,
    n: String,
    e: String,
}

/// The public keys, as `/.well-known/jwks.json` shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Jwks {
    keys: Vec<Jwk>,
}

impl KeyRing {
    /// A room's first keys. Takes some fifty milliseconds: make them before somebody waits for them.
    pub fn generate() -> Result<Self, PassError> {
        let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| PassError::Generate)?;
        let der = pair.as_der().map_err(|_| PassError::Generate)?;
        Ok(Self { current: PrivateKey(BASE64.encode(der.as_ref())), previous: None })
    }

    pub fn jwks(&self) -> Result<Jwks, PassError> {
        let current = Jwk::of(&self.current.load()?);
        Ok(Jwks { keys: std::iter::once(current).chain(self.previous.clone()).collect() })
    }
}

impl PrivateKey {
    fn load(&self) -> Result<KeyPair, PassError> {
        let der = BASE64.decode(&self.0).map_err(|_| PassError::Unreadable)?;
        KeyPair::from_pkcs8(&der).map_err(|_| PassError::Unreadable)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(…)")
    }
}

impl Jwk {
    fn of(pair: &KeyPair) -> Self {
        let public = pair.public_key();
        let n = BASE64.encode(public.modulus().big_endian_without_leading_zero());
        let e = BASE64.encode(public.exponent().big_endian_without_leading_zero());
        // The thumbprint of RFC 7638: the same key has the same name everywhere.
        let canonical = format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#);
        let kid = BASE64.encode(digest::digest(&digest::SHA256, canonical.as_bytes()));
        Self { kty: "RSA".into(), purpose: "sig".into(), alg: "RS256".into(), kid, n, e }
    }
}

impl Jwk {
    fn has_signed(&self, signed: &[u8], signature: &[u8]) -> bool {
        let (Ok(n), Ok(e)) = (BASE64.decode(&self.n), BASE64.decode(&self.e)) else { return false };
        let key = RsaPublicKeyComponents { n, e };
        key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
    }
}

/// What a pass says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claims {
    iss: String,
    aud: String,
    /// The digest of the token as it is written: all passes of a visitor share it, and it gives nobody the place.
    sub: String,
    /// None for somebody who never stood in line, because the room was off.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_position: Option<Ticket>,
    token_use: &'static str,
    iat: u64,
    nbf: u64,
    exp: u64,
}

impl Claims {
    pub fn new(room: &Room, token: Token, ticket: Option<Ticket>, now: Timestamp) -> Self {
        Self {
            iss: room.url.to_string().trim_end_matches('/').into(),
            aud: room.settings.room.to_string(),
            sub: hex(digest::digest(&digest::SHA256, token.to_string().as_bytes()).as_ref()),
            queue_position: ticket,
            token_use: "access",
            iat: now.as_secs(),
            nbf: now.as_secs(),
            exp: (now + room.settings.lifetimes.pass).as_secs(),
        }
    }
}

/// What a verified pass says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Verified {
    /// The same for all passes of a visitor.
    pub sub: String,
    pub queue_position: Option<u64>,
    aud: String,
    nbf: u64,
    exp: u64,
}

/// Why a pass is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("not a pass")]
    Malformed,
    #[error("not signed by this room")]
    Signature,
    #[error("a pass for another room")]
    OtherRoom,
    #[error("the pass has expired")]
    Expired,
    #[error("the pass is not valid yet; is the clock right?")]
    NotYet,
}

impl Jwks {
    /// The shop's clock and the room's may differ by this much, in seconds.
    const LEEWAY: u64 = 30;

    /// Verifies a pass for `room`. Only RS256 is known, so the header's algorithm has no say.
    pub fn verify(&self, pass: &str, room: &RoomId, now: Timestamp) -> Result<Verified, Refused> {
        let mut parts = pass.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Refused::Malformed);
        };
        let decode = |part: &str| BASE64.decode(part).map_err(|_| Refused::Malformed);
        let signature = decode(signature)?;
        let signed = &pass.as_bytes()[..header.len() + 1 + claims.len()];
        if !self.keys.iter().any(|key| key.has_signed(signed, &signature)) {
            return Err(Refused::Signature);
        }
        let verified: Verified = serde_json::from_slice(&decode(claims)?).map_err(|_| Refused::Malformed)?;
        if verified.aud != room.as_str() {
            return Err(Refused::OtherRoom);
        }
        if now.as_secs() >= verified.exp.saturating_add(Self::LEEWAY) {
            return Err(Refused::Expired);
        }
        if now.as_secs().saturating_add(Self::LEEWAY) < verified.nbf {
            return Err(Refused::NotYet);
        }
        Ok(verified)
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

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
        let header = format!(r#"{{"alg":"RS256","kid":"{}","typ":"JWT"}}"#, Jwk::of(&pair).kid);
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
    use std::sync::LazyLock;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::{Rate, Settings, WebUrl};

    static KEYS: LazyLock<KeyRing> = LazyLock::new(|| KeyRing::generate().unwrap());

    fn room() -> Room {
        let mut settings = Settings::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example".parse().unwrap(),
            Rate::MIN,
        );
        settings.lifetimes.pass = Duration::from_mins(5);
        let url: WebUrl = "https://room.example/prod".parse().unwrap();
        Room::new(settings, url, "ab12".parse().unwrap())
    }

    fn pass() -> String {
        let now = Timestamp::from_millis(1_800_000_000_999);
        let claims = Claims::new(&room(), Token::from_bytes([1; 16]), Some(Ticket::new(4711).unwrap()), now);
        Signer::new(&KEYS.current).unwrap().sign(&claims).unwrap()
    }

    fn decoded(part: &str) -> Value {
        serde_json::from_slice(&BASE64.decode(part).unwrap()).unwrap()
    }

    #[test]
    fn says_who_waited_for_which_room() {
        let pass = pass();
        let parts: Vec<_> = pass.split('.').collect();
        assert_eq!(parts.len(), 3);
        let jwks = serde_json::to_value(KEYS.jwks().unwrap()).unwrap();
        let kid = jwks["keys"][0]["kid"].clone();
        assert_eq!(decoded(parts[0]), json!({ "alg": "RS256", "typ": "JWT", "kid": kid }));
        assert_eq!(
            decoded(parts[1]),
            json!({
                "iss": "https://room.example/prod",
                "aud": "sale",
                // printf %s 01010101010101010101010101010101 | sha256sum
                "sub": "015a198ef7f44f5e19aeee0c127af5e0fdc1862da849ed87f70ec7138c6055d1",
                "queue_position": 4711,
                "token_use": "access",
                "iat": 1_800_000_000,
                "nbf": 1_800_000_000,
                "exp": 1_800_000_300,
            }),
        );
    }

    /// Verified by another implementation (ring), from nothing but the published key.
    #[test]
    fn verifies_with_the_published_key_and_no_other() {
        let verifies = |keys: &KeyRing, signed: &str, signature: &[u8]| {
            let jwks = serde_json::to_value(keys.jwks().unwrap()).unwrap();
            let part = |name: &str| BASE64.decode(jwks["keys"][0][name].as_str().unwrap()).unwrap();
            ring::signature::RsaPublicKeyComponents { n: part("n"), e: part("e") }
                .verify(&ring::signature::RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), signature)
                .is_ok()
        };
        let pass = pass();
        let (signed, signature) = pass.rsplit_once('.').unwrap();
        let signature = BASE64.decode(signature).unwrap();
        assert!(verifies(&KEYS, signed, &signature));
        assert!(!verifies(&KEYS, &format!("{signed}x"), &signature));
        assert!(!verifies(&KeyRing::generate().unwrap(), signed, &signature));
    }

    #[test]
    fn a_shop_verifies_it_for_its_own_room_while_it_is_valid() {
        let (jwks, pass) = (KEYS.jwks().unwrap(), pass());
        let verify = |pass: &str, room: &str, seconds: u64| {
            let now = Timestamp::from_millis(1_800_000_000_000 + seconds * 1000);
            jwks.verify(pass, &room.parse().unwrap(), now).map(|verified| verified.queue_position)
        };
        assert_eq!(verify(&pass, "sale", 0), Ok(Some(4711)));
        assert_eq!(verify(&pass, "sale", 329), Ok(Some(4711)));
        assert_eq!(verify(&pass, "sale", 330), Err(Refused::Expired));
        assert_eq!(verify(&pass, "other", 0), Err(Refused::OtherRoom));
        let early = Timestamp::from_millis(1_799_999_969_000);
        assert_eq!(jwks.verify(&pass, &"sale".parse().unwrap(), early), Err(Refused::NotYet));
        let other = KeyRing::generate().unwrap().jwks().unwrap();
        let now = Timestamp::from_millis(1_800_000_000_000);
        assert_eq!(other.verify(&pass, &"sale".parse().unwrap(), now), Err(Refused::Signature));
        for malformed in ["", ".", "..", "a.b.c.d", "é.é.é"] {
            assert!(verify(malformed, "sale", 0).is_err(), "{malformed}");
        }
        let unsigned = format!("{}.", pass.rsplit_once('.').unwrap().0);
        assert_eq!(verify(&unsigned, "sale", 0), Err(Refused::Signature));
    }

    #[test]
    fn keys_survive_being_stored_and_are_never_printed() {
        let stored = serde_json::to_string(&*KEYS).unwrap();
        assert_eq!(serde_json::from_str::<KeyRing>(&stored).unwrap(), *KEYS);
        assert!(!format!("{:?}", *KEYS).contains(&KEYS.current.0[..20]));
    }

    #[test]
    fn a_damaged_key_is_an_error() {
        for damaged in ["", "AAAA", "not base64!"] {
            assert!(matches!(Signer::new(&PrivateKey(damaged.into())), Err(PassError::Unreadable)));
        }
    }

    #[test]
    fn the_previous_key_is_published_too() {
        let previous = Jwk::of(&KEYS.current.load().unwrap());
        let rotated = KeyRing { previous: Some(previous), ..KeyRing::generate().unwrap() };
        let jwks = serde_json::to_value(rotated.jwks().unwrap()).unwrap();
        assert_eq!(jwks["keys"].as_array().unwrap().len(), 2);
        assert_ne!(jwks["keys"][0]["kid"], jwks["keys"][1]["kid"]);
    }
}
