//! The live sessions of several guards in front of one shop, in a table of DynamoDB.

use std::collections::HashMap;
use std::sync::Arc;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use guard::{Exchange, LiveSession, LiveSessions, OneSession, Opening, SessionId, SessionsFault};
use parking_lot::Mutex;
use waitroom::ports::{Fault, PortError, PortResult};

use crate::expressions::Statement;
use crate::items::{FORMAT, Item, number, text};
use crate::table::{Table, Written};

const OPEN: &str = "open";
const REPEAT: &str = "open once more";
const KEEP: &str = "keep";
const END: &str = "end";

/// A table with the key `id`, which is the visitor's subject. Several guards share it. Each call is one conditional write, and a repeat is another
/// one.
///
/// A visitor's page consists of many requests, so an answer to [`keep`](LiveSessions::keep) counts for a minute. That is how
/// long a session may live on at one guard after it was ended at another.
///
/// While the table doesn't answer, nobody waits for it: one visit in ten seconds asks, and the others are answered from memory.
#[derive(Clone, Debug)]
pub struct SharedSessions {
    table: Table,
    answers: Arc<Mutex<TableAnswers>>,
}

/// What the table last said of each subject's session.
#[derive(Debug, Default)]
struct TableAnswers {
    by_subject: HashMap<Box<str>, TableAnswer>,
    /// How many there were after old ones were last removed.
    cleaned: usize,
    /// Until when the table isn't asked, because it didn't answer.
    silent_until: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct TableAnswer {
    id: SessionId,
    is_live: bool,
    until: u64,
    /// When it is over because the shop ended it at this guard.
    ended: Option<u64>,
    at: u64,
}

impl SharedSessions {
    pub fn new(config: &SdkConfig, table: String) -> Self {
        Self { table: Table::new(Client::new(config), table), answers: Arc::default() }
    }

    /// Fails if there is no such table, if it has another key, or if reading it is not allowed.
    pub async fn check(&self) -> PortResult<()> {
        self.table.get("read the table of sessions", "nobody").await.map(drop)
    }

    /// The session that a write was refused for.
    async fn before(
        &self,
        attempt: &'static str,
        subject: &str,
        refused: Option<Item>,
    ) -> PortResult<Option<LiveSession>> {
        let item = self.table.refused_by(attempt, subject, refused).await?;
        let unreadable = || {
            let why = format!("the session of {subject} was not written by this version of the guard");
            PortError::new(attempt, Fault::Broken, why)
        };
        item.map(|item| session_in(&item).ok_or_else(unreadable)).transpose()
    }

    async fn try_open(
        &self,
        subject: &str,
        session: LiveSession,
        rule: OneSession,
        now: u64,
    ) -> PortResult<Opening> {
        let new = self.table.put(OPEN, item(subject, &session), if_is_newer(&session, rule, now)).await?;
        let before = match new {
            Written::Done(_) => return Ok(Opening::Opened),
            Written::Refused(item) => self.before(OPEN, subject, item).await?,
        };
        // Without it, the item has changed since the write. Then the visitor gets another pass.
        let Some(before) = before else { return Ok(Opening::Used) };
        match session.may_follow(&before, rule, now) {
            Opening::Opened if session.pass <= before.pass => {
                // The mark of a clock that was set back since stays.
                let session = LiveSession { pass: before.pass, ..session };
                let put = self.table.put(OPEN, item(subject, &session), if_unchanged(&before)).await?;
                return Ok(if matches!(put, Written::Done(_)) { Opening::Opened } else { Opening::Used });
            }
            Opening::Repeated => {}
            Opening::Taken => return Ok(Opening::Taken),
            Opening::Opened | Opening::Used => return Ok(Opening::Used),
        }
        let Some(repeat) = repeat(&session, now) else { return Ok(Opening::Used) };
        Ok(match self.table.update(REPEAT, subject, repeat).await? {
            Written::Done(_) => Opening::Repeated,
            Written::Refused(_) => Opening::Used,
        })
    }

