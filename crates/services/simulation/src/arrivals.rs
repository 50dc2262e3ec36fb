//! When visitors come.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use crate::course::whole;
use crate::record::{self, CountedTime, RecordError};

const MINUTE: f64 = 60_000.0;

/// How a crowd comes, however large it is.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalShape {
    /// Within a minute, half of them in its first ten seconds: a link that was announced for noon.
    Spike,
    /// Over half an hour: most around the fifth minute, and then fewer and fewer.
    Email,
    /// Evenly over this time.
    Evenly(Duration),
    /// As they were counted.
    Counted(Vec<CountedTime>),
}

/// A crowd, and how it comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    shape: ArrivalShape,
    visitors: u32,
    early: Option<EarlyVisitors>,
}

/// Visitors who come before the room opens, evenly. The others come in their shape from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyVisitors {
    /// The part of all who come early.
    pub share: f64,
    pub before: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrivalsError {
    #[error("visitors come as a spike, as after an email, within a time like 10m, or as counted in a file")]
    UnknownShape,
    #[error("visitors may come within 1s to 7d")]
    TooLong,
    #[error("say how many visitors come: only a file with counts knows it by itself")]
    NoVisitors,
    #[error("from 1 to {} visitors can be simulated", Arrivals::MOST)]
    WrongNumber,
}

impl ArrivalShape {
    /// How so many come. Of a single visitor there are no half and no most.
    pub fn told(&self, visitors: u64) -> String {
        let all = self.to_string();
        match (self, visitors) {
            (Self::Spike | Self::Email, 1) => all.split(',').next().unwrap_or_default().to_owned(),
            _ => all,
        }
    }

    const LONGEST: Duration = Duration::from_hours(7 * 24);
    const SPIKE: f64 = MINUTE;
    /// Half of a spike comes within this time.
    const HALF_OF_SPIKE: f64 = MINUTE / 6.0;
    const EMAIL: f64 = 30.0 * MINUTE;
    /// The busiest moment after an e-mail.
    const PEAK_OF_EMAIL: f64 = 5.0 * MINUTE;

    /// The counts of a file: what `beekeeper report` writes as CSV or JSON, or a number of visitors a minute on each line.
    pub fn from_record(text: &str) -> Result<Self, RecordError> {
        record::read(text).map(Self::Counted)
    }

    /// How many were counted, if they were.
    pub fn counted(&self) -> Option<u64> {
        match self {
            Self::Counted(counted_times) => {
                Some(counted_times.iter().map(|counted| u64::from(counted.visitors)).sum())
            }
            _ => None,
        }
    }

    /// A random visitor's arrival, in milliseconds since the beginning. `counted` has how many had come by the end of each
    /// time, if they were counted.
    fn one(&self, counted: &[f64], rng: &mut impl Rng) -> f64 {
        match self {
            Self::Spike => {
                let mean = Self::HALF_OF_SPIKE / std::f64::consts::LN_2;
                loop {
                    let at = exponential(mean, rng);
                    if at < Self::SPIKE {
                        return at;
                    }
                }
            }
            Self::Email => loop {
                let at = exponential(Self::PEAK_OF_EMAIL, rng) + exponential(Self::PEAK_OF_EMAIL, rng);
                if at < Self::EMAIL {
                    return at;
                }
            },
            Self::Evenly(within) => rng.random::<f64>() * within.as_secs_f64() * 1000.0,
            Self::Counted(counted_times) => {
                let chosen = rng.random::<f64>() * counted.last().copied().unwrap_or(0.0);
                let counted = counted_times.get(counted.partition_point(|by_then| *by_then <= chosen));
                counted.or(counted_times.last()).map_or(0.0, |counted| instant_of(*counted, rng))
            }
        }
    }

    /// How many had come by the end of each time.
    fn running_counts(&self) -> Vec<f64> {
        let Self::Counted(counted_times) = self else { return Vec::new() };
        let sum = |come: &mut f64, counted: &CountedTime| {
            *come += f64::from(counted.visitors);
            Some(*come)
        };
        counted_times.iter().scan(0.0, sum).collect()
    }
}

/// A random instant of this time.
fn instant_of(counted: CountedTime, rng: &mut impl Rng) -> f64 {
    f64::from(counted.from) + rng.random::<f64>() * f64::from(counted.to.saturating_sub(counted.from))
}

