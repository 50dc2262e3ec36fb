//! Tests the ports over DynamoDB and SQS against emulators.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that finds something else fails"
)]

mod contracts;
mod emulators;
mod failures;
mod ledger;
mod line;
mod operator;
mod room;
mod shared_sessions;
mod signing_keys;
mod site;
mod status_copies;
mod stub;
