//! Passes that the room's key signed, each with something changed: a claim, its spelling, the header, the signature. Whether a
//! pass is still good follows from what was changed, not from reading it.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::changes::{CLAIMS, Changes, Claims, HARMLESS, PARTS, SIGNATURE, TEXT, TOKEN, fill, headers, put};
use crate::passes::{FUTURE, LONGEST_CLAIMS, NAME, NUMBER, OVER, PAST, ROOM, SUBJECT, header};
use crate::pick::pick;
use crate::{PassVerdict, VectorKey};

#[derive(Clone, Debug)]
pub struct GeneratedPass {
    pub changes: Vec<&'static str>,
    pub pass: String,
    pub verdict: PassVerdict,
}

/// What is changed besides what is harmless.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Damage {
    None,
    Claims,
    Text,
    Header,
    Part,
    Signature,
    Token,
}

impl GeneratedPass {
    /// The same passes each time.
    pub fn make(count: usize, seed: u64) -> Result<Vec<Self>> {
        let mut rng = StdRng::seed_from_u64(seed);
        let keys = [VectorKey::named("current")?, VectorKey::named("previous")?];
        (0..count).map(|_| Self::one(&keys, &mut rng)).collect()
    }

    fn one(keys: &[VectorKey; 2], rng: &mut StdRng) -> Result<Self> {
        let said = &mut Vec::new();
        let (ours, other) = if rng.random_ratio(1, 5) { (&keys[1], &keys[0]) } else { (&keys[0], &keys[1]) };
        let damage = match rng.random_range(0..20) {
            0..6 => Damage::None,
            6..13 => Damage::Claims,
            13..15 => Damage::Text,
            15..17 => Damage::Header,
            17 => Damage::Part,
            18 => Damage::Signature,
            _ => Damage::Token,
        };

        let mut claims = claims();
        for _ in 0..rng.random_range(0..4) {
            change(&mut claims, HARMLESS, rng, said);
        }
        let is_over = rng.random_ratio(1, 4);
        if is_over {
            put(&mut claims, "exp", &pick(rng, &[0, 1, OVER]).to_string());
            said.push("expired");
        }
        if damage == Damage::None && rng.random_ratio(1, 10) {
            fill(&mut claims, LONGEST_CLAIMS);
            said.push("as long as a pass may be");
        }
        if damage == Damage::Claims {
            change(&mut claims, CLAIMS, rng, said);
        }

        let pairs: Vec<_> = claims.iter().map(|(name, value)| format!("{name}:{value}")).collect();
        let mut text = format!("{{{}}}", pairs.join(",")).into_bytes();
        if damage == Damage::Text {
            change(&mut text, TEXT, rng, said);
        }
        let mut header = header(&ours.id()?);
        if damage == Damage::Header {
            let (what, another) = pick(rng, &headers(&ours.id()?, &other.id()?));
            header = another;
            said.push(what);
        }
        let mut parts = [URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(text)];
        if damage == Damage::Part {
            change(&mut parts[rng.random_range(0..2_usize)], PARTS, rng, said);
        }
        let mut pass = ours.sign_text(&parts.join("."))?;
        if damage == Damage::Signature {
            let mut signature = pass.split_off(pass.rfind('.').map_or(0, |dot| dot + 1));
            change(&mut signature, SIGNATURE, rng, said);
            pass += &signature;
        }
        if damage == Damage::Token {
            change(&mut pass, TOKEN, rng, said);
        }
        let verdict = match damage {
            Damage::None if is_over => PassVerdict::Expired,
            Damage::None => PassVerdict::Accepted,
            _ => PassVerdict::Refused,
        };
        Ok(Self { changes: std::mem::take(said), pass, verdict })
    }

    /// Header and claims, as far as they can be read.
    pub fn text(&self) -> String {
        let decoded = |part| URL_SAFE_NO_PAD.decode(part).unwrap_or_else(|_| Vec::from(part));
        let parts: Vec<_> = self.pass.split('.').take(2).map(decoded).collect();
        parts.iter().map(|part| String::from_utf8_lossy(part)).collect::<Vec<_>>().join(" ")
    }
}

fn change<T>(changed: &mut T, choices: Changes<T>, rng: &mut StdRng, said: &mut Vec<&'static str>) {
    let (what, change) = pick(rng, choices);
    change(changed, rng);
    said.push(what);
}

/// The claims of a good pass, as JSON spells them.
fn claims() -> Claims {
    let mut claims = Claims::new();
    for (name, text) in [("iss", ROOM), ("aud", NAME), ("sub", SUBJECT), ("token_use", "access")] {
        put(&mut claims, name, &format!("\"{text}\""));
    }
    for (name, number) in [("queue_position", NUMBER), ("iat", PAST), ("nbf", PAST), ("exp", FUTURE)] {
        put(&mut claims, name, &number.to_string());
    }
    claims
}
