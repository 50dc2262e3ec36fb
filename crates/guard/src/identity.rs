//! The headers in which the guard tells the shop who the visitor is, and the shop that a visitor has left.

use http::header::CONNECTION;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The visitor's number in line. Absent for somebody who never waited, because the room was off.
pub const NUMBER_HEADER: HeaderName = HeaderName::from_static("x-beekeeper-number");

/// The visitor: the same for all passes and sessions of one place.
pub const SUBJECT_HEADER: HeaderName = HeaderName::from_static("x-beekeeper-subject");

/// With the value [`END`] in an answer of the shop, it ends the session of whoever gets the answer: they have bought what they came
/// for, or have signed out.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("beekeeper-session");
pub const END: &str = "end";

/// Removes the first two from a request, because anybody can send them. `Connection` may not name them either: a proxy behind
/// the guard would remove what the guard writes.
///
/// Some servers merge `-` and `_` in header names, so both forms are removed.
pub fn strip_identity(headers: &mut HeaderMap) {
    let spoofed: Vec<HeaderName> =
        headers.keys().filter(|name| is_identity(name.as_str().as_bytes())).cloned().collect();
    for name in spoofed {
        headers.remove(name);
    }
    let lines = headers.get_all(CONNECTION).iter().map(HeaderValue::as_bytes);
    let options = lines.flat_map(|line| line.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let (hidden, kept): (Vec<_>, Vec<_>) = options.partition(|option| is_identity(option));
    if hidden.is_empty() {
        return;
    }
    // A part of a header's value is always a value.
    match HeaderValue::from_bytes(&kept.join(&b", "[..])) {
        Ok(kept) if !kept.is_empty() => drop(headers.insert(CONNECTION, kept)),
        _ => drop(headers.remove(CONNECTION)),
    }
}

fn is_identity(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).replace('_', "-");
    [NUMBER_HEADER, SUBJECT_HEADER].iter().any(|identity| name.eq_ignore_ascii_case(identity.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_wrote_is_removed() {
        let mut headers = HeaderMap::new();
        for name in [
            "X-Beekeeper-Number",
            "x_beekeeper_number",
            "X-Beekeeper_Subject",
            "x-beekeeper-subject",
            "x-other",
        ] {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name.clone(), "1".parse().unwrap());
            headers.append(name, "2".parse().unwrap());
        }
        strip_identity(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["x-other"]);
    }

    #[test]
    fn connection_hides_no_identity() {
        for (written, kept) in [
            (&["X-Beekeeper-Subject"][..], None),
            (&["close, x-beekeeper-number"], Some("close")),
            (&["Upgrade, X_Beekeeper-Subject ,keep-alive"], Some("Upgrade, keep-alive")),
            (&["Upgrade", "X-BEEKEEPER-NUMBER"], Some("Upgrade")),
        ] {
            let mut headers: HeaderMap =
                written.iter().map(|line| (CONNECTION, line.parse().unwrap())).collect();
            strip_identity(&mut headers);
            let left: Vec<_> = headers.get_all(CONNECTION).iter().collect();
            assert_eq!(left, kept.as_slice(), "{written:?}");
        }
        let several = [(CONNECTION, "close"), (CONNECTION, "Upgrade, X-Other")];
        let mut headers: HeaderMap =
            several.map(|(name, line)| (name, line.parse().unwrap())).into_iter().collect();
        let before = headers.clone();
        strip_identity(&mut headers);
        assert_eq!(headers, before, "what names nobody stays as it is");
    }
}
