//! How many a plan may let in, in a room with a limit of active visitors.

use std::time::Duration;

use waitroom::ports::{ActiveVisitors, PortResult};
use waitroom::{ActiveCount, Plan, Rate, Room, Timestamp, WindowAdmissions};

/// What a run found of the space in the shop.
#[derive(Debug, Default)]
pub(crate) struct Space {
    /// What the windows of the time that counts have let in.
    windows: Vec<WindowAdmissions>,
    /// How many the last plan could let in at most.
    free: Option<u64>,
    /// Whether the rate allowed more.
    is_limited: bool,
    /// Who is there.
    active: ActiveCount,
    /// How often the run has waited to know it.
    waited: u32,
}

/// How a plan fits into the space.
#[derive(Debug)]
pub(crate) enum PlanFit {
    /// For as many as there is room for.
    For(Plan),
    /// There may be more room in a moment.
    AskAgain,
    Full,
}

impl Space {
    /// How often a run waits for windows that have just ended.
    const WAITS: u32 = 4;

    /// How the plan fits. Whoever writes a plan knows all plans before it, and no plan lets in more than its quota. So whatever consumers
    /// do or fail to do, the shop never has more active visitors than it may.
    pub(crate) async fn fit(
        &mut self,
        plan: Plan,
        room: &Room,
        ledger: &impl ActiveVisitors,
        now: Timestamp,
        minute: Duration,
    ) -> PortResult<PlanFit> {
        let Some(limit) = room.active_limit() else { return Ok(PlanFit::For(plan)) };
        let (active, windows) = ledger.active(*limit, room.settings.lifetimes, now).await?;
        (self.windows, self.active) = (windows, active);
        let free = active.free(limit);
        (self.free, self.is_limited) = (Some(free), free < plan.quota.into());
        // Windows that have just ended count with their quota until their consumers have said how many it were.
        let may_be_more = || self.windows.iter().any(|window| window.may_tell_soon(now, minute));
        if self.is_limited && self.waited < Self::WAITS && may_be_more() {
            self.waited += 1;
            return Ok(PlanFit::AskAgain);
        }
        Ok(plan.for_at_most(free).map_or(PlanFit::Full, PlanFit::For))
    }

    /// Whether nobody could be planned for. Then no consumer looks whether somebody waits.
    pub(crate) fn is_full(&self) -> bool {
        self.is_limited && self.free == Some(0)
    }

    /// Whether it may be full only because a guard does not say who has left.
    pub(crate) fn misses_guard(&self, now: Timestamp, minute: Duration) -> bool {
        self.is_full() && self.active.misses_guard(now, minute)
    }

    /// Whether the run has fitted a plan into it. Otherwise it knows nothing of the space.
    pub(crate) fn is_known(&self) -> bool {
        self.free.is_some()
    }

    /// How many a minute were lately let in, if the shop is full and holds these up who wait.
    pub(crate) fn let_in_lately(&self, waiting: u64, now: Timestamp, minute: Duration) -> Option<Rate> {
        let is_full = self.is_limited && self.free.is_some_and(|free| free < waiting);
        is_full.then(|| WindowAdmissions::let_in_lately(&self.windows, now, minute))
    }
}
