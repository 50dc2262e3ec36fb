use anyhow::{Context, Error, Result};
use control::{ChangedRoom, ControlError, OperatedRoom, Order, TypedTime};
use serde_json::json;
use waitroom::{Notice, Timestamp};

use crate::arguments::{TellLatecomers, Which};
use crate::ask;
use crate::exit::{Exit, Failure};
use crate::printer::print_line;
use crate::room::RoomHandle;
use crate::runtime::block_on;
use crate::unreached::LOOK_FIRST;

/// Sends an order, and shows each change as `before -> after`.
pub(crate) fn run(which: &Which, json: bool, command: Order) -> Result<()> {
    block_on(async { order(&find(which).await?.room, json, command).await.map(drop) })
}

/// The same, after a question if visitors may not like it.
pub(crate) fn asked(which: &Which, json: bool, yes: bool, command: Order) -> Result<()> {
    block_on(async { confirmed(&find(which).await?.room, json, yes, command).await.map(drop) })
}

/// Finds the room that an order is for.
pub(crate) async fn find(which: &Which) -> Result<RoomHandle> {
    before_order(RoomHandle::find(which)).await
}

/// Waits for what is asked before an order, unless Ctrl-C comes first. Every such wait needs this: once somebody has listened for
/// Ctrl-C, it no longer ends the program by itself.
pub(crate) async fn before_order<T, E: Into<Error>>(answer: impl Future<Output = Result<T, E>>) -> Result<T> {
    or_interrupted(answer, Failure::interrupted).await
}

pub(crate) async fn order(room: &OperatedRoom, json: bool, command: Order) -> Result<ChangedRoom> {
    let changed = unless_interrupted(room, room.change(command.clone())).await?;
    let told = if json {
        let (before, after) = (&changed.before, &changed.after);
        vec![json!({ "before": before, "after": after, "in_force": changed.in_force() }).to_string()]
    } else {
        changed.told(&command, room.transport.now())
    };
    told.iter().try_for_each(|change| answer(change))?;
    Ok(changed)
}

/// Waits for what a room answers to an order, unless Ctrl-C comes first.
pub(crate) async fn unless_interrupted<T>(
    room: &OperatedRoom,
    answer: impl Future<Output = Result<T, ControlError>>,
) -> Result<T> {
    let interrupted = || {
        let told = format!("interrupted: {} may have got the order, or will in a moment", room.name);
        Failure::new(Exit::Interrupted, told).advising(LOOK_FIRST)
    };
    or_interrupted(answer, interrupted).await
}

/// The same, for an order that says itself what Ctrl-C leaves behind.
pub(crate) async fn or_interrupted<T, E: Into<Error>>(
    answer: impl Future<Output = Result<T, E>>,
    told: impl FnOnce() -> Failure,
) -> Result<T> {
    tokio::select! {
        // It is listened for before the order is sent.
        biased;
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            Err(told().into())
        }
        answer = answer => answer.map_err(Into::into),
    }
}

/// Prints the answer to an order. Whoever reads only that this failed gives the order again.
pub(crate) fn answer(told: &str) -> Result<()> {
    print_line(told).context("the order was carried out, but its answer could not be printed")
}

/// Asks whether to go ahead, if an order does something to visitors that they may not like.
pub(crate) async fn ask_before(order: &Order, room: &OperatedRoom, yes: bool) -> Result<()> {
    if !yes && let Some(consequence) = before_order(room.consequence(order)).await? {
        ask::confirm(&consequence.told, &consequence.question)?;
    }
    Ok(())
}

/// Sends an order after it was asked about.
pub(crate) async fn confirmed(
    room: &OperatedRoom,
    json: bool,
    yes: bool,
    command: Order,
) -> Result<ChangedRoom> {
    ask_before(&command, room, yes).await?;
    order(room, json, command).await
}

/// The instant that was typed, by the room's clock.
pub(crate) fn instant(room: &OperatedRoom, typed: TypedTime) -> Result<Timestamp, Failure> {
    typed.instant(room.transport.now()).map_err(|refusal| Failure::of(Exit::Usage, refusal))
}

/// What those read who come too late, if an order changes that. The room is asked for what was not typed.
pub(crate) async fn notice(room: &OperatedRoom, told: &TellLatecomers) -> Result<Option<Notice>> {
    if !told.has_words() {
        return Ok(None);
    }
    Ok(Some(told.notice(&before_order(room.status()).await?.room.notice)))
}
