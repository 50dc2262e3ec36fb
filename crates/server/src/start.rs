//! The start of a room from its file.

use std::path::Path;
use std::time::{Duration, Instant};

use clock::SystemClock;
use control::SocketRoom;
use embedded::{EmbeddedStore, OpenError};
use waitroom::ports::{Clock, PortResult};
use waitroom::{AuditNote, AuditSubject, Room};

use crate::socket::this_user;

/// Opens the store. A command that reads the file of a stopped room has it for a moment, and a room that stops a little longer:
/// they are waited for.
pub async fn open_when_free(directory: &Path, first: &Room) -> Result<EmbeddedStore, OpenError> {
    const PATIENCE: Duration = Duration::from_mins(1);

    let begun = Instant::now();
    loop {
        match EmbeddedStore::open(directory, first.clone(), || SystemClock.now()) {
            Err(OpenError::InUse(_))
                if SocketRoom::certainly_none_runs_in(directory) && begun.elapsed() < PATIENCE =>
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            opened => return opened,
        }
    }
}

/// Writes what the command line says into the room that the store has kept. A rate and a mode are orders of whoever started it.
pub async fn apply_settings(store: &EmbeddedStore, kept: &Room, after: Room) -> PortResult<()> {
    let Room { settings, url, .. } = after;
    let (rate, mode) = (settings.rate, settings.mode);
    let note = |about| AuditNote::new(this_user(), about);
    if rate != kept.settings.rate {
        let apply = move |room: &mut Room| room.settings.rate = rate;
        store.change_room("apply --rate", Some(note(AuditSubject::Rate)), apply).await?;
    }
    if mode != kept.settings.mode {
        let apply = move |room: &mut Room| room.settings.mode = mode;
        store.change_room("apply --mode", Some(note(AuditSubject::Mode)), apply).await?;
    }
    let apply = move |room: &mut Room| (room.settings, room.url) = (settings, url);
    store.change_room("apply the command line", None, apply).await?;
    Ok(())
}
