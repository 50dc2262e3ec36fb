//! What happened in an event, minute by minute, from what the room keeps anyway: the records of its minutes, its audit
//! trail, and its alarms; on AWS also a metric of the door.
//!
//! An [`EventReport`] is what `report --json` prints and `destroy` saves. It is read back from such a file, so that it can be
//! shown as a [document](EventReport::document) and as [CSV](EventReport::csv) after the room is gone.

mod csv;
mod entered;
mod event;
mod facts;
#[cfg(test)]
mod fixture;
mod kept_records;
mod minutes;
mod sections;
mod summary;

pub use event::{EventReport, NoReport, ReportRange};
pub use kept_records::KeptRecords;
pub use minutes::{ReportedMinute, why_no_rate};
pub use summary::{ReportSummary, ReportedTurnout};
