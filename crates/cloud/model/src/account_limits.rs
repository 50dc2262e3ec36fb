//! What AWS allows one account in one region.

use serde::Serialize;

use crate::facts::{AccountFact, facts};

/// A region with the lower defaults.
pub const NEWER_REGION: &str = "eu-central-2";

/// A limit that AWS raises for an account that asks. Service Quotas knows its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccountLimit {
    Concurrency,
    ApiRequests,
    ApiBurst,
    TableReads,
    TableWrites,
}

impl AccountLimit {
    pub const ALL: [Self; 5] =
        [Self::Concurrency, Self::ApiRequests, Self::ApiBurst, Self::TableReads, Self::TableWrites];

    /// Its name, as `deploy` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Concurrency => "Lambda: concurrent executions",
            Self::ApiRequests => "API Gateway: requests per second",
            Self::ApiBurst => "API Gateway: requests at once",
            Self::TableReads => "DynamoDB: reads per second of a table",
            Self::TableWrites => "DynamoDB: writes per second of a table",
        }
    }

    /// Its name in `simulate`: `--limit` and `--json`.
    pub fn short_name(self) -> &'static str {
        match self {
            Self::Concurrency => "concurrency",
            Self::ApiRequests => "api-requests",
            Self::ApiBurst => "api-burst",
            Self::TableReads => "table-reads",
            Self::TableWrites => "table-writes",
        }
    }

    /// What to do to get more.
    pub fn advice(self) -> String {
        self.asking_for("a higher limit")
    }

    /// What to do about an account that may run few functions, as every new one. Some are reserved for those who release visitors, and
    /// AWS keeps a hundred back, so nobody asks for a few more.
    pub fn advice_for_few_functions() -> String {
        Self::Concurrency.asking_for("1,000 or more")
    }

    fn asking_for(self, wanted: &str) -> String {
        format!(
            "ask AWS for {wanted}, which is free: Service Quotas, {} ({})",
            self.in_service_quotas(),
            self.code()
        )
    }

    /// Where the console has it: the service, then the name.
    pub fn in_service_quotas(self) -> &'static str {
        match self {
            Self::Concurrency => "AWS Lambda, Concurrent executions",
            Self::ApiRequests => "Amazon API Gateway, Throttle rate",
            Self::ApiBurst => "Amazon API Gateway, Throttle burst rate",
            Self::TableReads => "Amazon DynamoDB, Table-level read throughput limit",
            Self::TableWrites => "Amazon DynamoDB, Table-level write throughput limit",
        }
    }

    /// Whether it is one of API Gateway's.
    pub fn is_of_api(self) -> bool {
        matches!(self, Self::ApiRequests | Self::ApiBurst)
    }

    pub fn service(self) -> &'static str {
        &self.fact().service
    }

    pub fn code(self) -> &'static str {
        &self.fact().code
    }

    /// AWS's default in this region.
    pub fn default_in(self, region: &str) -> f64 {
        let fact = self.fact();
        let is_newer = facts().newer_regions.codes.iter().any(|code| code == region);
        fact.newer_regions.filter(|_| is_newer).unwrap_or(fact.value)
    }

    fn fact(self) -> &'static AccountFact {
        let account = &facts().account;
        match self {
            Self::Concurrency => &account.concurrency,
            Self::ApiRequests => &account.api_requests,
            Self::ApiBurst => &account.api_burst,
            Self::TableReads => &account.table_reads,
            Self::TableWrites => &account.table_writes,
        }
    }
}

/// The values of these limits for one account and region.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountLimits {
    pub concurrency: f64,
    pub api_requests: f64,
    pub api_burst: f64,
    pub table_reads: f64,
    pub table_writes: f64,
}

impl AccountLimits {
    /// What AWS gives to an account that never asked for more.
    pub fn default_in(region: &str) -> Self {
        Self {
            concurrency: AccountLimit::Concurrency.default_in(region),
            api_requests: AccountLimit::ApiRequests.default_in(region),
            api_burst: AccountLimit::ApiBurst.default_in(region),
            table_reads: AccountLimit::TableReads.default_in(region),
            table_writes: AccountLimit::TableWrites.default_in(region),
        }
    }

    /// What many new accounts begin with.
    pub fn of_new_account(region: &str) -> Self {
        Self { concurrency: facts().fixed.new_account_concurrency.value, ..Self::default_in(region) }
    }

    pub fn get(&self, limit: AccountLimit) -> f64 {
        match limit {
            AccountLimit::Concurrency => self.concurrency,
            AccountLimit::ApiRequests => self.api_requests,
            AccountLimit::ApiBurst => self.api_burst,
            AccountLimit::TableReads => self.table_reads,
            AccountLimit::TableWrites => self.table_writes,
        }
    }

    pub fn set(&mut self, limit: AccountLimit, value: f64) {
        match limit {
            AccountLimit::Concurrency => self.concurrency = value,
            AccountLimit::ApiRequests => self.api_requests = value,
            AccountLimit::ApiBurst => self.api_burst = value,
            AccountLimit::TableReads => self.table_reads = value,
            AccountLimit::TableWrites => self.table_writes = value,
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole numbers, or the same computation")]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_a_name_and_a_value_of_its_own() {
        let mut limits = AccountLimits::default_in("us-east-1");
        for (value, limit) in (1..).map(f64::from).zip(AccountLimit::ALL) {
            assert_eq!(limits.get(limit), limit.default_in("us-east-1"));
            limits.set(limit, value);
            assert_eq!(serde_json::to_value(limit).unwrap(), limit.short_name());
        }
        assert_eq!(AccountLimit::ALL.map(|limit| limits.get(limit)), [1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn thirteen_regions_have_a_quarter_of_the_requests() {
        let requests = |region: &str| {
            let limits = AccountLimits::default_in(region);
            (limits.api_requests, limits.api_burst)
        };
        assert_eq!(requests("us-east-1"), (10_000.0, 5_000.0));
        assert_eq!(requests("eu-central-1"), (10_000.0, 5_000.0));
        let document = include_str!("../../../../docs/crowd.md");
        for newer in &facts().newer_regions.codes {
            assert!(document.contains(newer), "{newer} in docs/crowd.md");
            assert_eq!(requests(newer), (2_500.0, 1_250.0), "{newer}");
        }
        assert_eq!(requests(NEWER_REGION), (2_500.0, 1_250.0));
        assert_eq!(AccountLimits::of_new_account(NEWER_REGION).concurrency, 10.0);
    }
}
