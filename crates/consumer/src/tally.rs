use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use waitroom::ports::{PortError, Receipt};
use waitroom::{Epoch, LineStatus, SliceId, Timestamp, Token};

use crate::SliceReport;

/// What a slice has released so far, visitor by visitor.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) slice: SliceId,
    pub(crate) report: SliceReport,
    /// The highest of the batches' lowest tickets.
    pub(crate) served: u64,
    /// Everybody who used up the quota; true once the ledger has confirmed it. A visitor whom the line
    /// delivers again is neither charged nor counted again.
    visitors: HashMap<Token, bool>,
    /// When it was told how many were released, and how many these were.
    told: Option<(Timestamp, u32)>,
    /// What everybody who waits was last told by this slice.
    pub(crate) published: Option<LineStatus>,
    /// Received at a time when the room was of another epoch, as far as we knew.
    strangers: Vec<(Timestamp, Epoch, Receipt)>,
}

impl Tally {
    const EVERY: Duration = Duration::from_secs(2);
    /// Where nobody left, nothing is news but newcomers, and a room that is idle all day pays for every look.
    const IDLE: Duration = Duration::from_secs(10);

    pub(crate) fn new(slice: SliceId) -> Self {
        Self {
            slice,
            report: SliceReport::default(),
            served: 0,
            visitors: HashMap::new(),
            told: None,
            published: None,
            strangers: Vec::new(),
        }
    }

    /// How much of the quota this visitor uses up: one, or nothing if they did before.
    pub(crate) fn charge(&mut self, visitor: Token) -> u32 {
        let charged_before = self.visitors.contains_key(&visitor);
        self.visitors.entry(visitor).or_insert(false);
        u32::from(!charged_before)
    }

    pub(crate) fn count(&mut self, visitor: Token) {
        if self.visitors.insert(visitor, true) != Some(true) {
            self.report.released += 1;
        }
    }

    /// Trouble that the slice goes on after. The first is worth a line, and a storm of them not a thousand.
    pub(crate) fn trouble(&mut self, error: &PortError) {
        self.report.troubles += 1;
        if self.report.troubles == 1 {
            tracing::warn!(slice = %self.slice, error = error as &dyn Error, "a consumer goes on after trouble");
        }
    }

    pub(crate) fn stranger(&mut self, at: Timestamp, epoch: Epoch, receipt: Receipt) {
        self.strangers.push((at, epoch, receipt));
    }

    /// Takes the strangers who were received by `until`.
    pub(crate) fn strangers_until(&mut self, until: Timestamp) -> Vec<(Epoch, Receipt)> {
        let due = self.strangers.extract_if(.., |(at, ..)| *at <= until);
        due.map(|(_, epoch, receipt)| (epoch, receipt)).collect()
    }

    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let Some((told, released)) = self.told else { return true };
        let pause = if released == self.report.released { Self::IDLE } else { Self::EVERY };
        now.since(told) >= pause
    }

    pub(crate) fn told(&mut self, now: Timestamp) {
        self.told = Some((now, self.report.released));
    }
}
