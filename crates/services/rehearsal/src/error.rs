use std::error::Error;
use std::io;

use control::ControlError;
use rand::rngs::SysError;
use url::Url;
use waitroom::RoomId;

/// Why a room was not rehearsed, or not reset afterwards.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    #[error("could not get random numbers from the system")]
    Random(#[from] SysError),
    #[error(transparent)]
    Room(#[from] ControlError),
    #[error("could not read the trusted certificates of this machine")]
    Certificates(#[source] io::Error),
    #[error(
        "{url} does not show the mark that was written into the room, so no visitor was sent there: {problem}"
    )]
    NoMark { url: Url, problem: String },
    #[error("could not read the keys with which the room signs passes")]
    NoKeys(#[source] Box<dyn Error + Send + Sync>),
    #[error("the rehearsal was interrupted before a visitor was sent; the room is reset")]
    Interrupted,
    #[error(
        "the room {room} is still in its rehearsal: the mark and the visitors' places are left, and it refuses `on` until \
         `beekeeper reset {as_typed}`"
    )]
    Left {
        room: RoomId,
        as_typed: String,
        #[source]
        cause: ControlError,
    },
}
