//! The room that a command is for, on this machine or on AWS: sends orders to it and returns its replies.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clock::SystemClock;
#[cfg(feature = "aws")]
use config::RoomConfig;
use control::{AlarmChange, HistoryLine, Order, Reply, Status};
use embedded::BackedUp;
use server::socket::{self, RunningRoom, UpkeepOrder, UpkeepReply};
use waitroom::ports::Clock;
use waitroom::{AuditEntry, MinuteRecord, RoomId, Timestamp};

use crate::arguments::{LOCAL, Which};
#[cfg(feature = "aws")]
use crate::config_folder::ConfigFolder;
use crate::data;
use crate::exit::{Exit, Failure};
use crate::printer::note;
use crate::stopped_room::StoppedRoom;

/// How long a room or an AWS account may take to answer a question that is asked by the way.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub(crate) struct RoomHandle {
    pub(crate) name: RoomId,
    place: Location,
}

#[derive(Debug)]
enum Location {
    /// Another process runs the room and listens on a socket. `as_typed` is how a command names the room.
    /// If it doesn't run, its file may be read.
    Here { directory: PathBuf, as_typed: String, stopped: Option<StoppedRoom> },
    #[cfg(feature = "aws")]
    Aws(Box<cloud::DeployedRoom>),
}

impl RoomHandle {
    pub(crate) async fn find(which: &Which) -> Result<Self> {
        #[cfg(feature = "aws")]
        if !which.here.is_meant() {
            return Self::deployed(&on_aws(which)?).await;
        }
        match &which.here.data {
            Some(directory) => Self::in_directory(directory, which.name.as_ref()).await,
            None => Self::here(which.name.clone().map_or_else(only_here, Ok)?),
        }
    }

    /// The room that a command only reads. If it doesn't run, its file is read, and a note says so.
    pub(crate) async fn find_to_read(which: &Which) -> Result<Self> {
        #[cfg(feature = "aws")]
        if !which.here.is_meant() {
            return Self::find(which).await;
        }
        let data = which.here.data.as_ref();
        let expected = match (&which.name, data) {
            (None, Some(_)) => None,
            (None, None) => Some(only_here()?),
            (Some(name), _) => Some(name.clone()),
        };
        let directory = data::directory(data, expected.as_ref().unwrap_or(&data::default_name()?))?;
        let Some(room) = StoppedRoom::find(&directory).await? else { return Self::find(which).await };
        let name = room.name().await?;
        if let Some(expected) = expected.filter(|expected| *expected != name) {
            return Err(another(&directory, &name, &expected).into());
        }
        let data = data.map(|directory| format!(" --data {}", directory.display()));
        let typed = format!("{name}{}", data.unwrap_or_default());
        note(&format!(
            "{name} isn't running; this is how it stood at {}. To start it: beekeeper local {typed}",
            room.at
        ));
        let as_typed = format!("{LOCAL}{typed}");
        Ok(Self { name, place: Location::Here { directory, as_typed, stopped: Some(room) } })
    }

    /// The room of this name in the user's data directory.
    pub(crate) fn here(name: RoomId) -> Result<Self> {
        let directory = data::directory(None, &name)?;
        let as_typed = format!("{LOCAL}{name}");
        Ok(Self { name, place: Location::Here { directory, as_typed, stopped: None } })
    }

    /// The room that runs in a directory. It is asked for its name.
    async fn in_directory(directory: &Path, expected: Option<&RoomId>) -> Result<Self> {
        let handle = |name: RoomId| {
            let as_typed = format!("{LOCAL}{name} --data {}", directory.display());
            Self { name, place: Location::Here { directory: directory.to_owned(), as_typed, stopped: None } }
        };
        let name = match (socket::send(directory, &Order::Status).await, expected) {
            (Ok(Reply::Status(status)), None) => status.room.settings.room,
            (Ok(Reply::Status(status)), Some(expected)) if status.room.settings.room != *expected => {
                return Err(another(directory, &status.room.settings.room, expected).into());
            }
            // The order itself will meet the same failure, and explain it.
            (_, Some(expected)) => expected.clone(),
            (Ok(Reply::Failed { error }), None) => bail!("the room in {} {error}", directory.display()),
            (Ok(_), None) => return Err(handle(data::default_name()?).unexpected()),
            (Err(error), None) => {
                let start = format!("beekeeper local --data {}", directory.display());
                return Err(unreached(&error, directory, &start)).context("could not reach the room");
            }
        };
        Ok(handle(name))
    }

