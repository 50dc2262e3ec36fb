use std::error::Error;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use pass::{Claims, Jwks, Refused, Verifier, key_id};
use tokio::sync::Mutex;

use crate::GuardRules;
use crate::key_cache::KeyCache;

/// Asks the room for its public keys. Its address comes from the guard's configuration, never from a request.
pub trait RoomClient: Send + Sync {
    fn keys(&self) -> impl Future<Output = Result<Jwks, RoomSilence>> + Send;
}

/// Why the room gave no keys, or took no report.
#[derive(Debug, thiserror::Error)]
pub enum RoomSilence {
    /// No connection, or no answer in time.
    #[error("the room does not answer at {url}")]
    NoAnswer { url: String, source: Box<dyn Error + Send + Sync> },
    #[error("the room answered with status {status} at {url}")]
    Status { url: String, status: u16 },
    /// The room itself, and no proxy in front of it, has nothing there for such a request.
    #[error("the room has nothing at {url}, and says so with status {status}")]
    NothingThere { url: String, status: u16 },
    #[error("what is at {url} are not the keys of a room; is this the room's URL?")]
    NotKeys { url: String },
    #[error("the answer of {url} does not say how long sessions last; is this the room's URL?")]
    NotRules { url: String },
    /// Its keys are none of ours: all of its passes would be refused.
    #[error("the room at {url} is {found}, not {expected}, and so are its passes")]
    OtherRoom { url: String, found: String, expected: String },
}

impl RoomSilence {
    /// Whether the room is there after all. It says 429 or 503 when it is overloaded; a proxy in front of it says 502 or 504
    /// when it is gone.
    pub fn is_an_answer(&self) -> bool {
        match self {
            Self::NoAnswer { .. } => false,
            Self::Status { status, .. } => !matches!(status, 500 | 502 | 504),
            Self::NothingThere { .. }
            | Self::NotKeys { .. }
            | Self::NotRules { .. }
            | Self::OtherRoom { .. } => true,
        }
    }
}

/// The room's public keys: given, or fetched and refreshed.
pub struct RoomKeys<C> {
    cache: RwLock<KeyCache>,
    room: Option<C>,
    /// Held during a fetch, so that only one request fetches and the others wait for its result.
    fetching: Mutex<()>,
}

impl<C: RoomClient> RoomKeys<C> {
    /// Fetches them from the room.
    pub fn of_room(rules: &GuardRules, room: C) -> Self {
        Self { room: Some(room), ..Self::empty(rules) }
    }

    /// Only these. The room is never asked.
    pub fn given(rules: &GuardRules, keys: Jwks) -> Self {
        let none = Self::empty(rules);
        none.cache.write().learn(keys, 0);
        none
    }

    fn empty(rules: &GuardRules) -> Self {
        let cache = KeyCache::new(rules.room.clone(), rules.name.clone());
        Self { cache: RwLock::new(cache), room: None, fetching: Mutex::default() }
    }

    /// How many keys are known. Without any, no pass can be verified.
    pub fn count(&self) -> usize {
        self.cache.read().verifier().keys.keys.len()
    }

    /// Asks the room now. Keys that are known stay known if it does not answer.
    pub async fn refresh(&self, now: u64) -> Result<(), RoomSilence> {
        let Some(room) = &self.room else { return Ok(()) };
        self.cache.write().asked(now);
        let keys = room.keys().await?;
        self.cache.write().learn(keys, now);
        Ok(())
    }

    /// Verifies a pass, and asks the room for its keys before if that is due.
    pub(crate) async fn verify(&self, pass: &str, now: u64) -> Result<Claims, Refused> {
        let key_id = key_id(pass);
        let due = || self.room.is_some() && self.cache.read().should_ask(key_id.as_deref(), now);
        if due() {
            let _fetching = self.fetching.lock().await;
            // Another request may have fetched them meanwhile.
            if due()
                && let Err(error) = self.refresh(now).await
            {
                let error = &error as &dyn Error;
                tracing::warn!(
                    error,
                    known = self.count(),
                    "could not fetch the room's keys; those that are known still serve"
                );
            }
        }
        self.verifier().verify(pass, now)
    }

    fn verifier(&self) -> Arc<Verifier> {
        self.cache.read().verifier()
    }
}

impl<C> fmt::Debug for RoomKeys<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomKeys").field("cache", &self.cache.read()).finish_non_exhaustive()
    }
}
