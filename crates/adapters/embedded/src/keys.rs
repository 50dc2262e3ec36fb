//! The keys. The secret ones are in the same file as everything else: it is readable by its owner only.

use std::collections::BTreeMap;

use pass::{KeyRecord, KeyRefusal, KeyRing, ProofKey, SecretKeys};
use redb::ReadableTable;
use waitroom::ports::{KeyAdmin, KeyBoard, Keys, PortResult};
use waitroom::{AuditEntry, Author, KeyOrder};

use crate::EmbeddedStore;
use crate::tables::{SINGLE, TableError, Tables, read_single, single};

type Secrets = BTreeMap<u64, SecretKeys>;

/// The record. A file of before has none, and one key.
pub(crate) fn record(
    singles: &impl ReadableTable<&'static str, &'static [u8]>,
) -> Result<KeyRecord, TableError> {
    if let Some(record) = read_single(singles, single::KEY_RECORD)? {
        return Ok(record);
    }
    let Some(ring) = read_single::<KeyRing>(singles, single::KEYS)? else { return Ok(KeyRecord::default()) };
    let published = ring.jwks().map_err(|error| TableError::Record(error.to_string()))?;
    Ok(KeyRecord::before_records(&published))
}

fn write_record(tables: &mut Tables<'_>, mut record: KeyRecord) -> Result<KeyRecord, TableError> {
    record.version += 1;
    tables.write(single::KEY_RECORD, &record)?;
    Ok(record)
}

/// Takes the keys of a file of before out of it.
fn take_keys_of_before(tables: &mut Tables<'_>) -> Result<Option<(KeyRing, Option<ProofKey>)>, TableError> {
    let Some(ring) = tables.read(single::KEYS)? else { return Ok(None) };
    let proof = tables.read(single::PROOF_KEY)?;
    tables.remove(single::KEYS)?;
    tables.remove(single::PROOF_KEY)?;
    Ok(Some((ring, proof)))
}

impl KeyBoard for EmbeddedStore {
    async fn key_record(&self) -> PortResult<KeyRecord> {
        self.read("read the published keys", |transaction| record(&transaction.open_table(SINGLE)?))
    }
}

impl Keys for EmbeddedStore {
    /// Also removes the secret keys that are no longer needed.
    async fn publish_keys(&self, next: KeyRecord) -> PortResult<bool> {
        self.change("publish the keys", move |draft| {
            let tables = &mut draft.tables;
            if record(tables.single()?)?.version != next.version {
                return Ok(false);
            }
            let next = write_record(tables, next)?;
            let mut secrets: Secrets = tables.read(single::SECRET_KEYS)?.unwrap_or_default();
            secrets.retain(|number, _| next.needs(*number));
            tables.write(single::SECRET_KEYS, &secrets)?;
            Ok(true)
        })
        .await
    }

    async fn secret_keys(&self, number: u64) -> PortResult<Option<SecretKeys>> {
        self.read("read a signing key", |transaction| {
            let secrets: Option<Secrets> =
                read_single(&transaction.open_table(SINGLE)?, single::SECRET_KEYS)?;
            Ok(secrets.and_then(|mut secrets| secrets.remove(&number)))
        })
    }

    async fn create_secret_keys(&self, number: u64, first: SecretKeys) -> PortResult<SecretKeys> {
        self.change("store a signing key", move |draft| {
            let tables = &mut draft.tables;
            let mut secrets: Secrets = tables.read(single::SECRET_KEYS)?.unwrap_or_default();
            if let Some(stored) = secrets.get(&number) {
                return Ok(stored.clone());
            }
            let mut keys = first;
            if number == 1
                && let Some((ring, proof)) = take_keys_of_before(tables)?
            {
                keys = SecretKeys { signing: ring.current, proof: proof.unwrap_or(keys.proof) };
            }
            secrets.insert(number, keys.clone());
            tables.write(single::SECRET_KEYS, &secrets)?;
            Ok(keys)
        })
        .await
    }
}

impl KeyAdmin for EmbeddedStore {
    async fn order_keys(&self, order: KeyOrder, who: Author) -> PortResult<Result<KeyRecord, KeyRefusal>> {
        let shared = self.shared.clone();
        self.change("change the keys", move |draft| {
            let now = (shared.now)();
            let mut record = record(draft.tables.single()?)?;
            let change = match order.carry_out(&mut record, now) {
                Ok(change) => change,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let record = write_record(&mut draft.tables, record)?;
            draft.tables.push_entry(|number| AuditEntry::beside_room(number, now, who, change))?;
            Ok(Ok(record))
        })
        .await
    }
}