    /// The room on AWS that has this configuration.
    #[cfg(feature = "aws")]
    pub(crate) async fn deployed(config: &RoomConfig) -> Result<Self> {
        let account = cloud::Account::sign_in(&crate::aws::access(config)?).await?;
        Ok(Self::of(account.room(&config.room).await?))
    }

    #[cfg(feature = "aws")]
    pub(crate) fn of(deployed: cloud::DeployedRoom) -> Self {
        Self { name: deployed.room.clone(), place: Location::Aws(Box::new(deployed)) }
    }

    /// The process of a room that runs on this machine. None if the system does not tell.
    pub(crate) async fn process(&self) -> Option<i32> {
        match &self.place {
            Location::Here { directory, .. } => socket::process(directory).await,
            #[cfg(feature = "aws")]
            Location::Aws(_) => None,
        }
    }

    /// How a command names this room.
    pub(crate) fn as_typed(&self) -> &str {
        match &self.place {
            Location::Here { as_typed, .. } => as_typed,
            #[cfg(feature = "aws")]
            Location::Aws(_) => self.name.as_str(),
        }
    }

    /// Whether the line is in SQS. SQS counts only roughly, and takes a minute to empty a queue.
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

    /// The time by the clock that decides when an order is in force.
    pub(crate) fn now(&self) -> Timestamp {
        match &self.place {
            Location::Here { .. } => SystemClock.now(),
            #[cfg(feature = "aws")]
            Location::Aws(deployed) => deployed.store().now(),
        }
    }

    /// Sends an order, and returns the reply.
    pub(crate) async fn send(&self, command: Order) -> Result<Reply> {
        let reply = match &self.place {
            Location::Here { directory, stopped, .. } => {
                if let Some(stopped) = stopped
                    && let Some(reply) = stopped.answer(command.clone()).await?
                {
                    return Ok(reply);
                }
                let sent = socket::send(directory, &command).await;
                let sent = sent.map_err(|error| self.unreached(&error, directory));
                sent.with_context(|| format!("could not reach the room {}", self.name))?
            }
            #[cfg(feature = "aws")]
            // Boxed, because the futures of the SDK are large.
            Location::Aws(deployed) => Box::pin(self.execute(deployed, command)).await?,
        };
        match reply {
            Reply::Failed { error } => bail!("the room {} {error}", self.name),
            reply => Ok(reply),
        }
    }

    #[cfg(feature = "aws")]
    async fn execute(&self, deployed: &cloud::DeployedRoom, command: Order) -> Result<Reply> {
        let now = deployed.store().now();
        let reply = control::execute(deployed.store(), command, deployed.author(), now).await;
        let attempt = || format!("operate the room {}", self.name);
        reply.map_err(|error| anyhow::Error::new(cloud::CloudError::from_port(attempt(), error)))
    }

    /// The room on this machine, if it doesn't run and its file is read.
    pub(crate) fn stopped(&self) -> Option<&StoppedRoom> {
        match &self.place {
            Location::Here { stopped, .. } => stopped.as_ref(),
            #[cfg(feature = "aws")]
            Location::Aws(_) => None,
        }
    }

    /// Lets a running room on this machine write a copy of itself into its directory. Returns where, and who is in it.
    pub(crate) async fn back_up(&self) -> Result<(PathBuf, BackedUp)> {
        match &self.place {
            Location::Here { directory, .. } => {
                let reply = socket::send_upkeep(directory, UpkeepOrder::BackUp).await;
                let reply = reply.map_err(|error| self.unreached(&error, directory));
                match reply.with_context(|| format!("could not reach the room {}", self.name))? {
                    UpkeepReply::BackedUp { file, waiting, admissions } => {
                        Ok((directory.join(file), BackedUp { waiting, admissions }))
                    }
                    UpkeepReply::Failed { error } => bail!("the room {} {error}", self.name),
                    UpkeepReply::Port { .. } | UpkeepReply::Checked(_) => Err(self.unexpected()),
                }
            }
            #[cfg(feature = "aws")]
            Location::Aws(_) => Err(self.unexpected()),
        }
    }

