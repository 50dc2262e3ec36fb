//! The minutes' plans, what their slices claim and record, and how far the line has come.
//!
//! `progress` names the latest plan. A slice records its own count in its own attribute, so that saying it
//! twice changes nothing and 270 slices do not contend for one number. The room's total is what the closed
//! plans released, kept in `progress`, and what the open ones have recorded. The write of a plan closes the
//! third before it: that one's window ended a minute and a half ago, and no consumer lives so long after it.

use futures_util::future;
use waitroom::ports::{
    Claimant, Claimed, Fault, PlanRecord, Plans, PortError, PortResult, Slices, StatusBoard,
};
use waitroom::{LineProgress, LineStatus, Plan, SliceId};

use crate::AwsStore;
use crate::expressions;
use crate::items::{Ledgered, decode_plan, decode_slices, encode_plan, forget, item, missing, unreadable};
use crate::keys::Key;
use crate::table::{Write, Written};

/// The plans whose slices may still record something.
const OPEN: u64 = 3;
/// The pages of a plan at the highest rate: 270 slices.
const PAGES: std::ops::Range<u16> = 0..17;
/// How often a plan is written anew because the progress changed meanwhile.
const ROUNDS: u32 = 4;

/// What a handle has recorded for a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    slice: SliceId,
    released: u32,
    /// At least this far the line has come.
    served: u64,
}

/// A plan's items, as far as they are there.
struct Minute {
    plan: Option<Plan>,
    pages: Vec<Key>,
    recorded: u64,
}

impl AwsStore {
    async fn ledgered(&self, attempt: &'static str) -> PortResult<Ledgered> {
        let item = self.table.get(attempt, Key::Progress).await?;
        let item = item.ok_or_else(|| missing(attempt, Key::Progress))?;
        Ledgered::decode(&item).map_err(unreadable(attempt))
    }

    /// Reads these plans with what their slices have recorded, in this order.
    async fn minutes(
        &self,
        attempt: &'static str,
        numbers: impl Iterator<Item = u64> + Clone + Send,
    ) -> PortResult<Vec<Minute>> {
        let pages = |number| PAGES.map(move |page| Key::Slices(number, page));
        let keys =
            numbers.clone().flat_map(|number| std::iter::once(Key::Window(number)).chain(pages(number)));
        let mut found = self.table.get_all(attempt, keys).await?;
        let mut minute = |number| {
            let plan = found.remove(&Key::Window(number).id());
            let plan = plan.map(|item| decode_plan(number, &item)).transpose()?;
            let mut minute = Minute { plan, pages: Vec::new(), recorded: 0 };
            for page in pages(number) {
                if let Some(item) = found.remove(&page.id()) {
                    minute.recorded = minute.recorded.saturating_add(decode_slices(page, &item)?);
                    minute.pages.push(page);
                }
            }
            Ok(minute)
        };
        numbers.map(&mut minute).collect::<Result<_, _>>().map_err(unreadable(attempt))
    }

    /// What it takes to write a plan: its items, the progress, and the end of the plan that it closes.
    async fn writes_of(
        &self,
        attempt: &'static str,
        plan: &Plan,
        before: &Ledgered,
    ) -> PortResult<Vec<Write>> {
        let mut writes = vec![Write::Put(encode_plan(plan), expressions::absent())];
        let mut pages: Vec<_> = plan.slices().map(|slice| Key::slices_with(slice.id)).collect();
        pages.dedup();
        writes.extend(pages.into_iter().map(|page| Write::Put(item(page, []), expressions::any())));

        let closing = plan.number.checked_sub(OPEN).filter(|number| *number > 0);
        let mut recorded = 0;
        for (number, minute) in closing.into_iter().zip(self.minutes(attempt, closing.into_iter()).await?) {
            if number > before.before_epoch {
                recorded = minute.recorded;
            }
            let Some(closed) = minute.plan else { continue };
            let items = minute.pages.into_iter().chain([Key::Window(number)]);
            writes.extend(
                items.map(|key| Write::Update(key, expressions::change(&forget(key, &closed), &[], None))),
            );
        }
        let follow = expressions::follow(plan.number, before, recorded);
        writes.push(Write::Update(Key::Progress, follow));
        Ok(writes)
    }
}

