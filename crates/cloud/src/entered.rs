//! How many visitors came for their pass, by the metric that the producer writes.

use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{
    Dimension, Metric, MetricDataQuery, MetricDataResult, MetricStat, ScanBy, StatusCode,
};
use waitroom::{RoomId, Timestamp};

use crate::{Account, CloudError};

/// In seconds. `CloudWatch` keeps the values of minutes for 15 days, longer than the room keeps its records.
const MINUTE: i32 = 60;

impl Account {
    /// How many came for their pass to the room of this name: when a minute of the clock began, and how many in it, oldest
    /// first. `CloudWatch` has no value for a minute in which nobody came, and shows one about a minute late.
    pub async fn entered(
        &self,
        room: &RoomId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(Timestamp, u64)>, CloudError> {
        let attempt = format!("read the metric Entered of the room {room}");
        let query = sums("entered", "Beekeeper", "Entered", &[("Room", room.as_str())]);
        let results = self.metric_data(vec![query], from, to, &attempt).await?;
        let mut entries = Vec::new();
        for result in &results {
            entries.extend(entries_of(result, &attempt)?);
        }
        entries.sort_unstable();
        Ok(entries)
    }
}

/// Asks for the sums of a metric, minute by minute.
pub(crate) fn sums(id: &str, namespace: &str, name: &str, dimensions: &[(&str, &str)]) -> MetricDataQuery {
    let dimension = |&(name, value): &(&str, &str)| Dimension::builder().name(name).value(value).build();
    let dimensions = dimensions.iter().map(dimension).collect();
    let metric = Metric::builder().namespace(namespace).metric_name(name).set_dimensions(Some(dimensions));
    let sums = MetricStat::builder().metric(metric.build()).period(MINUTE).stat("Sum").build();
    MetricDataQuery::builder().id(id).metric_stat(sums).build()
}

impl Account {
    /// What `CloudWatch` answers to these queries about this time, oldest first.
    pub(crate) async fn metric_data(
        &self,
        queries: Vec<MetricDataQuery>,
        from: Timestamp,
        to: Timestamp,
        attempt: &str,
    ) -> Result<Vec<MetricDataResult>, CloudError> {
        let get = aws_sdk_cloudwatch::Client::new(&self.config).get_metric_data();
        let get = get.set_metric_data_queries(Some(queries)).scan_by(ScanBy::TimestampAscending);
        let pages = get.start_time(time(from)).end_time(time(to)).into_paginator().send();
        let pages = pages.try_collect().await;
        let pages = pages.map_err(|error| self.errors.call_failed(attempt, error))?;
        Ok(pages.into_iter().flat_map(|page| page.metric_data_results.unwrap_or_default()).collect())
    }
}

fn time(at: Timestamp) -> DateTime {
    DateTime::from_millis(i64::try_from(at.as_millis()).unwrap_or(i64::MAX))
}

/// The sums of one page, each with when its minute began. An error if `CloudWatch` could not read them all: then the answer is a
/// success without them.
pub(crate) fn sums_of(
    result: &MetricDataResult,
    attempt: &str,
) -> Result<impl Iterator<Item = (Timestamp, f64)>, CloudError> {
    if matches!(result.status_code(), Some(StatusCode::InternalError | StatusCode::Forbidden)) {
        return Err(CloudError::incomplete(attempt, "all values"));
    }
    let began = |at: &DateTime| at.to_millis().ok().and_then(|millis| u64::try_from(millis).ok());
    let sums = result.timestamps().iter().zip(result.values());
    Ok(sums.filter_map(move |(at, sum)| Some((Timestamp::from_millis(began(at)?), *sum))))
}

/// The entries of one page.
fn entries_of(result: &MetricDataResult, attempt: &str) -> Result<Vec<(Timestamp, u64)>, CloudError> {
    Ok(sums_of(result, attempt)?.filter_map(|(began, sum)| Some((began, visitors(sum)?))).collect())
}

/// `None` for a sum that no visitors can have.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is a whole number, not below one"
)]
fn visitors(sum: f64) -> Option<u64> {
    (sum >= 1.0).then_some(sum as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_not_complete_is_an_error_unless_the_next_one_has_the_rest() {
        let page = |status| {
            let result = MetricDataResult::builder().timestamps(DateTime::from_secs(600)).values(3.0);
            let result = result.timestamps(DateTime::from_secs(660)).values(0.0).status_code(status);
            entries_of(&result.build(), "read")
        };
        let expected = [(Timestamp::from_millis(600_000), 3)];
        assert_eq!(page(StatusCode::Complete).unwrap(), expected);
        assert_eq!(page(StatusCode::PartialData).unwrap(), expected);
        for status in [StatusCode::InternalError, StatusCode::Forbidden] {
            let error = page(status).unwrap_err();
            assert_eq!(
                (error.to_string(), error.reason()),
                ("could not read".into(), "AWS answered without all values".into())
            );
        }
    }
}
