use std::error::Error;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use pass::{Claims, Jwks, Refused, Verifier, key_id};
use tokio::sync::Mutex;

use crate::GuardRules;
use crate::key_cache::KeyCache;

/// Asks the room for its public keys. Its address comes from the guard's configuration, never from a request.
pub trait RoomClient: Send + Sync + 'static {
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
    /// Its passes name that URL, so they would all be refused too.
    #[error("the room at {url} says that its URL is {found}, and its passes say so too")]
    OtherUrl { url: String, found: String },
}

impl RoomSilence {
    /// Whether the room is there after all. It says 429 or 503 when it is overloaded; a proxy in front of it says 502 or 504
    /// when it is gone, and Cloudflare 520 to 530. For a balancer that says 503 then, it is there, or a crowd could open the shop.
    pub(crate) fn is_an_answer(&self) -> bool {
        match self {
            Self::NoAnswer { .. } => false,
            Self::Status { status, .. } => !matches!(status, 500 | 502 | 504 | 520..=530),
            Self::NothingThere { .. }
            | Self::NotKeys { .. }
            | Self::NotRules { .. }
            | Self::OtherRoom { .. }
            | Self::OtherUrl { .. } => true,
        }
    }
}

/// The room's public keys: given, or fetched and refreshed.
pub struct RoomKeys<C> {
    held: Arc<KeysOfRoom<C>>,
    /// Held during a fetch, so that only one request fetches, and others that need its result wait for it.
    fetching: Arc<Mutex<()>>,
}

struct KeysOfRoom<C> {
    cache: RwLock<KeyCache>,
    room: Option<C>,
}

impl<C: RoomClient> RoomKeys<C> {
    /// Fetches them from the room.
    pub fn of_room(rules: &GuardRules, room: C) -> Self {
        Self::new(rules, Some(room))
    }

    /// Only these. The room is never asked.
    pub fn given(rules: &GuardRules, keys: Jwks) -> Self {
        let given = Self::new(rules, None);
        given.held.cache.write().learn(keys, 0);
        given
    }

    fn new(rules: &GuardRules, room: Option<C>) -> Self {
        let cache = RwLock::new(KeyCache::new(rules.room.clone(), rules.name.clone()));
        Self { held: Arc::new(KeysOfRoom { cache, room }), fetching: Arc::default() }
    }

    /// How many keys are known. Without any, no pass can be verified.
    pub fn count(&self) -> usize {
        self.held.count()
    }

    /// Asks the room now. Keys that are known stay known if it does not answer.
    pub async fn refresh(&self, now: u64) -> Result<(), RoomSilence> {
        let _fetching = self.fetching.lock().await;
        self.held.fetch(now).await
    }

    /// Verifies a pass, and asks the room for its keys before if that is due.
    pub(crate) async fn verify(&self, pass: &str, now: u64) -> Result<Claims, Refused> {
        self.fetch_for(key_id(pass).as_deref(), now).await;
        self.held.verifier().verify(pass, now)
    }

    /// Asks the room for its keys if that is due, before a pass with this key id is verified.
    async fn fetch_for(&self, key_id: Option<&str>, now: u64) {
        if !self.held.is_due(key_id, now) {
            return;
        }
        let fetching = match self.fetching.clone().try_lock_owned() {
            Ok(fetching) => fetching,
            // Somebody else fetches them, and the key that is known serves meanwhile.
            Err(_) if !self.held.lacks(key_id) => return,
            Err(_) => self.fetching.clone().lock_owned().await,
        };
        // Another request may have fetched them meanwhile.
        if !self.held.is_due(key_id, now) {
            return;
        }
        // A task of its own, because the visitor may close the connection, and others wait for the keys too.
        let held = self.held.clone();
        let fetch = tokio::spawn(async move {
            let _fetching = fetching;
            if let Err(error) = held.fetch(now).await {
                let (error, known) = (&error as &dyn Error, held.count());
                tracing::warn!(
                    error,
                    known,
                    "could not fetch the room's keys; those that are known still serve"
                );
            }
        });
        // Without the task's end, the keys that are known count.
        drop(fetch.await);
    }
}

impl<C> KeysOfRoom<C> {
    fn count(&self) -> usize {
        self.verifier().keys.keys.len()
    }

    fn verifier(&self) -> Arc<Verifier> {
        self.cache.read().verifier()
    }

    fn lacks(&self, key_id: Option<&str>) -> bool {
        self.cache.read().lacks(key_id)
    }

    fn is_due(&self, key_id: Option<&str>, now: u64) -> bool {
        self.room.is_some() && self.cache.read().should_ask(key_id, now)
    }
}

impl<C: RoomClient> KeysOfRoom<C> {
    /// Asks the room. A fetch that is not carried through does not count as one.
    async fn fetch(&self, now: u64) -> Result<(), RoomSilence> {
        let Some(room) = &self.room else { return Ok(()) };
        let keys = room.keys().await;
        let mut cache = self.cache.write();
        cache.asked(now);
        cache.learn(keys?, now);
        Ok(())
    }
}

impl<C> fmt::Debug for RoomKeys<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomKeys").field("cache", &self.held.cache.read()).finish_non_exhaustive()
    }
}
