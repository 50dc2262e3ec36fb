//! Passes, and what a shop has to do with each.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::forge::unsigned;
use crate::spelling::{in_other_alphabet, with_spare_bits};
use crate::{PassVector, PassVerdict, VectorKey, Visitor};

pub(crate) const ROOM: &str = "https://room.example/prod";
pub(crate) const NAME: &str = "sale";
pub(crate) const SECRET: &str = "a secret of 32 characters or more";
pub(crate) const SUBJECT: &str = "015a198ef7f44f5e19aeee0c127af5e0fdc1862da849ed87f70ec7138c6055d1";
pub(crate) const NUMBER: u64 = 4711;
/// The largest number that a pass may have.
const LARGEST: u64 = 999_999_999_999_999;
/// How many bytes of claims make a pass of 4,096 characters, which is as long as one may be.
pub(crate) const LONGEST_CLAIMS: usize = 2734;
/// In 2023, and an hour later.
pub(crate) const PAST: u64 = 1_700_000_000;
pub(crate) const OVER: u64 = PAST + 3600;
/// In 2100.
pub(crate) const FUTURE: u64 = 4_102_444_800;

/// The claims of a valid pass, with these changes. Null takes a claim away.
pub(crate) fn claims(changes: &Value) -> Value {
    let mut claims = json!({
        "iss": ROOM, "aud": NAME, "sub": SUBJECT, "queue_position": NUMBER, "token_use": "access",
        "iat": PAST, "nbf": PAST, "exp": FUTURE,
    });
    if let (Some(claims), Some(changes)) = (claims.as_object_mut(), changes.as_object()) {
        for (name, value) in changes {
            claims.remove(name);
            if !value.is_null() {
                claims.insert(name.clone(), value.clone());
            }
        }
    }
    claims
}

/// The passes of the vectors: first what may happen to anybody, then what only somebody does who tries.
pub(crate) fn passes(
    current: &VectorKey,
    previous: &VectorKey,
    stranger: &VectorKey,
) -> Result<Vec<PassVector>> {
    let kid = &current.id()?;
    let written = claims(&json!({})).to_string();
    let valid = current.pass(&claims(&json!({})))?;
    let changed = |changes: Value| spelled(current, &header(kid), &claims(&changes).to_string());
    let mut passes = vec![
        accepted("a pass", Some(NUMBER), valid),
        accepted(
            "of somebody who never waited, so without a number",
            None,
            current.pass(&claims(&json!({ "queue_position": null })))?,
        ),
        accepted("signed with the previous key", Some(NUMBER), previous.pass(&claims(&json!({})))?),
        accepted(
            "with a claim that is not known",
            Some(NUMBER),
            changed(json!({ "colour": "[red], 'green'" }))?,
        ),
        accepted("with a claim that JavaScript knows", Some(NUMBER), changed(json!({ "__proto__": "red" }))?),
        accepted("with a nonce", Some(NUMBER), changed(json!({ "nonce": "AAAAAAAAAAAAAAAAAAAAAA" }))?),
        accepted("with the largest number", Some(LARGEST), changed(json!({ "queue_position": LARGEST }))?),
        accepted(
            "with its claims in another order",
            Some(NUMBER),
            spelled(current, &header(kid), &reversed(&written))?,
        ),
        accepted("as long as a pass may be", Some(NUMBER), changed(filled(LONGEST_CLAIMS))?),
        PassVector { verdict: PassVerdict::Expired, ..refused("expired", changed(json!({ "exp": OVER }))?) },
    ];
    passes.extend(of_other_claims(changed)?);
    passes.extend(of_other_spelling(current, kid, &written)?);
    passes.extend(of_other_headers(current, previous, kid, &written)?);
    passes.extend(of_other_signatures(current, stranger)?);
    Ok(passes)
}

