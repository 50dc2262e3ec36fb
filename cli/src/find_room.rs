//! Finds the room that a command is for, by what was typed: on this machine or on AWS.

use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use control::{ControlError, Order, Reply, SocketError, SocketFailure, SocketRoom, Transport};
use rooms::{StoppedRoom, data};
use waitroom::RoomId;

use crate::arguments::{Which, as_typed};
use crate::exit::{Exit, Failure};
use crate::printer::note;
use crate::room::RoomHandle;
use crate::unreached::{for_a_room_here, starting};

impl RoomHandle {
    pub(crate) async fn find(which: &Which) -> Result<Self> {
        if let Some(room) = crate::aws::room(which).await? {
            return Ok(room);
        }
        match &which.here.data {
            Some(directory) => Self::in_directory(directory, which.name.as_ref()).await,
            None => Self::here(which.name.clone().map_or_else(only_here, Ok)?),
        }
    }

    /// The room that a command only reads. If it doesn't run, its file is read, and a note says so.
    pub(crate) async fn find_to_read(which: &Which) -> Result<Self> {
        if let Some(room) = crate::aws::room(which).await? {
            return Ok(room);
        }
        let data = which.here.data.as_ref();
        let expected = match (&which.name, data) {
            (None, Some(_)) => None,
            (None, None) => Some(only_here()?),
            (Some(name), _) => Some(name.clone()),
        };
        let directory = data::directory(data, expected.as_ref().unwrap_or(&data::default_name()?))?;
        let Some(room) = StoppedRoom::find(&directory).await? else { return Self::find(which).await };
        let name = room.name.clone();
        if let Some(expected) = expected.filter(|expected| *expected != name) {
            return Err(another(&directory, &name, &expected).into());
        }
        let as_typed = as_typed(data.map(PathBuf::as_path), &name);
        let start = starting(&SocketRoom::new(directory).named(name));
        note(&format!("{} isn't running; this is how it stood at {}; {start}", room.name, room.at));
        Ok(Self::not_running(room, as_typed))
    }

    /// The room that runs in a directory. It is asked for its name.
    async fn in_directory(directory: &Path, expected: Option<&RoomId>) -> Result<Self> {
        let asked = SocketRoom::new(directory).execute(Order::Status).await;
        let name = match (asked, expected) {
            (Ok(Reply::Status(status)), None) => status.room.settings.room,
            (Ok(Reply::Status(status)), Some(expected)) if status.room.settings.room != *expected => {
                return Err(another(directory, &status.room.settings.room, expected).into());
            }
            // Whoever asks it again waits as long again.
            (Err(error), _) if hangs(error.as_ref()) => return Err(ControlError::Unreached(error).into()),
            // The order itself will meet the same failure, and explain it.
            (_, Some(expected)) => expected.clone(),
            (Ok(Reply::Failed { error, .. }), None) => bail!("the room in {} {error}", directory.display()),
            (Ok(_), None) => return Err(ControlError::Unexpected { room: data::default_name()? }.into()),
            (Err(error), None) => return Err(ControlError::Unreached(error).into()),
        };
        let as_typed = as_typed(Some(directory), &name);
        Ok(Self::running(name, directory.to_owned(), as_typed))
    }
}

/// Whether a room took an order and gave no reply in time.
fn hangs(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    let failure = error.downcast_ref().map(|error: &SocketError| &error.failure);
    matches!(failure, Some(SocketFailure::Unanswered(cause)) if cause.kind() == ErrorKind::TimedOut)
}

/// The error for a directory with another room than the command names.
fn another(directory: &Path, there: &RoomId, expected: &RoomId) -> Failure {
    let another = format!("{} holds the room {there}, not {expected}", directory.display());
    let advice = format!("for that room, leave out the name: {}", as_typed(Some(directory), there));
    Failure::new(Exit::Usage, another).advising(advice)
}

/// The room on this machine that a command means which names none: the only one that runs or, if none runs, the only one that is
/// kept here.
fn only_here() -> Result<RoomId> {
    let running = data::running();
    match (&*running, &*data::rooms()) {
        ([only], _) | ([], [only]) => Ok(only.clone()),
        ([], _) => data::default_name(),
        _ => Err(Failure::new(Exit::Usage, "several rooms run on this machine, and none is named")
            .advising(for_a_room_here(&running))
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_room_that_hangs_is_asked_once() {
        let directory = tempfile::tempdir().unwrap();
        let _hanging = UnixListener::bind(SocketRoom::socket(directory.path())).unwrap();
        let begun = Instant::now();
        for name in [None, Some("sale".parse().unwrap())] {
            let found = RoomHandle::in_directory(directory.path(), name.as_ref()).await;
            let told = found.unwrap_err().to_string();
            assert!(told.contains("60 seconds"), "{told}");
        }
        assert_eq!(begun.elapsed().as_secs(), 2 * SocketRoom::REPLY_TIMEOUT.as_secs());
    }
}
