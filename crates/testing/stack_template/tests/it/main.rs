//! Tests of the template: which resources it creates, what each role allows, and what the API answers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

mod alarms;
mod choices;
mod clean;
mod cookies;
mod environment;
mod firewall;
mod frozen;
mod polls;
mod roles;
mod routes;
mod security_policy;
mod support;
mod variables;
