//! The room that a command is for: found by what was typed, on this machine or on AWS.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use control::{
    ControlError, OperatedRoom, Order, Reply, RunningRoom, SocketError, SocketRoom, Transport, UpkeepOrder,
    UpkeepReply,
};
use embedded::BackedUp;
use probe::WebAddress;
use url::Url;
use waitroom::RoomId;

use crate::arguments::{LOCAL, Which};
use crate::aws::{self, DeployedRoom};
use crate::data;
use crate::exit::{Exit, Failure};
use crate::printer::note;
use crate::stopped_room::StoppedRoom;

/// How long a room or an AWS account may take to answer a question that is asked by the way.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);

/// A room, found by what was typed.
#[derive(Clone, Debug)]
pub(crate) struct RoomHandle {
    pub(crate) room: OperatedRoom,
    /// How a command names this room.
    pub(crate) as_typed: String,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Here(SocketRoom),
    /// Its file is read, because nobody runs it.
    Stopped(Arc<StoppedRoom>),
    Aws(Arc<DeployedRoom>),
}

impl RoomHandle {
    pub(crate) async fn find(which: &Which) -> Result<Self> {
        if let Some(room) = aws::room(which).await? {
            return Ok(room);
        }
        match &which.here.data {
            Some(directory) => Self::in_directory(directory, which.name.as_ref()).await,
            None => Self::here(which.name.clone().map_or_else(only_here, Ok)?),
        }
    }

