use document::words::things;
use serde::Serialize;
use waitroom::RoomId;

use crate::{CheckResult, DoctorCheck, Examined};

/// All checks of a room, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    pub room: RoomId,
    /// Whether there is no problem. Warnings are allowed.
    pub ready: bool,
    pub deployed: bool,
    pub checks: Vec<DoctorCheck>,
}

impl DoctorReport {
    pub fn of(examined: &Examined, checks: Vec<DoctorCheck>) -> Self {
        let ready = checks.iter().all(|check| check.result != CheckResult::Problem);
        Self { room: examined.name.clone(), ready, deployed: examined.status().is_some(), checks }
    }

    pub fn has_warnings(&self) -> bool {
        self.count(CheckResult::Warning) > 0
    }

    fn count(&self, result: CheckResult) -> u64 {
        self.checks.iter().filter(|check| check.result == result).count() as u64
    }

    /// The result in one sentence.
    pub fn verdict(&self) -> String {
        let is = match (self.ready, self.deployed) {
            (false, _) => "not ready",
            (true, false) => "ready to be deployed",
            (true, true) => "ready",
        };
        let counts = [(CheckResult::Problem, "problem"), (CheckResult::Warning, "warning")];
        let [problems, warnings] = counts.map(|(result, name)| things(self.count(result), name));
        let unseen = match self.count(CheckResult::NotChecked) {
            0 => String::new(),
            number => format!(", {number} not checked"),
        };
        format!("{} is {is}: {problems}, {warnings}{unseen}", self.room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examined::configured;

    #[test]
    fn the_verdict_counts_what_was_found() {
        let checks = vec![
            DoctorCheck::ok("clock", "as AWS's"),
            DoctorCheck::warning("shop", "slow", "look at it"),
            DoctorCheck::problem("way-around", "everybody\nenters", "guard it"),
            DoctorCheck::not_checked("stack", "not deployed yet"),
        ];
        let report = DoctorReport::of(&configured(None), checks);
        assert!(!report.ready && report.has_warnings());
        assert_eq!(report.verdict(), "sale is not ready: 1 problem, 1 warning, 1 not checked");
        let ready = DoctorReport::of(&configured(None), Vec::new());
        assert_eq!(ready.verdict(), "sale is ready to be deployed: no problems, no warnings");
    }
}
