use std::sync::Arc;
use std::time::Duration;

use pass::Prover;
use tokio::sync::Mutex;
use waitroom::ports::Keys;
use waitroom::{Place, Timestamp};

use crate::pass_keys::{KeyStore, PassKeys};

/// Proves that a place is the room's own. The cookie with the place is whatever a visitor writes into it; the cookie with the
/// proof is not.
///
/// A proof is never required: visitors who joined before rooms had proofs have none, and if the key cannot be read, nobody
/// must wait for it.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    key: Mutex<ReadKey>,
}

/// The key, which never changes, or when it was tried last to read it.
#[derive(Debug, Default)]
struct ReadKey {
    prover: Option<Arc<Prover>>,
    tried_at: Option<Timestamp>,
}

impl Proofs {
    const RETRY: Duration = Duration::from_secs(10);

    /// The proof of this place, for the browser. `None` if the key cannot be read.
    pub(crate) async fn prove(
        &self,
        keys: &PassKeys,
        store: &KeyStore<'_, impl Keys>,
        place: &Place,
    ) -> Option<String> {
        Some(self.prover(keys, store).await?.prove(&place.to_string()))
    }

    /// Whether one of these proves that the room gave out this place.
    pub(crate) async fn is_proven(
        &self,
        keys: &PassKeys,
        store: &KeyStore<'_, impl Keys>,
        place: &Place,
        proofs: &[&str],
    ) -> bool {
        if proofs.is_empty() {
            return false;
        }
        let Some(prover) = self.prover(keys, store).await else { return false };
        let place = place.to_string();
        proofs.iter().any(|proof| prover.is_proven(&place, proof))
    }

    /// Reads or creates the key once. A failure is logged, and the next attempt is made after a while.
    pub(crate) async fn prover(
        &self,
        keys: &PassKeys,
        store: &KeyStore<'_, impl Keys>,
    ) -> Option<Arc<Prover>> {
        let now = store.now;
        let mut key = self.key.lock().await;
        // If the clock was set back, `at` may be hours ahead.
        let is_over = |at: Timestamp| now.since(at) >= Self::RETRY || at.since(now) >= Self::RETRY;
        if key.prover.is_none() && key.tried_at.is_none_or(is_over) {
            // Before it is tried, because whoever waits for it may give up.
            key.tried_at = Some(now);
            match keys.prover(store).await {
                Ok(prover) => key.prover = Some(Arc::new(prover)),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "visitors get no proofs of their places for now");
                }
            }
        }
        key.prover.clone()
    }
}
