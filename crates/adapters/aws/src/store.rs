use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_config::SdkConfig;
use futures_util::future;
use waitroom::Timestamp;
use waitroom::ports::{LineLength, PortResult, RoomReader, Store};

use crate::dispatch::InvokedFunction;
use crate::key_secret::KeySecret;
use crate::last_record::LastRecord;
use crate::ledger_clock::LedgerClock;
use crate::line::AwsLine;
use crate::queues::LineQueues;
use crate::room_cache::RoomCache;
use crate::table::Table;

/// The AWS resources of a room's line and ledger.
#[derive(Clone, Debug)]
pub struct RoomResources {
    pub ledger_table: String,
    pub line_url: String,
    pub dead_letters_url: String,
}

/// A handle to the room's ledger, which knows its line. Clones share it, and its connections.
#[derive(Clone, Debug)]
pub struct AwsStore {
    pub(crate) table: Table,
    pub(crate) line: AwsLine,
    pub(crate) clock: LedgerClock,
    pub(crate) room: Arc<RoomCache>,
    pub(crate) trigger: Option<InvokedFunction>,
    pub(crate) key_secret: Option<KeySecret>,
    pub(crate) last_record: LastRecord,
    /// The [time of permits](waitroom::UsedTime) that was used up when this process saw it last.
    pub(crate) used_permits: Arc<AtomicU64>,
    /// Visitors who came for their pass since [`AwsStore::take_entries`].
    pub(crate) entries: Arc<AtomicU64>,
}

impl AwsStore {
    pub fn new(config: &SdkConfig, resources: RoomResources) -> Self {
        Self::with_separate_configs(config, config, resources)
    }

    /// A store whose ledger and line are on different endpoints, for tests with two emulators.
    pub fn with_separate_configs(ledger: &SdkConfig, line: &SdkConfig, resources: RoomResources) -> Self {
        let clock = LedgerClock::default();
        let dynamodb = aws_sdk_dynamodb::config::Builder::from(ledger).interceptor(clock.clone()).build();
        let table = Table::new(aws_sdk_dynamodb::Client::from_conf(dynamodb), resources.ledger_table);
        let queues = LineQueues::new(line, resources.line_url, resources.dead_letters_url);
        Self {
            line: AwsLine { queues, table: table.clone(), clock: clock.clone() },
            table,
            clock,
            room: Arc::default(),
            trigger: None,
            key_secret: None,
            last_record: LastRecord::default(),
            used_permits: Arc::default(),
            entries: Arc::default(),
        }
    }

    /// A change of the valve through this store starts this function, which plans the next window.
    #[must_use]
    pub fn with_trigger(self, config: &SdkConfig, function: String) -> Self {
        Self { trigger: Some(InvokedFunction::new(config, function)), ..self }
    }

    /// The secret with the keys that sign passes. Only the producer may read it.
    #[must_use]
    pub fn with_key_secret(self, config: &SdkConfig, arn: String) -> Self {
        Self { key_secret: Some(KeySecret::new(config, arn)), ..self }
    }

    /// How many visitors came to this process for their pass since it was last asked. The producer writes them as a metric.
    pub fn take_entries(&self) -> u64 {
        self.entries.swap(0, Ordering::Relaxed)
    }

    /// The time by which a change of the room is in force: by AWS's clock, once the ledger has answered.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Opens a connection to the ledger, and reads the room.
    pub async fn warm_up(&self) -> PortResult<()> {
        self.room().await.map(drop)
    }

    /// Opens connections to both the ledger and the line, so that the first visitor does not wait for them.
    pub async fn warm_up_with_line(&self) -> PortResult<()> {
        let (ledger, line) = future::join(self.warm_up(), self.line.waiting()).await;
        ledger.and(line.map(drop))
    }
}

impl Store for AwsStore {
    type Line = AwsLine;
    type Ledger = Self;

    fn line(&self) -> &AwsLine {
        &self.line
    }

    fn ledger(&self) -> &Self {
        self
    }
}
