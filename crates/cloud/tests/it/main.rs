#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

mod needs;
mod operated;
mod permissions;
mod policy;
mod statement;
