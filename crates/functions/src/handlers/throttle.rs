//! Measures the shop every minute and lowers the rate while it is slow or failing.

use std::time::Duration;

use clock::SystemClock;
use functions::{FunctionSetup, Metric, serve, warm_up};
use probe::HttpProbe;
use serde::de::IgnoredAny;
use throttle::Throttle;
use waitroom::throttle_rules::Verdict;

pub(crate) async fn run() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { store, metrics, room, .. } = FunctionSetup::start_with_trigger()?;
    warm_up(store.warm_up()).await;
    let throttle = Throttle::new(store, SystemClock, HttpProbe::new()?, Duration::from_mins(1));
    serve(&room, async |_: IgnoredAny| {
        if let Some(finding) = throttle.run().await?.finding() {
            let verdict = |verdict| u64::from(finding.verdict == verdict);
            let counts = [
                (Metric::ShopWell, verdict(Verdict::Well)),
                (Metric::ShopSlow, verdict(Verdict::Slow)),
                (Metric::ShopFailing, verdict(Verdict::Failing)),
            ];
            metrics.count(finding.at, &counts);
        }
        Ok(())
    })
    .await
}
