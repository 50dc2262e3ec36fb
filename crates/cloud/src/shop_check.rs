//! How the shop responds before a deployment.

use clock::SystemClock;
use config::RoomConfig;
use probe::HttpProbe;
use serde::Serialize;
use throttle::Measurement;
use waitroom::throttle_rules::Baseline;

use crate::{CloudError, CloudErrorKind, PlanWarning};

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
    /// Measures the shop as the throttle does, and judges it as the doctor does.
    pub(crate) async fn measure(config: &RoomConfig) -> Result<(Self, Vec<PlanWarning>), CloudError> {
        let failed = |reason: String| {
            let attempt = format!("prepare to measure the shop {}", config.shop);
            CloudError::new(CloudErrorKind::Other, attempt, reason)
        };
        let probe = HttpProbe::new().map_err(|error| failed(error.to_string()))?;
        // A response that redirects to the room counts as refused.
        let room = config.undeployed_room().ok_or_else(|| failed("its domain is not valid".into()))?;
        let measurement = throttle::measure(&probe, &SystemClock, &room).await;
        let judged =
            [doctor::out_of_reach(&room), Some(doctor::judge_shop(&room, &measurement, config.throttle))];
        let warnings = judged
            .into_iter()
            .flatten()
            .filter_map(|check| Some(PlanWarning { text: check.found, advice: check.advice? }));
        let Measurement { sample, refused, .. } = measurement;
        let shop = Self {
            url: config.health.as_ref().unwrap_or(&config.shop).to_string(),
            mean: Baseline::of(&sample).map(|baseline| baseline.mean),
            answered: sample.answered.len(),
            failed: sample.failed,
            refused,
        };
        Ok((shop, warnings.collect()))
    }
}