    async fn try_keep(&self, subject: &str, session: LiveSession, now: u64) -> PortResult<bool> {
        let before = match self.table.update(KEEP, subject, keep(&session, now)).await? {
            Written::Done(_) => return Ok(true),
            Written::Refused(item) => self.before(KEEP, subject, item).await?,
        };
        // Another guard may have kept it for longer already.
        Ok(before.is_some_and(|before| before.id == session.id && before.is_live(now)))
    }
}

impl LiveSessions for SharedSessions {
    async fn open(
        &self,
        subject: &str,
        session: LiveSession,
        rule: OneSession,
        now: u64,
    ) -> Result<Opening, SessionsFault> {
        self.try_open(subject, session, rule, now).await.map_err(|error| fault(OPEN, error))
    }

    async fn keep(&self, subject: &str, session: LiveSession, now: u64) -> Result<bool, SessionsFault> {
        let answers = || self.answers.lock();
        if let Some(is_live) = answers().known(subject, &session, now) {
            return Ok(is_live);
        }
        if !answers().take_turn(now) {
            return Ok(answers().may_be_live(subject, session.id, now));
        }
        let kept = self.try_keep(subject, session, now).await;
        answers().note_silence(&kept, now);
        let is_live = kept.map_err(|error| fault(KEEP, error))?;
        answers().learn(subject, &session, is_live, now);
        Ok(is_live)
    }

    async fn end(&self, subject: &str, id: SessionId, now: u64) -> Result<(), SessionsFault> {
        let answers = || self.answers.lock();
        if answers().has_ended(subject, id) {
            return Ok(());
        }
        let at = now.saturating_add(LiveSession::FAREWELL);
        // Refused where there is nothing to end. A shop says it once, so it's asked of a silent table too.
        let ended = self.table.update(END, subject, end(id, at)).await;
        answers().note_silence(&ended, now);
        ended.map_err(|error| fault(END, error))?;
        answers().end(subject, id, at);
        Ok(())
    }
}

impl TableAnswer {
    fn is_live_at(&self, now: u64) -> bool {
        self.is_live && self.ended.is_none_or(|ended| now < ended)
    }
}

impl TableAnswers {
    /// For so many seconds an answer counts.
    const COUNTS: u64 = 60;
    /// For so many seconds the table is left alone after it didn't answer.
    const SILENCE: u64 = 10;

    /// Whether this request asks the table. Of those that come when a silence is over, the first one does.
    fn take_turn(&mut self, now: u64) -> bool {
        let next = now.saturating_add(Self::SILENCE);
        // If the clock was set back, a silence may seem to last for hours.
        let is_first = self.silent_until.is_none_or(|until| until <= now || until > next);
        if is_first && self.silent_until.is_some() {
            self.silent_until = Some(next);
        }
        is_first
    }

    fn note_silence<T>(&mut self, answer: &PortResult<T>, now: u64) {
        let is_silent = answer.as_ref().is_err_and(|error| error.fault != Fault::Broken);
        self.silent_until = is_silent.then(|| now.saturating_add(Self::SILENCE));
    }

    /// What the table said last of this session.
    fn of(&self, subject: &str, id: SessionId) -> Option<&TableAnswer> {
        self.by_subject.get(subject).filter(|answer| answer.id == id)
    }

    /// Of a session of which the table can't be asked: unless it said otherwise before, however long ago.
    fn may_be_live(&self, subject: &str, id: SessionId, now: u64) -> bool {
        self.of(subject, id).is_none_or(|answer| answer.is_live_at(now))
    }

    fn known(&self, subject: &str, session: &LiveSession, now: u64) -> Option<bool> {
        let answer = self.of(subject, session.id)?;
        let counts = now < answer.at.saturating_add(Self::COUNTS) && session.until <= answer.until;
        counts.then_some(answer.is_live_at(now))
    }

    fn has_ended(&self, subject: &str, id: SessionId) -> bool {
        self.of(subject, id).is_some_and(|answer| answer.ended.is_some())
    }

