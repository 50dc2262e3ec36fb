//! What a request to the door is for, as far as its headers say. Browsers write them, and no page can change them.

/// Who asks at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorCaller {
    /// Somebody opens the room in a window. Old browsers and programs say nothing, and are taken at their word.
    Person,
    /// Nobody waits for the answer: a link scanner, a prefetch, or a picture, a script or a `fetch` of any page on the web.
    Nobody,
    /// A page shows the room inside itself. Any page can, to people who see nothing of it.
    Frame,
}

impl DoorCaller {
    /// `header` returns the value of the first header with this name, which is in lower case.
    pub fn of<'a>(method: &str, header: impl Fn(&str) -> Option<&'a [u8]>) -> Self {
        // Safari and older versions of Chrome send the second one.
        let purpose = header("sec-purpose").or_else(|| header("purpose"));
        if method == "HEAD" || purpose.is_some_and(is_prefetch) {
            return Self::Nobody;
        }
        match header("sec-fetch-dest") {
            None | Some(b"document") => Self::Person,
            // A service worker of the room's own site passes a visit on: only there can it keep this mode.
            Some(b"empty") if header("sec-fetch-mode") == Some(b"navigate") => Self::Person,
            Some(b"iframe" | b"frame" | b"embed" | b"object" | b"fencedframe") => Self::Frame,
            Some(_) => Self::Nobody,
        }
    }
}

fn is_prefetch(purpose: &[u8]) -> bool {
    purpose
        .split(|byte| b";,".contains(byte))
        .any(|token| token.trim_ascii().eq_ignore_ascii_case(b"prefetch"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(method: &str, headers: &[(&str, &'static str)]) -> DoorCaller {
        let header =
            |name: &str| headers.iter().find(|(found, _)| *found == name).map(|(_, value)| value.as_bytes());
        DoorCaller::of(method, header)
    }

    #[test]
    fn head_and_prefetch_requests_only_look() {
        assert_eq!(caller("GET", &[]), DoorCaller::Person);
        assert_eq!(caller("HEAD", &[("sec-fetch-dest", "document")]), DoorCaller::Nobody);
        for purpose in ["prefetch", "prefetch;prerender", "Prefetch; anonymous-client-ip"] {
            for name in ["sec-purpose", "purpose"] {
                assert_eq!(
                    caller("GET", &[(name, purpose), ("sec-fetch-dest", "document")]),
                    DoorCaller::Nobody,
                    "{purpose}"
                );
            }
        }
        assert_eq!(caller("GET", &[("sec-purpose", "prefetching")]), DoorCaller::Person);
    }

    #[test]
    fn only_a_window_is_a_person() {
        let dest = |dest| caller("GET", &[("sec-fetch-dest", dest)]);
        assert_eq!(dest("document"), DoorCaller::Person);
        for other in [
            "image",
            "script",
            "style",
            "video",
            "empty",
            "worker",
            "Document",
            "document, image",
            "",
            "\u{fe}",
        ] {
            assert_eq!(dest(other), DoorCaller::Nobody, "{other}");
        }
        for frame in ["iframe", "frame", "embed", "object", "fencedframe"] {
            assert_eq!(dest(frame), DoorCaller::Frame, "{frame}");
        }
    }

    #[test]
    fn a_visit_through_a_service_worker_is_a_person() {
        let empty = |mode| caller("GET", &[("sec-fetch-dest", "empty"), ("sec-fetch-mode", mode)]);
        assert_eq!(empty("navigate"), DoorCaller::Person);
        for mode in ["no-cors", "cors", "same-origin"] {
            assert_eq!(empty(mode), DoorCaller::Nobody, "{mode}");
        }
        let frame = [("sec-fetch-dest", "iframe"), ("sec-fetch-mode", "navigate")];
        assert_eq!(caller("GET", &frame), DoorCaller::Frame);
    }
}
