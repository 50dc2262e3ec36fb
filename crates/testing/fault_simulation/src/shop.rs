use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use waitroom::ports::{Probe, ProbeError, Reply};

/// A shop that answers as it is told to.
#[derive(Clone, Debug)]
pub struct Shop(Arc<Mutex<Health>>);

#[derive(Clone, Copy, Debug)]
pub enum Health {
    Answers(Duration),
    Down,
}

impl Default for Shop {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Health::Answers(Duration::from_millis(100)))))
    }
}

impl Shop {
    pub fn set(&self, health: Health) {
        *self.0.lock() = health;
    }
}

impl Probe for Shop {
    async fn ask(&self, _url: &url::Url) -> Result<Reply, ProbeError> {
        match *self.0.lock() {
            Health::Answers(took) => Ok(Reply { status: 200, location: None, took }),
            Health::Down => Err(ProbeError("connection refused".into())),
        }
    }
}
