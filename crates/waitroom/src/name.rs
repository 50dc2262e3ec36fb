//! The room's texts: its name ([`RoomId`]), its [`Title`] and its [`Message`].

use std::fmt;
use std::str::FromStr;

use crate::newtypes::stored_as_text;

/// The room's name: used in commands and as part of the cookie's name and of resource names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomId(String);

/// The room's name as visitors see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title(String);

/// The operator's text to waiting visitors. Empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error(
        "a room's name is 1 to {} lower-case letters, digits and hyphens, begins with a letter and does not end with a hyphen",
        RoomId::MAX_LENGTH
    )]
    RoomId,
    #[error("a title is 1 to {} characters on one line", Title::MAX_LENGTH)]
    Title,
    #[error("a message is at most {most} characters, and this one has {0}", most = Message::MAX_LENGTH)]
    LongMessage(usize),
    #[error("a message cannot contain the control character {0:?}; only line breaks are allowed")]
    ControlCharacter(char),
}

impl RoomId {
    const MAX_LENGTH: usize = 30;
}

impl Title {
    const MAX_LENGTH: usize = 100;
}

impl Message {
    const MAX_LENGTH: usize = 500;
}

impl FromStr for RoomId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let valid = text.len() <= Self::MAX_LENGTH
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
            (1..=Self::MAX_LENGTH).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        valid.then(|| Self(text.into())).ok_or(NameError::Title)
    }
}

impl FromStr for Message {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        if let Some(unprintable) = text.chars().find(|c| c.is_control() && *c != '\n') {
            return Err(NameError::ControlCharacter(unprintable));
        }
        let length = text.chars().count();
        if length > Self::MAX_LENGTH {
            return Err(NameError::LongMessage(length));
        }
        Ok(Self(text.into()))
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
    )*};
}

text!(RoomId, Title, Message);
stored_as_text!(RoomId, Title, Message);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_id_is_valid_in_cookie_and_resource_names() {
        for valid in ["a", "spring-sale", "sale2026", "a-1-b"] {
            assert_eq!(valid.parse::<RoomId>().unwrap().as_str(), valid);
        }
        for wrong in ["", "-a", "a-", "2sale", "Sale", "a b", "a_b", "ü", "a;b", &"a".repeat(31)] {
            assert_eq!(wrong.parse::<RoomId>(), Err(NameError::RoomId), "{wrong}");
        }
    }

    #[test]
    fn a_title_is_any_text_on_one_line() {
        assert_eq!(" Robben's \"Ale\" 🦭 ".parse::<Title>().unwrap().as_str(), "Robben's \"Ale\" 🦭");
        for wrong in ["", "   ", "a\nb", "a\u{0}b", &"x".repeat(101)] {
            assert_eq!(wrong.parse::<Title>(), Err(NameError::Title), "{wrong}");
        }
    }

    #[test]
    fn a_message_may_be_empty_or_have_several_lines() {
        assert_eq!("".parse::<Message>().unwrap(), Message::default());
        assert_eq!("Back\nsoon".parse::<Message>().unwrap().as_str(), "Back\nsoon");
    }

    #[test]
    fn a_message_is_refused_for_its_length_or_for_a_control_character() {
        let refusal = |text: &str| text.parse::<Message>().unwrap_err().to_string();
        assert_eq!(
            refusal("\u{7}ding"),
            "a message cannot contain the control character '\\u{7}'; only line breaks are allowed"
        );
        assert_eq!(
            refusal("Back\tsoon"),
            "a message cannot contain the control character '\\t'; only line breaks are allowed"
        );
        assert!("ü".repeat(500).parse::<Message>().is_ok());
        assert_eq!(refusal(&"ü".repeat(501)), "a message is at most 500 characters, and this one has 501");
    }
}
