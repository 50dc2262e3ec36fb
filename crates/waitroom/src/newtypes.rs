//! What the small types of this crate have in common.

/// A text can't be read as its type. Says what one looks like that can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormError(pub(crate) &'static str);

/// A number from 1 to the most: shown, stored and sent as one.
macro_rules! whole_number {
    ($type:ident($number:ty), $most:expr, $error:ident) => {
        impl $type {
            pub const fn new(number: $number) -> Result<Self, $error> {
                if number == 0 || number > $most { Err($error) } else { Ok(Self(number)) }
            }

            pub const fn get(self) -> $number {
                self.0
            }
        }

        impl TryFrom<$number> for $type {
            type Error = $error;

            fn try_from(number: $number) -> Result<Self, $error> {
                Self::new(number)
            }
        }

        impl From<$type> for $number {
            fn from(value: $type) -> Self {
                value.0
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

/// A whole number, or thousands: `3k`.
pub(crate) fn in_thousands(text: &str) -> Option<u32> {
    let (number, thousands) = text.strip_suffix(['k', 'K']).map_or((text, 1), |number| (number, 1000));
    number.parse::<u32>().ok()?.checked_mul(thousands)
}

macro_rules! read_in_thousands {
    ($type:ident, $error:ident) => {
        impl std::str::FromStr for $type {
            type Err = $error;

            /// Also understands thousands: `3k`.
            fn from_str(text: &str) -> Result<Self, $error> {
                crate::newtypes::in_thousands(text).ok_or($error).and_then(Self::new)
            }
        }
    };
}

/// Stored and sent as the text that it is shown as.
macro_rules! stored_as_text {
    ($($type:ty),*) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

/// Random characters, as many as `LENGTH`.
macro_rules! random_characters {
    ($type:ident) => {
        impl $type {
            /// 32 characters, so that five random bits choose one without bias. Without `l`, `o`, `0` and `1`, which look
            /// alike.
            const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

            pub fn random<R: rand::TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
                let mut bytes = [0; Self::LENGTH];
                rng.try_fill_bytes(&mut bytes)?;
                Ok(Self(bytes.map(|byte| Self::ALPHABET[usize::from(byte % 32)])))
            }

            pub fn as_str(&self) -> &str {
                // Every way to make one lets only ASCII through, so it is text.
                str::from_utf8(&self.0).unwrap_or_default()
            }
        }

        impl TryFrom<&[u8]> for $type {
            type Error = crate::FormError;

            fn try_from(bytes: &[u8]) -> Result<Self, crate::FormError> {
                let bytes: [u8; Self::LENGTH] = bytes.try_into().map_err(|_| Self::MALFORMED)?;
                let valid = bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
                valid.then_some(Self(bytes)).ok_or(Self::MALFORMED)
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::FormError;

            fn from_str(text: &str) -> Result<Self, crate::FormError> {
                text.as_bytes().try_into()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.iter().try_for_each(|&byte| write!(f, "{}", char::from(byte)))
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({self})", stringify!($type))
            }
        }
    };
}

pub(crate) use {random_characters, read_in_thousands, stored_as_text, whole_number};