    fn end(&mut self, subject: &str, id: SessionId, at: u64) {
        if let Some(answer) = self.by_subject.get_mut(subject).filter(|answer| answer.id == id) {
            answer.ended = Some(at);
        }
    }

    /// Removes old answers when there are twice as many as after the last time, so that it costs little in all.
    fn learn(&mut self, subject: &str, session: &LiveSession, is_live: bool, now: u64) {
        if self.by_subject.len() >= (2 * self.cleaned).max(1024) {
            self.by_subject.retain(|_, answer| now < answer.at.saturating_add(Self::COUNTS));
            self.cleaned = self.by_subject.len();
        }
        let ended = self.of(subject, session.id).and_then(|before| before.ended);
        let answer = TableAnswer { id: session.id, is_live, until: session.until, ended, at: now };
        self.by_subject.insert(subject.into(), answer);
    }
}

/// The condition of [`LiveSession::may_follow`] for a pass that is newer than the mark.
fn if_is_newer(session: &LiveSession, rule: OneSession, now: u64) -> Statement {
    let pass = (":pass", number(session.pass));
    if rule == OneSession::Newest {
        return Statement::new("", "attribute_not_exists(#id) OR #pass < :pass", [pass]);
    }
    let Some(browser) = session.exchange.and_then(|exchange| exchange.browser) else {
        let condition =
            "attribute_not_exists(#id) OR (#pass < :pass AND (#until <= :now OR attribute_exists(#ended)))";
        return Statement::new("", condition, [pass, (":now", number(now))]);
    };
    let condition = "attribute_not_exists(#id) OR (#pass < :pass AND (#until <= :now OR attribute_exists(#ended) OR #browser = :browser))";
    Statement::new("", condition, [pass, (":now", number(now)), (":browser", text(&browser))])
}

fn if_unchanged(before: &LiveSession) -> Statement {
    Statement::new("", "#session = :before", [(":before", text(&before.id))])
}

/// Opens a session with the pass of the one that is there, under the condition of [`LiveSession::may_follow`]. The time of the
/// first exchange stays. None if nothing can tell that it is the same pass.
fn repeat(session: &LiveSession, now: u64) -> Option<Statement> {
    let Exchange { pass, browser } = session.exchange?;
    let time =
        "#opened > :before AND #opened < :after AND #exchanged = :exchanged AND attribute_not_exists(#ended)";
    let mut values = vec![
        (":before", number(now.saturating_sub(LiveSession::REPEAT))),
        (":after", number(now.saturating_add(LiveSession::REPEAT))),
        (":exchanged", text(&pass)),
    ];
    let condition = match browser {
        Some(browser) => {
            values.push((":browser", text(&browser)));
            format!("{time} AND #browser = :browser")
        }
        None => format!("{time} AND attribute_not_exists(#browser)"),
    };
    let kept = ["session", "until", "forget"];
    let changed = attributes(session).into_iter().filter(|(name, _)| kept.contains(name));
    let mut statement =
        Statement::new("SET #session = :session, #until = :until, #forget = :forget", &condition, []);
    statement.values.extend(values.into_iter().map(|(name, value)| (name.to_owned(), value)));
    statement.values.extend(changed.map(|(name, value)| (format!(":{name}"), value)));
    Some(statement)
}

/// Lets a live session live on. A session that the table does not know becomes known.
fn keep(session: &LiveSession, now: u64) -> Statement {
    let mut statement = Statement::new(
        "SET #session = :session, #pass = if_not_exists(#pass, :pass), #opened = if_not_exists(#opened, :opened), \
         #until = :until, #forget = :forget, #format = :format",
        "attribute_not_exists(#id) OR (#session = :session AND #until > :now AND #until < :until \
         AND (attribute_not_exists(#ended) OR #ended > :now))",
        [(":now", number(now))],
    );
    statement.values.extend(attributes(session).map(|(name, value)| (format!(":{name}"), value)));
    statement
}

/// The shop has ended this session, for the first time.
fn end(id: SessionId, at: u64) -> Statement {
    Statement::new(
        "SET #ended = :ended",
        "#session = :session AND attribute_not_exists(#ended)",
        [(":session", text(&id)), (":ended", number(at))],
    )
}

fn item(subject: &str, session: &LiveSession) -> Item {
    let exchanged = session.exchange.map(|exchange| ("exchanged", text(&exchange.pass)));
    let browser =
        session.exchange.and_then(|exchange| exchange.browser).map(|browser| ("browser", text(&browser)));
    let window = session.window.map(|window| ("window", number(window)));
    let ended = session.ended.map(|ended| ("ended", number(ended)));
    let all = [("id", text(subject))].into_iter().chain(attributes(session));
    let all = all.chain(exchanged).chain(browser).chain(window).chain(ended);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The attributes of every item, besides its key.
fn attributes(session: &LiveSession) -> [(&'static str, AttributeValue); 6] {
    /// No session and no pass is as old as this, in seconds.
    const REMEMBERED: u64 = 24 * 60 * 60;
    [
        ("session", text(&session.id)),
        ("pass", number(session.pass)),
        ("opened", number(session.opened)),
        ("until", number(session.until)),
        // DynamoDB deletes the item some time after this, if the operator has named the attribute as the time to live.
        ("forget", number(session.until.saturating_add(REMEMBERED))),
        ("format", number(FORMAT)),
    ]
}

fn session_in(item: &Item) -> Option<LiveSession> {
    let whole = |name: &str| item.get(name)?.as_n().ok()?.parse::<u64>().ok();
    if whole("format")? > FORMAT {
        return None;
    }
    let id = item.get("session")?.as_s().ok()?.parse().ok()?;
    // Earlier guards did not write these, and not every session has them.
    let fingerprint = |name: &str| item.get(name)?.as_s().ok()?.parse().ok();
    let exchange = fingerprint("exchanged").map(|pass| Exchange { pass, browser: fingerprint("browser") });
    let (window, ended) = (whole("window"), whole("ended"));
    let (pass, opened, until) = (whole("pass")?, whole("opened")?, whole("until")?);
    Some(LiveSession { id, pass, exchange, opened, until, window, ended })
}

fn fault(attempt: &'static str, error: PortError) -> SessionsFault {
    SessionsFault { attempt, source: error.into() }
}

#[cfg(test)]
mod tests {
    use frozen_names::{Section, assert_frozen};
    use guard::Fingerprint;

    use super::*;

    #[test]
    fn the_table_keeps_its_attributes() {
        let fingerprint = |byte| Fingerprint::from_bytes([byte; 16]);
        let exchange = Some(Exchange { pass: fingerprint(8), browser: Some(fingerprint(9)) });
        let id = SessionId::from_bytes([7; 16]);
        let session =
            LiveSession { id, pass: 1, exchange, opened: 2, until: 3, window: Some(4), ended: Some(5) };
        let whole = item("visitor", &session);
        assert_eq!(session_in(&whole), Some(session));
        let untold =
            LiveSession { exchange: exchange.map(|known| Exchange { browser: None, ..known }), ..session };
        assert_eq!(session_in(&item("visitor", &untold)), Some(untold));
        // As the first version wrote it.
        let first = [
            ("id", text("visitor")),
            ("session", text("BwcHBwcHBwcHBwcHBwcHBw")),
            ("pass", number(1_u64)),
            ("opened", number(2_u64)),
            ("until", number(3_u64)),
            ("forget", number(86_403_u64)),
            ("format", number(1_u64)),
        ];
        let first: Item = first.map(|(name, value)| (name.to_owned(), value)).into();
        let bare = LiveSession { exchange: None, window: None, ended: None, ..session };
        assert_eq!(session_in(&first), Some(bare));
        let before = |name: &str| first.get(name) == whole.get(name);
        assert!(first.keys().all(|name| before(name)), "a guard of the first version reads {whole:?}");
        assert_frozen(Section::SessionTable, whole.into_keys());
    }
}
