use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use tracing::Span;
use tracing::field::display;
use waitroom::ports::{PortError, SliceProgress};
use waitroom::{Epoch, LineReach, LineStatus, ReachEstimate, Room, Slice, SliceId, Ticket, Timestamp, Token};

use crate::report::SliceReport;
use crate::waits::LongestWait;

/// What a slice has released so far, visitor by visitor.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) slice: SliceId,
    /// How many slices the plan has.
    slices: u32,
    pub(crate) report: SliceReport,
    /// How many visitors were released by an earlier consumer of this slice that died.
    released_before: u32,
    /// The ticket that the line has reached. `None` until it is known where the line was when this slice began.
    pub(crate) reached: Option<ReachEstimate>,
    /// How far out of order the line is, as the ledger has it.
    recorded_disorder: u64,
    /// Only one report follows.
    pub(crate) is_over: bool,
    /// Who left the line before that was known.
    left_before: Vec<Ticket>,
    /// The lowest ticket that the line has delivered.
    lowest: Option<Ticket>,
    /// Every visitor who used up quota; true once the ledger has confirmed the admission. A visitor whom the line
    /// delivers again is neither charged nor counted again.
    visitors: HashMap<Token, bool>,
    pub(crate) waits: LongestWait,
    /// When progress was last reported, and how many were released by then.
    reported: Option<(Timestamp, u32)>,
    /// When the line first and last answered that nobody waits, since it delivered somebody.
    empty: Option<(Timestamp, Timestamp)>,
    /// The status that this slice published last, and whether the last report changed it.
    pub(crate) published: Option<LineStatus>,
    pub(crate) is_news: bool,
    /// Whether the ledger takes admissions. `None` until it was asked.
    pub(crate) ledger_takes: Option<bool>,
    /// The epoch that log lines carry.
    logged_epoch: Option<Epoch>,
}

impl Tally {
    /// After only empty answers for this long, the line is empty.
    const LINE_IS_EMPTY: Duration = Duration::from_secs(2);
    /// A change of the disorder by fewer places is not worth a write.
    const LEAST_NEWS: u64 = 10;
    const REPORT_EVERY: Duration = Duration::from_secs(2);
    /// While nobody is released and nobody joins, reports are less frequent, because each one costs money, also in a room that
    /// is idle all day.
    const REPORT_EVERY_WHILE_IDLE: Duration = Duration::from_secs(10);

    pub(crate) fn new(slice: Slice) -> Self {
        Self {
            slice: slice.id,
            slices: slice.slices(),
            report: SliceReport::default(),
            released_before: 0,
            reached: None,
            recorded_disorder: 0,
            is_over: false,
            left_before: Vec::new(),
            lowest: None,
            visitors: HashMap::new(),
            waits: LongestWait::default(),
            reported: None,
            empty: None,
            published: None,
            is_news: false,
            ledger_takes: None,
            logged_epoch: None,
        }
    }

    /// Continues the count of an earlier consumer that died after it had released this many visitors.
    pub(crate) fn resume(&mut self, released: u32) {
        self.released_before = released;
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.released_before > 0
    }

    /// How many the slice has released in total.
    pub(crate) fn released(&self) -> u32 {
        self.released_before + self.report.released
    }

    /// Adds this room's name and epoch to the slice's log lines from now on.
    pub(crate) fn name_in_log(&mut self, room: &Room) {
        if self.logged_epoch == Some(room.epoch) {
            return;
        }
        if self.logged_epoch.is_none() {
            Span::current().record("room", display(&room.settings.room));
        }
        Span::current().record("epoch", display(room.epoch));
        self.logged_epoch = Some(room.epoch);
    }

    /// Whether this visitor has used up quota. Admitting them again uses up no more.
    pub(crate) fn is_charged(&self, visitor: Token) -> bool {
        self.visitors.contains_key(&visitor)
    }

    /// How much quota this visitor uses up: 1, or 0 for a visitor who was charged before.
    pub(crate) fn charge(&mut self, visitor: Token) -> u32 {
        let charged_before = self.is_charged(visitor);
        self.visitors.entry(visitor).or_insert(false);
        u32::from(!charged_before)
    }

