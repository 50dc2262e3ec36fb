//! The account's limits, as Service Quotas knows them.

use aws_model::{AccountLimit, AccountLimits};
use futures_util::future;
use serde::Serialize;

use crate::Account;
use crate::aws_errors::code;

/// One limit, as it was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitReading {
    pub limit: AccountLimit,
    pub name: &'static str,
    /// `None` if it could not be read.
    pub value: Option<f64>,
    /// Why it could not be read.
    pub error: Option<String>,
    /// The value that the plan computes with: AWS's default in this region, if the account's own is not known.
    pub taken: f64,
}

impl LimitReading {
    fn new(limit: AccountLimit, region: &str, read: Result<Option<f64>, String>) -> Self {
        let default = limit.default_in(region);
        let (value, error) = match read {
            Ok(Some(value)) => (Some(value), None),
            Ok(None) => (None, Some("AWS answered without a value".to_owned())),
            Err(error) => (None, Some(error)),
        };
        let taken =
            value.map_or(default, |value| if is_doubtful(limit, region, value) { default } else { value });
        Self { limit, name: limit.name(), value, error, taken }
    }

    /// Whether Service Quotas gave a value that is not believed.
    pub fn is_doubted(&self) -> bool {
        self.value.is_some_and(|value| value > self.taken)
    }
}

/// In newer regions, API Gateway's default is lower, but Service Quotas may report the usual one:
/// <https://repost.aws/questions/QU47u_cBTCQcy2qTmoR6q91w/api-gateway-throttling-discrepancy>
#[expect(clippy::float_cmp, reason = "both are whole numbers that were not computed")]
fn is_doubtful(limit: AccountLimit, region: &str, value: f64) -> bool {
    let usual = limit.default_in("us-east-1");
    value == usual && limit.default_in(region) < usual
}

/// The limits to compute with.
pub(crate) fn taken(readings: &[LimitReading], region: &str) -> AccountLimits {
    let mut limits = AccountLimits::default_in(region);
    for reading in readings {
        limits.set(reading.limit, reading.taken);
    }
    limits
}

impl Account {
    pub(crate) async fn read_limits(&self) -> Vec<LimitReading> {
        let reading = async |limit| LimitReading::new(limit, &self.region, self.read_limit(limit).await);
        future::join_all(AccountLimit::ALL.map(reading)).await
    }

    /// The account's own limit, or AWS's default if the account has none.
    async fn read_limit(&self, limit: AccountLimit) -> Result<Option<f64>, String> {
        let quotas = aws_sdk_servicequotas::Client::new(&self.config);
        let (service, name) = (limit.service(), limit.code());
        let own = quotas.get_service_quota().service_code(service).quota_code(name).send().await;
        let quota = match own {
            Err(error) if code(&error) == "NoSuchResourceException" => {
                let get = quotas.get_aws_default_service_quota().service_code(service).quota_code(name);
                let default = get.send().await.map_err(|error| self.errors.call_failed("", error));
                default.map(|answer| answer.quota)
            }
            own => own.map(|answer| answer.quota).map_err(|error| self.errors.call_failed("", error)),
        };
        quota.map(|quota| quota.and_then(|quota| quota.value)).map_err(|error| error.reason())
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole numbers, or the same computation")]
mod tests {
    use super::*;

    fn reading(limit: AccountLimit, region: &str, read: Result<Option<f64>, String>) -> LimitReading {
        LimitReading::new(limit, region, read)
    }

    #[test]
    fn a_limit_that_cannot_be_read_is_the_regions_default() {
        let unread = |region| reading(AccountLimit::ApiRequests, region, Err("denied".into()));
        assert_eq!((unread("us-east-1").taken, unread("eu-central-2").taken), (10_000.0, 2_500.0));
        assert_eq!(unread("us-east-1").error.as_deref(), Some("denied"));
        assert_eq!(reading(AccountLimit::Concurrency, "us-east-1", Ok(None)).taken, 1000.0);
    }

    #[test]
    fn an_own_limit_is_taken_unless_a_newer_region_reports_the_usual_default() {
        let requests = |region, value| reading(AccountLimit::ApiRequests, region, Ok(Some(value)));
        assert_eq!(requests("us-east-1", 10_000.0).taken, 10_000.0);
        assert_eq!(requests("us-east-1", 600.0).taken, 600.0);
        assert_eq!(requests("ap-southeast-3", 30_000.0).taken, 30_000.0);
        let doubted = requests("ap-southeast-3", 10_000.0);
        assert!(doubted.is_doubted() && doubted.taken == 2_500.0, "{doubted:?}");
        let limits =
            taken(&[doubted, reading(AccountLimit::Concurrency, "", Ok(Some(10.0)))], "ap-southeast-3");
        assert_eq!((limits.api_requests, limits.concurrency, limits.table_reads), (2_500.0, 10.0, 40_000.0));
    }
}
