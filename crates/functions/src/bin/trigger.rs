//! Once a minute: plans, and starts a consumer for each slice.

use std::time::Duration;

use aws::FunctionDispatch;
use clock::SystemClock;
use functions::{FunctionSetup, Metric, begin_request, variable, warm_up};
use lambda_runtime::{LambdaEvent, service_fn};
use serde::de::IgnoredAny;
use trigger::Trigger;
use waitroom::Valve;
use waitroom::ports::{Clock, RoomReader};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { config, store, metrics } = FunctionSetup::start()?;
    let crew = FunctionDispatch::new(&config, variable("CONSUMER_FUNCTION")?);
    warm_up(store.warm_up_with_line()).await;
    let trigger = Trigger::new(store.clone(), SystemClock, crew, Duration::from_mins(1));
    lambda_runtime::run(service_fn(async |event: LambdaEvent<IgnoredAny>| {
        begin_request(&event.context.request_id);
        let report = trigger.run().await?;
        let rate = store.room().await.map(|room| match room.valve() {
            Valve::Open(rate) => rate.get().into(),
            Valve::Paused | Valve::Off => 0,
        });
        let mut counts: Vec<_> =
            report.waiting.map(|waiting| (Metric::Waiting, waiting)).into_iter().collect();
        counts.extend(rate.map(|rate| (Metric::Rate, rate)));
        metrics.count(SystemClock.now(), &counts);
        tracing::info!(sent = report.sent, not_sent = report.not_sent, planned = ?report.planned, "a minute");
        Ok::<_, lambda_runtime::Error>(())
    }))
    .await
}