    /// The port of a room that runs on this machine. None if its version cannot tell.
    pub(crate) async fn port(&self) -> Option<u16> {
        match &self.place {
            Location::Here { directory, .. } => {
                match socket::send_upkeep(directory, UpkeepOrder::Port).await {
                    Ok(UpkeepReply::Port { port }) => Some(port),
                    _ => None,
                }
            }
            #[cfg(feature = "aws")]
            Location::Aws(_) => None,
        }
    }

    /// How a room on this machine was started, and whether it can write. None if its version cannot tell.
    pub(crate) async fn check_here(&self) -> Option<RunningRoom> {
        match &self.place {
            Location::Here { directory, .. } => {
                match socket::send_upkeep(directory, UpkeepOrder::Check).await {
                    Ok(UpkeepReply::Checked(running)) => Some(running),
                    _ => None,
                }
            }
            #[cfg(feature = "aws")]
            Location::Aws(_) => None,
        }
    }

    /// What `beekeeper status` shows.
    pub(crate) async fn status(&self) -> Result<Status> {
        #[cfg(feature = "aws")]
        if let Location::Aws(deployed) = &self.place {
            return Box::pin(self.status_with_alarms(deployed)).await;
        }
        self.status_without_alarms().await
    }

    #[cfg(feature = "aws")]
    async fn status_with_alarms(&self, deployed: &cloud::DeployedRoom) -> Result<Status> {
        use futures_util::future::try_join4;

        let dead_letters = async { Ok(deployed.dead_letters().await?) };
        let alarms = async { Ok(deployed.alarms().await?) };
        let alarm_mail = async { Ok(Box::pin(deployed.alarm_mail()).await) };
        let (status, dead_letters, alarms, alarm_mail) =
            try_join4(self.status_without_alarms(), dead_letters, alarms, alarm_mail).await?;
        Ok(Status { dead_letters: Some(dead_letters), alarms, alarm_mail, ..status })
    }

    /// The status without what only a room on AWS has: dead letters, alarms and their e-mails. Each needs a permission of its
    /// own.
    pub(crate) async fn status_without_alarms(&self) -> Result<Status> {
        match self.send(Order::Status).await? {
            Reply::Status(status) => Ok(*status),
            _ => Err(self.unexpected()),
        }
    }

    /// The latest entries of the audit trail, oldest first.
    pub(crate) async fn entries(&self, most: u16) -> Result<Vec<AuditEntry>> {
        match self.send(Order::History { most }).await? {
            Reply::History { entries } => Ok(entries),
            _ => Err(self.unexpected()),
        }
    }

    /// The latest entries and alarms, at most so many of each, oldest first.
    pub(crate) async fn history(&self, most: u16) -> Result<Vec<HistoryLine>> {
        Ok(HistoryLine::merged(self.entries(most).await?, self.alarm_changes(most).await?))
    }

    /// When alarms began to ring and stopped, oldest first. Only a room on AWS has alarms.
    #[cfg_attr(
        not(feature = "aws"),
        expect(unused_variables, clippy::unused_async, reason = "only AWS has alarms and is waited for")
    )]
    pub(crate) async fn alarm_changes(&self, most: u16) -> Result<Vec<AlarmChange>> {
        match &self.place {
            Location::Here { .. } => Ok(Vec::new()),
            #[cfg(feature = "aws")]
            Location::Aws(deployed) => Ok(Box::pin(deployed.alarm_changes(most)).await?),
        }
    }

    /// How many came for their pass, by minutes of the clock. `None` if the records of the minutes say so.
    #[cfg_attr(
        not(feature = "aws"),
        expect(unused_variables, clippy::unused_async, reason = "only AWS has metrics and is waited for")
    )]
    pub(crate) async fn entered(&self, since: Timestamp) -> Result<Option<Vec<(Timestamp, u64)>>> {
        match &self.place {
            Location::Here { .. } => Ok(None),
            #[cfg(feature = "aws")]
            Location::Aws(deployed) => Ok(Some(Box::pin(deployed.entered(since, self.now())).await?)),
        }
    }

    /// The history of the line from this instant on, oldest first, after the record before it.
    pub(crate) async fn minutes(&self, since: Timestamp) -> Result<Vec<MinuteRecord>> {
        match self.send(Order::Minutes { since }).await? {
            Reply::Minutes { records } => Ok(records),
            _ => Err(self.unexpected()),
        }
    }

    /// The error for a reply that does not belong to the order.
    pub(crate) fn unexpected(&self) -> anyhow::Error {
        anyhow!(
            "the room {} sent an unexpected reply; use the same version of beekeeper as the room",
            self.name
        )
    }

    fn unreached(&self, error: &io::Error, directory: &Path) -> anyhow::Error {
        let start = format!("beekeeper local {}", self.as_typed().trim_start_matches(LOCAL));
        unreached(error, directory, &start)
    }
}

