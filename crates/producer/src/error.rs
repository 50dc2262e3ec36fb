use std::time::Duration;

use pass::PassError;
use waitroom::ports::PortError;

/// Why a request could not be answered. The visitor gets [`DoorAnswer::busy`](crate::DoorAnswer::busy); this goes to the log.
#[derive(Debug, thiserror::Error)]
pub enum ProducerError {
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Pass(#[from] PassError),
    #[error("the store took longer than {} s", .0.as_secs())]
    Late(Duration),
}
