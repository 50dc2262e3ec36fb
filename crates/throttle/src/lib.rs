//! Dynamic rate throttling: measures the shop once a minute and lowers the rate while it is slow or failing.
//!
//! [`waitroom::throttle_rules`] decides what the figures mean. [`visit`] decides what counts as an answer. This module
//! reads and writes the ledger. A second run in the same minute does nothing. Of two runs at once, only one writes.
//!
//! A shop that looks slow is measured again in the same run. It is slow if it still is then: what passes within seconds, such as
//! a collection of garbage, costs no visitor the turn, and a shop that stays slow is relieved in the same minute. A shop that
//! fails is relieved at once.

mod visit;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tracing::field::{Empty, display};
use tracing::{Instrument, Span};
use visit::visit;
use waitroom::ports::{Clock, Fault, PortResult, Probe, RoomReader, ThrottleStore};
use waitroom::throttle_rules::{Baseline, Finding, MAX_FAILURES, SAMPLE_SIZE, Sample, Verdict};
use waitroom::{Rate, Room, innermost};

pub use visit::VisitFailure;

/// How many requests are sent to the shop at the same time.
const AT_ONCE: usize = 4;

waitroom::used_ports! {
    /// What the throttle needs of the ledger.
    pub trait ThrottleLedger: RoomReader + ThrottleStore
}

#[derive(Debug)]
pub struct Throttle<L, C, P> {
    ledger: L,
    clock: C,
    probe: P,
    minute: Duration,
}

/// The requests of one run.
#[derive(Debug, Default)]
pub struct Measurement {
    pub sample: Sample,
    /// How many requests the shop refused because they had no pass. They are not in the sample.
    pub refused: usize,
    /// Why the last request failed that did.
    pub last_failure: Option<VisitFailure>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ThrottleOutcome {
    /// Another run has measured this minute.
    AlreadyDone,
    Found(Finding),
    /// The shop fails too often for a baseline. The next run takes it.
    NoBaseline(Finding),
}

impl<L: ThrottleLedger, C: Clock, P: Probe> Throttle<L, C, P> {
    const ATTEMPTS: u32 = 4;
    /// A slow shop is measured again this part of a minute after the first time, or once that is over. Both times together
    /// take less than a minute, because a request that takes longer than five seconds failed.
    const SECOND_LOOK: u32 = 6;
    /// A throttle that was off for so long takes a new baseline: the shop may have become another one, and with a rested shop the
    /// first sample shows how it is when it's well.
    const OFF: Duration = Duration::from_hours(1);

    pub fn new(ledger: L, clock: C, probe: P, minute: Duration) -> Self {
        Self { ledger, clock, probe, minute }
    }

    /// Measures the shop, sets the rate in force, and logs one line that says what was found.
    pub async fn run(&self) -> PortResult<ThrottleOutcome> {
        // The span has the highest level, so that no log filter removes it.
        let span = tracing::error_span!("throttle", room = Empty, epoch = Empty);
        let outcome = self.measure_and_hold().instrument(span.clone()).await;
        span.in_scope(|| match &outcome {
            Ok((room, outcome)) => outcome.log(room),
            Err(error) => {
                tracing::error!(error = error as &dyn Error, "throttle failed; the next run tries again");
            }
        });
        outcome.map(|(_, outcome)| outcome)
    }

    async fn measure_and_hold(&self) -> PortResult<(Arc<Room>, ThrottleOutcome)> {
        let room = self.ledger.room().await?;
        Span::current().record("room", display(&room.settings.room)).record("epoch", display(room.epoch));
        let mut memory = self.ledger.recall().await?;
        let started = self.clock.now();
        // A run long after this one was made by a clock that was ahead.
        let apart = |last: &Finding| started.since(last.at).max(last.at.since(started));
        let since_last = memory.history.last().map(apart);
        if since_last.is_some_and(|apart| apart < self.minute / 2) {
            return Ok((room, ThrottleOutcome::AlreadyDone));
        }
        let url = room.settings.measured();
        let is_of_another = memory.measured.as_ref().is_some_and(|measured| measured != url);
        if is_of_another || since_last.is_some_and(|apart| apart > Self::OFF) {
            memory.baseline = None;
        }
        memory.measured = Some(url.clone());
        let mut measurement = measure(&self.probe, &self.clock, &room).await;
        let is_slow = Verdict::of(&measurement.sample, memory.baseline) == Verdict::Slow;
        if is_slow {
            self.clock.sleep_until(started + self.minute / Self::SECOND_LOOK).await;
            measurement = measure(&self.probe, &self.clock, &room).await;
        }
        let (refused, sample) = (measurement.is_refused(), &measurement.sample);
        memory.baseline = memory.baseline.or_else(|| Baseline::of(sample));
        let has_no_baseline = memory.baseline.is_none() && !refused;
        // A shop that refuses visitors without a pass works as it should, so nothing holds the rate down.
        let verdict = if refused { Verdict::Well } else { Verdict::of(sample, memory.baseline) };
        // Read again, because the operator may have set another rate while the shop was measured.
        let room = self.ledger.room().await?;
        let wanted = room.settings.rate;
        let rate = verdict.next_rate(room.shop_rate(), wanted);
        let why = measurement
            .last_failure
            .as_ref()
            .filter(|_| verdict == Verdict::Failing)
            .map(|failure| innermost(failure));
        let finding =
            Finding { refused, why, ..Finding::new(started, sample, memory.baseline, verdict, rate) };
        memory.history.push(finding.clone());
        let too_many = memory.history.len().saturating_sub(Finding::KEPT);
        memory.history.drain(..too_many);
        memory.version += 1;
        if !self.ledger.remember(memory).await? {
            return Ok((room, ThrottleOutcome::AlreadyDone));
        }
        let held = Some(rate).filter(|&rate: &Rate| rate < wanted);
        if held != room.throttled {
            self.hold(held).await?;
        }
        let found = if has_no_baseline { ThrottleOutcome::NoBaseline } else { ThrottleOutcome::Found };
        Ok((room, found(finding)))
    }

