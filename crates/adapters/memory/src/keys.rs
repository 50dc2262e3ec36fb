use std::collections::BTreeMap;

use pass::{KeyRecord, SecretKeys};

/// The keys that sign passes.
#[derive(Default)]
pub(crate) struct KeysInMemory {
    pub(crate) record: KeyRecord,
    pub(crate) secret: BTreeMap<u64, SecretKeys>,
}
