//! The handlers as Lambda functions. Each program in `src/bin` is wiring only: it reads its environment once, builds
//! the ports, opens their connections and runs. What they share is here.

pub mod cloudformation;
pub mod door;
mod environment;
mod log;
mod metrics;
pub mod stack_setup;

use std::error::Error;
use std::time::Duration;

use aws::AwsStore;
use tokio::time::timeout;

pub use environment::{Environment, MissingVariables, variable};
pub use log::begin_request;
pub use metrics::{Metric, Metrics};

/// What every function begins with.
#[derive(Debug)]
pub struct FunctionSetup {
    pub config: aws::SdkConfig,
    pub store: AwsStore,
    pub metrics: Metrics,
}

impl FunctionSetup {
    /// Reads the environment and builds what leads to the room. An error here is a mistake in the template.
    pub fn start() -> Result<Self, Box<dyn Error + Send + Sync>> {
        log::init();
        let config = aws::functions_config()?;
        let environment = Environment::read()?;
        let store = AwsStore::new(&config, environment.places);
        Ok(Self { config, store, metrics: Metrics::new(environment.room) })
    }
}

/// Lambda starts a function again that is not there within ten seconds.
const START: Duration = Duration::from_secs(4);

/// Opens connections before the first request needs them. One that does not open is no reason to fail: the first
/// request tries again.
pub async fn warm_up<E: Error + 'static>(opening: impl Future<Output = Result<(), E>>) {
    match timeout(START, opening).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn Error, "not everything could be opened at start");
        }
        Err(_) => tracing::warn!("opening connections at start took more than {START:?}"),
    }
}
