use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use waitroom::ports::{Probe, ProbeError, ProbeReply};

/// A shop that answers as it is told to.
#[derive(Clone, Debug)]
pub struct SimShop(Arc<Mutex<Health>>);

#[derive(Clone, Copy, Debug)]
pub enum Health {
    Answers(Duration),
    Down,
}

impl Default for SimShop {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Health::Answers(Duration::from_millis(100)))))
    }
}

impl SimShop {
    pub fn set(&self, health: Health) {
        *self.0.lock() = health;
    }
}

impl Probe for SimShop {
    async fn ask(&self, _url: &url::Url) -> Result<ProbeReply, ProbeError> {
        match *self.0.lock() {
            Health::Answers(took) => Ok(ProbeReply { status: 200, location: None, took }),
            Health::Down => Err(ProbeError("connection refused".into())),
        }
    }
}
