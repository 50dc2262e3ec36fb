//! The ports over DynamoDB, SQS, Secrets Manager and Lambda.
//!
//! The ledger is one table with the key `id`. [`keys`] names its items, [`items`] and [`room_item`] encode and decode
//! them, and [`expressions`] holds the conditions of every write. [`retry`] decides what a failed call means.
//!
//! | port | module |
//! | --- | --- |
//! | `RoomReader`, `TicketCounter`, `Admissions`, `ThrottleStore`, `AuditTrail` | `ledger` |
//! | `KeyBoard`, `Keys`, `KeyAdmin` | `signing_keys`, `key_secret` |
//! | `Plans`, `Slices`, `StatusBoard` | `plans` |
//! | `MinuteLog` | `history` |
//! | `LineBack`, `LineFront`, `LineLength` | `line` |
//! | `Dispatch` | `dispatch` |
//! | `RoomAdmin`, and what a deployment does | `operator`, `page_bucket` |

mod config;
mod dispatch;
mod expressions;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod frozen;
mod history;
mod items;
mod key_secret;
mod keys;
mod ledger;
mod ledger_clock;
mod line;
mod operator;
mod page_bucket;
mod plans;
mod retry;
mod room_cache;
mod room_item;
mod signing_keys;
mod table;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future;
use waitroom::Timestamp;
use waitroom::ports::{LineLength, PortResult, RoomReader};

pub use aws_config::SdkConfig;
pub use config::{ConfigError, functions_config, tuned};
pub use dispatch::FunctionDispatch;
use dispatch::TriggerFunction;
use key_secret::KeySecret;
use ledger_clock::LedgerClock;
use line::Line;
pub use page_bucket::PageBucket;
use plans::LastRecord;
use room_cache::RoomCache;
use table::Table;

/// The AWS resources of a room's line and ledger.
#[derive(Clone, Debug)]
pub struct RoomResources {
    pub ledger_table: String,
    pub line_url: String,
    pub dead_letters_url: String,
}

/// A handle to the room's line and ledger. Clones share it, and its connections.
#[derive(Clone, Debug)]
pub struct AwsStore {
    table: Table,
    line: Line,
    clock: LedgerClock,
    room: Arc<RoomCache>,
    trigger: Option<TriggerFunction>,
    key_secret: Option<KeySecret>,
    /// What this handle last recorded, so that recording the same again needs no request.
    last_record: Arc<Mutex<Option<LastRecord>>>,
}

impl AwsStore {
    /// How long before it holds a change of the valve is written. Functions read the room at most a second late, and
    /// within half a second.
    pub const NOTICE: Duration = Duration::from_secs(2);

    pub fn new(config: &SdkConfig, resources: RoomResources) -> Self {
        Self::with_separate_configs(config, config, resources)
    }

    /// A store whose ledger and line are on different endpoints, for tests with two emulators.
    pub fn with_separate_configs(ledger: &SdkConfig, line: &SdkConfig, resources: RoomResources) -> Self {
        let clock = LedgerClock::default();
        let dynamodb = aws_sdk_dynamodb::config::Builder::from(ledger).interceptor(clock.clone()).build();
        Self {
            table: Table::new(aws_sdk_dynamodb::Client::from_conf(dynamodb), resources.ledger_table),
            clock,
            line: Line::new(line, resources.line_url, resources.dead_letters_url),
            room: Arc::default(),
            trigger: None,
            key_secret: None,
            last_record: Arc::default(),
        }
    }

    /// Whoever changes the valve through this store starts this function, which plans the next window.
    #[must_use]
    pub fn with_trigger(self, config: &SdkConfig, function: String) -> Self {
        Self { trigger: Some(TriggerFunction::new(config, function)), ..self }
    }

    /// The secret with the keys that sign passes. Only the producer may read it.
    #[must_use]
    pub fn with_key_secret(self, config: &SdkConfig, arn: String) -> Self {
        Self { key_secret: Some(KeySecret::new(config, arn)), ..self }
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
        let (ledger, line) = future::join(self.warm_up(), self.waiting()).await;
        ledger.and(line.map(drop))
    }
}
