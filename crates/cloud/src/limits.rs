//! The account's limits, as Service Quotas and Lambda know them.

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
    pub(crate) fn is_doubted(&self) -> bool {
        self.value.is_some_and(|value| value > self.taken)
    }
}

/// What Lambda itself says about the account in this region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionLimits {
    /// How many functions may run at the same time.
    pub(crate) all: u32,
    /// How many of them no function has reserved.
    pub(crate) unreserved: u32,
}

impl FunctionLimits {
    fn of(limit: &aws_sdk_lambda::types::AccountLimit) -> Option<Self> {
        let all = u32::try_from(limit.concurrent_executions).ok().filter(|all| *all > 0)?;
        Some(Self { all, unreserved: limit.unreserved_concurrent_executions?.try_into().ok()? })
    }

    /// The lower of what Service Quotas and Lambda say. Lambda enforces its own number. Where Service Quotas cannot be read, or
    /// knows only AWS's default, a new account would count as one that may run a hundred times as many functions.
    fn lower(self, quota: Result<Option<f64>, String>) -> f64 {
        quota.ok().flatten().map_or(self.all.into(), |quota| quota.min(self.all.into()))
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
    pub(crate) async fn read_limits(&self, functions: &Result<FunctionLimits, String>) -> Vec<LimitReading> {
        let reading = async |limit| {
            let quota = self.read_limit(limit).await;
            let read = match (limit, functions) {
                (AccountLimit::Concurrency, Ok(functions)) => Ok(Some(functions.lower(quota))),
                _ => quota,
            };
            LimitReading::new(limit, &self.region, read)
        };
        future::join_all(AccountLimit::ALL.map(reading)).await
    }

    /// How many functions the account may run, as Lambda says.
    pub(crate) async fn function_limits(&self) -> Result<FunctionLimits, String> {
        let settings = aws_sdk_lambda::Client::new(&self.config).get_account_settings().send().await;
        let settings = settings.map_err(|error| self.errors.call_failed("", error).reason())?;
        let limit = settings.account_limit.as_ref().and_then(FunctionLimits::of);
        limit.ok_or_else(|| "AWS answered without a value".to_owned())
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

    #[test]
    fn a_limit_that_cannot_be_read_is_the_regions_default() {
        let unread = |region| LimitReading::new(AccountLimit::ApiRequests, region, Err("denied".into()));
        assert_eq!((unread("us-east-1").taken, unread("eu-central-2").taken), (10_000.0, 2_500.0));
        assert_eq!(unread("us-east-1").error.as_deref(), Some("denied"));
        assert_eq!(LimitReading::new(AccountLimit::Concurrency, "us-east-1", Ok(None)).taken, 1000.0);
    }

    #[test]
    fn functions_are_as_many_as_the_lower_of_service_quotas_and_lambda_says() {
        let ten = FunctionLimits { all: 10, unreserved: 10 };
        assert_eq!(ten.lower(Ok(Some(1000.0))), 10.0);
        assert_eq!(ten.lower(Err("denied".into())), 10.0);
        assert_eq!(ten.lower(Ok(None)), 10.0);
        assert_eq!(FunctionLimits { all: 1000, unreserved: 988 }.lower(Ok(Some(500.0))), 500.0);
    }

    #[test]
    fn an_answer_of_lambda_without_numbers_is_none() {
        let limit = |all, unreserved| {
            let limit = aws_sdk_lambda::types::AccountLimit::builder().concurrent_executions(all);
            FunctionLimits::of(&limit.set_unreserved_concurrent_executions(unreserved).build())
        };
        assert!(limit(0, Some(10)).is_none() && limit(1000, None).is_none());
        let read = limit(1000, Some(888)).unwrap();
        assert_eq!((read.all, read.unreserved), (1000, 888));
    }

    #[test]
    fn an_own_limit_is_taken_unless_a_newer_region_reports_the_usual_default() {
        let requests = |region, value| LimitReading::new(AccountLimit::ApiRequests, region, Ok(Some(value)));
        assert_eq!(requests("us-east-1", 10_000.0).taken, 10_000.0);
        assert_eq!(requests("us-east-1", 600.0).taken, 600.0);
        assert_eq!(requests("ap-southeast-3", 30_000.0).taken, 30_000.0);
        let doubted = requests("ap-southeast-3", 10_000.0);
        assert!(doubted.is_doubted() && doubted.taken == 2_500.0, "{doubted:?}");
        let ten = LimitReading::new(AccountLimit::Concurrency, "", Ok(Some(10.0)));
        let limits = taken(&[doubted, ten], "ap-southeast-3");
        assert_eq!((limits.api_requests, limits.concurrency, limits.table_reads), (2_500.0, 10.0, 40_000.0));
    }
}