    /// The room that a command only reads. If it doesn't run, its file is read, and a note says so.
    pub(crate) async fn find_to_read(which: &Which) -> Result<Self> {
        if let Some(room) = aws::room(which).await? {
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
        let data = data.map(|directory| format!(" --data {}", directory.display()));
        let typed = format!("{name}{}", data.unwrap_or_default());
        note(&format!(
            "{name} isn't running; this is how it stood at {}. To start it: beekeeper local {typed}",
            room.at
        ));
        let room = Arc::new(room);
        Ok(Self {
            room: OperatedRoom { name, transport: room.clone() },
            as_typed: format!("{LOCAL}{typed}"),
            place: Place::Stopped(room),
        })
    }

    /// The room of this name in the user's data directory.
    pub(crate) fn here(name: RoomId) -> Result<Self> {
        let directory = data::directory(None, &name)?;
        let as_typed = format!("{LOCAL}{name}");
        Ok(Self::running(name, directory, as_typed))
    }

    fn running(name: RoomId, directory: PathBuf, as_typed: String) -> Self {
        let room = SocketRoom::new(directory).named(name.clone());
        let transport = Arc::new(room.clone());
        Self { room: OperatedRoom { name, transport }, as_typed, place: Place::Here(room) }
    }

    /// The room that runs in a directory. It is asked for its name.
    async fn in_directory(directory: &Path, expected: Option<&RoomId>) -> Result<Self> {
        let asked = SocketRoom::new(directory).execute(Order::Status).await;
        let name = match (asked, expected) {
            (Ok(Reply::Status(status)), None) => status.room.settings.room,
            (Ok(Reply::Status(status)), Some(expected)) if status.room.settings.room != *expected => {
                return Err(another(directory, &status.room.settings.room, expected).into());
            }
            // The order itself will meet the same failure, and explain it.
            (_, Some(expected)) => expected.clone(),
            (Ok(Reply::Failed { error }), None) => bail!("the room in {} {error}", directory.display()),
            (Ok(_), None) => return Err(ControlError::Unexpected { room: data::default_name()? }.into()),
            (Err(error), None) => return Err(ControlError::Unreached(error).into()),
        };
        let as_typed = format!("{LOCAL}{name} --data {}", directory.display());
        Ok(Self::running(name, directory.to_owned(), as_typed))
    }

    pub(crate) fn deployed(name: RoomId, deployed: Arc<DeployedRoom>, transport: Arc<dyn Transport>) -> Self {
        let as_typed = name.to_string();
        Self { room: OperatedRoom { name, transport }, as_typed, place: Place::Aws(deployed) }
    }

    /// The room that runs on this machine.
    pub(crate) fn on_this_machine(&self) -> Option<&SocketRoom> {
        match &self.place {
            Place::Here(room) => Some(room),
            Place::Stopped(_) | Place::Aws(_) => None,
        }
    }

    /// The port of a room that runs on this machine. None if its version cannot tell.
    pub(crate) async fn port(&self) -> Option<u16> {
        self.on_this_machine()?.port().await
    }

    /// How a room on this machine was started, and whether it can write. None if its version cannot tell.
    pub(crate) async fn check(&self) -> Option<RunningRoom> {
        self.on_this_machine()?.check().await
    }

    /// Lets a running room on this machine write a copy of itself into its directory. Returns where, and who is in it.
    pub(crate) async fn back_up(&self) -> Result<(PathBuf, BackedUp)> {
        let unexpected = || self.room.unexpected().into();
        let Some(room) = self.on_this_machine() else { return Err(unexpected()) };
        match room.keep_up(UpkeepOrder::BackUp).await? {
            UpkeepReply::BackedUp { file, waiting, admissions } => {
                Ok((room.directory.join(file), BackedUp { waiting, admissions }))
            }
            UpkeepReply::Failed { error } => bail!("the room {} {error}", self.room.name),
            UpkeepReply::Port { .. } | UpkeepReply::Checked(_) => Err(unexpected()),
        }
    }

    /// The room on this machine, if it doesn't run and its file is read.
    pub(crate) fn stopped(&self) -> Option<&StoppedRoom> {
        match &self.place {
            Place::Stopped(room) => Some(room),
            Place::Here(_) | Place::Aws(_) => None,
        }
    }

    pub(crate) fn on_aws(&self) -> Option<&DeployedRoom> {
        match &self.place {
            Place::Aws(deployed) => Some(deployed),
            Place::Here(_) | Place::Stopped(_) => None,
        }
    }

    /// Where this URL of the room is asked. An emulator of AWS answers at another address.
    pub(crate) fn address(&self, url: Url) -> WebAddress {
        match self.on_aws() {
            Some(deployed) => aws::address(deployed, url),
            None => WebAddress::of(url),
        }
    }
}

/// The error for a directory with another room than the command names.
fn another(directory: &Path, there: &RoomId, expected: &RoomId) -> Failure {
    let another = format!("{} holds the room {there}, not {expected}", directory.display());
    let advice = format!("for that room, use {LOCAL}{there} --data {}", directory.display());
    Failure::new(Exit::Usage, another).advising(advice)
}

/// What to do if the socket of a room can't be used.
pub(crate) fn advice_for(error: &SocketError) -> String {
    match error.cause.kind() {
        io::ErrorKind::PermissionDenied => {
            "run the command as the user who runs the room, or with sudo".into()
        }
        io::ErrorKind::TimedOut => OF_ONE_THAT_HANGS.into(),
        _ => {
            let start = format!("start it with: beekeeper local {}", typed(&error.room));
            match &*data::running() {
                [] => start,
                running => format!("{}; or {start}", for_a_room_here(running)),
            }
        }
    }
}

/// How `beekeeper local` names a room.
fn typed(room: &SocketRoom) -> String {
    let name = room.name.as_ref();
    let is_usual = |name: &&RoomId| data::directory(None, name).is_ok_and(|usual| usual == room.directory);
    let data = match name.filter(is_usual) {
        Some(_) => None,
        None => Some(format!("--data {}", room.directory.display())),
    };
    let words = [name.map(ToString::to_string), data];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

const OF_ONE_THAT_HANGS: &str = "see what its process does; if it hangs, start it again: everybody keeps their place. Look at the \
                                 room's history before you repeat an order";

/// The error for a room on this machine whose process runs and does not reply.
pub(crate) fn hangs(waited: Duration) -> Failure {
    let text = format!("the room does not answer within {} seconds", waited.as_secs());
    Failure::new(Exit::Failed, text).advising(OF_ONE_THAT_HANGS)
}

/// Advice for a command that should have named a room on this machine.
pub(crate) fn for_a_room_here(running: &[RoomId]) -> String {
    let names: Vec<_> = running.iter().map(RoomId::as_str).collect();
    match *names {
        [] => "for a room on this machine, use --local".into(),
        [only] => format!("for the room {only}, which runs on this machine, use {LOCAL}{only}"),
        _ => format!("use {LOCAL}NAME for one of the rooms that run on this machine: {}", names.join(", ")),
    }
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
    use super::*;

    #[test]
    fn whoever_cannot_reach_a_room_is_told_what_to_do() {
        let room = SocketRoom::new("/srv/sale").named("sale".parse().unwrap());
        let advice =
            |kind: io::ErrorKind| advice_for(&SocketError { room: room.clone(), cause: kind.into() });
        assert_eq!(
            advice(io::ErrorKind::PermissionDenied),
            "run the command as the user who runs the room, or with sudo"
        );
        assert!(advice(io::ErrorKind::TimedOut).contains("start it again: everybody keeps their place"));
        let start = advice(io::ErrorKind::NotFound);
        assert!(start.ends_with("start it with: beekeeper local sale --data /srv/sale"), "{start}");
    }
}
