//! Plans, their slices, and how far the line has come.

use std::collections::{BTreeMap, HashMap};

use waitroom::ports::{ConsumerRun, PlanRecord, SliceProgress, Taken};
use waitroom::{
    LineProgress, Plan, Room, SliceAdmissions, SliceId, Timestamp, Turnout, Window, WindowAdmissions,
};

#[derive(Debug, Default)]
pub(crate) struct PlanBook {
    plans: BTreeMap<u64, PlanRecord>,
    slices: HashMap<SliceId, TakenSlice>,
    /// How many came of those whom a plan has released.
    came: HashMap<u64, u64>,
    last_plan_before_epoch: u64,
    progress: LineProgress,
}

#[derive(Debug)]
struct TakenSlice {
    by: ConsumerRun,
    /// How many it has recorded as released.
    recorded: u32,
    admitted: u32,
    /// Whether its consumer has said that it is over.
    is_over: bool,
}

impl PlanBook {
    pub(crate) fn records(&self) -> impl DoubleEndedIterator<Item = &PlanRecord> {
        self.plans.values()
    }

    pub(crate) fn progress(&self) -> LineProgress {
        self.progress
    }

    /// Notes that this slice has admitted somebody.
    pub(crate) fn admit(&mut self, slice: SliceId) {
        if let Some(taken) = self.slices.get_mut(&slice) {
            taken.admitted += 1;
        }
    }

    /// Notes that the door has let somebody straight in, whom no slice counts.
    pub(crate) fn admit_straight(&mut self) {
        self.progress.released += 1;
    }

    /// Notes that somebody came whom this slice has released.
    pub(crate) fn note_came(&mut self, slice: SliceId) {
        *self.came.entry(slice.plan).or_default() += 1;
    }

    /// The turnout of this epoch's windows that ended in this time.
    pub(crate) fn turnout(&self, ended: Window) -> Turnout {
        let of_this_epoch =
            self.plans.range(self.last_plan_before_epoch + 1..).rev().map(|(_, record)| record);
        let since = of_this_epoch.take_while(|record| record.plan.window.end >= ended.start);
        let counted = since.filter(|record| record.plan.window.end < ended.end);
        counted.fold(Turnout::default(), |turnout, record| Turnout {
            came: turnout.came + self.came.get(&record.plan.number).copied().unwrap_or_default(),
            released: turnout.released + record.released,
        })
    }

    /// At most how many each window of this epoch has admitted, of those that ended since then or have not.
    pub(crate) fn window_admissions(
        &self,
        room: &Room,
        since: Timestamp,
        now: Timestamp,
    ) -> Vec<WindowAdmissions> {
        let of_this_epoch =
            self.plans.range(self.last_plan_before_epoch + 1..).rev().map(|(_, record)| record.plan);
        let counted = of_this_epoch.take_while(|plan| plan.window.end >= since);
        counted
            .map(|plan| WindowAdmissions::of(&plan, room, now, |slice| self.admitted(&plan, slice, now)))
            .collect()
    }

    /// What a slice has admitted, once its consumer has said that it is over, or none can run any more.
    fn admitted(&self, plan: &Plan, slice: SliceId, now: Timestamp) -> SliceAdmissions {
        let is_long_over = plan.window.end + WindowAdmissions::SAID_WITHIN <= now;
        match self.slices.get(&slice) {
            None => SliceAdmissions::Untaken,
            Some(taken) if taken.is_over || is_long_over => SliceAdmissions::AtMost(taken.admitted.into()),
            Some(_) => SliceAdmissions::Unsaid,
        }
    }

    /// How many were admitted in this epoch: also those whom their slices have not recorded yet.
    pub(crate) fn released(&self) -> u64 {
        let unrecorded = |slice: &TakenSlice| u64::from(slice.admitted.saturating_sub(slice.recorded));
        self.progress.released + self.slices.values().map(unrecorded).sum::<u64>()
    }

    /// Running slices go on in a new epoch. Whom they have admitted so far belongs to the old one, and so do the tickets that
    /// they reach.
    pub(crate) fn begin_epoch(&mut self) {
        for (id, slice) in &mut self.slices {
            let unrecorded = slice.admitted.saturating_sub(slice.recorded);
            slice.recorded += unrecorded;
            if let Some(record) = self.plans.get_mut(&id.plan) {
                record.released += u64::from(unrecorded);
            }
        }
        self.last_plan_before_epoch = self.plans.last_key_value().map_or(0, |(number, _)| *number);
        self.progress = LineProgress::default();
    }

    /// Returns whether the plan is new.
    pub(crate) fn write(&mut self, plan: Plan) -> bool {
        let is_new = !self.plans.contains_key(&plan.number);
        self.plans.entry(plan.number).or_insert(PlanRecord { plan, released: 0, lowest: None });
        is_new
    }

    /// Notes that this plan found tickets below `overtaken` to be overtaken.
    pub(crate) fn overtake(&mut self, plan: u64, overtaken: u64) {
        if self.is_of_this_epoch(plan) {
            self.progress.overtaken = self.progress.overtaken.max(overtaken);
        }
    }

    fn is_of_this_epoch(&self, plan: u64) -> bool {
        plan > self.last_plan_before_epoch
    }

    /// Nothing proves that the consumer that took it before no longer runs.
    pub(crate) fn take(&mut self, slice: SliceId, by: ConsumerRun) -> Taken {
        let taken =
            self.slices.entry(slice).or_insert(TakenSlice { by, recorded: 0, admitted: 0, is_over: false });
        if taken.by == by { Taken::Here { released: 0 } } else { Taken::Elsewhere }
    }

    pub(crate) fn record(&mut self, slice: SliceId, progress: SliceProgress) {
        let counts = self.is_of_this_epoch(slice.plan);
        let Some(taken) = self.slices.get_mut(&slice) else { return };
        let grown = u64::from(progress.released.saturating_sub(taken.recorded));
        taken.recorded = taken.recorded.max(progress.released);
        taken.is_over |= progress.at_most.is_some();
        self.progress.released += grown;
        if counts {
            self.progress.reached = self.progress.reached.max(progress.reached);
            self.progress.disorder = progress.disorder.unwrap_or(self.progress.disorder);
        }
        if let Some(record) = self.plans.get_mut(&slice.plan) {
            record.released += grown;
            record.lowest = record.lowest.into_iter().chain(progress.lowest).min();
        }
    }
}
