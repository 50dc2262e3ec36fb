//! Plans a window every minute and whenever the valve changes, and starts a consumer for each slice.

use std::time::Duration;

use aws::FunctionDispatch;
use clock::SystemClock;
use functions::{FunctionSetup, Metric, end_leftover_hold, serve, variable, warm_up};
use serde::Deserialize;
use trigger::{Trigger, TriggerCause};
use waitroom::ports::{Clock, RoomReader};

/// The schedule's event has no such field.
#[derive(Deserialize)]
struct TriggerEvent {
    #[serde(default)]
    valve_changed: bool,
}

pub(crate) async fn run() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { config, store, metrics, room } = FunctionSetup::start()?;
    let dispatch = FunctionDispatch::new(&config, variable("CONSUMER_FUNCTION")?);
    // While an update runs, the program may be newer than its variables.
    let has_throttle = variable("THROTTLING").map_or(true, |throttling| throttling == "yes");
    warm_up(store.warm_up_with_line()).await;
    let trigger = Trigger::new(store.clone(), SystemClock, dispatch, Duration::from_mins(1));
    serve(&room, async |event: TriggerEvent| {
        let cause = if event.valve_changed { TriggerCause::Change } else { TriggerCause::Minute };
        if cause == TriggerCause::Minute && !has_throttle {
            end_leftover_hold(&store).await;
        }
        let report = trigger.run(cause).await?;
        if !report.found_nobody() {
            let rate = store.room().await.map(|room| {
                // A full shop is no stall, unless nobody says who has left it.
                let in_force = room.valve().rate().filter(|_| !report.is_full || report.misses_guard);
                in_force.map_or(0, |rate| rate.get().into())
            });
            // Consumers add to the metric Admitted. An alarm compares it with the others, so it has a value whenever they do.
            let mut counts = vec![(Metric::Admitted, 0)];
            counts.extend(report.waiting.map(|waiting| (Metric::Waiting, waiting)));
            counts.extend(rate.map(|rate| (Metric::Rate, rate)));
            metrics.count(SystemClock.now(), &counts);
        }
        Ok(())
    })
    .await
}
