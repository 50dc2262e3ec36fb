use std::fmt;
use std::str::FromStr;

use rand::TryCryptoRng;
use serde::{Deserialize, Serialize};

/// Marks a room while its operator rehearses the event: sixteen characters, generated for each rehearsal.
///
/// Only somebody with operator access can write it, and polls show it. So visitors of a rehearsal know from every answer
/// that the room is the one of their operator, and send nothing to any other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RehearsalMark([u8; Self::LENGTH]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mark of a rehearsal is sixteen characters from a to z and 0 to 9")]
pub struct RehearsalMarkError;

impl RehearsalMark {
    pub const LENGTH: usize = 16;
    /// As in an [`Epoch`](crate::Epoch).
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

    pub fn random<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        let mut bytes = [0; Self::LENGTH];
        rng.try_fill_bytes(&mut bytes)?;
        Ok(Self(bytes.map(|byte| Self::ALPHABET[usize::from(byte % 32)])))
    }
}

impl FromStr for RehearsalMark {
    type Err = RehearsalMarkError;

    fn from_str(text: &str) -> Result<Self, RehearsalMarkError> {
        let bytes: [u8; Self::LENGTH] = text.as_bytes().try_into().map_err(|_| RehearsalMarkError)?;
        let valid = bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        valid.then_some(Self(bytes)).ok_or(RehearsalMarkError)
    }
}

impl TryFrom<String> for RehearsalMark {
    type Error = RehearsalMarkError;

    fn try_from(text: String) -> Result<Self, RehearsalMarkError> {
        text.parse()
    }
}

impl From<RehearsalMark> for String {
    fn from(mark: RehearsalMark) -> Self {
        mark.to_string()
    }
}

impl fmt::Display for RehearsalMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&byte| write!(f, "{}", char::from(byte)))
    }
}

impl fmt::Debug for RehearsalMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RehearsalMark({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_nothing_else_is_one() {
        let mark = RehearsalMark::random(&mut rand::rngs::SysRng).unwrap();
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for wrong in ["", "abcd", "abcdefghijkmnpq\"", "ABCDEFGHIJKMNPQR", "abcdefghijkmnpqrs"] {
            assert_eq!(wrong.parse::<RehearsalMark>(), Err(RehearsalMarkError), "{wrong}");
        }
    }
}
