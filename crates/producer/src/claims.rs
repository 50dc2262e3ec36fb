//! What a pass says.

use pass::{Claims, Nonce, TOKEN_USE, subject};
use waitroom::{Room, Ticket, Timestamp, Token};

/// The contents of a visitor's pass. `ticket` is the number that they waited with, if they waited, and `window` released them.
pub(crate) fn claims(
    room: &Room,
    token: Token,
    ticket: Option<Ticket>,
    window: Option<u64>,
    nonce: Option<Nonce>,
    now: Timestamp,
) -> Claims {
    Claims {
        iss: room.issuer(),
        aud: room.settings.room.to_string(),
        sub: subject(&token.to_string()),
        queue_position: ticket.map(Ticket::get),
        window,
        nonce,
        token_use: TOKEN_USE.into(),
        iat: now.as_secs(),
        nbf: now.as_secs(),
        exp: (now + room.settings.lifetimes.pass).as_secs(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waitroom::fixture;

    use super::*;

    #[test]
    fn a_pass_says_who_waited_for_which_room() {
        let url = "https://room.example/prod/".parse().unwrap();
        let mut room = Room { url, ..fixture::room(1) };
        room.settings.lifetimes.pass = Duration::from_mins(5);
        let now = Timestamp::from_millis(1_800_000_000_999);
        let nonce = Nonce::from_bytes([7; 16]);
        let expected = Claims {
            iss: "https://room.example/prod".into(),
            aud: "sale".into(),
            sub: subject("01010101010101010101010101010101"),
            queue_position: Some(4711),
            window: Some(17),
            nonce: Some(nonce.clone()),
            token_use: "access".into(),
            iat: 1_800_000_000,
            nbf: 1_800_000_000,
            exp: 1_800_000_300,
        };
        let ticket = Some(Ticket::new(4711).unwrap());
        let token = Token::from_bytes([1; 16]);
        assert_eq!(claims(&room, token, ticket, Some(17), Some(nonce), now), expected);
        let without = claims(&room, token, None, None, None, now);
        assert_eq!((without.queue_position, without.window, without.nonce), (None, None, None));
    }
}
