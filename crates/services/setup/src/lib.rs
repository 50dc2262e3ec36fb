//! Puts a room, and the guard of a shop, into the nginx of the machine that they run on, and takes both out again.
//!
//! The configuration is read with every file that it includes, and changed only where it must be. What is not understood is refused
//! with its file and line: a guess could let everybody into the shop, or nobody.

mod answer;
mod crowd;
pub mod examine;
#[cfg(test)]
mod fixture;
mod glob;
mod identity;
mod kept;
mod listen;
mod ours;
mod plan;
mod program;
mod server_block;
mod services;
mod shop;
mod shop_warnings;
mod site;
mod syntax;
mod told;
mod tree;

pub use kept::{FileChange, KeptFiles, diff};
pub use plan::{AfterSetup, SetupPlan, WhatToAdd, take_edits};
pub use program::{NginxProgram, NoNginx};
pub use services::{NotReady, ShopServices};
pub use site::SetupStage;
