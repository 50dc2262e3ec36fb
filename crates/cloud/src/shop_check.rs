//! How the shop responds before a deployment.

use clock::SystemClock;
use config::RoomConfig;
use probe::HttpProbe;
use serde::Serialize;
use throttle::Measurement;
use waitroom::throttle_rules::Baseline;

use crate::{CloudError, CloudErrorKind};

/// How the shop responded to 20 requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShopCheck {
    pub url: String,
    /// The mean response time in seconds. `None` if too many requests failed.
    pub mean: Option<f64>,
    pub answered: usize,
    pub failed: usize,
    /// Requests that the shop refused because they had no pass, as it should.
    pub refused: usize,
}

impl ShopCheck {
    /// Measures the shop as the throttle does.
    pub(crate) async fn measure(config: &RoomConfig) -> Result<Self, CloudError> {
        let failed = |reason: String| {
            let attempt = format!("prepare to measure the shop {}", config.shop);
            CloudError::new(CloudErrorKind::Other, attempt, reason)
        };
        let probe = HttpProbe::new().map_err(|error| failed(error.to_string()))?;
        // A response that redirects to the room counts as refused.
        let room = config.undeployed_room().ok_or_else(|| failed("its domain is not valid".into()))?;
        let Measurement { sample, refused, .. } = throttle::measure(&probe, &SystemClock, &room).await;
        Ok(Self {
            url: config.health.as_ref().unwrap_or(&config.shop).to_string(),
            mean: Baseline::of(&sample).map(|baseline| baseline.mean),
            answered: sample.answered.len(),
            failed: sample.failed,
            refused,
        })
    }
}
