//! What people download is installed and runs, and what they copy is valid.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

mod container;
mod copied;
mod crowd;
mod debian;
mod empty_root;
mod image;
mod install;
mod installer;
mod interrupted;
mod one_machine;
mod refused;
mod releases;
mod topology;
