//! The handlers as Lambda functions. Each program in `src/bin` is wiring only: it reads its environment once, builds
//! the ports, opens their connections and runs. What they share is here.

pub mod cloudformation;
pub mod door;
mod environment;
mod log;
mod metrics;

use std::error::Error;

use aws::Store;
use waitroom::ports::PortResult;

pub use environment::{Environment, Missing, variable};
pub use log::begin_request;
pub use metrics::{Metric, Metrics};

/// What every function begins with.
#[derive(Debug)]
pub struct Function {
    pub config: aws::SdkConfig,
    pub store: Store,
    pub metrics: Metrics,
}

impl Function {
    /// Reads the environment and builds what leads to the room. An error here is a mistake in the template.
    pub fn start() -> Result<Self, Box<dyn Error + Send + Sync>> {
        log::init();
        let config = aws::functions_config()?;
        let environment = Environment::read()?;
        let store = Store::new(&config, environment.places);
        Ok(Self { config, store, metrics: Metrics::new(environment.room) })
    }
}

/// Says what did not go well at start. The first request tries again, so nothing is lost but time.
pub fn warn_of_a_cold_start(warmed_up: PortResult<()>) {
    if let Err(error) = warmed_up {
        tracing::warn!(error = &error as &dyn Error, "connections could not be opened at start");
    }
}
