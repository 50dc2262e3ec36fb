//! `beekeeper undo`: takes the last order back.

use anyhow::{Result, anyhow};
use control::{Order, UndoableOrder};
use waitroom::{AuditEntry, AuditedChange};

use super::change;
use crate::arguments::Which;
use crate::ask;
use crate::runtime::block_on;

pub(crate) fn run(which: &Which, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let room = change::find(which).await?.room;
        let entries = change::before_order(room.entries(AuditEntry::KEPT)).await?;
        let last =
            UndoableOrder::last(&entries).map_err(|nothing| anyhow!("the room {} {nothing}", room.name))?;
        let let_in = |entry: &AuditEntry| match entry.change {
            AuditedChange::LetIn { ticket, .. } if entry.number > last.number => Some(ticket),
            _ => None,
        };
        if !yes && let Some(number) = entries.iter().rev().find_map(let_in) {
            let told = format!(
                "number {number} was let in by hand since, and stays in; this takes back the order before that: {}",
                last.change
            );
            ask::confirm(&told, "Take that order back?")?;
        }
        if !yes && let Some(asked) = change::before_order(room.consequence_of_undo(&last)).await? {
            ask::confirm(&asked.told, &asked.question)?;
        }
        change::order(&room, json, Order::Undo { number: last.number }).await.map(drop)
    })
}
