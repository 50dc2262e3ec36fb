//! Who came of those whom slices have released: a mark in each admission, and an item for each slice that counts them.
//!
//! The mark comes first, so that nobody counts twice. An item for each slice bears the writes: a slice releases at most fifty
//! visitors a second.

use std::collections::HashMap;

use waitroom::ports::{PortError, PortResult, TurnoutCount};
use waitroom::{Place, Plan, Room, SliceId, Token, Turnout, Window};

use crate::AwsStore;
use crate::expressions;
use crate::items::{Item, ItemError, Reader};
use crate::keys::Key;
use crate::table::Written;

/// How many plans are looked at. A minute has one, and one more for each change of the valve.
const PLANS: u64 = 40;

impl TurnoutCount for AwsStore {
    async fn note_came(&self, visitor: Token, slice: SliceId) -> PortResult<bool> {
        let attempt = "note that a visitor came";
        let mark = expressions::mark_came();
        if let Written::Refused(_) = self.table.update(attempt, Key::Admission(visitor), mark).await? {
            return Ok(false);
        }
        let count = expressions::add_came(self.now() + Place::MAX_AGE);
        self.table.update_once(attempt, Key::Came(slice.plan, slice.index), count).await?;
        Ok(true)
    }

    async fn turnout(&self, ended: Window) -> PortResult<Turnout> {
        let attempt = "count who came";
        let progress = self.read_progress(attempt).await?;
        let oldest = progress.before_epoch.max(progress.latest.saturating_sub(PLANS)).saturating_add(1);
        let mut turnout = Turnout::default();
        let mut counted = Vec::new();
        for items in self.plan_items(attempt, oldest..=progress.latest).await? {
            let Some(plan) = items.plan else { continue };
            if (ended.start..ended.end).contains(&plan.window.end) {
                turnout.released += items.recorded;
                counted.push(plan);
            }
        }
        let found = self.table.get_all(attempt, counts(&counted)).await?;
        turnout.came = came(&counted, &found).map_err(PortError::broken(attempt))?;
        Ok(turnout)
    }

    async fn keep_turnout(&self, turnout: Option<Turnout>) -> PortResult<()> {
        let keep = move |room: &mut Room| {
            if room.heeds_turnout(turnout) {
                room.turnout = turnout;
            }
        };
        self.alter_for_functions("keep how many came", None, keep).await
    }
}

/// The items in which the slices of these plans count who came.
fn counts(plans: &[Plan]) -> impl Iterator<Item = Key> {
    plans.iter().flat_map(Plan::slice_ids).map(|slice| Key::Came(slice.plan, slice.index))
}

fn came(plans: &[Plan], items: &HashMap<String, Item>) -> Result<u64, ItemError> {
    counts(plans).filter_map(|key| Some(decode_came(key, items.get(&key.id())?))).sum()
}

pub(crate) fn decode_came(key: Key, item: &Item) -> Result<u64, ItemError> {
    Reader::open(key, item)?.number("came")
}
