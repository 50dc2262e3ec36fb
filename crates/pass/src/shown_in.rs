/// Where a person sees the answer to a request, as far as its headers say. Browsers write them, and no page can change them.
///
/// The door gives a place or a pass, and the guard a session, only to somebody who opens a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownIn {
    /// In a window or a tab of its own. Old browsers and programs say nothing of it, and are taken at their word.
    Window,
    /// Inside another page, perhaps of another site, to people who see nothing of it. Often no cookie is sent with it.
    Frame,
    /// It is a picture, or for a script, or fetched before anybody asks for it.
    Nothing,
}

impl ShownIn {
    /// `headers` are names in lower case, and values. Of two with one name, the first counts, but for a prefetch.
    ///
    /// They are gone through once, because everybody who joins is asked: looking one up takes longer than comparing all of them.
    pub fn of<'a>(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let (mut accept, mut dest, mut mode) = (None, None, None);
        for (name, value) in headers {
            match name {
                // Safari and older versions of Chrome send the second one, older versions of Safari and apps that show links the third,
                // and older versions of Firefox the last.
                "sec-purpose" | "purpose" | "x-purpose" | "x-moz" if is_prefetch(value) => {
                    return Self::Nothing;
                }
                "accept" => _ = accept.get_or_insert(value),
                "sec-fetch-dest" => _ = dest.get_or_insert(value),
                "sec-fetch-mode" => _ = mode.get_or_insert(value),
                _ => {}
            }
        }
        // Node's `fetch`, which is no browser, sends a mode alone.
        if dest.is_some() && mode.is_some_and(|mode| mode != b"navigate") {
            return Self::Nothing;
        }
        match dest {
            // Old browsers, and whatever fetches the pictures of an e-mail, say at least that they want pictures.
            None if accept.is_some_and(names_pictures) => Self::Nothing,
            None | Some(b"document") => Self::Window,
            // The site's own service worker passes a visit on. No script of another site can: it may not fetch in this mode.
            Some(b"empty") if mode.is_some() => Self::Window,
            Some(b"iframe" | b"frame" | b"embed" | b"object" | b"fencedframe") => Self::Frame,
            Some(_) => Self::Nothing,
        }
    }
}

/// Whether it names pictures and no page. What names neither is a program's, or API Gateway's in the place of a missing one.
fn names_pictures(accept: &[u8]) -> bool {
    let begins_with = |named: &[u8], kind: &[u8]| {
        named.trim_ascii_start().get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind))
    };
    let names = |kind: &[u8]| accept.split(|byte| *byte == b',').any(|named| begins_with(named, kind));
    names(b"image/") && !names(b"text/html")
}

fn is_prefetch(purpose: &[u8]) -> bool {
    purpose
        .split(|byte| b";,".contains(byte))
        .map(<[u8]>::trim_ascii)
        .any(|token| [&b"prefetch"[..], b"preview"].iter().any(|purpose| token.eq_ignore_ascii_case(purpose)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is empty isn't said.
    fn shown_to<const N: usize>(said: [(&'static str, &str); N]) -> ShownIn {
        let said = said.iter().filter(|(_, value)| !value.is_empty());
        ShownIn::of(said.map(|(name, value)| (*name, value.as_bytes())))
    }

    #[test]
    fn of_a_header_that_is_said_twice_the_first_counts() {
        let said = [("sec-fetch-dest", "document"), ("sec-fetch-dest", "image"), ("accept", "image/*")];
        assert_eq!(shown_to(said), ShownIn::Window);
    }

    #[test]
    fn only_a_window_is_a_window() {
        let [window, frame, nothing] = [ShownIn::Window, ShownIn::Frame, ShownIn::Nothing];
        for (dest, mode, purpose, expected) in [
            ("", "", "", window),
            ("", "navigate", "", window),
            ("document", "", "", window),
            ("document", "navigate", "", window),
            ("iframe", "navigate", "", frame),
            ("iframe", "", "", frame),
            ("fencedframe", "navigate", "", frame),
            ("object", "navigate", "", frame),
            ("embed", "navigate", "", frame),
            ("frame", "navigate", "", frame),
            ("image", "no-cors", "", nothing),
            ("image", "", "", nothing),
            ("", "cors", "", window),
            ("empty", "cors", "", nothing),
            ("empty", "same-origin", "", nothing),
            ("empty", "navigate", "", window),
            ("empty", "", "", nothing),
            ("document", "no-cors", "", nothing),
            ("Document", "navigate", "", nothing),
            ("document, image", "navigate", "", nothing),
            ("\u{fe}", "navigate", "", nothing),
            ("something-new", "navigate", "", nothing),
            ("document", "navigate", "prefetch", nothing),
            ("document", "navigate", "prefetch;prerender", nothing),
            ("document", "navigate", "Prefetch; anonymous-client-ip", nothing),
            ("document", "navigate", "preview", nothing),
            ("document", "navigate", "prefetching", window),
        ] {
            for purpose_header in ["sec-purpose", "purpose", "x-purpose", "x-moz"] {
                let said = [("sec-fetch-dest", dest), ("sec-fetch-mode", mode), (purpose_header, purpose)];
                assert_eq!(shown_to(said), expected, "{said:?}");
            }
        }
    }

    #[test]
    fn who_says_nothing_else_says_whether_they_want_a_picture() {
        let page = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        let picture = "image/webp,image/apng,image/*,*/*;q=0.8";
        let [window, nothing] = [ShownIn::Window, ShownIn::Nothing];
        for (accept, dest, expected) in [
            (page, "", window),
            ("*/*", "", window),
            ("", "", window),
            (" , ;q=1", "", window),
            ("application/xml;q=0.9, Text/HTML ;level=1", "", window),
            (picture, "", nothing),
            ("image/*", "", nothing),
            ("text/*", "", window),
            ("*;q=0.5", "", window),
            ("application/json", "", window),
            ("Image/PNG", "", nothing),
            (picture, "document", window),
            (page, "image", nothing),
        ] {
            let said = [("accept", accept), ("sec-fetch-dest", dest)];
            assert_eq!(shown_to(said), expected, "{said:?}");
        }
    }

    #[test]
    fn any_of_these_headers_tells_of_a_prefetch() {
        let headers = ["sec-purpose", "purpose", "x-purpose", "x-moz"];
        for prefetch in headers {
            let said = headers.map(|name| (name, if name == prefetch { "prefetch" } else { "other" }));
            assert_eq!(shown_to(said), ShownIn::Nothing, "{prefetch}");
        }
    }
}
