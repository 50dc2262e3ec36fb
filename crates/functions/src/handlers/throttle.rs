//! Measures the shop every minute and lowers the rate while it is slow or failing. Invoked with `{"baseline":true}` it
//! takes a new baseline.

use std::time::Duration;

use clock::SystemClock;
use functions::{FunctionSetup, Metric, request_span, warm_up};
use lambda_runtime::{LambdaEvent, service_fn};
use probe::HttpProbe;
use serde::Deserialize;
use throttle::{SamplePurpose, Throttle};
use tracing::Instrument;
use waitroom::throttle_rules::Verdict;

/// The schedule's event has no such field.
#[derive(Deserialize)]
struct ThrottleEvent {
    #[serde(default)]
    baseline: bool,
}

pub(crate) async fn run() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { store, metrics, room, .. } = FunctionSetup::start_with_trigger()?;
    warm_up(store.warm_up()).await;
    let throttle = Throttle::new(store, SystemClock, HttpProbe::new()?, Duration::from_mins(1));
    lambda_runtime::run(service_fn(async |event: LambdaEvent<ThrottleEvent>| {
        let span = request_span(&room, &event.context.request_id);
        let purpose = if event.payload.baseline { SamplePurpose::Baseline } else { SamplePurpose::Judge };
        if let Some(finding) = throttle.run(purpose).instrument(span).await?.finding() {
            let verdict = |verdict| u64::from(finding.verdict == verdict);
            let counts = [
                (Metric::ShopWell, verdict(Verdict::Well)),
                (Metric::ShopSlow, verdict(Verdict::Slow)),
                (Metric::ShopFailing, verdict(Verdict::Failing)),
            ];
            metrics.count(finding.at, &counts);
        }
        Ok::<_, lambda_runtime::Error>(())
    }))
    .await
}
