//! Where DynamoDB, SQS and S3 are in these tests, started once for all of them.

use std::sync::OnceLock;

use emulators::{DynamoDbLocal, LocalEmu};

pub(crate) struct Emulators {
    dynamodb: DynamoDbLocal,
    localemu: &'static LocalEmu,
}

impl Emulators {
    /// The same ones for all tests, so everything made there needs a name of its own.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Emulators> = OnceLock::new();
        SHARED.get_or_init(|| Self {
            dynamodb: DynamoDbLocal::start().unwrap(),
            localemu: LocalEmu::shared().unwrap(),
        })
    }

    /// Amazon's own, which is strict.
    pub(crate) fn dynamodb(&self) -> String {
        self.dynamodb.endpoint()
    }

    /// SQS, S3, and a DynamoDB that is not as strict.
    pub(crate) fn localemu(&self) -> String {
        self.localemu.endpoint()
    }
}
