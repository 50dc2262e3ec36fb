//! What API Gateway asks of an issuer, rule by rule: docs/connectors/api-gateway.md has AWS's pages.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pass::{Claims, Discovery, KeyRing, Signer, fixture};
use serde_json::Value;

const ROOM: &str = "https://a1b2c3.execute-api.eu-central-1.amazonaws.com/prod";
const NOW: u64 = 1_800_000_000;

fn claims() -> Claims {
    Claims { iss: ROOM.into(), sub: "ab".repeat(32), ..fixture::claims(NOW) }
}

fn part(pass: &str, at: usize) -> Value {
    let part = pass.split('.').nth(at).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[test]
fn the_discovery_document_names_exactly_the_issuer_and_where_the_keys_are() {
    let document = serde_json::to_value(Discovery::of(ROOM.into(), "sale")).unwrap();
    assert_eq!(document["issuer"], part(&signed().1, 1)["iss"], "equal to the claim, letter by letter");
    assert_eq!(document["room"], part(&signed().1, 1)["aud"]);
    assert_eq!(document["jwks_uri"], format!("{ROOM}/.well-known/jwks.json"));
    assert_eq!(document["id_token_signing_alg_values_supported"], serde_json::json!(["RS256"]));
    // Absolute https, with a host, without user, query, fragment or a slash at the end.
    let issuer = document["issuer"].as_str().unwrap();
    assert!(issuer.starts_with("https://") && !issuer.contains(['?', '#', '@']) && !issuer.ends_with('/'));
}

fn signed() -> (KeyRing, String) {
    let keys = KeyRing::generate().unwrap();
    let pass = Signer::new(&keys.current).unwrap().sign(&claims()).unwrap();
    (keys, pass)
}

#[test]
fn each_key_is_rsa_of_2048_bits_with_an_id_of_its_own() {
    let previous = signed().0.jwks().unwrap().keys.pop();
    let keys = KeyRing { previous, ..signed().0 };
    let published = serde_json::to_value(keys.jwks().unwrap()).unwrap();
    let published = published["keys"].as_array().unwrap();
    let ids: BTreeSet<_> = published.iter().map(|key| key["kid"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), published.len()), (2, 2));
    for key in published {
        assert_eq!(
            (&key["kty"], &key["alg"], &key["use"], &key["e"]),
            (&"RSA".into(), &"RS256".into(), &"sig".into(), &"AQAB".into())
        );
        let modulus = URL_SAFE_NO_PAD.decode(key["n"].as_str().unwrap()).unwrap();
        assert!(modulus.len() == 256 && modulus[0] >= 0x80, "2048 bits");
    }
}

#[test]
fn each_pass_names_its_key_and_has_the_claims_that_are_checked() {
    let (keys, pass) = signed();
    let header = part(&pass, 0);
    assert_eq!(header["alg"], "RS256");
    assert_eq!(header["kid"], keys.jwks().unwrap().keys[0].kid());
    let claims = part(&pass, 1);
    assert_eq!((&claims["iss"], &claims["aud"]), (&ROOM.into(), &"sale".into()));
    assert_eq!(claims["token_use"], "access", "one string, as AdditionalClaims require");
    for time in ["iat", "nbf", "exp"] {
        assert!(claims[time].is_u64(), "{time} is a number of seconds");
    }
    // All headers of a request together may have 10,240 bytes.
    assert!(pass.len() < 1024, "{} bytes", pass.len());
}
