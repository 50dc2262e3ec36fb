//! The ports over DynamoDB, SQS, Secrets Manager and Lambda.
//!
//! The ledger is one table with the key `id`. [`keys`] names its items, [`items`] and [`room_item`] encode and decode
//! them, and [`expressions`] holds the conditions of every write. [`retry`] decides what a failed call means.
//!
//! | port | module |
//! | --- | --- |
//! | `RoomReader`, `QuietSwitch`, `Rescheduling`, `EntryCount`, `Admissions`, `ThrottleStore`, `AuditTrail` | `ledger` |
//! | `Permits`, `NewcomerCount` | `permits` |
//! | `KeyBoard`, `Keys`, `KeyAdmin` | `signing_keys`, `key_secret` |
//! | `StockCount` | `stock` |
//! | `TurnoutCount` | `turnout` |
//! | `GuardReports`, `ActiveVisitors` | `active` |
//! | `HelpCalls`, `HelpDesk` | `help` |
//! | `Plans`, `Slices`, `StatusBoard`, `LineStatusReader` | `plans` |
//! | `MinuteLog` | `history` |
//! | `TicketCounter`, `LineBack`, `LineFront`, `LineLength` | `line` |
//! | `Dispatch` | `dispatch` |
//! | `RoomAdmin`, and what a deployment does | `operator`, `page_bucket` |
//! | `LiveSessions` of a shop's guards | `shared_sessions` |

mod active;
mod config;
mod dispatch;
mod expressions;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod frozen;
mod help;
mod history;
#[cfg(any(test, feature = "fixtures"))]
mod item_json;
mod items;
mod key_secret;
mod keys;
mod last_record;
mod ledger;
mod ledger_clock;
mod line;
mod operator;
mod page_bucket;
mod permits;
mod plans;
mod queues;
mod retry;
mod room_cache;
mod room_item;
mod secret;
mod shared_sessions;
mod signing_keys;
mod stock;
mod store;
mod table;
mod turnout;

pub use aws_config::SdkConfig;
pub use config::{ConfigError, functions_config, tuned, tuned_for_operator};
pub use dispatch::FunctionDispatch;
#[cfg(any(test, feature = "fixtures"))]
pub use item_json::status_json;
pub use keys::STATUS_COPIES;
pub use line::AwsLine;
pub use page_bucket::{PageBucket, StoredFile};
pub use secret::secret_text;
pub use shared_sessions::SharedSessions;
pub use store::{AwsStore, RoomResources};
