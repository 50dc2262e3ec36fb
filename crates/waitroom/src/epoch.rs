use std::fmt;
use std::str::FromStr;

use rand::TryCryptoRng;
use serde::{Deserialize, Serialize};

/// Identifies one filling of the line: four characters, generated when the room is created and by `reset`.
///
/// It is part of every place, so that a visitor with a place from before a reset is a newcomer and does not wait for a
/// ticket that was overtaken long ago.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Epoch([u8; Self::LENGTH]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an epoch is four characters from a to z and 0 to 9")]
pub struct EpochError;

impl Epoch {
    pub const LENGTH: usize = 4;
    /// 32 characters, so that five random bits choose one without bias. Without `l`, `o`, `0` and `1`, which look alike.
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

    pub fn random<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        let mut bytes = [0; Self::LENGTH];
        rng.try_fill_bytes(&mut bytes)?;
        Ok(Self(bytes.map(|byte| Self::ALPHABET[usize::from(byte % 32)])))
    }

    pub const fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}

impl TryFrom<&[u8]> for Epoch {
    type Error = EpochError;

    fn try_from(bytes: &[u8]) -> Result<Self, EpochError> {
        let bytes: [u8; Self::LENGTH] = bytes.try_into().map_err(|_| EpochError)?;
        let valid = bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        valid.then_some(Self(bytes)).ok_or(EpochError)
    }
}

impl FromStr for Epoch {
    type Err = EpochError;

    fn from_str(text: &str) -> Result<Self, EpochError> {
        text.as_bytes().try_into()
    }
}

impl TryFrom<String> for Epoch {
    type Error = EpochError;

    fn try_from(text: String) -> Result<Self, EpochError> {
        text.parse()
    }
}

impl From<Epoch> for String {
    fn from(epoch: Epoch) -> Self {
        epoch.to_string()
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&byte| write!(f, "{}", char::from(byte)))
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epoch({self})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn a_generated_epoch_is_valid() {
        let mut rng = StdRng::seed_from_u64(7);
        for _ in 0..1000 {
            let epoch = Epoch::random(&mut rng).unwrap();
            assert_eq!(epoch.to_string().parse(), Ok(epoch));
        }
    }

    proptest! {
        #[test]
        fn a_string_that_parses_is_displayed_unchanged(text in ".{0,6}") {
            if let Ok(epoch) = text.parse::<Epoch>() {
                prop_assert_eq!(epoch.to_string(), text);
            }
        }
    }
}
