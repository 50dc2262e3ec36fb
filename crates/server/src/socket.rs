//! The operator's commands for a running room, over a socket in its data directory. The request and the
//! reply are one line of JSON each: an order of [`operator`], or [`UpkeepOrder`], which only a room on one machine has.
//!
//! Only the user who runs the room, and root, can open the socket. The system says which user sent an order.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clock::SystemClock;
use control::{Order, Reply, execute};
use embedded::{BackedUp, EmbeddedStore};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use waitroom::Author;
use waitroom::ports::Clock;

use crate::app::App;

/// How long a room may take for its reply. It takes milliseconds, and seconds if its disk is busy: the longest order is one
/// change of its file. A room that takes longer hangs.
pub const REPLY_TIMEOUT: Duration = Duration::from_mins(1);

/// What the operator tells a room on one machine, beside the orders that every room has. In JSON: `{"order": "back-up"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub enum UpkeepOrder {
    /// Writes a copy of the room into its data directory, because the room may be allowed to write nowhere else. The sender
    /// of the order then moves the copy to where it belongs.
    BackUp,
    /// Asks where the room listens. Its URL may be that of a web server in front of it.
    Port,
    /// Asks whether the room can write to its file, and how it was started.
    Check,
}

/// How a room replies to an [`UpkeepOrder`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reply")]
pub enum UpkeepReply {
    /// `file` is the copy's name in the data directory.
    BackedUp {
        file: String,
        waiting: u64,
        admissions: u64,
    },
    Port {
        port: u16,
    },
    Checked(RunningRoom),
    Failed {
        error: String,
    },
}

/// How a room on one machine was started, and whether it can write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningRoom {
    /// The version of its program.
    pub version: String,
    /// How many connections it accepts at once, as far as the system lets it open files.
    pub connections: usize,
    /// `--join-limit`: how many places one address may take.
    pub join_limit: Option<u32>,
    pub throttle: bool,
    /// Why nothing can be written to its file. `None` if a write was just stored.
    pub unwritable: Option<String>,
    /// How many bytes are free on the disk of its file, and how large that file is. `None` if the system does not tell.
    pub free: Option<u64>,
    pub size: Option<u64>,
}

/// What a room on one machine says about itself. It does not change while it runs.
#[derive(Clone, Copy, Debug)]
pub struct RoomStart {
    /// Where the room listens for visitors.
    pub port: u16,
    pub connections: usize,
    pub join_limit: Option<u32>,
    pub throttle: bool,
}

impl RoomStart {
    async fn check(self, store: &EmbeddedStore, directory: &Path) -> RunningRoom {
        let written = store.check_writes().await;
        RunningRoom {
            version: env!("CARGO_PKG_VERSION").into(),
            connections: self.connections,
            join_limit: self.join_limit,
            throttle: self.throttle,
            unwritable: written.err().map(|error| error.to_string()),
            free: free(directory),
            size: directory.join(EmbeddedStore::FILE).metadata().ok().map(|file| file.len()),
        }
    }
}

/// The socket. It is removed when this is dropped.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    start: RoomStart,
}

pub fn socket(directory: &Path) -> PathBuf {
    directory.join("control.sock")
}

impl Control {
    /// Opens the socket. This process must have the store in the directory open. Then no other process can be using
    /// the socket.
    pub fn bind(directory: &Path, start: RoomStart) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;

        let path = socket(directory);
        // A process that was killed leaves its socket behind.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        remove_unfinished_backups(directory)?;
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path, start })
    }

    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Executes one order for each connection, until dropped.
    pub async fn serve(&self, app: Arc<App>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let (app, directory) = (app.clone(), self.directory().to_owned());
                    let start = self.start;
                    tokio::spawn(async move {
                        if let Err(error) = converse(stream, &app, &directory, start).await {
                            tracing::debug!(
                                error = &error as &dyn std::error::Error,
                                "the operator closed the connection early"
                            );
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "could not accept a connection of the operator"
                    );
                    tokio::time::sleep(Duration::from_secs(1)).await;
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

async fn converse(stream: UnixStream, app: &App, directory: &Path, start: RoomStart) -> io::Result<()> {
    let store = app.store();
    let who = local_user(stream.peer_cred()?.uid());
    let (reading, mut writing) = stream.into_split();
    let mut line = String::new();
    BufReader::new(reading.take(1 << 16)).read_line(&mut line).await?;
    let mut reply = if let Ok(order) = serde_json::from_str(&line) {
        let reply = match order {
            UpkeepOrder::BackUp => back_up(store.clone(), directory.to_owned()).await,
            UpkeepOrder::Port => UpkeepReply::Port { port: start.port },
            UpkeepOrder::Check => UpkeepReply::Checked(start.check(store, directory).await),
        };
        serde_json::to_vec(&reply)?
    } else {
        let reply = match serde_json::from_str(&line) {
            Ok(Order::Status) => app.status().await.map(Box::new).map_or_else(Reply::from, Reply::Status),
            Ok(order) => execute(store, order, who, SystemClock.now()).await.unwrap_or_else(Reply::from),
            Err(error) => Reply::Failed { error: format!("not an order: {error}") },
        };
        serde_json::to_vec(&reply)?
    };
    reply.push(b'\n');
    writing.write_all(&reply).await
}

/// The user of this machine with this number, by the name in `/etc/passwd`, or else by the number.
fn local_user(uid: u32) -> Author {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = user_name(&users, uid).map_or_else(|| format!("uid {uid}"), ToOwned::to_owned);
    Author::new(&name)
}

/// The user who runs this process.
pub fn this_user() -> Author {
    local_user(rustix::process::getuid().as_raw())
}

/// A line is `name:password:uid:…`.
fn user_name(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(uid)).then_some(name)
    })
}

