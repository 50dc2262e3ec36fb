//! The socket in a room's data directory, where it takes the operator's orders. [`SocketRoom`] is who sends them.
//!
//! Only the user who runs the room, and root, can open the socket. The system says which user sent an order.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clock::SystemClock;
use control::{Order, Reply, RunningRoom, SocketRoom, UpkeepOrder, UpkeepReply, execute};
use embedded::{BackedUp, EmbeddedStore, Unfinished};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, OwnedMutexGuard};
use waitroom::ports::Clock;
use waitroom::{Author, with_causes};

use crate::app::App;

/// What a room on one machine says about itself. It does not change while it runs.
#[derive(Clone, Copy, Debug)]
pub struct RoomStart {
    /// Where the room listens for visitors.
    pub listens: SocketAddr,
    pub connections: usize,
    pub join_limit: Option<u32>,
    pub throttle: bool,
    /// How many demonstration visitors it keeps in its line.
    pub demo_visitors: u32,
}

impl RoomStart {
    async fn check(self, store: &EmbeddedStore, directory: &Path) -> RunningRoom {
        let written = store.check_writes().await;
        RunningRoom {
            version: env!("CARGO_PKG_VERSION").into(),
            connections: self.connections,
            join_limit: self.join_limit,
            throttle: self.throttle,
            demo_visitors: self.demo_visitors,
            unwritable: written.err().map(|error| error.to_string()),
            free: free(directory),
            size: directory.join(EmbeddedStore::FILE).metadata().ok().map(|file| file.len()),
        }
    }
}

/// The socket. It is removed when this is dropped.
#[derive(Debug)]
pub struct OrderSocket {
    listener: UnixListener,
    path: PathBuf,
    start: RoomStart,
    backups: Backups,
}

/// Locked while there is a backup, so that two don't fill the disk together.
type Backups = Arc<Mutex<()>>;

impl OrderSocket {
    /// Opens the socket. This process must have the store in the directory open. Then no other process can be using
    /// the socket.
    pub fn bind(directory: &Path, start: RoomStart) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;

        let path = SocketRoom::socket(directory);
        // A process that was killed leaves its socket behind.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        EmbeddedStore::remove_unfinished(directory)?;
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path, start, backups: Backups::default() })
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
                    let (start, backups) = (self.start, self.backups.clone());
                    tokio::spawn(async move {
                        if let Err(error) = converse(stream, &app, &directory, start, backups).await {
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

impl Drop for OrderSocket {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

async fn converse(
    stream: UnixStream,
    app: &App,
    directory: &Path,
    start: RoomStart,
    backups: Backups,
) -> io::Result<()> {
    let store = app.store();
    let who = local_user(stream.peer_cred()?.uid());
    let (reading, mut writing) = stream.into_split();
    let (mut reading, mut line) = (BufReader::new(reading.take(1 << 16)), String::new());
    reading.read_line(&mut line).await?;
    if line.is_empty() {
        // Somebody only looks whether a room runs here.
        return Ok(());
    }
    let mut backup = None;
    let mut reply = if let Ok(order) = serde_json::from_str(&line) {
        let reply = match order {
            UpkeepOrder::BackUp => match back_up(store.clone(), directory.to_owned(), backups).await {
                Ok((reply, written)) => {
                    backup = Some(written);
                    reply
                }
                Err(error) => UpkeepReply::Failed { error },
            },
            UpkeepOrder::Port => {
                UpkeepReply::Port { port: start.listens.port(), address: Some(start.listens.ip()) }
            }
            UpkeepOrder::Check => UpkeepReply::Checked(start.check(store, directory).await),
        };
        serde_json::to_vec(&reply)?
    } else {
        let reply = match serde_json::from_str(&line) {
            Ok(Order::Status) => app.status().await.map(Box::new).map_or_else(Reply::from, Reply::Status),
            Ok(order) => execute(store, order, who, SystemClock.now()).await.unwrap_or_else(Reply::from),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "an order is not understood");
                not_understood()
            }
        };
        serde_json::to_vec(&reply)?
    };
    reply.push(b'\n');
    writing.write_all(&reply).await?;
    drop(writing);
    if backup.is_some() {
        // The command keeps the connection until it has taken the backup away, and a command that was killed keeps none.
        tokio::io::copy(&mut reading, &mut tokio::io::sink()).await?;
    }
    Ok(())
}

/// The reply to an order of another version. It completes the sentence "the room …".
fn not_understood() -> Reply {
    let error = format!(
        "does not know this order, and nothing was changed: it runs beekeeper {}, and the command is of another version. Start \
         the room again with the version of the command; everybody keeps their place",
        env!("CARGO_PKG_VERSION")
    );
    Reply::failed(error)
}

/// The user of this machine with this number, by the name in `/etc/passwd`, or else by the number.
fn local_user(uid: u32) -> Author {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = user_name(&users, uid).map_or_else(|| format!("uid {uid}"), ToOwned::to_owned);
    Author::new(&name)
}

/// The user who runs this process.
pub(crate) fn this_user() -> Author {
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

/// Returns the backup, which is removed when it's dropped, or why there is none.
async fn back_up(
    store: EmbeddedStore,
    directory: PathBuf,
    backups: Backups,
) -> Result<(UpkeepReply, (Unfinished, OwnedMutexGuard<()>)), String> {
    let Ok(only) = backups.try_lock_owned() else {
        return Err("is still at another backup: try again when that's done".into());
    };
    if let Some(error) = lack_of_space(&directory) {
        return Err(error);
    }
    let written = tokio::task::spawn_blocking(move || (store.back_up_for_another(&directory), only)).await;
    let (written, only) = written.map_err(|error| format!("the backup ended early: {error}"))?;
    let (BackedUp { waiting, admissions }, backup) = written.map_err(|error| with_causes(&error))?;
    let file = backup.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((UpkeepReply::BackedUp { file, waiting, admissions }, (backup, only)))
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
}