/// The error for a directory with another room than the command names.
fn another(directory: &Path, there: &RoomId, expected: &RoomId) -> Failure {
    let another = format!("{} holds the room {there}, not {expected}", directory.display());
    let advice = format!("for that room, use {LOCAL}{there} --data {}", directory.display());
    Failure::new(Exit::Usage, another).advising(advice)
}

/// The error for a room that does not run in this directory. `start` is the command that starts it.
fn unreached(error: &io::Error, directory: &Path, start: &str) -> anyhow::Error {
    if error.kind() == io::ErrorKind::PermissionDenied {
        let denied = format!("this user may not use {}", socket::socket(directory).display());
        let advice = "run the command as the user who runs the room, or with sudo";
        return Failure::new(Exit::Failed, denied).advising(advice).into();
    }
    if error.kind() == io::ErrorKind::TimedOut {
        return hangs(socket::REPLY_TIMEOUT).into();
    }
    if !socket::is_nobody(error) {
        return anyhow!("{error}");
    }
    let nobody = Failure::new(Exit::Missing, format!("no room runs in {}", directory.display()));
    let start = format!("start it with: {start}");
    match &*data::running() {
        [] => nobody.advising(start),
        running => nobody.advising(for_a_room_here(running)).or_advising(&start),
    }
    .into()
}

/// The error for a room on this machine whose process runs and does not reply.
pub(crate) fn hangs(waited: Duration) -> Failure {
    let text = format!("the room does not answer within {} seconds", waited.as_secs());
    Failure::new(Exit::Failed, text).advising(
        "see what its process does; if it hangs, start it again: everybody keeps their place. Look at the room's history before \
         you repeat an order",
    )
}

/// Advice for a command that should have named a room on this machine.
fn for_a_room_here(running: &[RoomId]) -> String {
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

/// The room on AWS that a command names. There is no default room, so a typo cannot hit the wrong one.
#[cfg(feature = "aws")]
pub(crate) fn on_aws(which: &Which) -> Result<RoomConfig> {
    let folder = ConfigFolder::of_this_user()?;
    let Some(name) = &which.name else {
        let advice = match folder.listed()? {
            Some(names) => format!("name one of {names}"),
            None => "configure a room for AWS with: beekeeper init".into(),
        };
        return Err(or_here(Failure::new(Exit::Usage, "no room is named").advising(advice).into()));
    };
    folder.load(name).map_err(or_here)
}

/// Adds to the advice how to name a room on this machine.
#[cfg(feature = "aws")]
fn or_here(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) => failure.or_advising(&for_a_room_here(&data::running())).into(),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    #[test]
    fn a_room_of_another_user_is_explained() {
        let room = RoomHandle {
            name: "sale".parse().unwrap(),
            place: Location::Here {
                directory: "/srv/sale".into(),
                as_typed: "--local sale".into(),
                stopped: None,
            },
        };
        let error = room.unreached(&io::ErrorKind::PermissionDenied.into(), Path::new("/srv/sale"));
        assert_eq!(error.to_string(), "this user may not use /srv/sale/control.sock");
        let advice = "run the command as the user who runs the room, or with sudo";
        assert_eq!(exit::advice(&error), Some(advice));
    }

    #[test]
    fn a_room_that_hangs_is_explained() {
        let error = unreached(&io::ErrorKind::TimedOut.into(), Path::new("/srv/sale"), "beekeeper local");
        assert_eq!(error.to_string(), "the room does not answer within 60 seconds");
        assert!(exit::advice(&error).unwrap().contains("start it again: everybody keeps their place"));
    }
}
