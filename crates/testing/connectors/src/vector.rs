use serde::{Deserialize, Serialize};

/// A pass, and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassVector {
    pub what: String,
    pub pass: String,
    pub verdict: PassVerdict,
    pub enters: Option<Visitor>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PassVerdict {
    /// The visitor gets a session.
    Accepted,
    /// The visitor goes to the room for another pass.
    Expired,
    /// The shop says so. At the room, the visitor would get the same pass again.
    Refused,
}

/// The value of a session cookie, and whom it lets in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionVector {
    pub what: String,
    pub cookie: String,
    pub enters: Option<Visitor>,
}

/// A whole `Cookie` header, and whom it lets in. Each character is one byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CookieVector {
    pub what: String,
    pub header: String,
    pub enters: Option<Visitor>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visitor {
    pub subject: String,
    pub number: Option<u64>,
}

/// A request for the shop, and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestVector {
    pub what: String,
    pub method: String,
    pub target: String,
    pub accept: String,
    pub cookie: String,
    pub expected: Expected,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Expected {
    /// The shop answers.
    Enters(Visitor),
    /// A redirect within the shop, with a session if the visitor had none. Then the page that was remembered is forgotten.
    Cleaned {
        location: String,
        opens_session: bool,
    },
    /// A redirect to the room. The page that the visitor asked for is remembered in a cookie. Where a form was sent to is none, and then
    /// the redirect has status 303.
    Waits {
        remembers: Option<String>,
    },
    Refused,
}
