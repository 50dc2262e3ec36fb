use http::{HeaderMap, Method};
use pass::{Refused, ShownIn};

use crate::{GuardedRequest, SessionCookie, SessionId};

/// What to do with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The shop answers it.
    Enter(ToShop),
    /// The guard answers it. The shop never sees it.
    Answer(GuardAnswer),
}

/// What the shop learns of the visitor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToShop {
    /// For the header [`SUBJECT_HEADER`](crate::SUBJECT_HEADER). None without a session.
    pub subject: Option<String>,
    /// For the header [`NUMBER_HEADER`](crate::NUMBER_HEADER).
    pub number: Option<u64>,
    /// What the shop may [end](crate::Guard::end). None without a session.
    pub session: Option<SessionId>,
    /// What let the visitor in. None without a session.
    pub cookie: Option<SessionCookie>,
    pub outcome: GuardOutcome,
}

/// An answer of the guard. Never cached: each is for one visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardAnswer {
    pub status: u16,
    /// The room's door, or a path of the shop.
    pub location: Option<String>,
    /// The value of a `Set-Cookie` header.
    pub set_cookie: Option<String>,
    /// HTML for a person.
    pub body: &'static str,
    pub outcome: GuardOutcome,
}

/// What became of a request, for metrics and logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuardOutcome {
    /// It needed no session.
    #[default]
    Bypassed,
    /// It has a session.
    Entered,
    /// It has no session, and the room does not answer; the operator chose that everybody may enter then.
    EnteredUnguarded,
    /// A pass became a session.
    Exchanged,
    /// Redirected to the URL without a pass.
    Cleaned,
    /// No session and no pass: sent to the room.
    Sent,
    /// No session, and a pass that is none: sent to the room.
    PassRefused(Refused),
    /// The room's door has just given this pass for one that was refused, and it is refused too. Another one would not be
    /// better: the guard and the room disagree.
    Circling(Refused),
    /// The room's door was asked for a new place, because the visitor's session has ended, and has sent them back with the place that
    /// they had: the limit of active visitors was just removed, or a proxy has dropped the question.
    NoNewPlace,
    /// No session, although the room's door was asked for a pass several times just now: probably the shop leads its visitors on to
    /// another name than the door does.
    SentInVain,
    /// The pass was exchanged before: sent to the room.
    PassUsed,
    /// The visitor's session has ended, in a room that counts the active visitors: sent to the room, which gives them a new place.
    SessionEnded,
    /// The pass is not for this browser, or the guard cannot tell this browser yet: sent to the door for another one.
    SentForNonce,
    /// The visitor has a session in another browser.
    Taken,
    /// No session, in a frame of a page: refused.
    Framed,
    /// No session, and not a request for a page: refused.
    NoPage,
    /// The room signs no nonces.
    NoNonce,
    /// The live sessions cannot be read or written.
    Unavailable,
}

impl Decision {
    pub fn outcome(&self) -> GuardOutcome {
        match self {
            Self::Enter(to_shop) => to_shop.outcome,
            Self::Answer(answer) => answer.outcome,
        }
    }
}

impl GuardOutcome {
    /// All words of [`GuardOutcome::as_str`].
    pub const WORDS: [&str; 15] = [
        "bypassed",
        "entered",
        "entered-unguarded",
        "exchanged",
        "cleaned",
        "sent",
        "pass-refused",
        "circling",
        "pass-used",
        "session-ended",
        "sent-for-nonce",
        "taken",
        "framed",
        "no-page",
        "unavailable",
    ];

    /// The word for metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bypassed => "bypassed",
            Self::Entered => "entered",
            Self::EnteredUnguarded => "entered-unguarded",
            Self::Exchanged => "exchanged",
            Self::Cleaned => "cleaned",
            Self::Sent => "sent",
            Self::PassRefused(_) => "pass-refused",
            Self::Circling(_) | Self::NoNewPlace | Self::SentInVain => "circling",
            Self::PassUsed => "pass-used",
            Self::SessionEnded => "session-ended",
            Self::SentForNonce => "sent-for-nonce",
            Self::Taken => "taken",
            Self::Framed => "framed",
            Self::NoPage => "no-page",
            Self::NoNonce | Self::Unavailable => "unavailable",
        }
    }
}

impl GuardAnswer {
    pub(crate) fn redirect(
        status: u16,
        location: String,
        set_cookie: Option<String>,
        outcome: GuardOutcome,
    ) -> Self {
        Self { status, location: Some(location), set_cookie, body: "", outcome }
    }

    pub(crate) fn page(outcome: GuardOutcome) -> Self {
        let (status, body) = match outcome {
            GuardOutcome::Taken => (403, include_str!("taken.html")),
            GuardOutcome::Framed => (403, include_str!("framed.html")),
            GuardOutcome::NoNewPlace => {
                (503, concat!(include_str!("one_moment.html"), include_str!("no_new_place.html")))
            }
            GuardOutcome::NoPage => (403, "Please wait in line first.\n"),
            _ => (503, concat!(include_str!("one_moment.html"), include_str!("unavailable.html"))),
        };
        Self { status, location: None, set_cookie: None, body, outcome }
    }

    /// What [`Guard::decide`](crate::Guard::decide) says with status 403 to a request with these headers. For a web server that asks
    /// for the decision first and for the answer afterwards.
    pub fn refused(headers: &HeaderMap) -> Self {
        let request = GuardedRequest { method: &Method::GET, target: "/", headers, client: None };
        Self::page(match request.shown() {
            ShownIn::Window => GuardOutcome::Taken,
            ShownIn::Frame => GuardOutcome::Framed,
            ShownIn::Nothing => GuardOutcome::NoPage,
        })
    }

    pub const CONTENT_TYPE: &str = "text/html; charset=utf-8";

    /// Seconds after which the request may be repeated, for the header `Retry-After`.
    pub fn retry_after(&self) -> Option<u32> {
        (self.status == 503).then_some(10)
    }
}
