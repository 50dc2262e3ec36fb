//! When the room's keys are fetched, and which ones count. It knows no network.

use std::sync::Arc;

use pass::{Jwks, Verifier};

/// The keys that are known.
#[derive(Debug)]
pub(crate) struct KeyCache {
    verifier: Arc<Verifier>,
    fetched: Option<u64>,
    asked: Option<u64>,
}

impl KeyCache {
    /// After this many seconds the keys are fetched again when one is needed. So a key that the room dropped counts no
    /// longer than that. The room allows caches to keep its keys for as long.
    const FRESH: u64 = 300;
    /// Seconds between two fetches, so that made-up key ids do not make the guard a burden for the room.
    const PAUSE: u64 = 60;
    /// The same while no key is known: nobody can be let in until then.
    const PAUSE_WITHOUT_KEYS: u64 = 5;

    pub(crate) fn new(room: String, name: String) -> Self {
        let verifier = Verifier { issuer: room, audience: name, keys: Jwks::default() };
        Self { verifier: Arc::new(verifier), fetched: None, asked: None }
    }

    pub(crate) fn verifier(&self) -> Arc<Verifier> {
        self.verifier.clone()
    }

    pub(crate) fn has_keys(&self) -> bool {
        !self.verifier.keys.keys.is_empty()
    }

    /// Whether to ask the room now, before a pass with this key id is verified.
    pub(crate) fn should_ask(&self, key_id: Option<&str>, now: u64) -> bool {
        let pause = if self.has_keys() { Self::PAUSE } else { Self::PAUSE_WITHOUT_KEYS };
        // A clock that was set back must not stop the fetches until it has caught up.
        let waited = |since: u64, seconds: u64| now < since || now - since >= seconds;
        if self.asked.is_some_and(|asked| !waited(asked, pause)) {
            return false;
        }
        let is_stale = self.fetched.is_none_or(|fetched| waited(fetched, Self::FRESH));
        is_stale || self.lacks(key_id)
    }

    /// Whether no key that is known has this id.
    pub(crate) fn lacks(&self, key_id: Option<&str>) -> bool {
        let is_known = |id: &str| self.verifier.keys.keys.iter().any(|key| key.kid() == id);
        key_id.is_some_and(|id| !is_known(id))
    }

    /// The room was asked, and this is over, whatever came of it.
    pub(crate) fn asked(&mut self, now: u64) {
        self.asked = Some(now);
    }

    /// The room answered with these keys. They replace those of before.
    pub(crate) fn learn(&mut self, keys: Jwks, now: u64) {
        (self.fetched, self.asked) = (Some(now), Some(now));
        if self.verifier.keys != keys {
            self.verifier = Arc::new(Verifier { keys, ..Verifier::clone(&self.verifier) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use pass::KeyRing;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    static KEYS: LazyLock<Jwks> = LazyLock::new(|| KeyRing::generate().unwrap().jwks().unwrap());

    fn cache() -> KeyCache {
        KeyCache::new("https://room.example".into(), "sale".into())
    }

    #[test]
    fn an_unknown_key_is_asked_for_at_most_once_a_minute() {
        let mut cache = cache();
        cache.learn(KEYS.clone(), NOW);
        let known = KEYS.keys[0].kid();
        assert!(!cache.should_ask(Some("other"), NOW + 59));
        assert!(cache.should_ask(Some("other"), NOW + 60));
        assert!(!cache.should_ask(Some(known), NOW + 60) && !cache.should_ask(None, NOW + 60));
        cache.asked(NOW + 60);
        assert!((61..120).all(|second| !cache.should_ask(Some("another"), NOW + second)));
        assert!(cache.should_ask(Some("another"), NOW + 120));
    }

    #[test]
    fn keys_are_fetched_again_after_five_minutes_and_serve_meanwhile() {
        let mut cache = cache();
        cache.learn(KEYS.clone(), NOW);
        let known = KEYS.keys[0].kid();
        assert!(!cache.should_ask(Some(known), NOW + 299));
        assert!(cache.should_ask(Some(known), NOW + 300));
        for minute in 5..600 {
            // The room does not answer.
            cache.asked(NOW + 60 * minute);
            assert!(!cache.should_ask(Some(known), NOW + 60 * minute + 59));
            assert!(cache.has_keys());
        }
        assert_eq!(cache.verifier().keys, *KEYS);
    }

    #[test]
    fn a_dropped_key_is_forgotten() {
        let mut cache = cache();
        cache.learn(KEYS.clone(), NOW);
        let rotated = KeyRing::generate().unwrap().jwks().unwrap();
        cache.learn(rotated.clone(), NOW + 300);
        assert_eq!(cache.verifier().keys, rotated);
    }

    #[test]
    fn without_keys_the_room_is_asked_every_five_seconds() {
        let mut cache = cache();
        assert!(cache.should_ask(None, NOW) && !cache.has_keys());
        cache.asked(NOW);
        assert!(!cache.should_ask(None, NOW + 4));
        assert!(cache.should_ask(None, NOW + 5));
        assert!(cache.should_ask(None, NOW - 1000), "the clock was set back");
    }
}