/// Each says something that no pass says.
fn of_other_claims(changed: impl Fn(Value) -> Result<String>) -> Result<Vec<PassVector>> {
    let vectors = [
        ("not valid yet", json!({ "nbf": FUTURE, "exp": FUTURE + 3600 })),
        ("not issued yet", json!({ "iat": FUTURE, "exp": FUTURE + 3600 })),
        ("expired, and not valid yet", json!({ "nbf": FUTURE, "exp": OVER })),
        ("expired, and for another room", json!({ "aud": "other", "exp": OVER })),
        ("without an end", json!({ "exp": null })),
        ("without a beginning", json!({ "nbf": null })),
        ("without the time when it was issued", json!({ "iat": null })),
        ("of another issuer", json!({ "iss": "https://room.example" })),
        ("of an issuer with a slash at the end", json!({ "iss": format!("{ROOM}/") })),
        ("for another room", json!({ "aud": "other" })),
        ("for nobody", json!({ "aud": null })),
        ("for a list of this room", json!({ "aud": [NAME] })),
        ("for a list with this room", json!({ "aud": [NAME, "other"] })),
        ("for another use", json!({ "token_use": "id" })),
        ("for no use", json!({ "token_use": null })),
        ("without a subject", json!({ "sub": null })),
        ("with a subject that ends a header", json!({ "sub": "a\r\nx-number: 1" })),
        ("with a subject that changes a session", json!({ "sub": "a.1.4102444800" })),
        ("with a subject that is empty", json!({ "sub": "" })),
        ("with a subject that is too long", json!({ "sub": "a".repeat(129) })),
        ("with a subject that is a number", json!({ "sub": 4711 })),
        ("with a subject that is a list", json!({ "sub": [SUBJECT] })),
        ("with a subject that is true", json!({ "sub": true })),
        ("with the number 0", json!({ "queue_position": 0 })),
        ("with a negative number", json!({ "queue_position": -1 })),
        ("with a number that is a text", json!({ "queue_position": "4711" })),
        ("with a number that is true", json!({ "queue_position": true })),
        ("with a number that is a fraction", json!({ "queue_position": 4711.5 })),
        ("with a number of 16 digits", json!({ "queue_position": LARGEST + 1 })),
        ("with an end that is a text", json!({ "exp": FUTURE.to_string() })),
        ("with an end that is a fraction", json!({ "exp": 4_102_444_800.5 })),
        ("with a beginning that is a text", json!({ "nbf": PAST.to_string() })),
        ("with a negative beginning", json!({ "nbf": -1 })),
        ("with a nonce that is a number", json!({ "nonce": 4711 })),
        ("with a nonce that is too short", json!({ "nonce": "AAAAAAAAAAAAAAA" })),
        ("with a claim that is true", json!({ "colour": true })),
        ("with a claim that is an object", json!({ "colour": { "red": 1 } })),
        ("with a claim with an accent", json!({ "colour": "ros\u{e9}" })),
        ("with a claim of another name", json!({ "Colour": "red" })),
        ("that is too long by a character", filled(LONGEST_CLAIMS + 1)),
        ("that is much too long", json!({ "colour": "x".repeat(5000) })),
    ];
    vectors.into_iter().map(|(what, changes)| Ok(refused(what, changed(changes)?))).collect()
}

