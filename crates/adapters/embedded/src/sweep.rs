use std::time::Duration;

use redb::ReadableTable;
use waitroom::ports::PortResult;
use waitroom::{Plan, Timestamp};

use crate::EmbeddedStore;
use crate::draft::Draft;
use crate::tables::{TableError, from_json};

/// What a sweep removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    pub visitors: usize,
    pub plans: usize,
}

impl EmbeddedStore {
    /// Visitors removed in one change: bounds how long joins wait behind a sweep.
    const AT_ONCE: usize = 1000;
    /// A consumer is long dead by now, and `status` has shown the window to everybody who looked.
    const PLANS_KEPT: Duration = Duration::from_hours(1);

    /// Removes the admissions that no cookie can ask for any more and the plans of long ago. Meant for once a minute.
    pub async fn sweep(&self) -> PortResult<Swept> {
        let now = (self.shared.now)();
        let plans = self.change("sweep old plans", move |draft| sweep_plans(draft, now)).await?;
        let mut swept = Swept { visitors: 0, plans };
        loop {
            let visitors =
                self.change("sweep old admissions", move |draft| sweep_visitors(draft, now)).await?;
            swept.visitors += visitors;
            if visitors < Self::AT_ONCE {
                return Ok(swept);
            }
        }
    }
}

fn sweep_visitors(draft: &mut Draft<'_>, now: Timestamp) -> Result<usize, TableError> {
    let ended = ..(now.as_millis() + 1, [0; 16]);
    let mut swept = 0;
    for entry in draft.tables.expiry.extract_from_if(ended, |_, ()| true)?.take(EmbeddedStore::AT_ONCE) {
        let (_, token) = entry?.0.value();
        draft.tables.visitor.remove(token)?;
        swept += 1;
    }
    Ok(swept)
}

fn sweep_plans(draft: &mut Draft<'_>, now: Timestamp) -> Result<usize, TableError> {
    let mut old = Vec::new();
    for entry in draft.tables.plan.iter()? {
        let (number, plan) = entry?;
        let plan: Plan = from_json(plan.value(), "plan")?;
        if plan.window.end + EmbeddedStore::PLANS_KEPT > now {
            break;
        }
        old.push(number.value());
    }
    // The latest stays, however old: the next plan takes the number after it.
    let latest = draft.tables.plan.last()?.map(|(number, _)| number.value());
    old.retain(|number| Some(*number) != latest);
    for &number in &old {
        draft.tables.plan.remove(number)?;
        draft.tables.slice.retain_in((number, 0)..=(number, u16::MAX), |_, _| false)?;
    }
    Ok(old.len())
}
