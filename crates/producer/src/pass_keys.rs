//! The keys that this process signs with.
//!
//! Every producer reads the record of the published keys every few seconds. It reads a secret key once, when the record
//! says that this key signs. When a key is missing, or the operator asked for another one, the first producer that finds
//! out makes it: it stores the secret key, and then publishes the public one. Producers that do so at the same time get
//! the same key from the store, and the record accepts one of them.

use std::sync::Arc;
use std::time::Duration;

use pass::{KeyRecord, PassError, ProofKey, Prover, PublishedKey, SecretKeys, Signer};
use tokio::sync::Mutex;
use waitroom::Timestamp;
use waitroom::ports::{Fault, Keys, PortError};

use crate::error::ProducerError;

/// Makes a room's secret keys with this number: [`SecretKeys::generate`], or something faster in a simulation. Without a proof key
/// they are the first ones.
pub type MakeKeys = fn(u64, Option<ProofKey>) -> Result<SecretKeys, PassError>;

#[derive(Debug)]
pub(crate) struct PassKeys(Mutex<HeldKeys>);

/// Where a room's keys are, as they are needed now.
#[derive(Debug)]
pub(crate) struct KeyStore<'a, K> {
    pub(crate) ledger: &'a K,
    /// How long passes are valid: if there is another key now, the one before it stays published for as long.
    pub(crate) pass_lifetime: Duration,
    pub(crate) now: Timestamp,
}

#[derive(Debug)]
struct HeldKeys {
    make: MakeKeys,
    read_at: Option<Timestamp>,
    record: KeyRecord,
    signing: Option<SigningKey>,
    /// It is the same with every signing key.
    proof: Option<ProofKey>,
}

#[derive(Debug)]
struct SigningKey {
    kid: String,
    signer: Arc<Signer>,
}

impl PassKeys {
    /// How long the record is not read again. So long a key that was dropped may still sign.
    const FRESH: Duration = Duration::from_secs(10);
    /// How long the room signs on with its key while the record cannot be read.
    const TRUSTED: Duration = Duration::from_mins(1);
    /// How often the record is read again because another producer has changed it.
    const ATTEMPTS: usize = 5;

    pub(crate) fn made_by(make: MakeKeys) -> Self {
        let (read_at, record) = (None, KeyRecord::default());
        Self(Mutex::new(HeldKeys { make, read_at, record, signing: None, proof: None }))
    }

    /// The signer for the key that signs now. Others wait for the first caller, so that a process makes one key.
    pub(crate) async fn signer(&self, store: &KeyStore<'_, impl Keys>) -> Result<Arc<Signer>, ProducerError> {
        let now = store.now;
        let mut held = self.0.lock().await;
        // If the clock was set back, `at` may be hours ahead. A key that was dropped meanwhile must not sign so long.
        let read_within = |held: &HeldKeys, time| {
            held.read_at.is_some_and(|at| now.since(at) < time && at.since(now) < time)
        };
        let is_fresh = read_within(&held, Self::FRESH);
        if let Some(signer) = held.signer(now).filter(|_| is_fresh) {
            return Ok(signer);
        }
        match held.read(store).await {
            Ok(signer) => {
                held.read_at = Some(now);
                if let Err(error) = held.look_after(store).await {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "could not change the published keys; the room signs on with its key"
                    );
                }
                Ok(signer)
            }
            // If the store fails, the key from before most likely still verifies.
            Err(error) if read_within(&held, Self::TRUSTED) => held.published_signer().ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// What proves places. It never changes, so it is read once.
    pub(crate) async fn prover(&self, store: &KeyStore<'_, impl Keys>) -> Result<Prover, ProducerError> {
        let mut held = self.0.lock().await;
        if held.proof.is_none() {
            held.read(store).await?;
        }
        let unread = || PortError::new("read the proof key", Fault::Broken, "no key has one");
        Ok(held.proof.as_ref().ok_or_else(unread)?.prover()?)
    }
}

impl HeldKeys {
    /// The signer, if it is of the key that signs now.
    fn signer(&self, now: Timestamp) -> Option<Arc<Signer>> {
        let (key, held) = (self.record.signing(now.as_secs())?, self.signing.as_ref()?);
        (key.jwk.kid() == held.kid).then(|| held.signer.clone())
    }

