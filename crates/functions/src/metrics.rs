//! Metrics in embedded metric format, which CloudWatch reads from the log.

use std::io::Write;

use serde_json::{Map, Value, json};
use waitroom::Timestamp;

/// A metric in the namespace `Beekeeper`, with the dimension `Room`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Visitors who got a place in line.
    Joined,
    /// Visitors who came for their pass. Whoever comes again is counted again.
    Entered,
    /// Visitors that a slice admitted.
    Admitted,
    /// Visitors in line.
    Waiting,
    /// The rate in force, in visitors a minute; 0 while the room is paused or off, or the shop is full.
    Rate,
    /// The throttle's verdict for a minute: one of these three metrics is 1, the others are 0.
    ShopWell,
    ShopSlow,
    ShopFailing,
}

/// The metrics of one room.
#[derive(Clone, Debug)]
pub struct Metrics {
    room: String,
}

impl Metrics {
    pub fn new(room: String) -> Self {
        Self { room }
    }

    /// Writes these values with this timestamp.
    pub fn count(&self, at: Timestamp, counts: &[(Metric, u64)]) {
        // A metric that cannot be written must not fail the request.
        let _ = writeln!(std::io::stdout().lock(), "{}", self.line(at, counts));
    }

    fn line(&self, at: Timestamp, counts: &[(Metric, u64)]) -> Value {
        let name = |metric: Metric| format!("{metric:?}");
        let metrics: Vec<_> =
            counts.iter().map(|(metric, _)| json!({ "Name": name(*metric), "Unit": "Count" })).collect();
        let mut line: Map<_, _> =
            counts.iter().map(|(metric, count)| (name(*metric), json!(count))).collect();
        line.insert("Room".into(), json!(self.room));
        let directive = json!({ "Namespace": "Beekeeper", "Dimensions": [["Room"]], "Metrics": metrics });
        line.insert("_aws".into(), json!({ "Timestamp": at.as_millis(), "CloudWatchMetrics": [directive] }));
        Value::Object(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_as_cloudwatch_reads_them() {
        let metrics = Metrics::new("sale".into());
        let at = Timestamp::from_millis(1_700_000_000_000);
        let line = metrics.line(at, &[(Metric::Waiting, 9120), (Metric::Rate, 300)]);
        let expected = json!({
            "_aws": { "Timestamp": 1_700_000_000_000_u64, "CloudWatchMetrics": [{
                "Namespace": "Beekeeper",
                "Dimensions": [["Room"]],
                "Metrics": [{ "Name": "Waiting", "Unit": "Count" }, { "Name": "Rate", "Unit": "Count" }],
            }] },
            "Room": "sale", "Waiting": 9120, "Rate": 300,
        });
        assert_eq!(line, expected);
    }

    /// The metric after this one. A new metric does not compile until it is added here.
    fn after(metric: Option<Metric>) -> Option<Metric> {
        match metric {
            None => Some(Metric::Joined),
            Some(Metric::Joined) => Some(Metric::Entered),
            Some(Metric::Entered) => Some(Metric::Admitted),
            Some(Metric::Admitted) => Some(Metric::Waiting),
            Some(Metric::Waiting) => Some(Metric::Rate),
            Some(Metric::Rate) => Some(Metric::ShopWell),
            Some(Metric::ShopWell) => Some(Metric::ShopSlow),
            Some(Metric::ShopSlow) => Some(Metric::ShopFailing),
            Some(Metric::ShopFailing) => None,
        }
    }

    #[test]
    fn metric_names_are_frozen() {
        let all: Vec<_> = std::iter::successors(after(None), |metric| after(Some(*metric))).collect();
        let counts: Vec<_> = all.iter().map(|metric| (*metric, 1)).collect();
        let line = Metrics::new("sale".into()).line(Timestamp::from_millis(1_700_000_000_000), &counts);
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (namespace, dimension) = (text(&directive["Namespace"]), text(&directive["Dimensions"][0][0]));
        let metrics = directive["Metrics"].as_array().unwrap();
        let names = metrics.iter().map(|metric| format!("{namespace} {dimension} {}", text(&metric["Name"])));
        frozen_names::assert_frozen(frozen_names::Section::Metrics, names);
    }
}