    pub(crate) fn count(&mut self, visitor: Token) {
        if self.visitors.insert(visitor, true) != Some(true) {
            self.report.released += 1;
        }
    }

    /// The line was asked at `asked`, and answered now that nobody waits.
    pub(crate) fn found_nobody(&mut self, asked: Timestamp, now: Timestamp) {
        self.empty = Some((self.empty.map_or(asked, |(since, _)| since), now));
    }

    pub(crate) fn found_somebody(&mut self) {
        self.empty = None;
    }

    /// Whether the line has answered for so long that nobody waits.
    pub(crate) fn has_found_nobody_for(&self, time: Duration, now: Timestamp) -> bool {
        self.empty.is_some_and(|(since, _)| now.since(since) >= time)
    }

    /// Whether the line is empty: for two seconds there were only empty answers, and the last one is not older than that.
    pub(crate) fn finds_nobody(&self, now: Timestamp) -> bool {
        let is_over = |(since, last): (Timestamp, Timestamp)| {
            now.since(since) >= Self::LINE_IS_EMPTY && now.since(last) < Self::LINE_IS_EMPTY
        };
        self.empty.is_some_and(is_over)
    }

    /// Notes how far the line is in the ledger, if this slice did not know it yet.
    pub(crate) fn begin_at(&mut self, LineReach { reached, disorder, .. }: LineReach) {
        self.recorded_disorder = disorder;
        let reached = self.reached.get_or_insert_with(|| ReachEstimate::new(reached, disorder, self.slices));
        reached.leave(std::mem::take(&mut self.left_before));
    }

    /// Visitors with these tickets have left the line.
    pub(crate) fn leave(&mut self, tickets: Vec<Ticket>) {
        match &mut self.reached {
            Some(reached) => reached.leave(tickets),
            None => self.left_before.extend(tickets),
        }
    }

    /// The line has delivered a visitor with this ticket who was not admitted before.
    pub(crate) fn delivered(&mut self, ticket: Ticket) {
        self.lowest = Some(self.lowest.map_or(ticket, |lowest| lowest.min(ticket)));
    }

    /// What the slice records.
    pub(crate) fn progress(&self) -> SliceProgress {
        SliceProgress {
            released: self.released(),
            reached: self.reached.map_or(0, |reached| reached.reached()),
            lowest: self.lowest.map(Ticket::get),
            disorder: self.changed_disorder(),
            at_most: self.is_over.then(|| self.may_have_admitted()),
        }
    }

    /// Everybody who used up quota: also those of whom the ledger has not confirmed it.
    fn may_have_admitted(&self) -> u32 {
        self.released_before.saturating_add(u32::try_from(self.visitors.len()).unwrap_or(u32::MAX))
    }

    /// How far out of order the line is, if that differs from the ledger by more than visitors can see. One slice is enough to
    /// know it, and each record costs a write. The next window begins with what is recorded, so the last report leaves nothing
    /// out: at a low rate, many small changes are a large one.
    fn changed_disorder(&self) -> Option<u64> {
        let disorder = self.reached?.disorder();
        let change = disorder.abs_diff(self.recorded_disorder);
        let unseen = if self.is_over { 0 } else { (self.recorded_disorder / 8).max(Self::LEAST_NEWS) };
        (self.slice.index == 0 && change > unseen).then_some(disorder)
    }

    /// Counts a failed call after which the slice goes on. Only the first is a warning, so that an outage does not
    /// flood the log; the report has their number.
    pub(crate) fn failed(&mut self, error: &PortError) {
        self.report.failures += 1;
        let error = error as &dyn Error;
        if self.report.failures == 1 {
            tracing::warn!(error, "a call failed; the slice goes on, and later failures are only counted");
        } else {
            tracing::debug!(error, "a call failed; the slice goes on");
        }
    }

    pub(crate) fn report_is_due(&self, now: Timestamp) -> bool {
        let Some((at, released)) = self.reported else { return true };
        let is_idle = released == self.report.released && !self.is_news;
        let pause = if is_idle { Self::REPORT_EVERY_WHILE_IDLE } else { Self::REPORT_EVERY };
        now.since(at) >= pause
    }

    pub(crate) fn reported(&mut self, now: Timestamp) {
        self.reported = Some((now, self.report.released));
    }
}
