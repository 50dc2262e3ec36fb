//! The warm capacity of a room's table, which can be raised and never lowered.
//!
//! AWS refuses an update that asks for less than the table has, and then it refuses the rollback as well. A table also warms up
//! by itself under load. So an update asks for more only where the table has less, and otherwise for what it asked before.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TableWarmThroughputDescription;

use crate::stack::StackState;
use crate::{Account, CloudError};

/// The template's parameters.
const READS: &str = "WarmReads";
const WRITES: &str = "WarmWrites";

impl Account {
    /// Changes the parameters of an update of this stack, so that nothing is lowered.
    pub(crate) async fn keep_warm(
        &self,
        stack: &StackState,
        parameters: &mut BTreeMap<String, String>,
    ) -> Result<(), CloudError> {
        let asks = |name| value(parameters, name) > value(&stack.parameters, name);
        let warm = if asks(READS) || asks(WRITES) { self.warm(stack).await? } else { None };
        let reads = warm.as_ref().and_then(|warm| warm.read_units_per_second).unwrap_or_default();
        let writes = warm.as_ref().and_then(|warm| warm.write_units_per_second).unwrap_or_default();
        for (name, has) in [(READS, reads), (WRITES, writes)] {
            let next = next(value(parameters, name), value(&stack.parameters, name), has);
            parameters.insert(name.into(), next.to_string());
        }
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

/// 0 if the stack has no such parameter.
fn value(parameters: &BTreeMap<String, String>, name: &str) -> i64 {
    parameters.get(name).and_then(|value| value.parse().ok()).unwrap_or_default()
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
    fn a_parameter_that_is_missing_is_zero() {
        let parameters = BTreeMap::from([(READS.to_owned(), "50000".to_owned())]);
        assert_eq!((value(&parameters, READS), value(&parameters, WRITES)), (50_000, 0));
    }
}
