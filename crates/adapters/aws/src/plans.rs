//! The plans, who took their slices and what those recorded, and the progress of the line.
//!
//! The item `progress` has the number of the latest plan. A slice records its count in its own attribute, so that a
//! repeated record changes nothing and 270 slices do not contend for one number. The room's total is the sum of two
//! parts: what closed plans released, which is stored in `progress`, and what the slices of open plans have recorded.
//! Writing a plan closes those whose window has ended a minute before the plan was made. No consumer runs that long after its window.

use std::collections::HashMap;
use std::iter;
use std::time::Duration;

use futures_util::future;
use waitroom::ports::{
    ConsumerRun, Fault, LineStatusReader, PlanRecord, Plans, PortError, PortResult, SliceProgress, Slices,
    StatusBoard, Taken,
};
use waitroom::{LineProgress, LineReach, LineStatus, Plan, Room, SliceAdmissions, SliceId};

use crate::AwsStore;
use crate::expressions;
use crate::items::{
    ItemError, PermitItem, ProgressItem, SlicesItem, decode_plan, delete_later, encode_plan, item, missing,
};
use crate::keys::{Key, STATUS_COPIES};
use crate::room_item::decode_status;
use crate::table::{Write, Written};

/// How many of the latest plans stay open whatever their window, because the trigger reads two.
const OPEN: u64 = 3;
/// How long after its window a slice may still record.
const RECORDS_FOR: Duration = Duration::from_mins(1);
/// The most plans that are closed in one transaction, which may have a hundred writes.
const CLOSED_AT_ONCE: u64 = 3;
const PUBLISH: &str = "publish the line's status";
/// How often the write of a plan is attempted while other writes change the progress.
const ATTEMPTS: u32 = 4;

/// What the existing items of a plan contain.
pub(crate) struct PlanItems {
    pub(crate) plan: Option<Plan>,
    groups: Vec<Key>,
    pub(crate) recorded: u64,
    lowest: Option<u64>,
    /// What its slices have admitted, as far as they were taken.
    pub(crate) admitted: HashMap<u16, SliceAdmissions>,
}

/// The items of a plan's slices.
fn groups(plan: &Plan) -> Vec<Key> {
    let mut groups: Vec<_> = plan.slice_ids().map(Key::slices_with).collect();
    groups.dedup();
    groups
}

impl AwsStore {
    pub(crate) async fn read_progress(&self, attempt: &'static str) -> PortResult<ProgressItem> {
        self.table.read_existing(attempt, Key::Progress, ProgressItem::decode).await
    }

    /// Reads the items of these plans, and returns them in the same order.
    pub(crate) async fn plan_items(
        &self,
        attempt: &'static str,
        numbers: impl Iterator<Item = u64> + Clone + Send,
    ) -> PortResult<Vec<PlanItems>> {
        let windows = self.table.get_all(attempt, numbers.clone().map(Key::Window)).await?;
        let plan_of = |number: u64| {
            let item = windows.get(&Key::Window(number).id());
            item.map(|item| decode_plan(number, item)).transpose()
        };
        let plans: Result<Vec<_>, _> = numbers.map(plan_of).collect();
        let plans = plans.map_err(PortError::broken(attempt))?;
        // Only the groups that exist, because DynamoDB charges for asking for others, too.
        let keys = plans.iter().flatten().flat_map(groups);
        let mut found = self.table.get_all(attempt, keys).await?;
        let mut items_of = |plan: Option<Plan>| {
            let mut items =
                PlanItems { plan, groups: Vec::new(), recorded: 0, lowest: None, admitted: HashMap::new() };
            for group in plan.iter().flat_map(groups) {
                if let Some(item) = found.remove(&group.id()) {
                    let slices = SlicesItem::decode(group, &item)?;
                    items.recorded = items.recorded.saturating_add(slices.recorded);
                    items.lowest = items.lowest.into_iter().chain(slices.lowest).min();
                    items.admitted.extend(slices.admitted);
                    items.groups.push(group);
                }
            }
            Ok(items)
        };
        plans
            .into_iter()
            .map(&mut items_of)
            .collect::<Result<_, ItemError>>()
            .map_err(PortError::broken(attempt))
    }

