//! Releases one slice of a plan.
//!
//! [`Consumer::run`] takes the slice, then releases visitors as [`waitroom::Pace`] allows: it receives a batch, writes an
//! admission for each visitor, and only then removes them from the line. If it is killed between two steps, a visitor
//! is either still in the line and is delivered again, or is admitted and still in the line. In the second case the
//! next consumer that receives them finds the admission, removes them and does not count them. So nobody is lost, and
//! nobody is counted twice.
//!
//! A consumer receives nobody before the ledger has said that it takes admissions. If the ledger refuses somebody all the
//! same, they stay in its hand (`hand.rs`), and it tries again until the slice is over. So a ledger that takes no
//! admissions for a while costs each visitor one receipt at most, however long that lasts.

mod hand;
mod known_stock;
mod progress;
mod release;
mod report;
mod slice_run;
mod stock;
mod store;
mod tally;
mod waits;

pub use report::{SliceOutcome, SliceReport};
use slice_run::SliceRun;
pub use store::ConsumerStore;
use tracing::Instrument;
use tracing::field::Empty;
use waitroom::Slice;
use waitroom::ports::{Clock, ConsumerRun, PortResult};

#[derive(Debug)]
pub struct Consumer<S, C> {
    store: S,
    clock: C,
}

impl<S: ConsumerStore, C: Clock> Consumer<S, C> {
    pub fn new(store: S, clock: C) -> Self {
        Self { store, clock }
    }

    /// Takes the slice, releases it until its time is over, and logs one line that says what it did.
    pub async fn run(&self, slice: Slice, consumer_run: ConsumerRun) -> PortResult<SliceOutcome> {
        // The span has the highest level, so that no log filter removes it.
        let span = tracing::error_span!(
            "slice",
            room = Empty,
            epoch = Empty,
            window = slice.id.plan,
            slice = %slice.id
        );
        let run = async {
            let report = SliceRun::new(&self.store, &self.clock, slice).run(consumer_run).await;
            let outcome = report.map(|report| report.map_or(SliceOutcome::Taken, SliceOutcome::Done));
            report::log(slice, &outcome);
            outcome
        };
        run.instrument(span).await
    }
}
