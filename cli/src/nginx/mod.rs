//! The configuration of the nginx on this machine: read with every file that it includes, and changed only where it must be.
//!
//! What is not understood is refused with its file and line. A guess could let everybody into the shop, or nobody.

mod glob;
pub(crate) mod syntax;
pub(crate) mod tree;