    /// Sets the rate in force. A failure is retried: the finding is already stored, so no other run sets the rate this
    /// minute.
    async fn hold(&self, rate: Option<Rate>) -> PortResult<()> {
        let mut attempt = 1;
        loop {
            match self.ledger.hold(rate).await {
                Err(error) if error.fault != Fault::Broken && attempt < Self::ATTEMPTS => {
                    self.clock.sleep_until(self.clock.now() + Duration::from_millis(200) * attempt).await;
                    attempt += 1;
                }
                done => return done,
            }
        }
    }
}

impl Measurement {
    /// Whether the shop refused so many requests that nothing was measured.
    pub fn is_refused(&self) -> bool {
        self.refused > 0 && self.sample.answered.is_empty() && self.sample.failed <= MAX_FAILURES
    }
}

impl ThrottleOutcome {
    /// The one line that every run logs, on one machine and on AWS. It is a warning while the shop is slow, failing or
    /// not measured, and until the rate has recovered. Times are in seconds. Its span has the room.
    fn log(&self, room: &Room) {
        let wanted = room.settings.rate;
        let Some(Finding { verdict, mean, threshold, failed, refused, rate, .. }) = self.finding() else {
            tracing::info!("throttle skipped: another run has measured this minute");
            return;
        };
        // In milliseconds, as `status` shows them: nobody needs sixteen digits.
        let rounded = |seconds: Option<f64>| seconds.map(|seconds| (seconds * 1000.0).round() / 1000.0);
        let (mean, threshold) = (rounded(mean), rounded(threshold));
        macro_rules! log {
            ($level:ident, $message:literal) => {
                tracing::$level!(?verdict, mean, threshold, failed, %rate, %wanted, $message);
            };
        }
        match (self, verdict) {
            _ if refused => {
                log!(
                    warn,
                    "throttle finished: the shop was not measured, because it refuses visitors without a pass, as it should; give a health URL that needs none"
                );
            }
            (Self::NoBaseline(_), _) => {
                log!(warn, "throttle finished: the shop fails too often for a baseline");
            }
            (_, Verdict::Well) if rate < wanted => {
                log!(warn, "throttle finished: recovering, because the shop is well again");
            }
            // `room` is as it was before this run.
            (_, Verdict::Well) if room.is_throttled() => {
                log!(warn, "throttle finished: recovered, the whole rate is in force again");
            }
            (_, Verdict::Well) => {
                log!(info, "throttle finished");
            }
            (_, Verdict::Slow | Verdict::Failing) => {
                log!(
                    warn,
                    "throttle finished: fewer visitors may enter, because the shop is slow or failing"
                );
            }
        }
    }

    /// What this run found; none if it did not measure.
    pub fn finding(&self) -> Option<Finding> {
        match self {
            Self::AlreadyDone => None,
            Self::Found(finding) | Self::NoBaseline(finding) => Some(finding.clone()),
        }
    }
}

/// Sends a sample's requests to the shop, a few at a time.
pub async fn measure(probe: &impl Probe, clock: &impl Clock, room: &Room) -> Measurement {
    let visits = (0..SAMPLE_SIZE).map(|_| visit(probe, clock, room));
    let results: Vec<_> = stream::iter(visits).buffer_unordered(AT_ONCE).collect().await;
    let mut measurement = Measurement::default();
    for result in results {
        match result {
            Ok(took) => measurement.sample.answered.push(took),
            Err(failure) => {
                tracing::debug!(error = &failure as &dyn Error, "a request to the shop was not answered");
                if let VisitFailure::Refused(_) = failure {
                    measurement.refused += 1;
                } else {
                    measurement.sample.failed += 1;
                    measurement.last_failure = Some(failure);
                }
            }
        }
    }
    measurement
}
