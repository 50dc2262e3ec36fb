//! The room that a command is for, on this machine or on AWS.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use control::{OperatedRoom, SocketRoom, Transport};
use probe::WebAddress;
use rooms::{StoppedRoom, data};
use url::Url;
use waitroom::RoomId;

use crate::arguments::as_typed;
use crate::aws::deployed::{DeployedRoom, address};

/// A room, as a command has it.
#[derive(Clone, Debug)]
pub(crate) struct RoomHandle {
    pub(crate) room: OperatedRoom,
    /// How a command names this room.
    pub(crate) as_typed: String,
    place: RoomPlace,
}

#[derive(Clone, Debug)]
enum RoomPlace {
    Here(SocketRoom),
    /// Its file is read, because nobody runs it.
    Stopped(Arc<StoppedRoom>),
    #[cfg_attr(not(feature = "aws"), allow(dead_code, reason = "without AWS, no room is deployed"))]
    Aws(Arc<DeployedRoom>),
}

impl RoomHandle {
    /// The room of this name in the user's data directory.
    pub(crate) fn here(name: RoomId) -> Result<Self> {
        let directory = data::directory(None, &name)?;
        let as_typed = as_typed(None, &name);
        Ok(Self::running(name, directory, as_typed))
    }

    pub(crate) fn running(name: RoomId, directory: PathBuf, as_typed: String) -> Self {
        let room = SocketRoom::new(directory).named(name.clone());
        let transport = Arc::new(room.clone());
        Self { room: OperatedRoom { name, transport }, as_typed, place: RoomPlace::Here(room) }
    }

    pub(crate) fn not_running(room: StoppedRoom, as_typed: String) -> Self {
        let room = Arc::new(room);
        let operated = OperatedRoom { name: room.name.clone(), transport: room.clone() };
        Self { room: operated, as_typed, place: RoomPlace::Stopped(room) }
    }

    #[cfg_attr(not(feature = "aws"), allow(dead_code, reason = "without AWS, no room is deployed"))]
    pub(crate) fn deployed(name: RoomId, deployed: Arc<DeployedRoom>, transport: Arc<dyn Transport>) -> Self {
        let as_typed = name.to_string();
        Self { room: OperatedRoom { name, transport }, as_typed, place: RoomPlace::Aws(deployed) }
    }

    /// How a command names this room where a word without a name before it could be one.
    pub(crate) fn as_typed_with_name(&self) -> String {
        let (name, as_typed) = (&self.room.name, &self.as_typed);
        let has_name = as_typed.split(' ').any(|word| word == name.as_str());
        if has_name { as_typed.clone() } else { format!("{name} {as_typed}") }
    }

    /// The room that runs on this machine.
    pub(crate) fn on_this_machine(&self) -> Option<&SocketRoom> {
        match &self.place {
            RoomPlace::Here(room) => Some(room),
            RoomPlace::Stopped(_) | RoomPlace::Aws(_) => None,
        }
    }

    /// Where a room that runs on this machine is asked. None if its version cannot tell.
    pub(crate) async fn listens(&self) -> Option<SocketAddr> {
        self.on_this_machine()?.address().await
    }

    /// The room on this machine, if it doesn't run and its file is read.
    pub(crate) fn stopped(&self) -> Option<&StoppedRoom> {
        match &self.place {
            RoomPlace::Stopped(room) => Some(room),
            RoomPlace::Here(_) | RoomPlace::Aws(_) => None,
        }
    }

    pub(crate) fn on_aws(&self) -> Option<&DeployedRoom> {
        match &self.place {
            RoomPlace::Aws(deployed) => Some(deployed),
            RoomPlace::Here(_) | RoomPlace::Stopped(_) => None,
        }
    }

    /// Where this URL of the room is asked. An emulator of AWS answers at another address.
    pub(crate) fn address(&self, url: Url) -> WebAddress {
        match self.on_aws() {
            Some(deployed) => address(deployed, url),
            None => WebAddress::of(url),
        }
    }
}
