//! What a room's functions write, from CloudWatch Logs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clock::SystemClock;
use tokio::time::sleep;
use waitroom::Timestamp;
use waitroom::ports::Clock;

use crate::error::code;
use crate::stack::Stacks;
use crate::{CloudError, DeployedRoom};

/// CloudWatch takes a while to show a line, and shows them in no order: so far back it is looked again.
const LATE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Which lines are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogQuery {
    pub since: Timestamp,
    /// Whether to go on with what is written from now on, without end.
    pub follow: bool,
}

/// A line of a function's log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct LogLine {
    pub at: Timestamp,
    /// As the template calls it, in lower case: `producer`.
    pub function: String,
    pub text: String,
}

impl DeployedRoom {
    /// Hands over every line once, oldest first; of those that come while it follows, in the order in which they become
    /// visible.
    pub async fn logs(&self, query: &LogQuery, mut see: impl FnMut(LogLine)) -> Result<(), CloudError> {
        let groups = self.log_groups().await?;
        let mut since = query.since;
        // What was handed over already, of the time that is looked at again.
        let mut seen = BTreeMap::new();
        loop {
            let now = SystemClock.now();
            let mut lines = BTreeSet::new();
            for (function, group) in &groups {
                for (id, at, text) in self.lines(group, since).await? {
                    if seen.insert((group.clone(), id.clone()), at).is_none() {
                        lines.insert((LogLine { at, function: function.clone(), text }, id));
                    }
                }
            }
            for (line, _) in lines {
                see(line);
            }
            if !query.follow {
                return Ok(());
            }
            since = since.max(now - LATE);
            seen.retain(|_, at| *at >= since);
            sleep(LOOK_EVERY).await;
        }
    }

    /// Each function's log group.
    async fn log_groups(&self) -> Result<Vec<(String, String)>, CloudError> {
        let resources = Stacks::of(&self.account, &self.room).resources(&self.stack).await?;
        let groups =
            resources.into_iter().filter(|resource| resource.resource_type() == Some("AWS::Logs::LogGroup"));
        Ok(groups
            .filter_map(|group| {
                let function = group.logical_resource_id?.strip_suffix("Log")?.to_lowercase();
                Some((function, group.physical_resource_id?))
            })
            .collect())
    }

    async fn lines(
        &self,
        group: &str,
        since: Timestamp,
    ) -> Result<Vec<(String, Timestamp, String)>, CloudError> {
        let since = i64::try_from(since.as_millis()).unwrap_or_default();
        let (mut all, mut more) = (Vec::new(), None);
        loop {
            let filter = self.account.logs().filter_log_events().log_group_name(group).start_time(since);
            let page = match filter.set_next_token(more).send().await {
                Ok(page) => page,
                // Nothing was ever written.
                Err(error) if code(&error) == "ResourceNotFoundException" => return Ok(all),
                Err(error) => {
                    return Err(self.account.adviser.trouble(format!("read the log {group}"), error));
                }
            };
            all.extend(page.events.unwrap_or_default().into_iter().filter_map(|event| {
                let at = Timestamp::from_millis(u64::try_from(event.timestamp?).ok()?);
                Some((event.event_id.unwrap_or_default(), at, event.message?.trim_end().to_owned()))
            }));
            more = page.next_token;
            if more.is_none() {
                return Ok(all);
            }
        }
    }
}
