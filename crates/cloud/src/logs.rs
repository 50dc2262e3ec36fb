//! The logs of a room's functions, from CloudWatch Logs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::sleep;
use waitroom::Timestamp;

use crate::aws_errors::code;
use crate::error::OrIncomplete;
use crate::stack::RoomStack;
use crate::{CloudError, DeployedRoom};

/// CloudWatch shows a line with a delay, and not in order. So each read goes back this far before the previous one.
const OVERLAP: Duration = Duration::from_secs(30);
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Which lines to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogQuery {
    pub since: Timestamp,
    /// Whether to wait for new lines, forever.
    pub follow: bool,
}

/// A line of a function's log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct LogLine {
    pub at: Timestamp,
    /// The function's name in the template, in lower case: `producer`.
    pub function: String,
    pub text: String,
}

impl DeployedRoom {
    /// Calls `on_line` once for every line, oldest first. New lines follow in the order in which CloudWatch shows them.
    pub async fn logs(&self, query: &LogQuery, mut on_line: impl FnMut(LogLine)) -> Result<(), CloudError> {
        let groups = self.log_groups().await?;
        let mut since = query.since;
        // The events that were already passed on, by log group and event ID. It goes back as far as the next read
        // does.
        let mut seen = BTreeMap::new();
        loop {
            let mut lines = BTreeSet::new();
            for (function, group) in &groups {
                for (id, at, text) in self.log_events(group, since).await? {
                    if seen.insert((group.clone(), id.clone()), at).is_none() {
                        lines.insert((LogLine { at, function: function.clone(), text }, id));
                    }
                }
            }
            for (line, _) in lines {
                on_line(line);
            }
            if !query.follow {
                return Ok(());
            }
            // By the lines themselves, because the clock of this machine may be ahead of AWS's.
            since = seen.values().max().map_or(since, |newest| since.max(*newest - OVERLAP));
            seen.retain(|_, at| *at >= since);
            sleep(CHECK_INTERVAL).await;
        }
    }

    /// Each function with its log group.
    async fn log_groups(&self) -> Result<Vec<(String, String)>, CloudError> {
        let resources = RoomStack::new(&self.account, &self.room).resources(&self.stack_id).await?;
        let groups =
            resources.into_iter().filter(|resource| resource.resource_type() == Some("AWS::Logs::LogGroup"));
        // In the template, the log group of a function has the function's name with `Log` at the end. A group that
        // is not created yet has no physical ID.
        let named = groups.filter_map(|group| {
            let function = group.logical_resource_id?.strip_suffix("Log")?.to_lowercase();
            Some((function, group.physical_resource_id?))
        });
        Ok(named.collect())
    }

    /// The ID, time and text of each event.
    async fn log_events(
        &self,
        group: &str,
        since: Timestamp,
    ) -> Result<Vec<(String, Timestamp, String)>, CloudError> {
        let attempt = format!("read the log group {group}");
        let since = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        let filter = self.account.logs().filter_log_events().log_group_name(group).start_time(since);
        let pages = match filter.into_paginator().send().try_collect().await {
            Ok(pages) => pages,
            // The function has not logged anything yet.
            Err(error) if code(&error) == "ResourceNotFoundException" => return Ok(Vec::new()),
            Err(error) => return Err(self.account.errors.call_failed(attempt, error)),
        };
        let mut events = Vec::new();
        for event in pages.into_iter().flat_map(|page| page.events.unwrap_or_default()) {
            let at = event.timestamp.and_then(|at| u64::try_from(at).ok());
            let at = at.or_incomplete(&attempt, "the time of a log line")?;
            let id = event.event_id.or_incomplete(&attempt, "the ID of a log line")?;
            let text = event.message.or_incomplete(&attempt, "the text of a log line")?;
            events.push((id, Timestamp::from_millis(at), text.trim_end().to_owned()));
        }
        Ok(events)
    }
}
