use std::fmt;
use std::str::FromStr;

use rand::TryCryptoRng;

/// Who a visitor is to the room: 128 random bits, written as 32 lower-case hex digits.
///
/// Whoever holds the token holds the place, so it can only be drawn from a cryptographic generator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token([u8; Self::BYTES]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is 32 lower-case hex digits")]
pub struct TokenError;

impl Token {
    pub const BYTES: usize = 16;
    const DIGITS: usize = 2 * Self::BYTES;

    pub fn random<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        let mut bytes = [0; Self::BYTES];
        rng.try_fill_bytes(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Logs show enough of a token to tell two apart, never enough to take somebody's place.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        if text.len() != Self::DIGITS {
            return Err(TokenError);
        }
        let mut bytes = [0; Self::BYTES];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn digit(ascii: u8) -> Result<u8, TokenError> {
    match ascii {
        b'0'..=b'9' => Ok(ascii - b'0'),
        b'a'..=b'f' => Ok(ascii - b'a' + 10),
        _ => Err(TokenError),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn only_32_lower_case_hex_digits_are_a_token() {
        let text = "00112233445566778899aabbccddeeff";
        assert_eq!(text.parse::<Token>().unwrap().to_string(), text);
        for wrong in ["", "0", &text[1..], "00112233445566778899AABBCCDDEEFF", &format!("{text}0")] {
            assert_eq!(wrong.parse::<Token>(), Err(TokenError), "{wrong}");
        }
    }

    #[test]
    fn debug_output_does_not_give_the_place_away() {
        let token = Token::random(&mut StdRng::seed_from_u64(1)).unwrap();
        assert!(!format!("{token:?}").contains(&token.to_string()[..8]));
    }

    proptest! {
        #[test]
        fn any_string_parses_to_itself_or_not_at_all(text in ".{0,40}") {
            if let Ok(token) = text.parse::<Token>() {
                prop_assert_eq!(token.to_string(), text);
            }
        }

        #[test]
        fn every_token_survives_being_written(bytes: [u8; 16]) {
            let token = Token::from_bytes(bytes);
            prop_assert_eq!(token.to_string().parse(), Ok(token));
        }
    }
}
