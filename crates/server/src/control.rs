//! The operator's hand on a room that runs: a socket in its data directory, one line of JSON each way.
//!
//! Only the user who runs the room can open it.

use std::io;
use std::path::{Path, PathBuf};

use embedded::Store;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use waitroom::governor::Finding;
use waitroom::ports::{Board, Plans, PortError, PortResult, RoomBook, Throttling};
use waitroom::{Epoch, LineStatus, Notice, Rate, Room, Stretch};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command")]
pub enum Command {
    Status,
    SetRate {
        rate: Rate,
    },
    Message {
        text: Notice,
    },
    Stretch {
        factor: Stretch,
    },
    Pause,
    On,
    Off,
    /// Empty the line and begin this epoch.
    Reset {
        epoch: Epoch,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reply")]
pub enum Reply {
    Status(Box<Status>),
    Reset { lost_places: u64, before: Epoch, after: Epoch },
    Changed { before: Box<Room>, after: Box<Room> },
    Failed { error: String },
}

/// How the room stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub room: Room,
    pub line: LineStatus,
    /// Released in this epoch.
    pub released: u64,
    /// The latest windows, newest first.
    pub windows: Vec<Window>,
    /// What the throttle found, oldest first; empty if it does not run.
    pub findings: Vec<Finding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub released: u64,
    pub planned: u32,
}

/// The socket, removed when this is dropped.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

pub fn socket(directory: &Path) -> PathBuf {
    directory.join("control.sock")
}

impl Control {
    /// Opens the socket in a directory whose store this process has open: nobody else can be using it.
    pub fn bind(directory: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;

        let path = socket(directory);
        // Left behind by a process that was killed.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path })
    }

    /// Serves one command a connection until dropped.
    pub async fn serve(&self, store: Store) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let store = store.clone();
                    tokio::spawn(async move {
                        if let Err(error) = converse(stream, &store).await {
                            tracing::debug!(
                                error = &error as &dyn std::error::Error,
                                "an operator went away"
                            );
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "could not hear the operator");
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

async fn converse(stream: UnixStream, store: &Store) -> io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut line = String::new();
    BufReader::new(reading.take(1 << 16)).read_line(&mut line).await?;
    let reply = match serde_json::from_str(&line) {
        Ok(command) => {
            obey(store, command).await.unwrap_or_else(|error| Reply::Failed { error: told(&error) })
        }
        Err(error) => Reply::Failed { error: format!("not a command: {error}") },
    };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    writing.write_all(&line).await
}

fn told(error: &PortError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

async fn obey(store: &Store, command: Command) -> PortResult<Reply> {
    let (before, after) = match command {
        Command::Status => return status(store).await.map(Box::new).map(Reply::Status),
        Command::Reset { epoch } => {
            let before = store.room().await?.epoch;
            let lost_places = store.reset(epoch).await?;
            return Ok(Reply::Reset { lost_places, before, after: epoch });
        }
        Command::SetRate { rate } => {
            store.change_room("set the rate", move |room| room.settings.rate = rate).await?
        }
        Command::Message { text } => {
            store.change_room("set the message", move |room| room.settings.message = text).await?
        }
        Command::Stretch { factor } => {
            store.change_room("stretch the polls", move |room| room.stretch = factor).await?
        }
        Command::Pause => store.change_room("pause", |room| room.paused = true).await?,
        Command::On => {
            store.change_room("turn the room on", |room| (room.open, room.paused) = (true, false)).await?
        }
        Command::Off => store.change_room("turn the room off", |room| room.open = false).await?,
    };
    Ok(Reply::Changed { before: Box::new(Room::clone(&before)), after: Box::new(Room::clone(&after)) })
}

pub async fn status(store: &Store) -> PortResult<Status> {
    let windows = store.recent().await?;
    Ok(Status {
        room: Room::clone(&*store.room().await?),
        line: store.status(),
        released: store.progress().await?.released,
        windows: windows
            .iter()
            .map(|record| Window { released: record.released, planned: record.plan.quota })
            .collect(),
        findings: store.recall().await?.history,
    })
}

/// Sends a command to the room that runs on this directory.
pub async fn send(directory: &Path, command: &Command) -> io::Result<Reply> {
    let mut stream = UnixStream::connect(socket(directory)).await?;
    let mut line = serde_json::to_vec(command)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    Ok(serde_json::from_slice(&reply)?)
}
