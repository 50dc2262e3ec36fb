use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use waitroom::ports::{Probe, ProbeError, ProbeReply};

/// A shop whose health a test sets.
#[derive(Clone, Debug)]
pub struct SimShop(Arc<Mutex<ShopHealth>>);

#[derive(Clone, Copy, Debug)]
pub enum ShopHealth {
    Answers(Duration),
    Down,
    /// Visitors without a pass get status 403.
    Protected,
}

impl Default for SimShop {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(ShopHealth::Answers(Duration::from_millis(100)))))
    }
}

impl SimShop {
    pub fn set(&self, health: ShopHealth) {
        *self.0.lock() = health;
    }
}

impl Probe for SimShop {
    async fn ask(&self, _url: &url::Url) -> Result<ProbeReply, ProbeError> {
        match *self.0.lock() {
            ShopHealth::Answers(took) => Ok(ProbeReply { status: 200, location: None, took }),
            ShopHealth::Protected => {
                Ok(ProbeReply { status: 403, location: None, took: Duration::from_millis(1) })
            }
            ShopHealth::Down => Err(ProbeError("connection refused".into())),
        }
    }
}
