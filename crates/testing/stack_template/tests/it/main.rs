//! Asks the template of the room on AWS: what is made, who may do what, and what the API answers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

mod choices;
mod clean;
mod environment;
mod frozen;
mod polls;
mod roles;
mod routes;
mod strangers;
mod support;
