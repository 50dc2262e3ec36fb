use anyhow::{Context, Result};
use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaEncoding};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pass::{Claims, Jwks, KeyRing, PrivateKey, Signer};
use serde_json::{Value, json};

const KEYS: &str = include_str!("../keys.json");

/// A signing key of the vectors. It signs anything, unlike a room.
#[derive(Debug)]
pub struct VectorKey {
    private: PrivateKey,
    pair: KeyPair,
}

impl VectorKey {
    /// The key of this name in `keys.json`.
    pub fn named(name: &str) -> Result<Self> {
        let text = serde_json::from_str::<Value>(KEYS)?[name].take();
        let der = URL_SAFE_NO_PAD.decode(text.as_str().with_context(|| format!("no key {name}"))?)?;
        let pair = KeyPair::from_pkcs8(&der).ok().with_context(|| format!("{name} is not a key"))?;
        Ok(Self { private: serde_json::from_value(text)?, pair })
    }

    /// The public key, as a room publishes it.
    pub fn published(&self) -> Result<Jwks> {
        Ok(KeyRing { current: self.private.clone(), previous: None }.jwks()?)
    }

    /// The public key, as OpenSSL reads it.
    pub fn pem(&self) -> Result<String> {
        let der = self.pair.public_key().as_der().ok().context("a public key can be written")?;
        let base64 = STANDARD.encode(der.as_ref());
        let lines: Vec<_> = base64.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
        Ok(format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n")))
    }

    pub fn id(&self) -> Result<String> {
        let jwks = self.published()?;
        Ok(jwks.keys.first().context("a key has a public part")?.kid().to_owned())
    }

    /// A pass as a room signs it.
    pub fn pass(&self, claims: &Value) -> Result<String> {
        let claims: Claims = serde_json::from_value(claims.clone())?;
        Ok(Signer::new(&self.private)?.sign(&claims)?)
    }

    /// Any text, whether or not it is a header and claims, with its signature.
    pub(crate) fn sign_text(&self, text: &str) -> Result<String> {
        self.sign_with(&RSA_PKCS1_SHA256, text)
    }

    /// A correct signature with an algorithm that no pass has.
    pub(crate) fn sign_rs512(&self, claims: &Value) -> Result<String> {
        let header = json!({ "alg": "RS512", "kid": self.id()?, "typ": "JWT" });
        self.sign_with(&RSA_PKCS1_SHA512, &unsigned(&header, claims))
    }

    fn sign_with(&self, algorithm: &'static dyn RsaEncoding, text: &str) -> Result<String> {
        let mut signature = vec![0; self.pair.public_modulus_len()];
        let signed = self.pair.sign(algorithm, &SystemRandom::new(), text.as_bytes(), &mut signature);
        signed.ok().context("could not sign")?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Signed with HS256, and with the published key as the secret: what a verifier accepts that lets the pass name the
    /// algorithm.
    pub(crate) fn sign_with_public_key(&self, claims: &Value) -> Result<String> {
        let text = unsigned(&json!({ "alg": "HS256", "kid": self.id()?, "typ": "JWT" }), claims);
        Ok(format!("{text}.{}", mac(self.pem()?.as_bytes(), &text)))
    }
}

/// A token up to its signature.
pub(crate) fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// HMAC-SHA256, as connectors seal their sessions.
pub(crate) fn mac(secret: &[u8], text: &str) -> String {
    URL_SAFE_NO_PAD.encode(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), text.as_bytes()))
}
