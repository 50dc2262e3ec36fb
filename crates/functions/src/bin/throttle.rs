//! Once a minute: measures the shop and governs the rate. Invoked with `{"baseline":true}` it takes a new baseline.

use std::time::Duration;

use clock::SystemClock;
use functions::{FunctionSetup, Metric, begin_request, warm_up};
use lambda_runtime::{LambdaEvent, service_fn};
use probe::HttpProbe;
use serde::Deserialize;
use throttle::{SamplePurpose, Throttle, ThrottleOutcome};
use waitroom::throttle_rules::Verdict;

/// The schedule's own event says nothing of this.
#[derive(Deserialize)]
struct ThrottleEvent {
    #[serde(default)]
    baseline: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { store, metrics, .. } = FunctionSetup::start()?;
    warm_up(store.warm_up()).await;
    let throttle = Throttle::new(store, SystemClock, HttpProbe::new()?, Duration::from_mins(1));
    lambda_runtime::run(service_fn(async |event: LambdaEvent<ThrottleEvent>| {
        begin_request(&event.context.request_id);
        let purpose = if event.payload.baseline { SamplePurpose::Baseline } else { SamplePurpose::Judge };
        match throttle.run(purpose).await? {
            ThrottleOutcome::AlreadyDone => tracing::info!("another run has measured this minute"),
            ThrottleOutcome::Found(finding) | ThrottleOutcome::NoBaseline(finding) => {
                let verdict = |verdict| u64::from(finding.verdict == verdict);
                let counts = [
                    (Metric::ShopWell, verdict(Verdict::Well)),
                    (Metric::ShopSlow, verdict(Verdict::Slow)),
                    (Metric::ShopFailing, verdict(Verdict::Failing)),
                ];
                metrics.count(finding.at, &counts);
                tracing::info!(?finding, "the shop was measured");
            }
        }
        Ok::<_, lambda_runtime::Error>(())
    }))
    .await
}