    /// The signer, if its key is published, although another key may sign now.
    fn published_signer(&self) -> Option<Arc<Signer>> {
        let held = self.signing.as_ref()?;
        let is_published = self.record.keys().iter().any(|key| key.jwk.kid() == held.kid);
        is_published.then(|| held.signer.clone())
    }

    /// Reads the record, and the secret key that it says signs now. Makes one if there is none.
    async fn read(&mut self, store: &KeyStore<'_, impl Keys>) -> Result<Arc<Signer>, ProducerError> {
        let KeyStore { ledger, pass_lifetime, now } = *store;
        for _ in 0..PassKeys::ATTEMPTS {
            self.record = ledger.key_record().await?;
            if let Some(signer) = self.signer(now) {
                return Ok(signer);
            }
            let mut record = self.record.clone();
            if let Some(key) = record.signing(now.as_secs()).cloned() {
                if self.hold(ledger, &key).await? {
                    continue;
                }
                tracing::warn!(
                    key = key.jwk.kid(),
                    "the secret part of this key is lost; another key takes its place"
                );
                record.retire_all(pass_lifetime, now.as_secs());
            }
            self.publish_another(store, record).await?;
        }
        let changing = "other producers keep changing the published keys";
        Err(PortError::new("read the signing key", Fault::Busy, changing).into())
    }

    /// Does what the operator asked for, and unpublishes keys whose passes have expired.
    async fn look_after(&mut self, store: &KeyStore<'_, impl Keys>) -> Result<(), ProducerError> {
        let mut record = self.record.clone();
        let pruned = record.prune(store.now.as_secs());
        if record.is_asked_for_another() {
            self.publish_another(store, record).await?;
        } else if pruned {
            store.ledger.publish_keys(record).await?;
        } else {
            return Ok(());
        }
        self.record = store.ledger.key_record().await?;
        Ok(())
    }

    /// Stores the next secret key, and then publishes the key. If somebody else has changed the record meanwhile, that stands.
    async fn publish_another(
        &mut self,
        store: &KeyStore<'_, impl Keys>,
        mut record: KeyRecord,
    ) -> Result<(), ProducerError> {
        let secret = self.secret_keys(store.ledger, record.next_number()).await?;
        record.publish(secret.signing.public()?, store.pass_lifetime, store.now.as_secs());
        store.ledger.publish_keys(record).await?;
        Ok(())
    }

    /// Reads the secret part of a published key. Returns false if the store has another one by this number, so that the one
    /// that was published is lost.
    async fn hold(&mut self, ledger: &impl Keys, key: &PublishedKey) -> Result<bool, ProducerError> {
        let secret = self.secret_keys(ledger, key.number).await?;
        if secret.signing.public()? != key.jwk {
            return Ok(false);
        }
        let signer = Arc::new(Signer::new(&secret.signing)?);
        self.signing = Some(SigningKey { kid: key.jwk.kid().to_owned(), signer });
        self.proof.get_or_insert(secret.proof);
        Ok(true)
    }

    /// The secret key with this number, which is created if it is missing.
    async fn secret_keys(&self, ledger: &impl Keys, number: u64) -> Result<SecretKeys, ProducerError> {
        if let Some(stored) = ledger.secret_keys(number).await? {
            return Ok(stored);
        }
        let proof = match &self.proof {
            Some(proof) => Some(proof.clone()),
            None => ledger.secret_keys(number.saturating_sub(1)).await?.map(|before| before.proof),
        };
        Ok(ledger.create_secret_keys(number, (self.make)(number, proof)?).await?)
    }
}
