//! The ports in memory, for whoever runs a room without a disk and without AWS: simulations, and tests of handlers.
//!
//! | | |
//! | --- | --- |
//! | [`MemoryLine`], [`LineBehaviour`] | a line that behaves like a standard queue of SQS, as far out of order as you say |
//! | [`MemoryLedger`] | everything else that a store keeps; it knows its line |
//! | [`AdmissionTable`] | where a ledger's admissions lie |
//!
//! The clock is an argument, and nothing is waited for: every call is over when it returns. No call fails, so faults are injected
//! around these ports and not in them.

mod admissions;
mod behaviour;
mod history;
mod hosts;
mod join_times;
mod keys;
mod ledger;
mod ledger_ports;
mod line;
mod line_state;
mod plans;

use std::sync::Arc;

use waitroom::Timestamp;

pub use admissions::AdmissionTable;
pub use behaviour::LineBehaviour;
pub use ledger::MemoryLedger;
pub use line::MemoryLine;

/// Reads the time.
type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;
