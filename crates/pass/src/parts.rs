//! How a room spells a pass. There is one spelling, so that two programs never read one pass in two ways.

use std::collections::BTreeSet;

use base64::Engine;

use crate::BASE64;

const HEADER_BEGINS: &str = r#"{"alg":"RS256","kid":""#;
const HEADER_ENDS: &str = r#"","typ":"JWT"}"#;

/// A pass in its parts. Nothing is verified yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PassParts<'a> {
    /// The key that the pass says it is signed with. Anybody can write anything there.
    pub(crate) key_id: String,
    pub(crate) signed: &'a [u8],
    pub(crate) claims: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

/// The header of all passes that are signed with this key.
pub(crate) fn header(key_id: &str) -> String {
    format!("{HEADER_BEGINS}{key_id}{HEADER_ENDS}")
}

impl<'a> PassParts<'a> {
    /// The URL of a room has 2,000 characters at most, so no room signs a longer pass.
    const LONGEST: usize = 4096;

    /// None if this is not spelled as a room spells its passes. `BASE64` accepts one spelling of some bytes: no padding, no
    /// white space, and no bits to spare that are not zero.
    pub(crate) fn read(pass: &'a str) -> Option<Self> {
        let mut parts = pass.split('.');
        let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || pass.len() > Self::LONGEST {
            return None;
        }
        let signed = &pass.as_bytes()[..header.len() + 1 + claims.len()];
        let header = String::from_utf8(BASE64.decode(header).ok()?).ok()?;
        let key_id = header.strip_prefix(HEADER_BEGINS)?.strip_suffix(HEADER_ENDS)?.to_owned();
        let (claims, signature) = (BASE64.decode(claims).ok()?, BASE64.decode(signature).ok()?);
        Some(Self { key_id, signed, claims, signature })
    }
}

/// Whether claims are spelled as a room spells them: one flat JSON object without white space, no name twice. A value is a text
/// of printable ASCII without escapes, or a whole number of at most 15 digits, which every language holds exactly.
pub(crate) fn are_plain(claims: &[u8]) -> bool {
    std::str::from_utf8(claims).is_ok_and(|claims| pairs(claims).is_some())
}

fn pairs(claims: &str) -> Option<()> {
    let mut names = BTreeSet::new();
    let mut rest = claims.strip_prefix('{')?;
    loop {
        let (name, behind) = rest.strip_prefix('"')?.split_once("\":")?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !is_name || !names.insert(name) {
            return None;
        }
        rest = if let Some(text) = behind.strip_prefix('"') {
            let (text, behind) = text.split_once('"')?;
            let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'\\');
            is_plain.then_some(behind)?
        } else {
            let (digits, behind) = behind.split_at(behind.find(|next: char| !next.is_ascii_digit())?);
            let is_plain = digits == "0" || (1..=15).contains(&digits.len()) && !digits.starts_with('0');
            is_plain.then_some(behind)?
        };
        if rest == "}" {
            return Some(());
        }
        rest = rest.strip_prefix(',')?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_have_one_spelling() {
        for plain in [
            r#"{"a":""}"#,
            r#"{"a":"b","a_b":0,"c":999999999999999}"#,
            r#"{"iss":"https://room.example/prod?a=[b]&c={d}","exp":1}"#,
            r#"{"a":",","b":"{}:,"}"#,
        ] {
            assert!(are_plain(plain.as_bytes()), "{plain}");
        }
        for other in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"a":1} "#,
            r#" {"a":1}"#,
            r#"{"a": 1}"#,
            r#"{"a":1,}"#,
            r#"{,"a":1}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":1}"#,
            r#"{"":1}"#,
            r#"{"A":1}"#,
            r#"{"a":}"#,
            r#"{"a":01}"#,
            r#"{"a":-1}"#,
            r#"{"a":1.0}"#,
            r#"{"a":1e3}"#,
            r#"{"a":1000000000000000}"#,
            r#"{"a":true}"#,
            r#"{"a":null}"#,
            r#"{"a":["b"]}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":"\u0062"}"#,
            r#"{"a":"\/"}"#,
            r#"{"a":"b\""}"#,
            r#"{"a":"é"}"#,
            "{\"a\":\"\t\"}",
            "{\"a\":\"\u{7f}\"}",
            "\u{feff}{\"a\":1}",
            r#"{"a":"b}"#,
            r#"{"a":1"#,
            r#"{"a""#,
        ] {
            assert!(!are_plain(other.as_bytes()), "{other}");
        }
        assert!(!are_plain(b"{\"a\":\"\xff\"}"));
    }

    #[test]
    fn a_header_has_one_spelling() {
        let pass = |header: &str| format!("{}.e30.AAAA", BASE64.encode(header));
        let read = |pass: &str| PassParts::read(pass).map(|parts| parts.key_id);
        assert_eq!(read(&pass(&header("key"))).as_deref(), Some("key"));
        for other in [
            r#"{"alg":"RS256","kid":"key"}"#,
            r#"{"alg":"RS512","kid":"key","typ":"JWT"}"#,
            r#"{"alg":"RS256","kid":"key","typ":"JWT","crit":["exp"]}"#,
            r#"{"alg":"RS256", "kid":"key","typ":"JWT"}"#,
            r#"{"kid":"key","alg":"RS256","typ":"JWT"}"#,
            "",
        ] {
            assert_eq!(read(&pass(other)), None, "{other}");
        }
        let good = pass(&header("key"));
        for other in [
            format!("{good}="),
            format!("{good}."),
            format!("{good} "),
            format!("{good}{}", "A".repeat(4096)),
        ] {
            assert_eq!(read(&other), None, "{other}");
        }
    }
}
