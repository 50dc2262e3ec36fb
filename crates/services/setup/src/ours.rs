//! Our lines that nginx forgets in a block with such a directive of its own: where a location has an `error_page`, for example, the
//! server's don't hold.

use crate::identity::HandOver;
use crate::tree::FoundDirective;

/// What the guard answers with, and no other status: `error_page` of the shop for it would hide the guard's answer.
pub(crate) const GUARDS_STATUS: &str = "401";
/// Where a request goes that the guard lets not through.
const AWAY: &str = "@beekeeper";
/// The cookie of an answer with which the shop ends a session, or nothing.
const ENDED: &str = "$bk_ended";

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OurLine {
    /// A block with a directive of this name forgets those around it.
    pub(crate) directive: &'static str,
    pub(crate) text: String,
    /// The words that tell it, or what stands in its place, from the shop's own.
    words: Vec<String>,
    pub(crate) missing: WhenMissing,
}

/// What comes of a block without our line, if it is in a file that other sites include, which isn't changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WhenMissing {
    /// Nobody enters who may not, and only a session that the shop ends goes on.
    Harmless,
    /// A visitor would see the guard's answer. The line works only once nginx knows the guard.
    NotSentAway,
    /// The shop would believe a browser. This line can be there before nginx knows what the guard says.
    Deceived { instead: String },
}

impl OurLine {
    pub(crate) fn is(&self, found: FoundDirective<'_>) -> bool {
        let arguments = found.directive.arguments();
        let has = |word: &String| arguments.iter().any(|argument| argument.eq_ignore_ascii_case(word));
        found.directive.name() == self.directive && self.words.iter().all(has)
    }
}

/// Sends away whom the guard does not let in.
pub(crate) fn sent_away() -> OurLine {
    OurLine {
        directive: "error_page",
        text: format!("error_page {GUARDS_STATUS} = {AWAY};"),
        words: vec![GUARDS_STATUS.to_owned(), AWAY.to_owned()],
        missing: WhenMissing::NotSentAway,
    }
}

/// Lets the guard hear when the shop ends a session.
fn ended() -> OurLine {
    OurLine {
        directive: "add_header",
        text: format!("add_header Set-Cookie {ENDED} always;"),
        words: vec![ENDED.to_owned()],
        missing: WhenMissing::Harmless,
    }
}

/// All of them, where requests are handed over in these ways.
pub(crate) fn lines<'w>(ways: impl IntoIterator<Item = &'w HandOver>) -> Vec<OurLine> {
    let headers = ways.into_iter().flat_map(|way| {
        way.lines().map(|(header, text)| OurLine {
            directive: way.sets,
            text,
            missing: WhenMissing::Deceived { instead: format!("{} {header} \"\";", way.sets) },
            words: vec![header],
        })
    });
    [sent_away(), ended()].into_iter().chain(headers).collect()
}
