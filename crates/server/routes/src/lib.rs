//! A room over HTTP: every [`Route`], and the answers of those that only read.
//!
//! The room on one machine answers by this, and the door's function behind an edge on AWS, so both say the same.

mod reads;
pub mod respond;
mod table;

pub use reads::{ReadLedger, Reads, cookies};
pub use respond::HttpResponse;
pub use table::{AwsHandler, DOOR, Handler, RETRY_AFTER, ROUTES, Route, problem};
