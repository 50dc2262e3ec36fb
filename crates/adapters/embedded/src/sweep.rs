use std::time::Duration;

use redb::ReadableTable;
use waitroom::ports::PortResult;
use waitroom::{MinuteRecord, Plan, Timestamp};

use crate::EmbeddedStore;
use crate::draft::Draft;
use crate::tables::{TableError, decode_call, from_json};

/// What a sweep removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    pub admissions: usize,
    pub plans: usize,
    pub minutes: usize,
}

impl EmbeddedStore {
    /// The most admissions removed in one change. This limits how long joins wait for a sweep.
    const ADMISSIONS_PER_CHANGE: usize = 1000;
    /// How long a plan is kept after its window: as long as somebody whom it has released may be in the shop.
    const PLANS_KEPT: Duration = Duration::from_hours(26);

    /// Removes the admissions whose cookies have expired, old plans and old history. Call it once a minute.
    pub async fn sweep(&self) -> PortResult<Swept> {
        let now = (self.shared.now)();
        let sweep_small = move |draft: &mut Draft<'_>| {
            sweep_join_times(draft)?;
            sweep_calls(draft, now)?;
            Ok((sweep_plans(draft, now)?, sweep_history(draft, now)?))
        };
        let (plans, minutes) = self.change("remove old plans and history", sweep_small).await?;
        let mut swept = Swept { admissions: 0, plans, minutes };
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
    let most = EmbeddedStore::ADMISSIONS_PER_CHANGE;
    let mut tokens = Vec::new();
    for entry in draft.tables.expiry()?.extract_from_if(expired, |_, ()| true)?.take(most) {
        tokens.push(entry?.0.value().1);
    }
    for token in &tokens {
        draft.tables.admission()?.remove(token)?;
        draft.tables.arrival()?.remove(token)?;
    }
    Ok(tokens.len())
}

fn sweep_plans(draft: &mut Draft<'_>, now: Timestamp) -> Result<usize, TableError> {
    let mut old = Vec::new();
    for entry in draft.tables.plan()?.iter()? {
        let (number, plan) = entry?;
        let plan: Plan = from_json(plan.value(), "plan")?;
        if plan.window.end + EmbeddedStore::PLANS_KEPT <= now {
            old.push(number.value());
        } else if plan.window.start <= now {
            break;
        }
        // One that is yet to begin may be from a clock that was ahead, and older than those after it.
    }
    // The latest plan is always kept, because the next plan takes the number after it.
    let latest = draft.tables.plan()?.last()?.map(|(number, _)| number.value());
    old.retain(|number| Some(*number) != latest);
    for &number in &old {
        draft.tables.plan()?.remove(number)?;
        draft.tables.came()?.remove(number)?;
        draft.tables.slice()?.retain_in((number, 0)..=(number, u16::MAX), |_, _| false)?;
    }
    Ok(old.len())
}

fn sweep_history(draft: &mut Draft<'_>, now: Timestamp) -> Result<usize, TableError> {
    let oldest = now - MinuteRecord::STORED;
    let old = ..MinuteRecord::number(oldest);
    draft.tables.longest_wait()?.retain_in(old, |_, _| false)?;
    draft.tables.closing()?.retain_in(..oldest.as_millis(), |_, _| false)?;
    // However long the room was stopped: without the latest, the next minute would count everybody who ever came.
    let latest = draft.tables.minute()?.last()?.map(|(number, _)| number.value());
    let mut swept = 0;
    for record in draft.tables.minute()?.extract_from_if(old, |number, _| Some(number) != latest)? {
        record?;
        swept += 1;
    }
    Ok(swept)
}

/// Removes the calls for help that are over.
fn sweep_calls(draft: &mut Draft<'_>, now: Timestamp) -> Result<(), TableError> {
    let is_kept = |code: &str, record: &[u8]| {
        let call = code.parse().ok().and_then(|code| decode_call(code, record).ok());
        call.is_some_and(|call| !call.is_over(now))
    };
    Ok(draft.tables.help()?.retain(is_kept)?)
}

/// Removes when visitors joined who are no longer in line. The last record is kept, because newcomers may still need it.
fn sweep_join_times(draft: &mut Draft<'_>) -> Result<(), TableError> {
    let first = draft.tables.line()?.first()?.map_or(u64::MAX, |(key, _)| key.value());
    let needed =
        draft.tables.joined_at()?.range(..=first)?.next_back().transpose()?.map(|(key, _)| key.value());
    if let Some(needed) = needed {
        draft.tables.joined_at()?.retain_in(..needed, |_, _| false)?;
    }
    Ok(())
}
