//! The warm capacity of a room's table, which can be raised and never lowered.
//!
//! AWS refuses an update that asks for less than the table has, and then it refuses the rollback as well. A table also warms up
//! by itself under load. So an update asks for more only where the table has less, and otherwise for what it asked before.

use std::collections::BTreeMap;
use std::str::FromStr;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TableWarmThroughputDescription;

use crate::stack::StackState;
use crate::{Account, CloudError, bundle};

/// The template's parameters.
const BOTH: [&str; 2] = ["WarmReads", "WarmWrites"];

impl Account {
    /// Changes the parameters of an update of this stack, so that nothing is lowered.
    pub(crate) async fn keep_warm(
        &self,
        stack: &StackState,
        parameters: &mut BTreeMap<String, String>,
    ) -> Result<(), CloudError> {
        let defaults = bundle::with_defaults(&BTreeMap::new())?;
        // The stack of an older version has no such parameters, and its table has the defaults.
        let mut before = defaults.clone();
        before.extend(stack.parameters.clone());
        let (wanted, before, defaults) = (of_both(parameters), of_both(&before), of_both(&defaults));
        let asks = wanted.iter().zip(before).any(|(wanted, before)| *wanted > before);
        let warm = if asks { self.warm(stack).await? } else { None };
        let reads = warm.as_ref().and_then(|warm| warm.read_units_per_second).unwrap_or_default();
        let writes = warm.as_ref().and_then(|warm| warm.write_units_per_second).unwrap_or_default();
        let next = next_of_both(wanted, before, [reads, writes], defaults);
        parameters.extend(BOTH.iter().zip(next).map(|(name, next)| ((*name).to_owned(), next.to_string())));
        Ok(())
    }

    /// What the stack's table has. `None` if there is no table, or the service does not say.
    async fn warm(&self, stack: &StackState) -> Result<Option<TableWarmThroughputDescription>, CloudError> {
        let Some(table) = stack.outputs.get("LedgerTable") else { return Ok(None) };
        let described = Client::new(&self.config).describe_table().table_name(table).send().await;
        let attempt = || format!("read the warm capacity of the table {table}");
        let described = described.map_err(|error| self.errors.call_failed(attempt(), error))?;
        Ok(described.table.and_then(|table| table.warm_throughput))
    }
}

/// What the next update asks for, if this is `wanted`, the update `before` asked for that, and the table `has` this.
fn next(wanted: i64, before: i64, has: i64) -> i64 {
    if wanted > before.max(has) { wanted } else { before }
}

/// The same for reads and writes. An update that raises one of them names the other again, unless that is the default. The
/// table may have warmed up above it, and AWS refuses what would lower it. So it asks for what the table has.
fn next_of_both(wanted: [i64; 2], before: [i64; 2], has: [i64; 2], defaults: [i64; 2]) -> [i64; 2] {
    let raised = [0, 1].map(|one| next(wanted[one], before[one], has[one]));
    if raised == before {
        return before;
    }
    [0, 1].map(|one| if raised[one] > defaults[one] { raised[one].max(has[one]) } else { raised[one] })
}

/// The reads and writes a second that the latest update of this stack asked for.
pub(crate) fn asked_for(stack: &StackState) -> [f64; 2] {
    of_both(&stack.parameters)
}

/// Reads and writes; 0 for one that is missing.
fn of_both<T: FromStr + Default>(parameters: &BTreeMap<String, String>) -> [T; 2] {
    BOTH.map(|name| parameters.get(name).and_then(|value| value.parse().ok()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lowered() {
        assert_eq!(next(50_000, 12_000, 12_000), 50_000, "raised");
        assert_eq!(next(12_000, 50_000, 50_000), 50_000, "no longer in the configuration file");
        assert_eq!(next(20_000, 50_000, 50_000), 50_000, "lower in the configuration file");
        assert_eq!(next(20_000, 12_000, 30_000), 12_000, "the table has warmed up by itself");
        assert_eq!(next(60_000, 50_000, 70_000), 50_000);
        assert_eq!(next(60_000, 50_000, 0), 60_000, "the service does not say what the table has");
    }

    #[test]
    fn what_is_asked_again_is_not_lower_than_what_the_table_has() {
        let of = |wanted, before, has| next_of_both(wanted, before, has, [12_000, 4_000]);
        let raises_writes = |before, has| of([50_000, 9_000], before, has);
        assert_eq!(raises_writes([50_000, 4_000], [50_000, 4_000]), [50_000, 9_000]);
        assert_eq!(raises_writes([50_000, 4_000], [70_000, 4_000]), [70_000, 9_000], "reads warmed up");
        assert_eq!(
            of([12_000, 9_000], [12_000, 4_000], [70_000, 4_000]),
            [12_000, 9_000],
            "a default is not sent"
        );
        assert_eq!(of([50_000, 4_000], [50_000, 4_000], [70_000, 9_000]), [50_000, 4_000], "nothing changes");
    }

    #[test]
    fn a_parameter_that_is_missing_is_zero() {
        let parameters = BTreeMap::from([("WarmReads".to_owned(), "50000".to_owned())]);
        assert_eq!(of_both::<i64>(&parameters), [50_000, 0]);
    }
}
