//! Plans a window every minute, and starts a consumer for each slice.

use std::time::Duration;

use aws::FunctionDispatch;
use clock::SystemClock;
use functions::{FunctionSetup, Metric, request_span, variable, warm_up};
use lambda_runtime::{LambdaEvent, service_fn};
use serde::de::IgnoredAny;
use tracing::Instrument;
use trigger::Trigger;
use waitroom::Valve;
use waitroom::ports::{Clock, RoomReader};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { config, store, metrics, room } = FunctionSetup::start()?;
    let dispatch = FunctionDispatch::new(&config, variable("CONSUMER_FUNCTION")?);
    warm_up(store.warm_up_with_line()).await;
    let trigger = Trigger::new(store.clone(), SystemClock, dispatch, Duration::from_mins(1));
    lambda_runtime::run(service_fn(async |event: LambdaEvent<IgnoredAny>| {
        let span = request_span(&room, &event.context.request_id);
        let report = trigger.run().instrument(span).await?;
        let rate = store.room().await.map(|room| match room.valve() {
            Valve::Open(rate) => rate.get().into(),
            Valve::Paused | Valve::Off => 0,
        });
        let mut counts: Vec<_> =
            report.waiting.map(|waiting| (Metric::Waiting, waiting)).into_iter().collect();
        counts.extend(rate.map(|rate| (Metric::Rate, rate)));
        metrics.count(SystemClock.now(), &counts);
        Ok::<_, lambda_runtime::Error>(())
    }))
    .await
}
