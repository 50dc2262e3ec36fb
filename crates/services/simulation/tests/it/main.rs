#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

mod active;
mod crowd;
mod documents;
mod edge;
mod limits;
mod orders;
mod original;
mod scenarios;
mod search;
mod stampede;
mod turnout;
