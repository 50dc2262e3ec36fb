//! The throttle's rules: whether the shop is slow or failing, and which rate follows from that.
//!
//! The [`Baseline`] says how fast the shop answers when it is well: mean and sample standard deviation of 20 requests.
//! Every minute another [`Sample`] of 20 requests gives a [`Verdict`]: the shop is slow if their mean exceeds the
//! baseline's mean plus 3 deviations and 100 ms, and failing if more than 2 requests failed. Then the rate is halved. When
//! the shop is well, the rate rises by a quarter of the difference to what the operator wants. So the rate never exceeds
//! what the operator wants and never becomes 0.
//!
//! A shop that refuses a request because it has no pass is protected as recommended. Such a request did not fail, and it
//! did not measure the shop either, so it is in no sample.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Rate, Timestamp};

/// The number of requests in a sample.
pub const SAMPLE_SIZE: usize = 20;

/// If more requests than this failed, the shop is failing, however fast the others were.
pub const MAX_FAILURES: usize = 2;

/// The requests to the shop in one minute: how long the answered ones took, and how many failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub answered: Vec<Duration>,
    pub failed: usize,
}

impl Sample {
    fn mean(&self) -> Option<f64> {
        let count = self.answered.len();
        (count > 0).then(|| self.answered.iter().map(Duration::as_secs_f64).sum::<f64>() / as_f64(count))
    }

    fn is_failing(&self) -> bool {
        self.failed > MAX_FAILURES || self.answered.is_empty()
    }
}

/// How fast the shop answers when it is well, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    pub mean: f64,
    pub deviation: f64,
}

impl Baseline {
    /// The deviation is taken as at least 5% of the mean. Otherwise noise alone would make a very even shop count
    /// as slow.
    const MIN_DEVIATION: f64 = 0.05;

    /// In seconds. Up to here an answer seems immediate to a person, so no shop is slow, however fast it was before.
    const NEVER_SLOW: f64 = 0.1;

    /// `None` if the sample has too many failures or fewer than two answers.
    pub fn of(sample: &Sample) -> Option<Self> {
        let mean = sample.mean().filter(|_| !sample.is_failing() && sample.answered.len() > 1)?;
        let squares: f64 = sample.answered.iter().map(|took| (took.as_secs_f64() - mean).powi(2)).sum();
        Some(Self { mean, deviation: (squares / as_f64(sample.answered.len() - 1)).sqrt() })
    }

    /// The shop is slow if a sample's mean is above this, in seconds.
    pub fn threshold(&self) -> f64 {
        let spread = 3.0 * self.deviation.max(Self::MIN_DEVIATION * self.mean);
        (self.mean + spread).max(Self::NEVER_SLOW)
    }
}

/// The state of the shop, according to one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Well,
    Slow,
    Failing,
}

impl Verdict {
    /// Without a baseline a shop can be failing but not slow.
    pub fn of(sample: &Sample, baseline: Option<Baseline>) -> Self {
        match (sample.mean(), baseline) {
            _ if sample.is_failing() => Self::Failing,
            (Some(mean), Some(baseline)) if mean > baseline.threshold() => Self::Slow,
            _ => Self::Well,
        }
    }

    /// The rate in force for the next minute: half of the present one if the shop is slow or failing, otherwise raised
    /// towards what the operator wants.
    #[must_use]
    pub fn next_rate(self, in_force: Rate, wanted: Rate) -> Rate {
        match self {
            Self::Well => in_force.eased_towards(wanted),
            Self::Slow | Self::Failing => in_force.halved(),
        }
    }
}

/// One minute of the throttle's history: the sample's numbers, the verdict, and the rate that followed. `status` shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub at: Timestamp,
    pub verdict: Verdict,
    /// In seconds. `None` if no request was answered.
    pub mean: Option<f64>,
    pub threshold: Option<f64>,
    pub failed: usize,
    /// The shop refused the requests because they had no pass, so it was not measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Of a shop that fails: why the last request did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub rate: Rate,
}

impl Finding {
    /// How many findings are kept: one hour.
    pub const KEPT: usize = 60;

    pub fn new(
        at: Timestamp,
        sample: &Sample,
        baseline: Option<Baseline>,
        verdict: Verdict,
        rate: Rate,
    ) -> Self {
        Self {
            at,
            verdict,
            mean: sample.mean(),
            threshold: baseline.map(|b| b.threshold()),
            failed: sample.failed,
            refused: false,
            why: None,
            rate,
        }
    }
}

