use crate::exchange::BrowserSecret;
use crate::target::ReturnPath;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// What the guard remembers, in the visitor's own browser, of somebody whom it sent to the room.
///
/// It is not sealed. Whoever writes it leads only themselves to a path of the shop, and knows no secret of another browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentVisitor {
    /// What tells this browser from all others. None in a cookie of an older guard.
    pub(crate) browser: Option<BrowserSecret>,
    /// None if they were sent for another reason than that they had no session.
    pub(crate) trips: Option<Trips>,
    /// When the visitor, already with a pass, was sent through the door for a better one.
    pub(crate) asked: Option<u64>,
    /// The page that they asked for.
    pub(crate) path: Option<ReturnPath>,
    /// The subject whose session has ended, if they were sent for a new place and not only for a better pass.
    pub(crate) again: Option<String>,
}

/// How often somebody without a session was sent to the door for one page, in a row, and when last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trips {
    pub(crate) last: u64,
    pub(crate) count: u8,
}

impl Trips {
    fn read(text: &str) -> Option<Self> {
        let (last, count) = text.split_once('-')?;
        Some(Self { last: last.parse().ok()?, count: count.parse().ok()? })
    }
}

impl SentVisitor {
    /// The cookie's value: `sent.TRIPS.ASKED.PATH.SECRET`, and `.AGAIN` if there is one. An older guard wrote a nonce in place of the trips.
    /// It is no secret, because passes say it.
    pub(crate) fn value(&self) -> String {
        let trips = self.trips.map(|Trips { last, count }| format!("{last}-{count}")).unwrap_or_default();
        let browser = self.browser.map(BrowserSecret::reveal).unwrap_or_default();
        let asked = self.asked.map(|asked| asked.to_string()).unwrap_or_default();
        let path = self.path.as_ref().map(|path| URL_SAFE_NO_PAD.encode(path.as_str())).unwrap_or_default();
        let again = self.again.as_ref().map(|subject| format!(".{subject}")).unwrap_or_default();
        format!("sent.{trips}.{asked}.{path}.{browser}{again}")
    }

    /// None if this cookie says something else. What cannot be used of it is left out.
    pub(crate) fn read(value: &str) -> Option<Self> {
        let mut parts = value.strip_prefix("sent.")?.split('.');
        let (trips, asked, path) = (Trips::read(parts.next()?), parts.next()?, parts.next()?);
        let browser = parts.next().and_then(BrowserSecret::read);
        let again = parts.next().filter(|subject| pass::is_subject(subject)).map(ToOwned::to_owned);
        let path = URL_SAFE_NO_PAD.decode(path).ok().and_then(|path| String::from_utf8(path).ok());
        let path = path.and_then(|path| ReturnPath::new(&path));
        Some(Self { browser, trips, asked: asked.parse().ok(), path, again })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_remembered_is_read_again() {
        let path = ReturnPath::new("/tickets/7?seat=a;b,c");
        for sent in [
            SentVisitor {
                browser: Some(BrowserSecret::from_bytes([1; 16])),
                trips: Some(Trips { last: 1_800_000_000, count: 2 }),
                asked: Some(7),
                path: path.clone(),
                again: Some("kFv3q0Yd".into()),
            },
            SentVisitor { browser: None, trips: None, asked: None, path, again: None },
            SentVisitor { browser: None, trips: None, asked: None, path: None, again: None },
        ] {
            assert_eq!(SentVisitor::read(&sent.value()), Some(sent));
        }
    }

    /// Everybody reads it in a pass who has the link.
    #[test]
    fn an_older_guards_nonce_is_no_secret() {
        let read = SentVisitor::read("sent.AQEBAQEBAQEBAQEBAQEBAQ.7.L2E").unwrap();
        let path = ReturnPath::new("/a");
        assert_eq!(read, SentVisitor { browser: None, trips: None, asked: Some(7), path, again: None });
    }

    #[test]
    fn a_path_of_another_site_is_not_remembered() {
        for target in ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nx: y"] {
            let value = format!("sent...{}", URL_SAFE_NO_PAD.encode(target));
            assert_eq!(SentVisitor::read(&value).unwrap().path, None, "{target}");
        }
        for other in ["", "session.x", "sent", "sent.", "sent.."] {
            assert_eq!(SentVisitor::read(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn anything_can_be_in_a_cookie(value in prop_oneof![".*", "sent\\.[!-~]{0,60}"]) {
            if let Some(sent) = SentVisitor::read(&value) {
                prop_assert!(sent.value().bytes().all(|byte| byte.is_ascii_graphic() && byte != b';'));
            }
        }
    }
}