    /// All writes that belong to a new plan: its items, the progress, and the closing of an old plan.
    async fn writes_of(
        &self,
        attempt: &'static str,
        plan: &Plan,
        before: &ProgressItem,
    ) -> PortResult<Vec<Write>> {
        let mut writes = vec![Write::Put(encode_plan(plan), expressions::if_absent())];
        writes
            .extend(groups(plan).into_iter().map(|group| Write::Put(item(group, []), expressions::always())));

        let last = plan.number.saturating_sub(OPEN).min(before.closed.saturating_add(CLOSED_AT_ONCE));
        let candidates = before.closed.saturating_add(1)..=last;
        let (mut closed, mut recorded) = (before.closed, 0u64);
        for (number, old) in candidates.clone().zip(self.plan_items(attempt, candidates).await?) {
            if old.plan.is_some_and(|old| old.window.end + RECORDS_FOR > plan.made_at) {
                break;
            }
            closed = number;
            if number > before.before_epoch {
                recorded = recorded.saturating_add(old.recorded);
            }
            let Some(over) = old.plan else { continue };
            let items = old.groups.into_iter().chain([Key::Window(number)]);
            writes.extend(
                items.map(|key| Write::Update(key, expressions::set(&delete_later(key, &over), &[], None))),
            );
        }
        let progress = expressions::add_plan(plan.number, before, closed, recorded);
        writes.push(Write::Update(Key::Progress, progress));
        Ok(writes)
    }
}

impl Plans for AwsStore {
    async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
        let attempt = "read the latest plans";
        let latest = self.read_progress(attempt).await?.latest;
        let numbers = (latest.saturating_sub(1).max(1)..=latest).rev();
        let plans = self.plan_items(attempt, numbers).await?.into_iter();
        let record = |PlanItems { plan, recorded, lowest, .. }: PlanItems| {
            Some(PlanRecord { plan: plan?, released: recorded, lowest })
        };
        Ok(plans.filter_map(record).collect())
    }

    /// Nobody can tell whether the function that took a slice still runs.
    async fn given_away(&self, plan: Plan) -> PortResult<Vec<SliceId>> {
        let items = self.plan_items("read who took a slice", iter::once(plan.number)).await?;
        let taken = items.iter().flat_map(|items| items.admitted.keys());
        Ok(taken.map(|&index| SliceId { plan: plan.number, index }).collect())
    }

    async fn write(&self, plan: Plan) -> PortResult<bool> {
        let attempt = "write a plan";
        for _ in 0..ATTEMPTS {
            let before = self.read_progress(attempt).await?;
            if before.latest >= plan.number {
                return Ok(false);
            }
            if before.latest.saturating_add(1) != plan.number {
                let gap = format!("plan {} cannot follow plan {}", plan.number, before.latest);
                return Err(PortError::new(attempt, Fault::Broken, gap));
            }
            let writes = self.writes_of(attempt, &plan, &before).await?;
            if self.table.write_together(attempt, writes).await? {
                return Ok(true);
            }
        }
        Err(PortError::new(attempt, Fault::Busy, "other writes keep changing the progress"))
    }
}

impl Slices for AwsStore {
    /// Who takes a slice keeps it, because it is unknown whether the consumer that took it before still runs.
    async fn take(&self, slice: SliceId, by: ConsumerRun) -> PortResult<Taken> {
        let take = expressions::take(slice, by);
        let taken = self.table.update("take a slice", Key::slices_with(slice), take).await?;
        Ok(match taken {
            Written::Done(_) => Taken::Here { released: 0 },
            Written::Refused(_) => Taken::Elsewhere,
        })
    }

