//! The pass of tests. A test that needs another writes what is different: `Claims { nonce, ..claims(now) }`.

use crate::{Claims, TOKEN_USE};

/// What a pass says that is given out now and is good for five minutes.
pub fn claims(now: u64) -> Claims {
    Claims {
        iss: "https://room.example/prod".into(),
        aud: "sale".into(),
        sub: "visitor".into(),
        queue_position: Some(4711),
        window: None,
        nonce: None,
        token_use: TOKEN_USE.into(),
        iat: now,
        nbf: now,
        exp: now + 300,
    }
}
