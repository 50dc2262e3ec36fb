//! The keys that sign passes. The ledger has the public ones, and a secret of Secrets Manager the private ones: whoever may
//! read the table cannot sign.
//!
//! Each key is a version of the secret. Its id is made from the key's number, so that a second version for the same key is
//! refused, whoever creates it. A version never changes.
//!
//! Rooms that were deployed before there was a secret have their keys in the table. The first producer copies them into the
//! secret. An hour later they are [removed](AwsStore::remove_moved_keys) from the table. Until then the version of Beekeeper
//! before this one can sign with them: while an update runs, and after one that is rolled back.

use std::time::Duration;

use pass::{KeyRecord, KeyRefusal, KeyRing, ProofKey, SecretKeys};
use waitroom::ports::{Fault, KeyAdmin, KeyBoard, Keys, PortError, PortResult};
use waitroom::{AuditEntry, Author, KeyOrder, Timestamp};

use crate::AwsStore;
use crate::expressions;
use crate::items::{FORMAT, Item, ItemError, Reader, item, number, text, time};
use crate::key_secret::KeySecret;
use crate::keys::Key;
use crate::operator::writes_beside_room;
use crate::table::{Write, Written};

/// How long the keys of a room of before stay in the table after they were copied: longer than an update runs.
const KEPT_IN_TABLE: Duration = Duration::from_hours(1);
/// How often an order is attempted while others change the room or the record.
const ATTEMPTS: u32 = 8;

/// The keys of a room of before, as they are in the table.
#[derive(Debug)]
pub(crate) struct TableKeys {
    pub(crate) ring: KeyRing,
    pub(crate) proof: Option<ProofKey>,
    pub(crate) moved_at: Option<Timestamp>,
}

pub(crate) fn encode_record(attempt: &'static str, record: &KeyRecord) -> PortResult<Item> {
    let json =
        |value: serde_json::Result<String>| value.map_err(PortError::broken(attempt)).map(|json| text(&json));
    let (jwks, json) = (json(serde_json::to_string(&record.jwks()))?, json(serde_json::to_string(record))?);
    Ok(item(Key::Public, [("jwks", jwks), ("record", json), ("version", number(record.version))]))
}

/// A room of before has published one key, without a record.
pub(crate) fn decode_record(item: &Item) -> Result<KeyRecord, ItemError> {
    let item = Reader::open(Key::Public, item)?;
    if item.has("record") { item.json("record") } else { Ok(KeyRecord::before_records(&item.json("jwks")?)) }
}

/// `None` if the keys have been removed. What is left says so to the version of Beekeeper that would look for them.
pub(crate) fn decode_table_keys(
    private: &Item,
    proof: Option<&Item>,
) -> Result<Option<TableKeys>, ItemError> {
    let private = Reader::of_update(Key::Private, private);
    if !private.has("ring") {
        return Ok(None);
    }
    let proof = proof.map(|item| Reader::of_update(Key::Proof, item)).filter(|item| item.has("key"));
    Ok(Some(TableKeys {
        ring: private.json("ring")?,
        proof: proof.map(|item| item.json("key")).transpose()?,
        moved_at: private.has("moved_at").then(|| private.time("moved_at")).transpose()?,
    }))
}

/// What is left of a key in the table. Versions of Beekeeper that keep their keys there refuse its format, and do not
/// replace the published keys by new ones.
pub(crate) fn without_key(key: Key) -> Item {
    let mut item = item(key, []);
    item.insert("format".into(), number(FORMAT + 1));
    item
}

impl AwsStore {
    fn key_secret(&self, attempt: &'static str) -> PortResult<&KeySecret> {
        let missing = "this function has no KEY_SECRET, because it was deployed by another version of Beekeeper; deploy the stack again";
        self.key_secret.as_ref().ok_or_else(|| PortError::new(attempt, Fault::Broken, missing))
    }

    async fn table_keys(&self, attempt: &'static str) -> PortResult<Option<TableKeys>> {
        let Some(private) = self.table.get(attempt, Key::Private).await? else { return Ok(None) };
        let proof = self.table.get(attempt, Key::Proof).await?;
        decode_table_keys(&private, proof.as_ref()).map_err(PortError::broken(attempt))
    }