/// Each says in other words, or with other bytes, what a good pass says.
fn of_other_spelling(key: &VectorKey, kid: &str, written: &str) -> Result<Vec<PassVector>> {
    let (end, subject) = (FUTURE.to_string(), format!("\"sub\":\"{SUBJECT}\""));
    let end = |to: &str| written.replace(&format!("\"exp\":{end}"), to);
    let begin = |with: &str| written.replacen('{', with, 1);
    let room = |to: &str| written.replace("\"sale\"", to);
    let vectors = [
        ("with an end that is written as a fraction", end(r#""exp":4102444800.0"#)),
        ("with an end that is written with an exponent", end(r#""exp":4102444800e0"#)),
        ("with an end that is written with a zero in front", end(r#""exp":04102444800"#)),
        ("with an end that is infinite", end(r#""exp":Infinity"#)),
        ("with an end that is no number", end(r#""exp":NaN"#)),
        ("with an end that is too large for any number", end(r#""exp":1e999"#)),
        ("with two ends, of which the last is good", begin(r#"{"exp":1700003600,"#)),
        ("with two ends, of which the first is good", end(r#""exp":4102444800,"exp":1700003600"#)),
        ("with two equal ends", begin(r#"{"exp":4102444800,"#)),
        ("with two rooms, of which the last is ours", begin(r#"{"aud":"other","#)),
        ("with two subjects, of which one is escaped", begin(r#"{"s\u0075b":"other","#)),
        ("with two claims that are not known", begin(r#"{"colour":"red","colour":"green","#)),
        ("with a number that is nothing", written.replace("4711", "null")),
        ("with a number that is written as -0", written.replace("4711", "-0")),
        ("with an escaped letter", room(r#""s\u0061le""#)),
        ("with an escaped slash", written.replace("//", r"\/\/")),
        ("with half of an escaped pair", begin(r#"{"colour":"\ud800","#)),
        ("with an escaped line break", begin(r#"{"colour":"a\nb","#)),
        ("with a tab in a text", begin("{\"colour\":\"a\tb\",")),
        ("with a zero in a text", begin("{\"colour\":\"a\0b\",")),
        ("with a subject and a zero", written.replace(&subject, &format!("\"sub\":\"{SUBJECT}\0\""))),
        ("with a subject and a line break", written.replace(&subject, &format!("\"sub\":\"{SUBJECT}\n\""))),
        ("with a space between its claims", written.replacen(',', ", ", 1)),
        ("with a line behind its claims", format!("{written}\n")),
        ("with a zero behind its claims", format!("{written}\0")),
        ("with a bracket behind its claims", format!("{written}}}")),
        ("with its claims twice", format!("{written}{written}")),
        ("with a byte order mark", format!("\u{feff}{written}")),
        ("with a comma too many", begin("{,")),
        ("with a comment", begin("{/**/")),
        ("with its claims in a list", format!("[{written}]")),
        ("whose claims are nothing", "null".into()),
        ("whose claims are an empty object", "{}".into()),
        ("whose claims are empty", String::new()),
    ];
    let mut passes = Vec::new();
    for (what, text) in vectors {
        passes.push(refused(what, spelled(key, &header(kid), &text)?));
    }
    let bytes = [&written.as_bytes()[..written.len() - 1], b",\"colour\":\"\xff\"}"].concat();
    let wide: Vec<u8> = written.bytes().flat_map(|byte| [byte, 0]).collect();
    for (what, claims) in [("with a byte that is no UTF-8", bytes), ("with its claims in UTF-16", wide)] {
        let parts = [URL_SAFE_NO_PAD.encode(header(kid)), URL_SAFE_NO_PAD.encode(claims)];
        passes.push(refused(what, key.sign_text(&parts.join("."))?));
    }
    let (head, claims) = (URL_SAFE_NO_PAD.encode(header(kid)), URL_SAFE_NO_PAD.encode(written));
    for (what, text) in [
        ("whose header has padding", format!("{head}=.{claims}")),
        ("whose claims have padding", format!("{head}.{claims}=")),
        ("whose claims have a space between them", format!("{head}.{claims}%20")),
        ("whose header ends in bits that count for nothing", format!("{}.{claims}", with_spare_bits(&head))),
    ] {
        passes.push(refused(what, key.sign_text(&text)?));
    }
    Ok(passes)
}

/// Below each are good claims, and the key has signed both.
fn of_other_headers(key: &VectorKey, other: &VectorKey, kid: &str, written: &str) -> Result<Vec<PassVector>> {
    let with = |more: &str| format!(r#"{{"alg":"RS256","kid":"{kid}","typ":"JWT"{more}}}"#);
    let algorithm = |name: &str| format!(r#"{{"alg":{name},"kid":"{kid}","typ":"JWT"}}"#);
    let vectors = [
        ("that says it is signed with RS512", algorithm("\"RS512\"")),
        ("that says it is signed with PS256", algorithm("\"PS256\"")),
        ("that says it is signed with nothing", algorithm("\"none\"")),
        ("that says it is signed with rs256", algorithm("\"rs256\"")),
        ("that says it is signed with a list", algorithm("[\"RS256\"]")),
        ("that does not say how it is signed", format!(r#"{{"kid":"{kid}","typ":"JWT"}}"#)),
        ("that says twice how it is signed", format!(r#"{{"alg":"none",{}"#, &header(kid)[1..])),
        ("with a claim that is critical", with(r#","crit":["exp"]"#)),
        ("with a header that is critical and not known", with(r#","colour":1,"crit":["colour"]"#)),
        ("with a list of nothing that is critical", with(r#","crit":[]"#)),
        ("with a text that is critical", with(r#","crit":"exp""#)),
        ("with claims that are not encoded", with(r#","b64":false,"crit":["b64"]"#)),
        ("with more in its header", with(r#","cty":"JWT""#)),
        ("of another type", header(kid).replace("\"JWT\"", "\"at+jwt\"")),
        ("of no type", format!(r#"{{"alg":"RS256","kid":"{kid}"}}"#)),
        ("with a space in its header", with(" ")),
        ("with its header in another order", format!(r#"{{"kid":"{kid}","alg":"RS256","typ":"JWT"}}"#)),
        ("without a key", r#"{"alg":"RS256","typ":"JWT"}"#.into()),
        ("with a key that is not known", header("unknown")),
        ("with a key that is a number", header(kid).replace(&format!("\"{kid}\""), "7")),
        ("with the key of before, which did not sign it", header(&other.id()?)),
        ("with two keys", format!(r#"{{"kid":"{}",{}"#, other.id()?, &header(kid)[1..])),
        ("whose header is a number", "7".into()),
        ("whose header is nothing", "null".into()),
    ];
    vectors.into_iter().map(|(what, header)| Ok(refused(what, spelled(key, &header, written)?))).collect()
}

/// Each was signed by somebody else, or not at all, or its signature is written in another way.
fn of_other_signatures(current: &VectorKey, stranger: &VectorKey) -> Result<Vec<PassVector>> {
    let valid = current.pass(&claims(&json!({})))?;
    let (signed, signature) = valid.rsplit_once('.').context("a pass has three parts")?;
    let (head, _) = signed.split_once('.').context("a pass has three parts")?;
    let unsigned = |algorithm: &str| {
        let header = json!({ "alg": algorithm, "kid": current.id()?, "typ": "JWT" });
        anyhow::Ok(format!("{}.", unsigned(&header, &claims(&json!({})))))
    };
    let by_stranger = |kid: &str| spelled(stranger, &header(kid), &claims(&json!({})).to_string());
    let tampered = URL_SAFE_NO_PAD.encode(claims(&json!({ "queue_position": 1 })).to_string());
    let bytes = URL_SAFE_NO_PAD.decode(signature)?;
    let longer = URL_SAFE_NO_PAD.encode([&[0], &bytes[..]].concat());
    let vectors = [
        ("with a number that somebody changed", format!("{head}.{tampered}.{signature}")),
        ("signed with a key of its own", by_stranger(&stranger.id()?)?),
        ("signed with a key of its own, under our key's id", by_stranger(&current.id()?)?),
        ("with the algorithm none", unsigned("none")?),
        ("with the algorithm None", unsigned("None")?),
        ("with HS256 and our public key as the secret", current.sign_with_public_key(&claims(&json!({})))?),
        ("with RS512", current.sign_rs512(&claims(&json!({})))?),
        ("without its signature", format!("{signed}.")),
        ("with a signature that is cut", format!("{signed}.{}", &signature[..signature.len() - 8])),
        ("with a signature with padding", format!("{valid}==")),
        ("with a signature with escaped padding", format!("{valid}%3D%3D")),
        ("with a signature that ends in bits that count for nothing", with_spare_bits(&valid)),
        ("with a signature in the other alphabet", format!("{signed}.{}", in_other_alphabet(signature))),
        ("with a signature with a character of no alphabet", format!("{signed}.!{signature}")),
        ("with a signature with an escaped line break", format!("{valid}%0A")),
        ("with a signature with a zero in front", format!("{signed}.{longer}")),
        ("with an escaped dot", valid.replacen('.', "%2E", 1)),
        ("with a plus behind it", format!("{valid}+")),
        ("without its last part", signed.to_owned()),
        ("with a part too many", format!("{valid}.x")),
        ("with a dot too many", format!("{valid}.")),
        ("that is no token", "x.y.z".to_owned()),
    ];
    Ok(vectors.into_iter().map(|(what, pass)| refused(what, pass)).collect())
}

fn accepted(what: &str, number: Option<u64>, pass: String) -> PassVector {
    let enters = Some(Visitor { subject: SUBJECT.into(), number });
    PassVector { what: what.into(), pass, verdict: PassVerdict::Accepted, enters }
}

fn refused(what: &str, pass: String) -> PassVector {
    PassVector { what: what.into(), pass, verdict: PassVerdict::Refused, enters: None }
}

/// The header that a room writes.
pub(crate) fn header(kid: &str) -> String {
    format!(r#"{{"alg":"RS256","kid":"{kid}","typ":"JWT"}}"#)
}

/// These texts, whatever they are, and the key's signature.
fn spelled(key: &VectorKey, header: &str, claims: &str) -> Result<String> {
    key.sign_text(&[header, claims].map(|text| URL_SAFE_NO_PAD.encode(text)).join("."))
}

/// A claim that makes the claims so many bytes long.
fn filled(length: usize) -> Value {
    let used = claims(&json!({ "colour": "" })).to_string().len();
    json!({ "colour": "x".repeat(length - used) })
}

fn reversed(claims: &str) -> String {
    let pairs: Vec<_> = claims[1..claims.len() - 1].split(',').rev().collect();
    format!("{{{}}}", pairs.join(","))
}
