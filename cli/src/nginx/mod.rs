//! The configuration of the nginx on this machine: read with every file that it includes, and changed only where it must be.
//!
//! What is not understood is refused with its file and line. A guess could let everybody into the shop, or nobody.

mod answer;
pub(crate) mod crowd;
pub(crate) mod examine;
mod glob;
pub(crate) mod kept;
mod listen;
pub(crate) mod program;
pub(crate) mod services;
pub(crate) mod shop;
pub(crate) mod site;
mod syntax;
pub(crate) mod tree;
