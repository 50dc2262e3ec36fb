//! Releases the slice that the trigger sends.

use clock::SystemClock;
use consumer::{Consumer, SliceOutcome};
use functions::{FunctionSetup, Metric, serve, warm_up};
use waitroom::Slice;
use waitroom::ports::{Clock, ConsumerRun};

pub(crate) async fn run() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { store, metrics, room, .. } = FunctionSetup::start()?;
    warm_up(store.warm_up_with_line()).await;
    let consumer = Consumer::new(store, SystemClock);
    serve(&room, async |slice: Slice| {
        let outcome = consumer.run(slice, ConsumerRun(rand::random())).await?;
        let SliceOutcome::Done(report) = outcome else { return Ok(()) };
        if report.released > 0 {
            metrics.count(SystemClock.now(), &[(Metric::Admitted, report.released.into())]);
        }
        // Lambda counts it as an error, and the alarm for functions that fail rings.
        if report.refused {
            return Err(
                "could not admit visitors: the ledger took no admissions when the slice was over".into()
            );
        }
        Ok(())
    })
    .await
}
