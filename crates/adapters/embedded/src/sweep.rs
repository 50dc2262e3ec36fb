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
    pub admissions: usize,
    pub plans: usize,
}

impl EmbeddedStore {
    /// The most admissions removed in one change. This limits how long joins wait for a sweep.
    const ADMISSIONS_PER_CHANGE: usize = 1000;
    /// How long a plan is kept after its window. By then all of its consumers have ended, and nobody looks at the
    /// window in
    /// `status` any more.
    const PLANS_KEPT: Duration = Duration::from_hours(1);

    /// Removes the admissions whose cookies have expired, and old plans. Call it once a minute.
    pub async fn sweep(&self) -> PortResult<Swept> {
        let now = (self.shared.now)();
        let plans = self.change("remove old plans", move |draft| sweep_plans(draft, now)).await?;
        let mut swept = Swept { admissions: 0, plans };
        loop {
            let admissions =
                self.change("remove old admissions", move |draft| sweep_admissions(draft, now)).await?;
            swept.admissions += admissions;
            if admissions < Self::ADMISSIONS_PER_CHANGE {
                return Ok(swept);
            }
        }
    }
}

fn sweep_admissions(draft: &mut Draft<'_>, now: Timestamp) -> Result<usize, TableError> {
    let expired = ..(now.as_millis() + 1, [0; 16]);
    let mut swept = 0;
    for entry in
        draft.tables.expiry.extract_from_if(expired, |_, ()| true)?.take(EmbeddedStore::ADMISSIONS_PER_CHANGE)
    {
        let (_, token) = entry?.0.value();
        draft.tables.admission.remove(token)?;
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
    // The latest plan is always kept, because the next plan takes the number after it.
    let latest = draft.tables.plan.last()?.map(|(number, _)| number.value());
    old.retain(|number| Some(*number) != latest);
    for &number in &old {
        draft.tables.plan.remove(number)?;
        draft.tables.slice.retain_in((number, 0)..=(number, u16::MAX), |_, _| false)?;
    }
    Ok(old.len())
}
