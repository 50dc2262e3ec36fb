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

/// What the throttle found in one minute.
pub(crate) fn found(finding: &Finding) -> String {
    let millis =
        |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{:.0} ms", seconds * 1000.0));
    format!(
        "{}: {} on average, {} is too slow, {} of 20 failed; {} a minute",
        word(finding.verdict),
        millis(finding.mean),
        millis(finding.threshold),
        finding.failed,
        finding.rate
    )
}

/// One sentence for all alarms.
pub(crate) fn alarms(status: &Status) -> Option<String> {
    let ringing = status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing).count();
    match (status.alarms.len(), ringing) {
        (0, _) => None,
        (all, 0) => Some(format!("none of {all} rings")),
        (all, 1) => Some(format!("1 of {all} rings")),
        (all, _) => Some(format!("{ringing} of {all} ring")),
    }
}

/// The room's URLs: for visitors, and for the shop.
pub(crate) fn urls(status: &Status) -> (String, String) {
    let url = status.room.url.to_string();
    let url = url.trim_end_matches('/');
    (format!("{url}/beekeeper"), format!("{url}/client"))
}
