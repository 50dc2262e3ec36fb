//! The emulators of DynamoDB, SQS and S3, started once for all tests.

use std::sync::OnceLock;

use emulators::{DynamoDbLocal, LocalEmu};

pub(crate) struct Emulators {
    dynamodb: DynamoDbLocal,
    localemu: &'static LocalEmu,
}

impl Emulators {
    /// Shared by all tests, so resources in them need unique names.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Emulators> = OnceLock::new();
        SHARED.get_or_init(|| Self {
            dynamodb: DynamoDbLocal::start().unwrap(),
            localemu: LocalEmu::shared().unwrap(),
        })
    }

    /// DynamoDB Local, Amazon's own emulator, which is strict.
    pub(crate) fn dynamodb(&self) -> String {
        self.dynamodb.endpoint()
    }

    /// LocalEmu: SQS, S3, and a DynamoDB that is less strict.
    pub(crate) fn localemu(&self) -> String {
        self.localemu.endpoint()
    }
}
