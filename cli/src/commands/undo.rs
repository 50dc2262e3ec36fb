//! `beekeeper undo`: takes the last order back.

use anyhow::{Result, anyhow};
use control::{Order, UndoableOrder};
use waitroom::{AuditEntry, AuditedChange, Mode, RoomState};

use super::change;
use crate::arguments::Which;
use crate::ask;
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(which: &Which, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(which).await?.room;
        let entries = room.entries(AuditEntry::KEPT).await?;
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
        if let Some(order) = order_like(&last.reverted) {
            change::ask_before(&order, &room, yes).await?;
        }
        change::order(&room, json, Order::Undo { number: last.number }).await.map(drop)
    })
}

/// The order that does to visitors what taking this back would, if one asks before that.
fn order_like(reverted: &AuditedChange) -> Option<Order> {
    match reverted {
        AuditedChange::State(change) if change.to.lets_everybody_through() => Some(Order::Off),
        AuditedChange::State(change) if change.to.is_over() => Some(Order::End { notice: None }),
        // Before a pause, the room was closed, and nobody was told that it's over.
        AuditedChange::State(change) if change.from == RoomState::ClosedPaused => None,
        AuditedChange::State(change) if change.to.switches().releases => Some(Order::On),
        AuditedChange::Mode { to: mode @ Mode::Observe, .. } => Some(Order::Mode { mode: *mode }),
        _ => None,
    }
}
