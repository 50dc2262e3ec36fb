//! What a room is called: by the machine ([`RoomId`]) and by its visitors ([`Title`], [`Message`]).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The room's short name: part of its cookie, of its resources' names and of every command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RoomId(String);

/// What visitors read as the room's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Title(String);

/// The operator's live message to those who wait; empty when there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Message(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error(
        "a room's name is 1 to {} lower-case letters, digits and hyphens, begins with a letter and does not end with a hyphen",
        RoomId::LONGEST
    )]
    RoomId,
    #[error("a title is 1 to {} characters on one line", Title::LONGEST)]
    Title,
    #[error("a message is at most {} characters", Message::LONGEST)]
    Message,
}

impl RoomId {
    const LONGEST: usize = 30;
}

impl Title {
    const LONGEST: usize = 100;
}

impl Message {
    const LONGEST: usize = 500;
}

impl FromStr for RoomId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let valid = text.len() <= Self::LONGEST
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && !text.ends_with('-')
            && text.chars().all(allowed);
        valid.then(|| Self(text.into())).ok_or(NameError::RoomId)
    }
}

impl FromStr for Title {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        let valid =
            (1..=Self::LONGEST).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        valid.then(|| Self(text.into())).ok_or(NameError::Title)
    }
}

impl FromStr for Message {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        let unprintable = |c: char| c.is_control() && c != '\n';
        let valid = text.chars().count() <= Self::LONGEST && !text.chars().any(unprintable);
        valid.then(|| Self(text.into())).ok_or(NameError::Message)
    }
}

macro_rules! text {
    ($($type:ty),*) => {$(
        impl $type {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(text: $type) -> Self {
                text.0
            }
        }
    )*};
}

text!(RoomId, Title, Message);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_id_fits_a_cookie_name_and_a_resource_name() {
        for right in ["a", "spring-sale", "sale2026", "a-1-b"] {
            assert_eq!(right.parse::<RoomId>().unwrap().as_str(), right);
        }
        for wrong in ["", "-a", "a-", "2sale", "Sale", "a b", "a_b", "ü", "a;b", &"a".repeat(31)] {
            assert_eq!(wrong.parse::<RoomId>(), Err(NameError::RoomId), "{wrong}");
        }
    }

    #[test]
    fn a_title_is_one_line_of_anything() {
        assert_eq!(" Robben's \"Ale\" 🦭 ".parse::<Title>().unwrap().as_str(), "Robben's \"Ale\" 🦭");
        for wrong in ["", "   ", "a\nb", "a\u{0}b", &"x".repeat(101)] {
            assert_eq!(wrong.parse::<Title>(), Err(NameError::Title), "{wrong}");
        }
    }

    #[test]
    fn a_notice_may_be_empty_and_may_have_lines() {
        assert_eq!("".parse::<Message>().unwrap(), Message::default());
        assert_eq!("Back\nsoon".parse::<Message>().unwrap().as_str(), "Back\nsoon");
        assert_eq!("\u{7}ding".parse::<Message>(), Err(NameError::Message));
    }
}
