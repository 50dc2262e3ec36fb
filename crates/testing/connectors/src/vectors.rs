use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use emulators::workspace;
use pass::Jwks;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::VectorKey;
use crate::forge::{mac, unsigned};

const ABOUT: &str = "What a shop in front of which a connector stands has to do. Made by crates/testing/connectors. Passes \
                     and sessions are valid from 2023 to 2100, or over, or begin in 2100, so that no test needs a clock.";

const ROOM: &str = "https://room.example/prod";
const NAME: &str = "sale";
const SECRET: &str = "a secret of 32 characters or more";
const SUBJECT: &str = "015a198ef7f44f5e19aeee0c127af5e0fdc1862da849ed87f70ec7138c6055d1";
const NUMBER: u64 = 4711;
/// In 2023, and an hour later.
const PAST: u64 = 1_700_000_000;
const OVER: u64 = PAST + 3600;
/// In 2100.
const FUTURE: u64 = 4_102_444_800;

const SESSION: &str = "__Host-bk_sale_session";
const PAGE: &str = "__Host-bk_sale_page";

/// The test vectors of all connectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vectors {
    about: String,
    pub room: String,
    pub name: String,
    pub secret: String,
    pub keys: Jwks,
    pub passes: Vec<PassVector>,
    pub sessions: Vec<SessionVector>,
    pub requests: Vec<RequestVector>,
}

/// A pass, and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassVector {
    pub what: String,
    pub pass: String,
    pub verdict: PassVerdict,
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
    /// A redirect within the shop, with a session if the visitor had none.
    Cleaned {
        location: String,
        opens_session: bool,
    },
    /// A redirect to the room. The page that the visitor asked for is remembered in a cookie.
    Waits {
        remembers: String,
    },
    Refused,
}

impl Vectors {
    /// Where they are kept.
    pub fn path() -> PathBuf {
        workspace::root().join("docs/connectors/vectors.json")
    }

    pub fn read() -> Result<Self> {
        let path = Self::path();
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("could not read {}", path.display()))
    }

    /// The file's text.
    pub fn to_text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn make() -> Result<Self> {
        let (current, previous) = (VectorKey::named("current")?, VectorKey::named("previous")?);
        let keys = [current.published()?, previous.published()?];
        Ok(Self {
            about: ABOUT.into(),
            room: ROOM.into(),
            name: NAME.into(),
            secret: SECRET.into(),
            keys: Jwks { keys: keys.into_iter().flat_map(|jwks| jwks.keys).collect() },
            passes: passes(&current, &previous, &VectorKey::named("stranger")?)?,
            sessions: sessions(),
            requests: requests(&current)?,
        })
    }
}

/// The claims of a valid pass, with these changes. Null takes a claim away.
fn claims(changes: &Value) -> Value {
    let mut claims = json!({
        "iss": ROOM, "aud": NAME, "sub": SUBJECT, "queue_position": NUMBER, "token_use": "access",
        "iat": PAST, "nbf": PAST, "exp": FUTURE,
    });
    if let (Some(claims), Some(changes)) = (claims.as_object_mut(), changes.as_object()) {
        for (name, value) in changes {
            claims.remove(name);
            if !value.is_null() {
                claims.insert(name.clone(), value.clone());
            }
        }
    }
    claims
}

