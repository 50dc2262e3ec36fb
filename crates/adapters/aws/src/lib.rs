//! The ports over DynamoDB, SQS and Lambda.
//!
//! The ledger is one table with the key `id`. [`keys`] names its items, [`items`] and [`room_item`] encode and decode them,
//! and [`expressions`] holds the conditions of every write. [`retry`] decides what a failed call means.
//!
//! | port | module |
//! | --- | --- |
//! | `RoomReader`, `TicketCounter`, `Admissions`, `Keys`, `ThrottleStore` | `ledger` |
//! | `Plans`, `Slices`, `StatusBoard` | `plans` |
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
mod items;
mod keys;
mod ledger;
mod line;
mod operator;
mod page_bucket;
mod plans;
mod retry;
mod room_cache;
mod room_item;
mod table;

use std::sync::{Arc, Mutex};

use futures_util::future;
use waitroom::ports::{LineLength, PortResult, RoomReader};

pub use aws_config::SdkConfig;
pub use config::{ConfigError, functions_config, tuned};
pub use dispatch::FunctionDispatch;
use line::Line;
pub use page_bucket::PageBucket;
use plans::Said;
use room_cache::RoomCache;
use table::Table;

/// Where a room's line and ledger are.
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
    room: Arc<RoomCache>,
    /// What this handle last recorded, so that saying it again costs nothing.
    said: Arc<Mutex<Option<Said>>>,
}

impl AwsStore {
    pub fn new(config: &SdkConfig, places: RoomResources) -> Self {
        Self::apart(config, config, places)
    }

    /// A store whose ledger and line are reached differently, as where two emulators stand in for AWS.
    pub fn apart(ledger: &SdkConfig, line: &SdkConfig, places: RoomResources) -> Self {
        Self {
            table: Table::new(aws_sdk_dynamodb::Client::new(ledger), places.ledger_table),
            line: Line::new(line, places.line_url, places.dead_letters_url),
            room: Arc::default(),
            said: Arc::default(),
        }
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