    /// The keys of a room of before. If there are none, there never will be: a producer of before that still runs finds
    /// that they were removed.
    async fn claim_table_keys(&self, attempt: &'static str) -> PortResult<Option<TableKeys>> {
        let none = without_key(Key::Private);
        match self.table.put(attempt, none, expressions::if_absent()).await? {
            Written::Done(_) => Ok(None),
            Written::Refused(_) => self.table_keys(attempt).await,
        }
    }

    /// Writes that the secret has the keys that are in the table.
    async fn note_move(&self, attempt: &'static str) -> PortResult<()> {
        let Some(mut private) = self.table.get(attempt, Key::Private).await? else { return Ok(()) };
        private.insert("moved_at".into(), time(self.now()));
        self.table.put(attempt, private, expressions::if_not_moved()).await.map(drop)
    }

    /// Removes the keys from the table that were copied into the secret an hour ago. A producer calls this when it starts.
    pub async fn remove_moved_keys(&self) -> PortResult<()> {
        let attempt = "remove the keys from the table";
        let keys = self.table_keys(attempt).await?;
        let moved_at = keys.and_then(|keys| keys.moved_at);
        if moved_at.is_some_and(|at| self.now().since(at) >= KEPT_IN_TABLE) {
            for key in [Key::Proof, Key::Private] {
                self.table.put(attempt, without_key(key), expressions::always()).await?;
            }
        }
        Ok(())
    }
}

impl KeyBoard for AwsStore {
    async fn key_record(&self) -> PortResult<KeyRecord> {
        self.table
            .read("read the published keys", Key::Public, decode_record)
            .await
            .map(Option::unwrap_or_default)
    }
}

impl Keys for AwsStore {
    async fn publish_keys(&self, mut record: KeyRecord) -> PortResult<bool> {
        let attempt = "publish the keys";
        let when = expressions::if_has_version(record.version);
        record.version += 1;
        let item = encode_record(attempt, &record)?;
        Ok(matches!(self.table.put(attempt, item, when).await?, Written::Done(_)))
    }

    async fn secret_keys(&self, number: u64) -> PortResult<Option<SecretKeys>> {
        let attempt = "read a signing key";
        self.key_secret(attempt)?.get(attempt, number).await
    }

    async fn create_secret_keys(&self, number: u64, first: SecretKeys) -> PortResult<SecretKeys> {
        let attempt = "store a signing key";
        let secret = self.key_secret(attempt)?;
        let in_table = self.claim_table_keys(attempt).await?;
        let keys = match &in_table {
            Some(TableKeys { ring, proof, .. }) => SecretKeys {
                signing: if number == 1 { ring.current.clone() } else { first.signing },
                proof: proof.clone().unwrap_or(first.proof),
            },
            None => first,
        };
        secret.create(attempt, number, &keys).await?;
        // What is stored counts. Somebody else may have been faster.
        let unseen = || PortError::new(attempt, Fault::Busy, "the secret does not show its new version yet");
        let stored = secret.get(attempt, number).await?.ok_or_else(unseen)?;
        if in_table.is_some_and(|keys| keys.moved_at.is_none()) {
            self.note_move(attempt).await?;
        }
        Ok(stored)
    }
}

impl KeyAdmin for AwsStore {
    async fn order_keys(&self, order: KeyOrder, who: Author) -> PortResult<Result<KeyRecord, KeyRefusal>> {
        let attempt = "change the keys";
        for _ in 0..ATTEMPTS {
            let (room, last_entry) = self.read_room_and_trail(attempt).await?;
            let mut record = self.key_record().await?;
            let (now, version) = (self.now(), record.version);
            let change = match order.carry_out(&mut record, now) {
                Ok(change) => change,
                Err(refusal) => return Ok(Err(refusal)),
            };
            record.version += 1;
            let entry = AuditEntry::beside_room(last_entry.saturating_add(1), now, who.clone(), change);
            let record_item = encode_record(attempt, &record)?;
            let mut writes = writes_beside_room(attempt, &room, &entry)?;
            writes.push(Write::Update(Key::Public, expressions::replace_record(&record_item, version)));
            if self.table.write_together(attempt, writes).await? {
                return Ok(Ok(record));
            }
        }
        Err(PortError::new(attempt, Fault::Busy, "other writes keep changing the room or its keys; retry"))
    }
}
