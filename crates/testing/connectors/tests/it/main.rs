//! The connectors do what the test vectors say, and the vectors are what Rust makes of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

mod agreement;
mod api_gateway;
mod browser;
mod judges;
mod keys;
mod libraries;
mod shops;
mod vectors;