/// A random time until something that happens every `mean` on average.
pub(crate) fn exponential(mean: f64, rng: &mut impl Rng) -> f64 {
    -mean * (1.0 - rng.random::<f64>()).ln()
}

impl FromStr for ArrivalShape {
    type Err = ArrivalsError;

    /// `spike`, `email` or a time like `10m`.
    fn from_str(text: &str) -> Result<Self, ArrivalsError> {
        match text {
            "spike" => Ok(Self::Spike),
            "email" => Ok(Self::Email),
            time => {
                let within = humantime::parse_duration(time).map_err(|_| ArrivalsError::UnknownShape)?;
                let is_possible = (Duration::from_secs(1)..=Self::LONGEST).contains(&within);
                if is_possible { Ok(Self::Evenly(within)) } else { Err(ArrivalsError::TooLong) }
            }
        }
    }
}

impl fmt::Display for ArrivalShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spike => f.write_str("within a minute, half of them in its first ten seconds"),
            Self::Email => f.write_str("over half an hour, most of them in the first ten minutes"),
            Self::Evenly(within) => write!(f, "evenly over {}", humantime::format_duration(*within)),
            Self::Counted(counted_times) => {
                let minutes = counted_times.last().map_or(0, |last| last.to).div_ceil(60_000);
                write!(f, "as they were counted over {minutes} min")
            }
        }
    }
}

impl Arrivals {
    /// The most visitors of one crowd.
    pub const MOST: u32 = 10_000_000;

    /// `visitors` come in this shape; without a number, as many as were counted.
    pub fn new(shape: ArrivalShape, visitors: Option<u64>) -> Result<Self, ArrivalsError> {
        let visitors = visitors.or(shape.counted()).ok_or(ArrivalsError::NoVisitors)?;
        let visitors = u32::try_from(visitors).ok().filter(|visitors| (1..=Self::MOST).contains(visitors));
        Ok(Self { shape, visitors: visitors.ok_or(ArrivalsError::WrongNumber)?, early: None })
    }

    /// The same crowd, some of whom come early.
    #[must_use]
    pub fn with_early(self, early: EarlyVisitors) -> Self {
        Self { early: Some(early), ..self }
    }

    pub fn visitors(&self) -> u32 {
        self.visitors
    }

    pub fn shape(&self) -> &ArrivalShape {
        &self.shape
    }

    /// How many come early, and until when, in milliseconds.
    fn early(&self) -> (u32, f64) {
        self.early.map_or((0, 0.0), |EarlyVisitors { share, before }| {
            (whole(f64::from(self.visitors) * share), before.as_secs_f64() * 1000.0)
        })
    }

    /// When each of them comes, in milliseconds since the beginning, first to last. The same seed gives the same times.
    pub fn times(&self, seed: u64) -> Vec<u32> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut times: Vec<u32> = match &self.shape {
            ArrivalShape::Counted(counted_times)
                if self.early.is_none() && self.shape.counted() == Some(self.visitors.into()) =>
            {
                let of_time = |counted: &CountedTime| {
                    let counted = *counted;
                    (0..counted.visitors).map(move |_| counted)
                };
                let all = counted_times.iter().flat_map(of_time);
                all.map(|counted| whole(instant_of(counted, &mut rng))).collect()
            }
            shape => {
                let counted = shape.running_counts();
                let (early, before) = self.early();
                let come_early = (0..early).map(|_| rng.random::<f64>() * before);
                let mut times: Vec<u32> = come_early.map(whole).collect();
                times.extend((early..self.visitors).map(|_| whole(before + shape.one(&counted, &mut rng))));
                times
            }
        };
        times.sort_unstable();
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(shape: &str, visitors: u64) -> Vec<u32> {
        Arrivals::new(shape.parse().unwrap(), Some(visitors)).unwrap().times(7)
    }

    /// How many come before this second.
    fn before(times: &[u32], second: u32) -> usize {
        times.partition_point(|at| *at < second * 1000)
    }

    #[test]
    fn a_single_visitor_is_not_divided() {
        assert_eq!(ArrivalShape::Spike.told(2), "within a minute, half of them in its first ten seconds");
        assert_eq!(ArrivalShape::Spike.told(1), "within a minute");
        assert_eq!(ArrivalShape::Email.told(1), "over half an hour");
        assert_eq!(ArrivalShape::Evenly(Duration::from_mins(10)).told(1), "evenly over 10m");
    }

