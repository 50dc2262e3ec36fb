//! How somebody who stands in line shows the operator who they are.
//!
//! Nobody knows who waits: on AWS the line is a queue, which only gives out those at its front. So a visitor who needs help asks the
//! room for a code, short enough to read out on the phone, and the room keeps for an hour whose it is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::newtypes::{FormError, stored_as_text};
use crate::{Place, Timestamp, Token};

/// A code of eight digits and letters, as in `7K3M-Q0ZX`.
///
/// It is a part of the visitor's token. Whoever hears it still lacks 88 of its 128 bits, so the place stays theirs alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HelpCode([u8; Self::BYTES]);

impl HelpCode {
    const MALFORMED: FormError =
        FormError("a help code has eight digits and letters, as in 7K3M-Q0ZX; U is not among them");
    const BYTES: usize = 5;
    /// Crockford's digits: none looks like another.
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const LENGTH: usize = 8;

    /// The codes of a visitor. The first of them that nobody else has is theirs.
    pub fn of(token: Token) -> [Self; 3] {
        [0, Self::BYTES, 2 * Self::BYTES]
            .map(|from| Self(std::array::from_fn(|index| token.as_bytes()[from + index])))
    }

    /// Without the hyphen, as stores write it.
    pub fn digits(self) -> String {
        let bits = self.0.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        let digit = |index: usize| {
            let shift = 5 * (Self::LENGTH - 1 - index);
            let [.., value] = (bits >> shift & 0b11111).to_be_bytes();
            char::from(Self::DIGITS[usize::from(value)])
        };
        (0..Self::LENGTH).map(digit).collect()
    }
}

stored_as_text!(HelpCode);

impl fmt::Display for HelpCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits();
        let (first, last) = digits.split_at(Self::LENGTH / 2);
        write!(f, "{first}-{last}")
    }
}

impl FromStr for HelpCode {
    type Err = FormError;

    /// Also as somebody wrote it down who heard it.
    fn from_str(text: &str) -> Result<Self, FormError> {
        let heard = text.bytes().filter(|byte| !matches!(byte, b'-' | b' ')).map(|byte| {
            match byte.to_ascii_uppercase() {
                b'O' => b'0',
                b'I' | b'L' => b'1',
                other => other,
            }
        });
        let digits: Vec<u8> = heard.collect();
        if digits.len() != Self::LENGTH {
            return Err(Self::MALFORMED);
        }
        let mut bits = 0_u64;
        for digit in digits {
            let value = Self::DIGITS.iter().position(|known| *known == digit).ok_or(Self::MALFORMED)?;
            bits = bits << 5 | value as u64;
        }
        let [_, _, _, bytes @ ..] = bits.to_be_bytes();
        Ok(Self(bytes))
    }
}

/// A visitor in line who asked for help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HelpCall {
    pub code: HelpCode,
    pub place: Place,
    /// When they asked.
    pub at: Timestamp,
}

impl HelpCall {
    /// How long the room knows whose code it is.
    pub const KEPT: Duration = Duration::from_hours(1);
    /// How long a visitor's call is as good as another one.
    const RENEWED_AFTER: Duration = Duration::from_mins(1);

    pub fn is_over(&self, now: Timestamp) -> bool {
        now.since(self.at) >= Self::KEPT
    }

    /// Whether noting this call again, so much later, says anything new: otherwise whoever reloads makes the room write.
    pub fn is_news_after(&self, before: &Self) -> bool {
        self.place != before.place || self.at.since(before.at) >= Self::RENEWED_AFTER
    }

    /// Whether `other` may have the code from now on.
    pub fn gives_way_to(&self, other: &Self) -> bool {
        self.place.token == other.place.token || self.is_over(other.at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_code_is_read_as_somebody_hears_it() {
        let code: HelpCode = "7K3M-Q01X".parse().unwrap();
        assert_eq!((code.to_string(), code.digits()), ("7K3M-Q01X".into(), "7K3MQ01X".into()));
        for heard in ["7k3mq01x", "7K3M QOIX", "7K3MQ-olx", " 7K3M-Q01X "] {
            assert_eq!(heard.parse(), Ok(code), "{heard}");
        }
        for wrong in ["", "7K3M-Q01", "7K3M-Q01XX", "7K3M-QU1X", "7K3M-Q0ÄX", "spring-sale"] {
            assert_eq!(wrong.parse::<HelpCode>(), Err(HelpCode::MALFORMED), "{wrong}");
        }
    }

    #[test]
    fn a_visitor_has_three_codes_which_leave_the_place_secret() {
        let token: Token = "00112233445566778899aabbccddeeff".parse().unwrap();
        let codes = HelpCode::of(token).map(|code| code.to_string());
        assert_eq!(codes, ["008J-4CT4", "ANK7-F24S", "NAXW-SQFE"]);
    }

    #[test]
    fn a_code_is_somebody_elses_after_an_hour() {
        let now = Timestamp::from_millis(1_000_000_000);
        let call = |byte, at| {
            let token = Token::from_bytes([byte; 16]);
            let place = Place { epoch: "ab12".parse().unwrap(), token, ticket: crate::Ticket::FIRST };
            HelpCall { code: "7K3M-Q01X".parse().unwrap(), place, at }
        };
        let first = call(1, now);
        assert!(first.gives_way_to(&call(1, now)) && !first.gives_way_to(&call(2, now)));
        assert!(!first.gives_way_to(&call(2, now + HelpCall::KEPT - Duration::from_millis(1))));
        assert!(first.gives_way_to(&call(2, now + HelpCall::KEPT)));
    }

    proptest! {
        #[test]
        fn every_code_is_displayed_and_parsed(bytes: [u8; 16]) {
            for code in HelpCode::of(Token::from_bytes(bytes)) {
                prop_assert_eq!(code.to_string().parse(), Ok(code));
                prop_assert_eq!(code.digits().parse(), Ok(code));
            }
        }

        #[test]
        fn whatever_somebody_types_is_a_code_or_none(text in ".{0,20}") {
            if let Ok(code) = text.parse::<HelpCode>() {
                prop_assert_eq!(code.to_string().parse(), Ok(code));
            }
        }
    }
}
