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

/// Writes what the command line says into the room that the store has kept, all of it or nothing. A rate and a mode are orders of
/// whoever started it.
pub async fn apply_settings(store: &EmbeddedStore, kept: &Room, after: Room) -> PortResult<()> {
    let Room { settings, url, .. } = after;
    let ordered = [
        (settings.rate != kept.settings.rate, AuditSubject::Rate),
        (settings.mode != kept.settings.mode, AuditSubject::Mode),
    ];
    let notes = ordered.into_iter().filter(|(is_new, _)| *is_new);
    let notes = notes.map(|(_, about)| AuditNote::new(this_user(), about));
    let apply = move |room: &mut Room| (room.settings, room.url) = (settings, url);
    store.change_room("apply the settings", notes, apply).await.map(drop)
}
