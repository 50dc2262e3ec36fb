#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

mod operated;
mod policy;
