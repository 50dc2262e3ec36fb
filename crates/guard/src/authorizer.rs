use std::error::Error;

use http::HeaderMap;
use pass::Refused;

use crate::session::Session;
use crate::{GuardRules, RoomClient, RoomKeys, SessionKey, cookie};

/// Says who a visitor is, for a gateway that answers everybody else itself. It redirects nobody and writes no cookie, so it
/// opens no session: it knows those that a [`Guard`](crate::Guard) with the same session key has opened, and passes.
///
/// It keeps no list of sessions. A session that has ended, for whatever reason, enters here until it is as old as its rules let a
/// session be. A pass enters until it expires, as often as it is shown.
#[derive(Debug)]
pub struct Authorizer<C> {
    rules: GuardRules,
    key: Option<SessionKey>,
    keys: RoomKeys<C>,
    cookie: String,
}

/// Who enters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizedVisitor {
    pub subject: String,
    /// Absent for a visitor who never waited, because the room was off.
    pub number: Option<u64>,
}

/// Why a visitor does not enter.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAuthorized {
    /// They have no valid session and no pass, or this is wrong with their pass.
    #[error("the visitor has no valid session and no valid pass")]
    Refused(#[source] Option<Refused>),
    /// Their pass may be good.
    #[error("no key of the room is known, so no pass can be verified")]
    NoKeys,
}

impl<C: RoomClient> Authorizer<C> {
    /// Without a session key, only passes count.
    pub fn new(rules: GuardRules, key: Option<SessionKey>, keys: RoomKeys<C>) -> Self {
        let cookie = cookie::name(&rules);
        Self { rules, key, keys, cookie }
    }

    /// Fetches the room's keys before the first pass needs them. If the room does not answer, that pass asks again.
    pub async fn warm_up(&self, now: u64) {
        if let Err(error) = self.keys.refresh(now).await {
            tracing::warn!(error = &error as &dyn Error, "could not fetch the room's keys at start");
        }
    }

    /// The visitor with this cookie or this pass.
    pub async fn visitor(
        &self,
        headers: &HeaderMap,
        pass: Option<&str>,
        now: u64,
    ) -> Result<AuthorizedVisitor, NotAuthorized> {
        if let Some(Session { subject, number, .. }) = self.session(headers, now) {
            return Ok(AuthorizedVisitor { subject, number });
        }
        let pass = pass.ok_or(NotAuthorized::Refused(None))?;
        match self.keys.verify(pass, now).await {
            Ok(claims) => Ok(AuthorizedVisitor { subject: claims.sub, number: claims.queue_position }),
            Err(Refused::Signature) if self.keys.count() == 0 => Err(NotAuthorized::NoKeys),
            Err(refused) => Err(NotAuthorized::Refused(Some(refused))),
        }
    }

    fn session(&self, headers: &HeaderMap, now: u64) -> Option<Session> {
        let key = self.key.as_ref()?;
        let cookies = cookie::sent(headers, &self.cookie);
        let found = Session::find(cookies, key, &self.rules.name, self.rules.times.session, now);
        found.map(|(session, _)| session)
    }
}
