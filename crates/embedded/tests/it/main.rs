//! The embedded store against the ports' contracts, and what it promises beyond them.

mod contracts;
mod durability;
mod room;
mod support;
mod sweeping;