fn passes(current: &VectorKey, previous: &VectorKey, stranger: &VectorKey) -> Result<Vec<PassVector>> {
    let vector = |what: &str, verdict, pass: String| PassVector { what: what.into(), pass, verdict };
    let valid = current.pass(&claims(&json!({})))?;
    let (signed, signature) = valid.rsplit_once('.').context("a pass has three parts")?;
    let (header, _) = signed.split_once('.').context("a pass has three parts")?;
    let head = |algorithm: &str, kid: &str| json!({ "alg": algorithm, "kid": kid, "typ": "JWT" });
    let ours = head("RS256", &current.id()?);
    let changed = |changes: Value| current.sign(&ours, &claims(&changes));
    let tampered = URL_SAFE_NO_PAD.encode(claims(&json!({ "queue_position": 1 })).to_string());
    let refused = |what, pass| vector(what, PassVerdict::Refused, pass);
    Ok(vec![
        vector("a pass", PassVerdict::Accepted, valid.clone()),
        vector(
            "of somebody who never waited, so without a number",
            PassVerdict::Accepted,
            current.pass(&claims(&json!({ "queue_position": null })))?,
        ),
        vector("signed with the previous key", PassVerdict::Accepted, previous.pass(&claims(&json!({})))?),
        vector("with a claim that is not known", PassVerdict::Accepted, changed(json!({ "colour": "red" }))?),
        vector("expired", PassVerdict::Expired, changed(json!({ "exp": OVER }))?),
        refused("not valid yet", changed(json!({ "nbf": FUTURE, "exp": FUTURE + 3600 }))?),
        refused("without an end", changed(json!({ "exp": null }))?),
        refused("without a beginning", changed(json!({ "nbf": null }))?),
        refused("of another issuer", changed(json!({ "iss": "https://room.example" }))?),
        refused("of an issuer with a slash at the end", changed(json!({ "iss": format!("{ROOM}/") }))?),
        refused("for another room", changed(json!({ "aud": "other" }))?),
        refused("for nobody", changed(json!({ "aud": null }))?),
        refused("for another use", changed(json!({ "token_use": "id" }))?),
        refused("for no use", changed(json!({ "token_use": null }))?),
        refused("without a subject", changed(json!({ "sub": null }))?),
        refused("with a subject that ends a header", changed(json!({ "sub": "a\r\nx-number: 1" }))?),
        refused("with a subject that changes a session", changed(json!({ "sub": "a.1.4102444800" }))?),
        refused("with a number that somebody changed", format!("{header}.{tampered}.{signature}")),
        refused(
            "signed with a key of its own",
            stranger.sign(&head("RS256", &stranger.id()?), &claims(&json!({})))?,
        ),
        refused(
            "signed with a key of its own, under our key's id",
            stranger.sign(&ours, &claims(&json!({})))?,
        ),
        refused(
            "with the algorithm none",
            format!("{}.", unsigned(&head("none", &current.id()?), &claims(&json!({})))),
        ),
        refused(
            "with the algorithm None",
            format!("{}.", unsigned(&head("None", &current.id()?), &claims(&json!({})))),
        ),
        refused(
            "with HS256 and our public key as the secret",
            current.sign_with_public_key(&claims(&json!({})))?,
        ),
        refused("with RS512", current.sign_rs512(&claims(&json!({})))?),
        refused("without its signature", format!("{signed}.")),
        refused("with a signature that is cut", format!("{signed}.{}", &signature[..signature.len() - 8])),
        refused("without its last part", signed.to_owned()),
        refused("with a part too many", format!("{valid}.x")),
        refused("that is no token", "x.y.z".to_owned()),
        refused(
            "whose header is no object",
            format!("{}.{}.{signature}", URL_SAFE_NO_PAD.encode("7"), &signed[header.len() + 1..]),
        ),
        refused(
            "that is much too long",
            current.sign(&ours, &claims(&json!({ "colour": "x".repeat(5000) })))?,
        ),
    ])
}

/// A session cookie: the subject, the number, the end and the proof.
fn session(secret: &str, name: &str, text: &str) -> String {
    format!("{text}.{}", mac(secret.as_bytes(), &format!("{name}.{text}")))
}

fn valid_session() -> String {
    session(SECRET, NAME, &format!("{SUBJECT}.{NUMBER}.{FUTURE}"))
}

fn visitor(number: Option<u64>) -> Visitor {
    Visitor { subject: SUBJECT.into(), number }
}

fn sessions() -> Vec<SessionVector> {
    let valid = valid_session();
    let vector = |what: &str, cookie: String, enters| SessionVector { what: what.into(), cookie, enters };
    let refused = |what, cookie| vector(what, cookie, None);
    vec![
        vector("a session", valid.clone(), Some(visitor(Some(NUMBER)))),
        vector(
            "without a number",
            session(SECRET, NAME, &format!("{SUBJECT}..{FUTURE}")),
            Some(visitor(None)),
        ),
        refused("over", session(SECRET, NAME, &format!("{SUBJECT}.{NUMBER}.{OVER}"))),
        refused("of another room", session(SECRET, "other", &format!("{SUBJECT}.{NUMBER}.{FUTURE}"))),
        refused(
            "of another shop",
            session("another secret of 32 characters!", NAME, &format!("{SUBJECT}.{NUMBER}.{FUTURE}")),
        ),
        refused("with another number", valid.replace(".4711.", ".1.")),
        refused("with another end", valid.replace(&FUTURE.to_string(), &(FUTURE + 1).to_string())),
        refused("without its proof", format!("{SUBJECT}.{NUMBER}.{FUTURE}.")),
        refused("empty", String::new()),
        refused("of another form", "x".repeat(300)),
    ]
}

