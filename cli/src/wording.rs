//! The words for a room's state, shared by `status`, its charts and the orders.

use operator::{AlarmState, Status};
use waitroom::throttle_rules::{Finding, Verdict};

pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Well => "well",
        Verdict::Slow => "slow",
        Verdict::Failing => "failing",
    }
}

/// Describes the throttle's finding of one minute.
pub(crate) fn found(finding: &Finding) -> String {
    let millis =
        |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{:.0} ms", seconds * 1000.0));
    format!(
        "{}: {} on average (limit {}), {} of 20 failed, rate {} a minute",
        word(finding.verdict),
        millis(finding.mean),
        millis(finding.threshold),
        finding.failed,
        finding.rate
    )
}

/// A summary of all alarms; none if there are none.
pub(crate) fn alarms(status: &Status) -> Option<String> {
    let ringing = status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing).count();
    match (status.alarms.len(), ringing) {
        (0, _) => None,
        (all, 0) => Some(format!("none of {all} is ringing")),
        (all, 1) => Some(format!("1 of {all} is ringing")),
        (all, _) => Some(format!("{ringing} of {all} are ringing")),
    }
}

/// The room's URLs: for visitors, and for the shop.
pub(crate) fn urls(status: &Status) -> (String, String) {
    let url = status.room.url.to_string();
    let url = url.trim_end_matches('/');
    (format!("{url}/beekeeper"), format!("{url}/client"))
}
