//! Tests through the ports.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

mod contracts;
mod epochs;
mod fixture;
