//! The room that runs in a directory of this machine, and takes orders through a socket there: one line of JSON, and one line
//! back. The lines are an [`Order`] and its [`Reply`], or an [`UpkeepOrder`], which only such a room has.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;
use waitroom::RoomId;

use crate::transport::{Answer, Transport};
use crate::{Order, Reply};

/// What the operator tells a room on one machine, beside the orders that every room has. In JSON: `{"order": "back-up"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub enum UpkeepOrder {
    /// Writes a copy of the room into its data directory, because the room may be allowed to write nowhere else. The sender
    /// of the order then moves the copy to where it belongs, and closes the connection: then the room removes what is left.
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
    /// A room of an earlier version, which has no address, listens on 127.0.0.1.
    Port {
        port: u16,
        #[serde(default)]
        address: Option<IpAddr>,
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
    /// `--visitors`: how many demonstration visitors it keeps in its line. An earlier version has none.
    #[serde(default)]
    pub demo_visitors: u32,
    /// Why nothing can be written to its file. `None` if a write was just stored.
    pub unwritable: Option<String>,
    /// How many bytes are free on the disk of its file, and how large that file is. `None` if the system does not tell.
    pub free: Option<u64>,
    pub size: Option<u64>,
}

impl RunningRoom {
    /// How many connections it accepts at once where the system lets it open enough files.
    pub const USUAL_CONNECTIONS: usize = 20_000;
}

/// A room that runs in a directory of this machine, or should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketRoom {
    pub directory: PathBuf,
    /// `None` as long as nobody has asked it for its name.
    pub name: Option<RoomId>,
}

/// Why nobody knows what a room replied.
#[derive(Debug)]
pub struct SocketError {
    pub room: SocketRoom,
    pub failure: SocketFailure,
    /// Whether an order may have been carried out all the same.
    pub may_be_done: bool,
}

/// How far an order came.
#[derive(Debug)]
pub enum SocketFailure {
    /// Nobody took it.
    Unreached(io::Error),
    /// The room took it, or a part, and then ended, or took too long.
    Unanswered(io::Error),
    /// The room is of another version.
    NotUnderstood(serde_json::Error),
}

impl SocketRoom {
    /// How long a room may take for its reply. It takes milliseconds, and seconds if its disk is busy: the longest order is one
    /// change of its file. A room that takes longer hangs.
    pub const REPLY_TIMEOUT: Duration = Duration::from_mins(1);

    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), name: None }
    }

    #[must_use]
    pub fn named(self, name: RoomId) -> Self {
        Self { name: Some(name), ..self }
    }

    pub fn socket(directory: &Path) -> PathBuf {
        directory.join("control.sock")
    }

    /// Whether a room runs in this directory. A user who may not use its socket can't tell.
    pub fn runs_in(directory: &Path) -> io::Result<bool> {
        match BlockingStream::connect(Self::socket(directory)) {
            Err(error) if is_nobody(&error) => Ok(false),
            connected => connected.map(|_| true),
        }
    }

    /// Whether certainly a room runs in this directory.
    pub fn certainly_runs_in(directory: &Path) -> bool {
        matches!(Self::runs_in(directory), Ok(true))
    }

    /// Whether certainly no room runs in this directory.
    pub fn certainly_none_runs_in(directory: &Path) -> bool {
        matches!(Self::runs_in(directory), Ok(false))
    }

    /// The process that runs the room. None if the system does not tell.
    pub async fn process(&self) -> Option<i32> {
        UnixStream::connect(Self::socket(&self.directory)).await.ok()?.peer_cred().ok()?.pid()
    }

    /// Where the room is asked from this machine. None if its version cannot tell.
    pub async fn address(&self) -> Option<SocketAddr> {
        match self.keep_up(UpkeepOrder::Port).await {
            Ok(UpkeepReply::Port { port, address }) => Some((reached_at(address), port).into()),
            _ => None,
        }
    }

    /// How the room was started, and whether it can write. None if its version cannot tell.
    pub async fn check(&self) -> Option<RunningRoom> {
        match self.keep_up(UpkeepOrder::Check).await {
            Ok(UpkeepReply::Checked(running)) => Some(running),
            _ => None,
        }
    }

    /// Sends an order that only a room on one machine has.
    pub async fn keep_up(&self, order: UpkeepOrder) -> Result<UpkeepReply, SocketError> {
        let replied = self.exchange(&order, Some(Self::REPLY_TIMEOUT)).await;
        replied.map(|(reply, _)| reply).map_err(|failure| self.failed(failure, false))
    }

    /// Lets the room write a copy of itself, which is there as long as the connection that this returns. That has no time limit: it
    /// takes as long as its disk.
    pub async fn back_up(&self) -> Result<(UpkeepReply, UnixStream), SocketError> {
        let replied = self.exchange(&UpkeepOrder::BackUp, None).await;
        replied.map_err(|failure| self.failed(failure, false))
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        order: &impl Serialize,
        limit: Option<Duration>,
    ) -> Result<(T, UnixStream), SocketFailure> {
        let connected = UnixStream::connect(Self::socket(&self.directory)).await;
        let mut stream = connected.map_err(SocketFailure::Unreached)?;
        let asked = async {
            let mut line = serde_json::to_vec(order)?;
            line.push(b'\n');
            stream.write_all(&line).await?;
            let mut reply = Vec::new();
            stream.read_to_end(&mut reply).await?;
            io::Result::Ok(reply)
        };
        let reply = match limit {
            Some(limit) => timeout(limit, asked).await.unwrap_or_else(|elapsed| Err(elapsed.into())),
            None => asked.await,
        };
        let reply = reply.map_err(SocketFailure::Unanswered)?;
        let understood = serde_json::from_slice(&reply).map(|reply| (reply, stream));
        understood.map_err(|error| {
            if error.is_eof() {
                SocketFailure::Unanswered(io::ErrorKind::UnexpectedEof.into())
            } else {
                SocketFailure::NotUnderstood(error)
            }
        })
    }

    fn failed(&self, failure: SocketFailure, changes: bool) -> SocketError {
        let may_be_done = changes && !matches!(failure, SocketFailure::Unreached(_));
        SocketError { room: self.clone(), failure, may_be_done }
    }
}