    async fn record(&self, slice: SliceId, progress: SliceProgress) -> PortResult<()> {
        let SliceProgress { released, reached, lowest, disorder, at_most } = progress;
        let attempt = "record a slice's progress";
        // First: until it is said, the whole quota counts.
        if let Some(at_most) = at_most {
            let say = expressions::say_at_most(slice, at_most);
            self.table.update(attempt, Key::slices_with(slice), say).await?;
        }
        let mut last = self.last_record.of(slice);
        if last.released < released {
            // Ignored if the condition fails: then more is recorded already, or nobody has taken the slice.
            self.table
                .update(attempt, Key::slices_with(slice), expressions::record(slice, released, lowest))
                .await?;
            last.released = released;
            self.last_record.keep(slice, last);
        }
        if last.reached < reached {
            let raise = expressions::raise_reached(slice.plan, reached);
            let reached = match self.table.update(attempt, Key::Progress, raise).await? {
                Written::Refused(Some(progress)) => {
                    ProgressItem::decode(&progress).map_err(PortError::broken(attempt))?.reached.max(reached)
                }
                _ => reached,
            };
            last.reached = reached;
            self.last_record.keep(slice, last);
        }
        if let Some(disorder) = disorder {
            // Ignored if the condition fails: then the plan is of an earlier epoch.
            let update = expressions::set_disorder(slice.plan, disorder);
            self.table.update(attempt, Key::Progress, update).await?;
        }
        Ok(())
    }
}

impl StatusBoard for AwsStore {
    async fn reach(&self) -> PortResult<LineReach> {
        Ok(self.read_progress("read the line's progress").await?.with(0).reach())
    }

    async fn progress(&self) -> PortResult<LineProgress> {
        let attempt = "read the line's progress";
        let progress = self.read_progress(attempt).await?;
        let oldest = progress.closed.max(progress.before_epoch).saturating_add(1);
        let (open, permits) = future::try_join(
            self.plan_items(attempt, oldest..=progress.latest),
            self.table.read(attempt, Key::Permits, PermitItem::decode),
        )
        .await?;
        let straight = permits.unwrap_or_default().straight;
        Ok(progress.with(open.iter().map(|items| items.recorded).fold(straight, u64::saturating_add)))
    }

    async fn overtake(&self, plan: u64, overtaken: u64) -> PortResult<()> {
        // Ignored if the condition fails: then more were overtaken already, or the plan is of an earlier epoch.
        let update = expressions::raise_overtaken(plan, overtaken);
        self.table.update("record who was overtaken", Key::Progress, update).await.map(drop)
    }

    async fn publish(&self, status: LineStatus) -> PortResult<()> {
        self.write_copies(Key::STATUS.map(Key::Status), status).await
    }

    /// Reads the copies, and writes those that differ. A read costs a fifth of a write, and a minute in which nobody comes
    /// changes nothing.
    async fn publish_if_changed(&self, status: LineStatus) -> PortResult<()> {
        let found = self.table.get_all(PUBLISH, Key::STATUS.map(Key::Status)).await?;
        let shown = expressions::publish(status);
        let differs = |key: &Key| found.get(&key.id()).is_none_or(|copy| !shown.is_in(copy));
        self.write_copies(Key::STATUS.map(Key::Status).filter(differs), status).await
    }
}

impl LineStatusReader for AwsStore {
    /// Reads one of the copies, as a poll does.
    async fn line_status(&self, room: &Room) -> PortResult<LineStatus> {
        const READ: &str = "read the line's status";
        // Any of them, so that no copy is read more than the others.
        let copies = u64::from(STATUS_COPIES);
        let key = Key::Status(u8::try_from(self.now().as_millis() % copies).unwrap_or_default());
        let copy = self.table.get_a_copy(READ, key).await?.ok_or_else(|| missing(READ, key))?;
        let status = decode_status(key, &copy).map_err(PortError::broken(READ))?;
        // What was left of another stock may still be there.
        Ok(LineStatus { left: status.left.filter(|_| room.stock.is_some()), ..status })
    }
}

impl AwsStore {
    /// Writes these copies concurrently. If one write fails, the others are still made.
    async fn write_copies(&self, copies: impl Iterator<Item = Key>, status: LineStatus) -> PortResult<()> {
        let writes = copies.map(|key| async move {
            match self.table.update(PUBLISH, key, expressions::publish(status)).await? {
                Written::Done(_) => Ok(()),
                Written::Refused(_) => Err(missing(PUBLISH, key)),
            }
        });
        future::join_all(writes).await.into_iter().collect()
    }
}
