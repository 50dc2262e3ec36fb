//! The numbers of `aws.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

/// What AWS allows and charges.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// When the numbers were last looked up that have no date of their own.
    pub date: String,
    pub(crate) account: AccountFacts,
    pub(crate) newer_regions: NewerRegions,
    pub fixed: FixedFacts,
    pub(crate) prices: PriceFacts,
}

/// One number, and where it is from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    pub value: f64,
    pub unit: String,
    /// AWS's own page.
    pub source: String,
    /// Whether the number was read in AWS's own text.
    pub confirmed: bool,
    #[serde(default = "one")]
    per: f64,
    #[serde(rename = "note", default)]
    _note: String,
    #[serde(rename = "date")]
    _date: Option<String>,
}

/// A limit of an account, which it may have raised.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccountFact {
    pub(crate) value: f64,
    /// The default in newer regions, if it is another one.
    pub(crate) newer_regions: Option<f64>,
    pub(crate) service: String,
    pub(crate) code: String,
    #[serde(rename = "unit")]
    _unit: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "confirmed")]
    _confirmed: bool,
    #[serde(rename = "note", default)]
    _note: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewerRegions {
    pub(crate) codes: Vec<String>,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "confirmed")]
    _confirmed: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccountFacts {
    pub(crate) api_requests: AccountFact,
    pub(crate) api_burst: AccountFact,
    pub(crate) concurrency: AccountFact,
    pub(crate) table_reads: AccountFact,
    pub(crate) table_writes: AccountFact,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedFacts {
    pub(crate) new_account_concurrency: Fact,
    pub(crate) unreserved_concurrency: Fact,
    pub(crate) environment_requests: Fact,
    pub(crate) new_environments: Fact,
    pub(crate) key_writes: Fact,
    pub key_reads: Fact,
    pub(crate) new_table_reads: Fact,
    pub(crate) new_table_writes: Fact,
    pub(crate) messages_in_flight: Fact,
    pub(crate) message_retention: Fact,
    pub header_bytes: Fact,
    pub(crate) object_reads: Fact,
    pub(crate) edge_requests: Fact,
    pub(crate) edge_caches: Fact,
    pub(crate) edge_free_requests: Fact,
    pub(crate) edge_free_gb: Fact,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceFacts {
    pub(crate) api_request: Fact,
    pub(crate) invocation: Fact,
    pub(crate) gb_second_arm64: Fact,
    pub(crate) gb_second_x86: Fact,
    pub(crate) queue_call: Fact,
    pub(crate) read_unit: Fact,
    pub(crate) write_unit: Fact,
    pub(crate) warm_read: Fact,
    pub(crate) warm_write: Fact,
    pub(crate) object_read: Fact,
    pub(crate) gb_out: Fact,
    pub(crate) edge_request: Fact,
    pub(crate) edge_gb_out: Fact,
    pub(crate) edge_gb_in: Fact,
    pub(crate) gb_logged: Fact,
    pub(crate) metric: Fact,
    pub(crate) alarm_metric: Fact,
    pub(crate) schedule: Fact,
    pub(crate) secret: Fact,
    pub(crate) firewall: Fact,
    pub(crate) firewall_rule: Fact,
    pub(crate) firewall_request: Fact,
    pub(crate) challenge: Fact,
}

impl Fact {
    /// The price of one unit, in dollars.
    pub(crate) fn each(&self) -> f64 {
        self.value / self.per
    }
}

fn one() -> f64 {
    1.0
}

const TEXT: &str = include_str!("../aws.toml");

#[expect(clippy::expect_used, reason = "the text is part of this program, and a test reads it")]
static FACTS: LazyLock<Facts> = LazyLock::new(|| toml::from_str(TEXT).expect("aws.toml can be read"));

pub fn facts() -> &'static Facts {
    &FACTS
}

pub(crate) fn prices() -> &'static PriceFacts {
    &facts().prices
}

#[cfg(test)]
mod tests {
    use toml::{Table, Value};

    use super::*;

    /// Every entry of the file with its path, like `prices.metric`.
    fn entries(table: &Table) -> Vec<(String, &Table)> {
        let groups = table.iter().filter_map(|(name, value)| Some((name, value.as_table()?)));
        let entries = groups.flat_map(|(group, entries)| {
            if entries.contains_key("source") {
                return vec![(group.clone(), entries)];
            }
            let named = |(name, entry): (&String, _)| (format!("{group}.{name}"), entry);
            entries.iter().filter_map(|(name, entry)| Some((name, entry.as_table()?))).map(named).collect()
        });
        entries.collect()
    }

    #[test]
    fn every_number_has_a_unit_and_a_page_of_aws() {
        let table: Table = TEXT.parse().unwrap();
        let entries = entries(&table);
        assert!(entries.len() > 30, "{}", entries.len());
        for (name, entry) in entries {
            let source = entry["source"].as_str().unwrap();
            let is_from_aws = ["https://docs.aws.amazon.com/", "https://aws.amazon.com/"];
            assert!(is_from_aws.iter().any(|start| source.starts_with(start)), "{name}: {source}");
            assert!(entry["confirmed"].is_bool(), "{name}");
            let is_number = |value: &Value| value.is_float() || value.is_integer();
            assert!(entry.get("codes").is_some() || is_number(&entry["value"]), "{name}");
            assert!(entry.get("codes").is_some() || !entry["unit"].as_str().unwrap().is_empty(), "{name}");
        }
    }

    #[test]
    fn the_facts_can_be_read() {
        let facts = facts();
        assert_eq!(facts.date.len(), "2026-11-22".len());
        assert_eq!(facts.newer_regions.codes.len(), 13);
        assert!((facts.prices.api_request.each() * 1e6 - 3.5).abs() < 1e-9);
    }
}
