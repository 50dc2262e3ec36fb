use std::error::Error;

use waitroom::Slice;
use waitroom::ports::PortResult;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceOutcome {
    /// Another run has this slice.
    Taken,
    Done(SliceReport),
}

/// What one slice did. The counts are the fields of its log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceReport {
    /// Admitted by this run and confirmed by the ledger.
    pub released: u32,
    /// Removed from the line without being counted, because another slice or the door had admitted them, or because
    /// they belong to another epoch.
    pub dropped: u32,
    /// Moved to the dead letters, because what the line delivered is not a visitor.
    pub dead_letters: u32,
    /// Received but not admitted, because the ledger failed or the slice's time was over: handed back to the line.
    pub left_in_line: u32,
    /// Failed calls after which the slice went on.
    pub failures: u32,
    /// The ledger took no admissions when the slice was over.
    pub refused: bool,
}

/// The one line that every run logs, on one machine and on AWS. Its span has the room and the slice.
pub(crate) fn log(slice: Slice, outcome: &PortResult<SliceOutcome>) {
    match outcome {
        Ok(SliceOutcome::Done(report)) => {
            let SliceReport { released, dropped, dead_letters, left_in_line, failures, refused } = *report;
            let quota = slice.quota;
            tracing::info!(quota, released, dropped, dead_letters, left_in_line, failures, "slice finished");
            if refused {
                tracing::error!("the ledger took no admissions when the slice was over");
            }
        }
        Ok(SliceOutcome::Taken) => tracing::info!("slice skipped: another consumer has it"),
        Err(error) => {
            tracing::error!(
                error = error as &dyn Error,
                "slice failed: it could not be taken before its time was over"
            );
        }
    }
}