impl Transport for SocketRoom {
    fn execute(&self, order: Order) -> Answer<'_, Reply> {
        Box::pin(async move {
            let replied = self.exchange(&order, Some(Self::REPLY_TIMEOUT)).await;
            let replied = replied.map(|(reply, _)| reply);
            Ok(replied.map_err(|failure| self.failed(failure, !order.changes_nothing()))?)
        })
    }
}

/// Who listens on every address of this machine is asked at its own.
fn reached_at(address: Option<IpAddr>) -> IpAddr {
    match address {
        None => Ipv4Addr::LOCALHOST.into(),
        Some(IpAddr::V4(all)) if all.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        Some(IpAddr::V6(all)) if all.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        Some(address) => address,
    }
}

/// Whether an order failed because nobody listens.
fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

impl SocketError {
    /// Whether no room runs in the directory.
    pub fn is_nobody(&self) -> bool {
        matches!(&self.failure, SocketFailure::Unreached(error) if is_nobody(error))
    }
}

impl fmt::Display for SocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { room, failure, .. } = self;
        let name = room.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        match failure {
            SocketFailure::Unreached(error) => {
                write!(f, "could not reach the room{name}: ")?;
                match error.kind() {
                    io::ErrorKind::PermissionDenied => {
                        write!(f, "this user may not use {}", SocketRoom::socket(&room.directory).display())
                    }
                    _ if is_nobody(error) => write!(f, "no room runs in {}", room.directory.display()),
                    _ => write!(f, "{error}"),
                }
            }
            SocketFailure::Unanswered(error) => match error.kind() {
                io::ErrorKind::TimedOut => {
                    let seconds = SocketRoom::REPLY_TIMEOUT.as_secs();
                    write!(f, "the room{name} does not answer within {seconds} seconds")
                }
                io::ErrorKind::UnexpectedEof => write!(f, "the room{name} ended before it answered"),
                _ => write!(f, "the room{name} did not answer: {error}"),
            },
            SocketFailure::NotUnderstood(error) => {
                write!(
                    f,
                    "the room{name} answered what this version of beekeeper does not understand: {error}"
                )
            }
        }
    }
}

impl std::error::Error for SocketError {}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    fn room(directory: &Path) -> SocketRoom {
        SocketRoom::new(directory).named("sale".parse().unwrap())
    }

    fn met(error: crate::TransportError) -> SocketError {
        *error.downcast().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_room_that_hangs_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        // The system accepts the connection, and nobody replies.
        let _listener = UnixListener::bind(SocketRoom::socket(directory.path())).unwrap();
        let room = room(directory.path());
        let error = met(room.execute(Order::Status).await.unwrap_err());
        assert_eq!(error.to_string(), "the room sale does not answer within 60 seconds");
        assert!(!error.may_be_done, "it only reads");
        assert!(met(room.execute(Order::Pause).await.unwrap_err()).may_be_done);
        let error = room.keep_up(UpkeepOrder::Port).await.unwrap_err();
        assert!(matches!(error.failure, SocketFailure::Unanswered(_)) && !error.may_be_done, "{error:?}");
    }

    #[tokio::test]
    async fn a_room_that_takes_an_order_and_gives_no_reply_may_have_done_it() {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(SocketRoom::socket(directory.path())).unwrap();
        let room = room(directory.path());
        for (reply, expected) in [
            ("", "the room sale ended before it answered"),
            (r#"{"reply":"chan"#, "the room sale ended before it answered"),
            (
                r#"{"reply":"later"}"#,
                "the room sale answered what this version of beekeeper does not understand: ",
            ),
        ] {
            let answer = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut order = [0; 1 << 10];
                assert!(stream.read(&mut order).await.unwrap() > 0);
                stream.write_all(reply.as_bytes()).await.unwrap();
            };
            let (replied, ()) = tokio::join!(room.execute(Order::Pause), answer);
            let error = met(replied.unwrap_err());
            assert!(error.to_string().starts_with(expected), "{error}");
            assert!(error.may_be_done && !error.is_nobody(), "{error:?}");
        }
    }

    #[tokio::test]
    async fn nobody_has_done_what_nobody_took() {
        let directory = tempfile::tempdir().unwrap();
        let error = met(room(directory.path()).execute(Order::Pause).await.unwrap_err());
        assert!(error.is_nobody() && !error.may_be_done, "{error:?}");
        let refused = SocketFailure::Unreached(io::ErrorKind::PermissionDenied.into());
        let error = SocketRoom::new("/srv/sale").failed(refused, true);
        assert_eq!(
            error.to_string(),
            "could not reach the room: this user may not use /srv/sale/control.sock"
        );
    }
}
