//! The room's alarms, and when they rang. `CloudWatch` keeps both.

use aws_sdk_cloudwatch::types::{AlarmHistoryItem, HistoryItemType, MetricAlarm, ScanBy, StateValue};
use control::{Alarm, AlarmChange, AlarmState};
use serde::Deserialize;
use waitroom::Timestamp;

use crate::error::OrIncomplete;
use crate::{CloudError, DeployedRoom};

impl DeployedRoom {
    /// The room's alarms. Empty if the room has none.
    pub async fn alarms(&self) -> Result<Vec<Alarm>, CloudError> {
        let attempt = format!("read the alarms of {}", self.describe_stack());
        // CloudFormation names them `<stack>-<alarm>-<random>`.
        let prefix = format!("{}-", crate::names::stack(&self.room));
        let cloudwatch = aws_sdk_cloudwatch::Client::new(&self.account.config);
        let pages = cloudwatch.describe_alarms().alarm_name_prefix(&prefix).into_paginator().send();
        let pages = pages.try_collect().await;
        let pages = pages.map_err(|error| self.account.errors.call_failed(&attempt, error))?;
        let mut alarms = Vec::new();
        for alarm in pages.into_iter().flat_map(|page| page.metric_alarms.unwrap_or_default()) {
            let name = alarm.alarm_name.clone().or_incomplete(&attempt, "the name of an alarm")?;
            if belongs_to_stack(&name, &prefix) {
                alarms.push(read_alarm(name, alarm));
            }
        }
        Ok(alarms)
    }

    /// When the room's alarms began to ring and stopped, oldest first: the latest `most` changes of each alarm. `CloudWatch`
    /// keeps them for 30 days.
    pub async fn alarm_changes(&self, most: u16) -> Result<Vec<AlarmChange>, CloudError> {
        let attempt = format!("read when the alarms rang of {}", self.describe_stack());
        let cloudwatch = aws_sdk_cloudwatch::Client::new(&self.account.config);
        let mut changes = Vec::new();
        for alarm in self.alarms().await? {
            let describe = cloudwatch.describe_alarm_history().alarm_name(&alarm.name);
            let describe = describe.history_item_type(HistoryItemType::StateUpdate);
            // Newest first, and no further than asked for.
            let mut pages =
                describe.scan_by(ScanBy::TimestampDescending).into_paginator().page_size(MOST_RECORDS).send();
            let mut latest = Vec::new();
            while latest.len() < most.into()
                && let Some(page) = pages.next().await
            {
                let page = page.map_err(|error| self.account.errors.call_failed(&attempt, error))?;
                latest.extend(page.alarm_history_items().iter().filter_map(|item| change(&alarm.name, item)));
            }
            latest.truncate(most.into());
            changes.extend(latest);
        }
        changes.sort_by_key(|change| change.at);
        Ok(changes)
    }
}

/// The most records that `CloudWatch` returns at once.
const MOST_RECORDS: i32 = 100;

/// The prefix of the room `sale` also matches alarms of a room `sale-2`. An alarm's name in the template begins with a
/// capital letter, and a room's name has none.
fn belongs_to_stack(alarm: &str, prefix: &str) -> bool {
    let rest = alarm.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

fn read_alarm(name: String, alarm: MetricAlarm) -> Alarm {
    Alarm {
        name,
        state: state(alarm.state_value.as_ref()),
        reason: alarm.state_reason.unwrap_or_default(),
        meaning: alarm.alarm_description.unwrap_or_default(),
    }
}

fn state(value: Option<&StateValue>) -> AlarmState {
    match value {
        Some(StateValue::Ok) => AlarmState::Quiet,
        Some(StateValue::Alarm) => AlarmState::Ringing,
        // Too little data.
        _ => AlarmState::Unknown,
    }
}

/// What `CloudWatch` says about a change of an alarm's state, as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StateUpdate {
    old_state: UpdatedState,
    new_state: UpdatedState,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdatedState {
    state_value: String,
    #[serde(default)]
    state_reason: String,
}

/// `None` if the alarm neither began to ring nor stopped.
fn change(alarm: &str, item: &AlarmHistoryItem) -> Option<AlarmChange> {
    let at = u64::try_from(item.timestamp?.to_millis().ok()?).ok()?;
    let update: StateUpdate = serde_json::from_str(item.history_data.as_deref()?).ok()?;
    let read = |value: &str| state(Some(&StateValue::from(value)));
    let (from, to) = (read(&update.old_state.state_value), read(&update.new_state.state_value));
    (from != to && [from, to].contains(&AlarmState::Ringing)).then(|| AlarmChange {
        at: Timestamp::from_millis(at),
        who: AlarmChange::author(),
        alarm: alarm.into(),
        from,
        to,
        reason: update.new_state.state_reason,
    })
}

#[cfg(test)]
mod tests {
    use aws_sdk_cloudwatch::primitives::DateTime;

    use super::*;

    fn item(from: &str, to: &str) -> AlarmHistoryItem {
        // As CloudWatch writes it.
        let data = format!(
            r#"{{"version":"1.0","oldState":{{"stateValue":"{from}","stateReason":"Unchecked: Initial alarm creation"}},
            "newState":{{"stateValue":"{to}","stateReason":"Threshold Crossed","stateReasonData":{{"version":"1.0"}}}}}}"#
        );
        AlarmHistoryItem::builder()
            .timestamp(DateTime::from_millis(1_774_000_000_123))
            .history_data(data)
            .build()
    }

    #[test]
    fn an_alarm_that_begins_or_stops_to_ring_is_a_change() {
        let begins = change("x-Line-1", &item("OK", "ALARM")).unwrap();
        assert_eq!((begins.from, begins.to), (AlarmState::Quiet, AlarmState::Ringing));
        assert_eq!((begins.at.as_millis(), begins.reason.as_str()), (1_774_000_000_123, "Threshold Crossed"));
        let stops = change("x-Line-1", &item("ALARM", "INSUFFICIENT_DATA")).unwrap();
        assert_eq!((stops.from, stops.to), (AlarmState::Ringing, AlarmState::Unknown));
        assert_eq!(change("x-Line-1", &item("INSUFFICIENT_DATA", "OK")), None);
        assert_eq!(change("x-Line-1", &item("ALARM", "ALARM")), None, "only its reason changed");
    }
}
