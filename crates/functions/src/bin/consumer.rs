//! Works off the slice that the trigger hands over.

use clock::SystemClock;
use consumer::{Consumer, SliceOutcome};
use functions::{FunctionSetup, Metric, begin_request, warm_up};
use lambda_runtime::{LambdaEvent, service_fn};
use waitroom::Slice;
use waitroom::ports::{Claimant, Clock};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { store, metrics, .. } = FunctionSetup::start()?;
    warm_up(store.warm_up_with_line()).await;
    let consumer = Consumer::new(store, SystemClock);
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Slice>| {
        begin_request(&event.context.request_id);
        let slice = event.payload;
        match consumer.run(slice, Claimant(rand::random())).await? {
            SliceOutcome::Taken => tracing::info!(slice = %slice.id, "another consumer has this slice"),
            SliceOutcome::Done(report) => {
                metrics.count(SystemClock.now(), &[(Metric::Admitted, report.released.into())]);
                tracing::info!(slice = %slice.id, ?report, "a slice is over");
            }
        }
        Ok::<_, lambda_runtime::Error>(())
    }))
    .await
}
