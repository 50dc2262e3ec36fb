use document::words;
use serde::{Deserialize, Serialize};
use waitroom::ports::PortResult;
use waitroom::{Admission, HelpCall, HelpCode, Timestamp};

use crate::store::OperatorLedger;

/// A visitor who asked for help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelpedVisitor {
    pub code: HelpCode,
    /// Their number in line.
    pub number: u64,
    /// About how many are ahead of them.
    pub ahead: u64,
    /// When they last looked at the code.
    pub asked: Timestamp,
    /// When they were let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admitted: Option<Timestamp>,
    /// Until when they may enter the shop, if they were let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl HelpedVisitor {
    pub(crate) async fn of(
        ledger: &impl OperatorLedger,
        call: HelpCall,
        admission: Option<Admission>,
    ) -> PortResult<Self> {
        let HelpCall { code, place, at: asked } = call;
        let number = place.ticket.get();
        let ahead = number.saturating_sub(ledger.reach().await?.reached + 1);
        let (admitted, until) = admission.map(|admission| (admission.at, admission.expires)).unzip();
        Ok(Self { code, number, ahead, asked, admitted, until })
    }

    /// How they stand, in a line.
    pub fn line(&self, now: Timestamp) -> String {
        let number = words::count(self.number);
        let (Some(admitted), Some(until)) = (self.admitted, self.until) else {
            let ahead = words::count(self.ahead);
            return format!(
                "number {number} in line, about {ahead} ahead; asked for help at {}",
                words::at(self.asked)
            );
        };
        // Nobody knows of everybody whether they came.
        let end = if until <= now { "could enter the shop until" } else { "may enter the shop until" };
        format!("number {number} was let in at {}, and {end} {}", words::at(admitted), words::at(until))
    }
}