    #[test]
    fn a_spike_is_over_after_a_minute_and_half_over_after_ten_seconds() {
        let times = times("spike", 10_000);
        assert_eq!((times.len(), before(&times, 60)), (10_000, 10_000));
        assert!((4_900..5_300).contains(&before(&times, 10)), "{}", before(&times, 10));
    }

    #[test]
    fn an_email_is_read_for_half_an_hour() {
        let times = times("email", 10_000);
        assert_eq!(before(&times, 1800), 10_000);
        let minutes: Vec<_> =
            (0..30).map(|minute| before(&times, 60 * minute + 60) - before(&times, 60 * minute)).collect();
        let busiest = (0..30).max_by_key(|minute| minutes[*minute]).unwrap();
        assert!((3..8).contains(&busiest) && minutes[29] < minutes[busiest] / 5, "{minutes:?}");
        assert!((5_900..6_200).contains(&before(&times, 600)), "{}", before(&times, 600));
    }

    #[test]
    fn a_time_is_filled_evenly() {
        let times = times("10m", 6_000);
        assert!((2_850..3_150).contains(&before(&times, 300)) && before(&times, 600) == 6_000);
    }

    #[test]
    fn the_same_seed_gives_the_same_times() {
        let crowd = Arrivals::new(ArrivalShape::Email, Some(500)).unwrap();
        assert_eq!(crowd.times(1), crowd.times(1));
        assert_ne!(crowd.times(1), crowd.times(2));
    }

    #[test]
    fn counts_are_kept_and_can_be_scaled() {
        let shape = ArrivalShape::from_record("30\n0\n10\n").unwrap();
        let as_counted = Arrivals::new(shape.clone(), None).unwrap();
        let times = as_counted.times(3);
        assert_eq!((before(&times, 60), before(&times, 120), times.len()), (30, 30, 40));
        let scaled = Arrivals::new(shape, Some(4_000)).unwrap().times(3);
        assert!((2_850..3_150).contains(&before(&scaled, 60)) && scaled.len() == 4_000);
        assert_eq!(before(&scaled, 60), before(&scaled, 120), "nobody came in the second minute");
    }

    #[test]
    fn a_week_of_counts_can_be_scaled_to_millions() {
        let shape = ArrivalShape::from_record(&"3\n".repeat(7 * 24 * 60)).unwrap();
        let times = Arrivals::new(shape, Some(2_000_000)).unwrap().times(3);
        let half = before(&times, 7 * 24 * 3600 / 2);
        assert!((990_000..1_010_000).contains(&half) && times.len() == 2_000_000, "{half}");
    }

    #[test]
    fn some_come_before_the_opening_and_the_others_in_their_shape_from_then_on() {
        let early = EarlyVisitors { share: 0.4, before: Duration::from_mins(30) };
        let times = Arrivals::new(ArrivalShape::Spike, Some(10_000)).unwrap().with_early(early).times(7);
        assert_eq!([1800, 1860].map(|second| before(&times, second)), [4_000, 10_000]);
        assert!((1_900..2_100).contains(&before(&times, 900)), "{}", before(&times, 900));
        assert!((6_900..7_200).contains(&before(&times, 1810)), "{}", before(&times, 1810));
        let counted = ArrivalShape::from_record("30\n0\n10\n").unwrap();
        assert_eq!(before(&Arrivals::new(counted, None).unwrap().with_early(early).times(7), 1800), 16);
    }

    #[test]
    fn impossible_crowds_are_refused() {
        for wrong in ["", "rush", "10", "0s", "8d", "-5m"] {
            assert!(wrong.parse::<ArrivalShape>().is_err(), "{wrong}");
        }
        let new = |visitors| Arrivals::new(ArrivalShape::Spike, visitors);
        assert_eq!(new(None), Err(ArrivalsError::NoVisitors));
        for wrong in [0, u64::from(Arrivals::MOST) + 1, u64::MAX] {
            assert_eq!(new(Some(wrong)), Err(ArrivalsError::WrongNumber));
        }
        assert_eq!(ArrivalShape::from_record("0\n0"), Err(RecordError::Nobody));
    }
}
