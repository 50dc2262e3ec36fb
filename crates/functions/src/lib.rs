//! The handlers as Lambda functions, all in one program. Each file in `src/handlers` only wires things together: it reads
//! its environment once, builds the ports, opens their connections and runs. This library is the code that they share.

pub mod authorizer;
pub mod cloudformation;
pub mod door;
mod environment;
mod leftover_hold;
mod log;
mod metrics;
pub mod stack_setup;

use std::error::Error;
use std::time::Duration;

use aws::AwsStore;
use lambda_runtime::{LambdaEvent, service_fn};
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tracing::Instrument;

pub use environment::{Environment, MissingVariables, variable};
pub use leftover_hold::end_leftover_hold;
pub use log::{request_span, start as start_log};
pub use metrics::{Metric, Metrics};

/// What every function starts with.
#[derive(Debug)]
pub struct FunctionSetup {
    pub config: aws::SdkConfig,
    pub store: AwsStore,
    pub metrics: Metrics,
    /// The room's name.
    pub room: String,
}

impl FunctionSetup {
    /// The same, for a function that may change the valve: it starts the trigger then.
    pub fn start_with_trigger() -> Result<Self, Box<dyn Error + Send + Sync>> {
        let setup = Self::start()?;
        let store = setup.store.with_trigger(&setup.config, variable("TRIGGER_FUNCTION")?);
        Ok(Self { store, ..setup })
    }

    /// Starts the log, reads the environment and builds the room's store. An error here is a mistake in the template.
    pub fn start() -> Result<Self, Box<dyn Error + Send + Sync>> {
        start_log();
        let config = aws::functions_config()?;
        let environment = Environment::read()?;
        let store = AwsStore::new(&config, environment.resources);
        let room = environment.room;
        Ok(Self { config, store, metrics: Metrics::new(room.clone()), room })
    }
}

/// Does this work for each event. Every line that is logged meanwhile names the room and the request.
pub async fn serve<E: DeserializeOwned>(
    room: &str,
    work: impl AsyncFn(E) -> Result<(), lambda_runtime::Error>,
) -> Result<(), lambda_runtime::Error> {
    lambda_runtime::run(service_fn(async |event: LambdaEvent<E>| {
        let span = request_span(room, &event.context.request_id);
        work(event.payload).instrument(span).await
    }))
    .await
}

/// How long opening connections may take. Lambda restarts a function that has not started within ten seconds.
const START: Duration = Duration::from_secs(4);

/// Opens connections before the first request needs them. A failure is only logged: the first request opens them then. Returns whether
/// all are open.
pub async fn warm_up<E: Error + 'static>(opening: impl Future<Output = Result<(), E>>) -> bool {
    match timeout(START, opening).await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => {
            tracing::warn!(
                error = &error as &dyn Error,
                "could not open every connection at start; the first request opens them"
            );
        }
        Err(_) => tracing::warn!(
            "opening connections at start took more than {START:?}; the first request opens them"
        ),
    }
    false
}
