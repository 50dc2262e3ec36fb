//! The room that a command is for, wherever it is: orders go to it, and its answer comes back.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use operator::{Order, Reply, Status};
use server::control;
use waitroom::RoomId;

use crate::arguments::Which;
use crate::data;
use crate::exit::{Exit, Failure};
use crate::profile::{Profile, Profiles};

/// The name of a room on this machine that was given none.
const DEMONSTRATION: &str = "demo";

#[derive(Debug)]
pub(crate) struct RoomHandle {
    pub(crate) name: RoomId,
    place: Location,
}

#[derive(Debug)]
enum Location {
    /// A process has it open and listens to us; `as_typed` says how the room is named in a command.
    Here { directory: PathBuf, as_typed: String },
    #[cfg(feature = "aws")]
    Aws(Box<cloud::DeployedRoom>),
}

impl RoomHandle {
    pub(crate) async fn find(which: &Which) -> Result<Self> {
        if which.local {
            let name = which.name.clone().map_or_else(|| DEMONSTRATION.parse(), Ok)?;
            let directory = data::directory(which.data.as_ref(), &name)?;
            let data = which.data.as_ref().map(|data| format!(" --data {}", data.display()));
            let as_typed = format!("--local {name}{}", data.unwrap_or_default());
            return Ok(Self { name, place: Location::Here { directory, as_typed } });
        }
        let (name, profile) = on_aws(which)?;
        Self::deployed(name, &profile).await
    }

    #[cfg(feature = "aws")]
    async fn deployed(name: RoomId, profile: &Profile) -> Result<Self> {
        let account = cloud::Account::sign_in(&profile.access()).await?;
        let deployed = account.room(&name).await?;
        Ok(Self { name, place: Location::Aws(Box::new(deployed)) })
    }

    #[cfg(not(feature = "aws"))]
    #[expect(clippy::unused_async, reason = "with AWS, it waits for it")]
    async fn deployed(name: RoomId, _: &Profile) -> Result<Self> {
        without_aws(&name)
    }

    /// How a command names this room.
    pub(crate) fn as_typed(&self) -> &str {
        match &self.place {
            Location::Here { as_typed, .. } => as_typed,
            #[cfg(feature = "aws")]
            Location::Aws(_) => self.name.as_str(),
        }
    }

    /// Whether its line is far away: it is counted roughly, and takes a minute to empty.
    pub(crate) fn is_far(&self) -> bool {
        match &self.place {
            Location::Here { .. } => false,
            #[cfg(feature = "aws")]
            Location::Aws(_) => true,
        }
    }

    #[cfg(feature = "aws")]
    pub(crate) fn on_aws(&self) -> Option<&cloud::DeployedRoom> {
        match &self.place {
            Location::Here { .. } => None,
            Location::Aws(deployed) => Some(deployed),
        }
    }

    /// Tells the room, and returns its answer.
    pub(crate) async fn send(&self, command: Order) -> Result<Reply> {
        let reply = match &self.place {
            Location::Here { directory, .. } => {
                let sent = control::send(directory, &command).await;
                let sent = sent.map_err(|error| self.unreached(&error, directory));
                sent.with_context(|| format!("could not reach the room {}", self.name))?
            }
            #[cfg(feature = "aws")]
            // Boxed: what the SDK keeps while it waits is large.
            Location::Aws(deployed) => Box::pin(self.obeyed(deployed, command)).await?,
        };
        match reply {
            Reply::Failed { error } => bail!("the room {} {error}", self.name),
            reply => Ok(reply),
        }
    }

    #[cfg(feature = "aws")]
    async fn obeyed(&self, deployed: &cloud::DeployedRoom, command: Order) -> Result<Reply> {
        use futures_util::future::try_join3;

        let obeyed = async {
            let obeyed = operator::execute(deployed.store(), command.clone()).await;
            let attempt = || format!("operate the room {}", self.name);
            obeyed.map_err(|error| anyhow::Error::new(cloud::CloudError::from_port(attempt(), error)))
        };
        if command != Order::Status {
            return obeyed.await;
        }
        let dead_letters = async { Ok(deployed.dead_letters().await?) };
        let alarms = async { Ok(deployed.alarms().await?) };
        let (mut reply, dead_letters, alarms) = try_join3(obeyed, dead_letters, alarms).await?;
        if let Reply::Status(status) = &mut reply {
            status.dead_letters = Some(dead_letters);
            status.alarms = alarms;
        }
        Ok(reply)
    }

    pub(crate) async fn status(&self) -> Result<Status> {
        match self.send(Order::Status).await? {
            Reply::Status(status) => Ok(*status),
            _ => Err(self.unexpected()),
        }
    }

    /// It answered, but not to what it was asked.
    pub(crate) fn unexpected(&self) -> anyhow::Error {
        anyhow!("the room {} answered something else; is it of another version?", self.name)
    }

    fn unreached(&self, error: &io::Error, directory: &Path) -> anyhow::Error {
        if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) {
            return anyhow!("{error}");
        }
        let nobody = format!("no room runs in {}", directory.display());
        let start = format!("start it with: beekeeper local {}", self.name);
        Failure::new(Exit::Missing, nobody).advising(start).into()
    }
}

/// Which room on AWS is meant: a slip must not hit another one, so it has to be named.
pub(crate) fn on_aws(which: &Which) -> Result<(RoomId, Profile)> {
    let profiles = Profiles::of_this_user()?;
    let Some(name) = which.name.clone() else {
        let there_are = match profiles.listed()? {
            Some(names) => format!("name one of: {names}; or say --local for the room on this machine"),
            None => {
                "say --local for the room on this machine, or write one for AWS down with: beekeeper init"
                    .into()
            }
        };
        return Err(Failure::new(Exit::Usage, "which room?").advising(there_are).into());
    };
    let profile = profiles.load(&name)?;
    Ok((name, profile))
}

/// The rest of a command, in a beekeeper that cannot do it. A profile with mistakes is told of all the same.
#[cfg(not(feature = "aws"))]
pub(crate) fn without_aws<T>(name: &RoomId) -> Result<T> {
    Profiles::of_this_user()?.load(name)?;
    Err(Failure::new(Exit::Failed, "this beekeeper was built without AWS")
        .advising("`cargo xtask dist` builds one with it")
        .into())
}
