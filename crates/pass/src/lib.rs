//! The pass that proves to the shop that a visitor was admitted: a JWT signed with RS256.
//!
//! RS256, because API Gateway's JWT authorizers, load balancers and every `OpenID` client accept it.
//!
//! | module | who uses it |
//! | --- | --- |
//! | [`Claims`], [`Nonce`] | both sides: what a pass says |
//! | [`Jwk`], [`Jwks`], [`Verifier`] | the shop: public keys, and the check of a pass. No private key, no network. |
//! | [`ShownIn`] | both sides: whether a person sees the answer |
//! | [`GuardReport`], [`SessionRules`] | both sides: whom a guard counts in the shop, and how long sessions last |
//! | [`is_word`], [`random_text`], [`sha256_hex`] | both sides: texts that need no escape |
//! | [`Discovery`] | both sides: where an issuer publishes its keys |
//! | [`KeyRecord`] | the room and its operator: which keys are published, and when the room signs with which |
//! | [`SecretKeys`], [`PrivateKey`], [`Signer`] | the room: what it signs with |
//! | [`ProofKey`], [`Prover`] | the room: proofs that it gave out a number |
//!
//! This crate knows no room and stores nothing. Times are seconds since 1970.

mod claims;
mod discovery;
mod error;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
mod guard_report;
mod jwks;
mod key_record;
mod key_ring;
mod nonce;
mod parts;
mod proof_key;
mod secret_keys;
mod shown_in;
mod signer;
mod text;
mod verifier;

pub use claims::{Claims, TOKEN_USE, is_subject, subject};
pub use discovery::Discovery;
pub use error::PassError;
pub use guard_report::{
    GuardName, GuardNameError, GuardReport, ReportKey, ReportKeyDigest, ReportKeyError, SessionRules,
};
pub use jwks::{Jwk, Jwks};
pub use key_record::{KeyRecord, KeyRefusal, KeyState, PublishedKey};
pub use key_ring::{KeyRing, PrivateKey};
pub use nonce::{Nonce, NonceError};
pub use proof_key::{ProofKey, Prover};
pub use secret_keys::SecretKeys;
pub use shown_in::ShownIn;
pub use signer::Signer;
pub use text::{is_word, random_text, sha256_hex};
pub use verifier::{Refused, Verifier, key_id};

use base64::engine::general_purpose::{GeneralPurpose, URL_SAFE_NO_PAD};

/// How a JWT and its keys are written.
const BASE64: GeneralPurpose = URL_SAFE_NO_PAD;
