//! The headers in which the guard tells the shop who the visitor is.

use http::{HeaderMap, HeaderName};

/// The visitor's number in line. Absent for somebody who never waited, because the room was off.
pub const NUMBER_HEADER: HeaderName = HeaderName::from_static("x-beekeeper-number");

/// The visitor: the same for all passes and sessions of one place.
pub const SUBJECT_HEADER: HeaderName = HeaderName::from_static("x-beekeeper-subject");

/// Removes these headers from a request, because anybody can send them.
///
/// Some servers merge `-` and `_` in header names, so both forms are removed.
pub fn strip_identity(headers: &mut HeaderMap) {
    let is_identity = |name: &HeaderName| {
        let name = name.as_str().replace('_', "-");
        name == NUMBER_HEADER.as_str() || name == SUBJECT_HEADER.as_str()
    };
    let spoofed: Vec<HeaderName> = headers.keys().filter(|name| is_identity(name)).cloned().collect();
    for name in spoofed {
        headers.remove(name);
    }
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
}