/// Exact, because a sample has only 20 requests.
#[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::iter;

    use proptest::prelude::*;

    use super::*;

    fn sample(millis: &[u64], failed: usize) -> Sample {
        Sample { answered: millis.iter().map(|&ms| Duration::from_millis(ms)).collect(), failed }
    }

    fn around(mean: u64, failed: usize) -> Sample {
        sample(&[mean - 10, mean + 10].repeat((SAMPLE_SIZE - failed) / 2), failed)
    }

    #[test]
    fn the_baseline_is_mean_and_sample_standard_deviation() {
        let baseline = Baseline::of(&sample(&[90, 110, 90, 110], 0)).unwrap();
        assert!((baseline.mean - 0.100).abs() < 1e-9);
        assert!((baseline.deviation - 0.011_547).abs() < 1e-6, "{}", baseline.deviation);
        assert!((baseline.threshold() - 0.134_641).abs() < 1e-6, "{}", baseline.threshold());
    }

    #[test]
    fn an_even_baseline_tolerates_noise() {
        let baseline = Baseline::of(&sample(&[100; SAMPLE_SIZE], 0)).unwrap();
        assert!((baseline.threshold() - 0.115).abs() < 1e-9);
        assert_eq!(Verdict::of(&sample(&[114; SAMPLE_SIZE], 0), Some(baseline)), Verdict::Well);
        assert_eq!(Verdict::of(&sample(&[116; SAMPLE_SIZE], 0), Some(baseline)), Verdict::Slow);
    }

    #[test]
    fn no_shop_is_slow_up_to_100_ms() {
        for (fast, threshold) in [(4, 0.1), (86, 0.1), (87, 0.100_05)] {
            let baseline = Baseline::of(&sample(&[fast; SAMPLE_SIZE], 0)).unwrap();
            assert!((baseline.threshold() - threshold).abs() < 1e-9, "{fast} ms: {}", baseline.threshold());
        }
        let baseline = Baseline::of(&sample(&[4; SAMPLE_SIZE], 0));
        assert_eq!(Verdict::of(&sample(&[99; SAMPLE_SIZE], 0), baseline), Verdict::Well);
        assert_eq!(Verdict::of(&sample(&[101; SAMPLE_SIZE], 0), baseline), Verdict::Slow);
        assert_eq!(Verdict::of(&sample(&[4; 17], 3), baseline), Verdict::Failing, "fast, and broken");
    }

    #[test]
    fn more_than_two_failures_of_20_mean_failing() {
        let baseline = Baseline::of(&around(100, 0)).unwrap();
        assert_eq!(Verdict::of(&around(100, 2), Some(baseline)), Verdict::Well);
        assert_eq!(Verdict::of(&sample(&[100; 17], 3), Some(baseline)), Verdict::Failing);
        assert_eq!(
            Verdict::of(&sample(&[], SAMPLE_SIZE), Some(baseline)),
            Verdict::Failing,
            "nothing answered"
        );
    }

    #[test]
    fn a_failing_shop_gives_no_baseline() {
        assert_eq!(Baseline::of(&sample(&[100; 17], 3)), None);
        assert_eq!(Baseline::of(&sample(&[], SAMPLE_SIZE)), None);
        assert_eq!(Baseline::of(&sample(&[100], 0)), None);
    }

    #[test]
    fn three_slow_minutes_and_the_recovery() {
        let baseline = Baseline::of(&around(100, 0)).unwrap();
        assert!((baseline.threshold() * 1000.0 - 130.779).abs() < 0.001);
        let wanted = Rate::new(1000).unwrap();
        let means = [100, 120, 140, 190, 150, 128, 110, 105, 135, 120].into_iter().chain(iter::repeat(100));
        let rates = [
            1000, 1000, 500, 250, 125, 344, 508, 631, 316, 487, 616, 712, 784, 838, 879, 910, 933, 950, 963,
            973, 980, 985, 989, 992, 994, 996, 997, 998, 999, 1000, 1000,
        ];
        let mut rate = wanted;
        for (minute, (mean, expected)) in means.zip(rates).enumerate() {
            rate = Verdict::of(&around(mean, 0), Some(baseline)).next_rate(rate, wanted);
            assert_eq!(rate.get(), expected, "minute {minute}, mean {mean} ms");
        }
    }

    proptest! {
        #[test]
        fn every_sample_gives_finite_numbers(millis in prop::collection::vec(0..6000u64, 0..=SAMPLE_SIZE), failed in 0..=SAMPLE_SIZE) {
            let sample = sample(&millis, failed);
            if let Some(baseline) = Baseline::of(&sample) {
                prop_assert!(baseline.mean.is_finite() && baseline.threshold() >= baseline.mean);
                prop_assert_eq!(Verdict::of(&sample, Some(baseline)) == Verdict::Failing, false);
            }
        }
    }
}