fn requests(current: &VectorKey) -> Result<Vec<RequestVector>> {
    const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";
    let pass = current.pass(&claims(&json!({})))?;
    let expired = current.pass(&claims(&json!({ "exp": OVER })))?;
    let session = format!("{SESSION}={}", valid_session());
    let page = |path: &str| format!("{PAGE}={}", URL_SAFE_NO_PAD.encode(path));
    let vector = |what: &str, target: String, cookie: String, expected| RequestVector {
        what: what.into(),
        method: "GET".into(),
        target,
        accept: HTML.into(),
        cookie,
        expected,
    };
    let waits = |path: &str| Expected::Waits { remembers: path.into() };
    let opened = |location: &str| Expected::Cleaned { location: location.into(), opens_session: true };
    let none = String::new;
    let enters = || Expected::Enters(visitor(Some(NUMBER)));
    let target = "/a%20b/?x=1&y";
    let mut vectors = vec![
        vector("without anything", target.into(), none(), waits(target)),
        vector("with a pass", format!("/a?x=1&bk_pass={pass}&y"), none(), opened("/a?x=1&y")),
        vector("with nothing but a pass in the query", format!("/a?bk_pass={pass}"), none(), opened("/a")),
        vector(
            "with a pass, for the page of before",
            format!("/?bk_pass={pass}"),
            page("/tickets/7?seat=a;b"),
            opened("/tickets/7?seat=a;b"),
        ),
        vector(
            "with a page of before that is another site",
            format!("/a?bk_pass={pass}"),
            page("//evil.example/"),
            opened("/a"),
        ),
        vector(
            "with a page of before that is another header",
            format!("/a?bk_pass={pass}"),
            page("/\r\nx-evil: 1"),
            opened("/a"),
        ),
        vector(
            "with a page of before that is a whole URL",
            format!("/a?bk_pass={pass}"),
            page("https://evil.example/"),
            opened("/a"),
        ),
        vector(
            "with a pass at a path that browsers take for a site",
            format!("//evil.example/?bk_pass={pass}"),
            none(),
            opened("/"),
        ),
        vector("for a path that browsers take for a site", "//evil.example/".into(), none(), waits("/")),
        vector("for a path with a backslash", "/\\evil.example/".into(), none(), waits("/")),
        vector("with an expired pass", format!("/a?bk_pass={expired}"), none(), waits("/a")),
        vector("with an empty pass", "/a?bk_pass=".into(), none(), waits("/a")),
        vector("with a session", target.into(), session.clone(), enters()),
        vector("with a session among other cookies", target.into(), format!("a=1; {session}; b=2"), enters()),
        vector(
            "with a session and a pass",
            format!("/a?bk_pass={pass}&x"),
            session.clone(),
            Expected::Cleaned { location: "/a?x".into(), opens_session: false },
        ),
        vector(
            "with a session and a forged pass",
            "/a?bk_pass=x.y.z".into(),
            session.clone(),
            Expected::Cleaned { location: "/a".into(), opens_session: false },
        ),
        vector(
            "with the session in a cookie of another name",
            target.into(),
            session.replace("_session", "_sessions"),
            waits(target),
        ),
        vector(
            "with the pass in another parameter",
            format!("/a?xbk_pass={pass}"),
            none(),
            waits(&format!("/a?xbk_pass={pass}")),
        ),
    ];
    let other =
        |what: &str, method: &str, accept: &str, target: String, cookie: String, expected| RequestVector {
            method: method.into(),
            accept: accept.into(),
            ..vector(what, target, cookie, expected)
        };
    vectors.extend([
        other("of a script without a session", "GET", "*/*", target.into(), none(), Expected::Refused),
        other(
            "of a script with a pass",
            "GET",
            "*/*",
            format!("/a?bk_pass={pass}"),
            none(),
            Expected::Refused,
        ),
        other(
            "of a script with a session",
            "GET",
            "application/json",
            target.into(),
            session.clone(),
            enters(),
        ),
        other("of a form without a session", "POST", HTML, target.into(), none(), Expected::Refused),
        other("of a form with a pass", "POST", HTML, format!("/a?bk_pass={pass}"), none(), Expected::Refused),
        other("of a form with a session", "POST", HTML, target.into(), session.clone(), enters()),
        other(
            "of a form with a session and a pass",
            "POST",
            HTML,
            format!("/a?bk_pass={pass}"),
            session,
            enters(),
        ),
    ]);
    Ok(vectors)
}
