//! The functions, one file each.

pub(crate) mod authorizer;
pub(crate) mod consumer;
pub(crate) mod producer;
pub(crate) mod setup;
pub(crate) mod throttle;
pub(crate) mod trigger;
