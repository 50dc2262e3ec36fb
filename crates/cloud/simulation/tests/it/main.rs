#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

mod crowd;
mod limits;
mod original;
mod scenarios;
mod search;
