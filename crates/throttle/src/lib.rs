//! Dynamic rate throttling: measures the shop once a minute and governs the rate.
//!
//! What the figures mean is decided in [`waitroom::throttle_rules`]; what counts as an answer in [`visit`]. Here
//! they meet the ledger. A run that comes twice in a minute does nothing the second time, and of two that
//! run at once only one writes.

mod visit;

use std::time::Duration;

use futures_util::{StreamExt, stream};
use visit::visit;
use waitroom::ports::{Clock, Fault, PortResult, Probe, RoomReader, ThrottleStore};
use waitroom::throttle_rules::{Baseline, Finding, SAMPLE_SIZE, Sample, Verdict};
use waitroom::{Rate, Room};

/// Requests to the shop at the same time.
const AT_ONCE: usize = 4;

/// What the throttle needs of a store.
pub trait ThrottlePorts: RoomReader + ThrottleStore {}

impl<S: RoomReader + ThrottleStore> ThrottlePorts for S {}

#[derive(Debug)]
pub struct Throttle<S, C, P> {
    store: S,
    clock: C,
    probe: P,
    minute: Duration,
}

/// What the figures of this run are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplePurpose {
    /// Judge the shop against the baseline; the first run ever takes the baseline.
    Judge,
    /// The operator asked for a new baseline.
    Baseline,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThrottleOutcome {
    /// Another run did this minute's work.
    AlreadyDone,
    Found(Finding),
    /// The shop is in no state to take a baseline from; the one before holds, if there is one.
    NoBaseline(Finding),
}

impl<S: ThrottlePorts, C: Clock, P: Probe> Throttle<S, C, P> {
    const ATTEMPTS: u32 = 4;

    pub fn new(store: S, clock: C, probe: P, minute: Duration) -> Self {
        Self { store, clock, probe, minute }
    }

    pub async fn run(&self, purpose: SamplePurpose) -> PortResult<ThrottleOutcome> {
        let mut memory = self.store.recall().await?;
        let started = self.clock.now();
        let recently = memory.history.last().is_some_and(|last| started.since(last.at) < self.minute / 2);
        if recently && purpose == SamplePurpose::Judge {
            return Ok(ThrottleOutcome::AlreadyDone);
        }
        let room = self.store.room().await?;
        let sample = measure(&self.probe, &self.clock, &room).await;
        let mut refused = false;
        if memory.baseline.is_none() || purpose == SamplePurpose::Baseline {
            let taken = Baseline::of(&sample);
            refused = taken.is_none();
            memory.baseline = taken.or(memory.baseline);
        }
        let verdict = Verdict::of(&sample, memory.baseline);
        // Read again: measuring took its time, and the operator may have set another rate meanwhile.
        let room = self.store.room().await?;
        let wanted = room.settings.rate;
        let rate = verdict.next_rate(room.rate(), wanted);
        let finding = Finding::new(started, &sample, memory.baseline, verdict, rate);
        memory.history.push(finding);
        let too_many = memory.history.len().saturating_sub(Finding::KEPT);
        memory.history.drain(..too_many);
        memory.version += 1;
        if !self.store.remember(memory).await? {
            return Ok(ThrottleOutcome::AlreadyDone);
        }
        let held = Some(rate).filter(|&rate: &Rate| rate < wanted);
        if held != room.throttled {
            self.hold(held).await?;
        }
        Ok(if refused { ThrottleOutcome::NoBaseline(finding) } else { ThrottleOutcome::Found(finding) })
    }

    /// The finding is remembered already, so nobody else will do this before the next minute.
    async fn hold(&self, rate: Option<Rate>) -> PortResult<()> {
        let mut attempt = 1;
        loop {
            match self.store.hold(rate).await {
                Err(error) if error.fault != Fault::Broken && attempt < Self::ATTEMPTS => {
                    self.clock.sleep_until(self.clock.now() + Duration::from_millis(200) * attempt).await;
                    attempt += 1;
                }
                done => return done,
            }
        }
    }
}

/// Asks the shop as often as a sample needs, a few at a time.
pub async fn measure(probe: &impl Probe, clock: &impl Clock, room: &Room) -> Sample {
    let visits = (0..SAMPLE_SIZE).map(|_| visit(probe, clock, room));
    let results: Vec<_> = stream::iter(visits).buffer_unordered(AT_ONCE).collect().await;
    let mut sample = Sample::default();
    for result in results {
        match result {
            Ok(took) => sample.answered.push(took),
            Err(failure) => {
                tracing::debug!(error = &failure as &dyn std::error::Error, "the shop failed a request");
                sample.failed += 1;
            }
        }
    }
    sample
}
