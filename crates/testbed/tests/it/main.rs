//! What stands in for AWS, tried.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

mod boto;
mod dynamodb;