impl Plans for AwsStore {
    async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
        let attempt = "read the latest plans";
        let latest = self.ledgered(attempt).await?.latest;
        let numbers = (latest.saturating_sub(1).max(1)..=latest).rev();
        let minutes = self.minutes(attempt, numbers).await?.into_iter();
        let record = |minute: Minute| Some(PlanRecord { plan: minute.plan?, released: minute.recorded });
        Ok(minutes.filter_map(record).collect())
    }

    async fn write(&self, plan: Plan) -> PortResult<bool> {
        let attempt = "write a plan";
        for _ in 0..ROUNDS {
            let before = self.ledgered(attempt).await?;
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
        Err(PortError::new(attempt, Fault::Busy, "the progress changed again and again"))
    }
}

impl Slices for AwsStore {
    /// Whether an earlier consumer still runs cannot be known here, so a claim holds for good.
    async fn claim(&self, slice: SliceId, by: Claimant) -> PortResult<Claimed> {
        let claim = expressions::claim(slice, by);
        let claimed = self.table.update("claim a slice", Key::slices_with(slice), claim).await?;
        Ok(match claimed {
            Written::Done(_) => Claimed::Granted { released: 0 },
            Written::Refused(_) => Claimed::Taken,
        })
    }

    async fn record(&self, slice: SliceId, released: u32, served: u64) -> PortResult<()> {
        let attempt = "record how far a slice has come";
        let mut said = self.said(slice);
        if said.released < released {
            // Refused: somebody recorded more, or nobody has claimed this slice.
            self.table.update(attempt, Key::slices_with(slice), expressions::record(slice, released)).await?;
            said.released = released;
            self.say(said);
        }
        if said.served < served {
            let reach = expressions::reach(slice.plan, served);
            let reached = match self.table.update(attempt, Key::Progress, reach).await? {
                Written::Refused(Some(progress)) => {
                    Ledgered::decode(&progress).map_err(unreadable(attempt))?.served.max(served)
                }
                _ => served,
            };
            said.served = reached;
            self.say(said);
        }
        Ok(())
    }
}

impl AwsStore {
    fn said(&self, slice: SliceId) -> Said {
        let said = self.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        said.filter(|said| said.slice == slice).unwrap_or(Said { slice, released: 0, served: 0 })
    }

    fn say(&self, said: Said) {
        *self.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(said);
    }
}

impl StatusBoard for AwsStore {
    async fn served(&self) -> PortResult<u64> {
        Ok(self.ledgered("read how far the line has come").await?.served)
    }

    async fn progress(&self) -> PortResult<LineProgress> {
        let attempt = "read how far the line has come";
        let ledgered = self.ledgered(attempt).await?;
        let oldest = ledgered.latest.saturating_sub(OPEN - 1).max(ledgered.before_epoch.saturating_add(1));
        let open = self.minutes(attempt, oldest..=ledgered.latest).await?;
        Ok(ledgered.with(open.iter().map(|minute| minute.recorded).fold(0, u64::saturating_add)))
    }

    /// Writes all copies at once. Where one fails the others are written all the same.
    async fn publish(&self, status: LineStatus) -> PortResult<()> {
        let attempt = "publish how far the line has come";
        let copies = Key::STATUS.map(|digit| async move {
            let key = Key::Status(digit);
            match self.table.update(attempt, key, expressions::publish(status)).await? {
                Written::Done(_) => Ok(()),
                Written::Refused(_) => Err(missing(attempt, key)),
            }
        });
        future::join_all(copies).await.into_iter().collect()
    }
}