/// How the name of a backup begins until it is moved away. No operator would name a file like that.
const UNFINISHED: &str = ".unfinished-backup-";

/// A new name for a file that isn't finished yet. A room that starts in this directory removes what was left of one.
pub fn unfinished(directory: &Path) -> PathBuf {
    directory.join(format!("{UNFINISHED}{:016x}", rand::random::<u64>()))
}

async fn back_up(store: EmbeddedStore, directory: PathBuf) -> UpkeepReply {
    if let Some(error) = lack_of_space(&directory) {
        return UpkeepReply::Failed { error };
    }
    let path = unfinished(&directory);
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match tokio::task::spawn_blocking(move || store.back_up(&path)).await {
        Ok(Ok(BackedUp { waiting, admissions })) => UpkeepReply::BackedUp { file, waiting, admissions },
        Ok(Err(error)) => {
            let cause = error.source().map(|cause| format!(": {cause}"));
            UpkeepReply::Failed { error: format!("{error}{}", cause.unwrap_or_default()) }
        }
        Err(error) => UpkeepReply::Failed { error: format!("the backup ended early: {error}") },
    }
}

/// A backup that filled the disk would keep visitors from joining. So it is refused unless twice the size of the room's file is
/// free, and a little more. If the system does not tell, it is not refused.
fn lack_of_space(directory: &Path) -> Option<String> {
    const MEGABYTE: u64 = 1 << 20;

    let file = directory.join(EmbeddedStore::FILE).metadata().ok()?.len();
    let (needed, free) = (2 * file + 16 * MEGABYTE, free(directory)?);
    (free < needed).then(|| {
        format!(
            "needs {} MB for a backup on the disk of {}, and only {} MB are free: free some space",
            needed.div_ceil(MEGABYTE),
            directory.display(),
            free / MEGABYTE
        )
    })
}

/// How many bytes this user may still write to the disk of a directory.
fn free(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Removes what a room or a command that was killed left of a backup.
fn remove_unfinished_backups(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether a room runs in this directory. A user who may not use its socket can't tell.
pub fn runs(directory: &Path) -> io::Result<bool> {
    match std::os::unix::net::UnixStream::connect(socket(directory)) {
        Err(error) if is_nobody(&error) => Ok(false),
        connected => connected.map(|_| true),
    }
}

/// Whether certainly a room runs in this directory.
pub fn is_open(directory: &Path) -> bool {
    matches!(runs(directory), Ok(true))
}

/// The process that runs the room in this directory. None if the system does not tell.
pub async fn process(directory: &Path) -> Option<i32> {
    UnixStream::connect(socket(directory)).await.ok()?.peer_cred().ok()?.pid()
}

/// Whether certainly no room runs in this directory.
pub fn is_closed(directory: &Path) -> bool {
    matches!(runs(directory), Ok(false))
}

/// Whether an order failed because nobody listens.
pub fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// Sends an order to the room that runs in this directory. An error of the kind [`io::ErrorKind::TimedOut`] if there is no
/// reply within [`REPLY_TIMEOUT`].
pub async fn send(directory: &Path, order: &Order) -> io::Result<Reply> {
    timeout(REPLY_TIMEOUT, exchange(directory, order)).await?
}

/// Sends an order that only a room on one machine has. Only a backup has no time limit: it takes as long as its disk.
pub async fn send_upkeep(directory: &Path, order: UpkeepOrder) -> io::Result<UpkeepReply> {
    let exchange = exchange(directory, &order);
    if order == UpkeepOrder::BackUp { exchange.await } else { timeout(REPLY_TIMEOUT, exchange).await? }
}

async fn exchange<T: DeserializeOwned>(directory: &Path, order: &impl Serialize) -> io::Result<T> {
    let mut stream = UnixStream::connect(socket(directory)).await?;
    let mut line = serde_json::to_vec(order)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    Ok(serde_json::from_slice(&reply)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_by_number() {
        let users = "root:x:0:0:root:/root:/bin/bash\n# a comment\nanna:x:1000:1000::/home/anna:/bin/sh\n";
        assert_eq!(user_name(users, 1000), Some("anna"));
        assert_eq!(user_name(users, 0), Some("root"));
        assert_eq!(user_name(users, 1001), None);
        assert_eq!(local_user(u32::MAX).as_str(), "uid 4294967295");
    }

    #[tokio::test(start_paused = true)]
    async fn a_room_that_hangs_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        // The system accepts the connection, and nobody replies.
        let _listener = UnixListener::bind(socket(directory.path())).unwrap();
        let error = send(directory.path(), &Order::Status).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let error = send_upkeep(directory.path(), UpkeepOrder::Port).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
