//! The start of a room on this machine: its flags, its configuration file, and its data from before.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use config::RoomConfig;
use control::wording::urls;
use control::{SocketRoom, mode_refusal};
use embedded::EmbeddedStore;
use rand::rngs::SysRng;
use rooms::{ConfigFolder, PATIENCE, data};
use server::{DemoDoor, apply_settings, open_when_free};
use tokio::time::timeout;
use waitroom::ports::{PortError, RoomReader};
use waitroom::{Epoch, Room, RoomId, Settings, WebUrl};

use crate::arguments::{KNOWS_AWS, Local, OnThisMachine, Which};
use crate::exit::{Exit, Failure};
use crate::local_greeting::DemoGreeting;
use crate::local_settings::LocalSettings;
use crate::printer::note;
use crate::room::RoomHandle;
use crate::service_room::{self, ServiceRoom};

/// A room that is ready to be opened to visitors.
pub(crate) struct LocalStart {
    pub(crate) directory: PathBuf,
    pub(crate) store: EmbeddedStore,
    pub(crate) room: Arc<Room>,
    /// Whether there was no room here before.
    pub(crate) is_new: bool,
    pub(crate) local: LocalSettings,
    /// The shop of a demonstration. None if the room has a shop of its own.
    pub(crate) demo_door: Option<DemoDoor>,
    pub(crate) demo_visitors: u32,
    file: Option<RoomConfig>,
    /// Where the configuration file is.
    pub(crate) path: Option<PathBuf>,
}

/// Where nothing can be written, as on a full disk, nobody can join, but those who were let in still come into the shop. So the room
/// runs as it was.
pub(crate) fn note_unwritten(error: PortError, kept: &str) {
    let error = anyhow::Error::from(error);
    note(&format!("warning: {error:#}. Then restart the room: until you do, {kept}"));
}

impl LocalStart {
    /// Opens the room's data and applies the settings, and opens the shop of a demonstration.
    pub(crate) async fn open(arguments: &Local, url: WebUrl, listens: SocketAddr) -> Result<Self> {
        let name = arguments.name.clone().map_or_else(data::default_name, Ok)?;
        let directory = data::directory(arguments.data.as_ref(), &name)?;
        let mut written = WrittenRoom::read(arguments, &name)?;
        let demo_shop = DemoDoor::usual_url(listens)?;
        let is_new = !EmbeddedStore::is_in(&directory);
        let settings = |name: &RoomId, file: Option<&RoomConfig>| {
            LocalSettings::new(arguments, name, file, &demo_shop, is_new)
        };
        let mut local = settings(&name, written.file.as_ref())?;
        let mut visitors = demo_visitors(arguments, &local)?;
        let epoch = Epoch::random(&mut SysRng).context("could not get random numbers from the system")?;
        let first = Room::new(local.config.settings(), url.clone(), epoch);
        if is_new {
            // Before anything is written, because nothing is kept of a room that is refused.
            refuse_own_door(&first, listens.port())?;
            if arguments.data.is_none()
                && let Some(service) = ServiceRoom::of_this_machine().filter(ServiceRoom::has_run)
            {
                // It would get the service's visitors, and give them places of its own.
                let instead = format!("to start the service: {}", service_room::START);
                service.refuse_elsewhere(&directory, &name, &instead)?;
            }
        }
        let store = open_when_free(&directory, &first).await?;
        // On a full disk, a later start does it.
        let _ = store.count_released().await;
        let kept = store.room().await?;
        let there = &kept.settings.room;
        if *there != name {
            refuse_another_name(arguments, there, &directory)?;
            written = WrittenRoom::read(arguments, there)?;
            local = settings(there, written.file.as_ref())?;
            visitors = demo_visitors(arguments, &local)?;
        }
        // Not before it is certain that the room is a demonstration: the port may be that of the operator's own shop.
        let mut demo_door = None;
        if !local.names_shop {
            let door = DemoDoor::open(listens, arguments.address().port() == 0).await;
            let door = door.with_context(|| {
                format!("could not listen on {} for the demonstration shop", listens.ip())
            })?;
            local.config.shop.clone_from(&door.url);
            demo_door = Some(door);
        }
        let settings =
            Settings { edge: arguments.edge, ..local.with_orders(&arguments.typed_orders(), &kept)? };
        if arguments.url.is_none() {
            refuse_lost_url(&kept, &url)?;
        }
        let after = Room { settings, url, ..Room::clone(&kept) };
        refuse_own_door(&after, listens.port())?;
        refuse_mode(&kept, &after)?;
        if arguments.save {
            written.save(&local.config)?;
        }
        if after != *kept
            && let Err(error) = apply_settings(&store, &kept, after.clone()).await
        {
            // What failed may stand in the file nevertheless.
            let room = store.kept_room();
            if (&room.settings, &room.url) != (&after.settings, &after.url) {
                note_unwritten(error, "it keeps its old settings");
            }
        }
        let room = store.room().await?;
        // Nobody would stand ahead of anybody.
        let demo_visitors = if (room.lets_straight_in() || room.observes()) && arguments.visitors.is_none() {
            0
        } else {
            visitors
        };
        let WrittenRoom { file, path } = written;
        Ok(Self { directory, store, room, is_new, local, demo_door, demo_visitors, file, path })
    }

    /// What there is to try, if the room is a demonstration.
    pub(crate) fn demo_greeting(&self, arguments: &Local) -> Option<DemoGreeting> {
        let (visitors, left) = (self.demo_visitors, self.store.status().waiting);
        let taken = self.demo_door.as_ref()?.taken;
        Some(DemoGreeting { taken, visitors, left, minute: arguments.minute })
    }

    /// Says which rate and mode the room keeps, if a file has others.
    pub(crate) fn kept_orders(&self, arguments: &Local, as_typed: &str) -> [Option<String>; 2] {
        let (room, written) = (&self.room.settings, self.local.config.settings());
        let typed = arguments.typed_orders();
        let rate = typed.rate.is_none() && room.rate != written.rate;
        let rate = rate.then(|| (format!("{} a minute", room.rate), written.rate.to_string(), "set-rate"));
        let mode = typed.mode.is_none() && room.mode != written.mode;
        let mode = mode.then(|| (room.mode.to_string(), written.mode.to_string(), "mode"));
        [("rate", rate), ("mode", mode)].map(|(what, differs)| {
            let (kept, written, order) = differs?;
            let of_flags = arguments.from_file.place_of(what).map(|place| place + ",");
            let place = of_flags.or_else(|| self.file.as_ref().map(|_| "the configuration file".into()))?;
            Some(format!(
                "the {what} is {kept}, as it was set last; {written} in {place} is for a new room. To change it: \
                 beekeeper {order} {as_typed} {written}"
            ))
        })
    }

    /// Says that the room was stopped while it was rehearsed. New visitors wait behind those of the rehearsal.
    pub(crate) fn left_rehearsal(&self, as_typed: &str) -> Option<String> {
        self.room.rehearsal.map(|_| {
            format!(
                "warning: a rehearsal was left in this room, and its visitors stand in the line. To end it: beekeeper reset {as_typed}"
            )
        })
    }
}

/// A room runs once. Says where it does, because whoever starts it again looks for it.
pub(crate) async fn refuse_second(arguments: &Local) -> Result<()> {
    let name = arguments.name.clone().map_or_else(data::default_name, Ok)?;
    let directory = data::directory(arguments.data.as_ref(), &name)?;
    if !SocketRoom::certainly_runs_in(&directory) {
        return Ok(());
    }
    // Whoever has mistyped it is told what the room in the directory is called.
    let name = arguments.data.is_none().then_some(name);
    let which = Which { name, here: OnThisMachine::at(arguments.data.clone()) };
    let asked = timeout(PATIENCE, async {
        let found = RoomHandle::find(&which).await?;
        let status = found.room.status().await?;
        anyhow::Ok((found, status))
    });
    // A room that does not answer is refused by its store.
    let Ok(Ok((found, status))) = asked.await else { return Ok(()) };
    refuse_another_name(arguments, &found.room.name, &directory)?;
    let process = match found.on_this_machine() {
        Some(room) => room.process().await,
        None => None,
    };
    let runs = process.map(|process| format!(", as process {process}")).unwrap_or_default();
    let again = format!("the room {} runs already{runs}, at {}", found.room.name, urls(&status).0);
    let advice = format!(
        "to see how it does: beekeeper status {}; to start it again{}",
        found.as_typed,
        starting_again(ServiceRoom::is_in(&directory), process)
    );
    Err(Failure::new(Exit::Failed, again).advising(advice).into())
}

/// Completes "to start it again". A service has no terminal.
fn starting_again(is_service: bool, process: Option<i32>) -> String {
    if is_service {
        return format!(": {}", service_room::RESTART);
    }
    let stop = process.map(|process| format!(", or: kill {process}")).unwrap_or_default();
    format!(", stop it first with Ctrl-C in its terminal{stop}")
}

/// The room's configuration file, if it has one.
struct WrittenRoom {
    file: Option<RoomConfig>,
    path: Option<PathBuf>,
}

impl WrittenRoom {
    fn read(arguments: &Local, name: &RoomId) -> Result<Self> {
        // Without HOME there is no configuration directory, and so no file.
        let folder = ConfigFolder::of_this_user().ok();
        let file = folder.as_ref().map_or(Ok(None), |folder| folder.find(name))?;
        if arguments.save && file.is_none() {
            let none = format!("cannot save: the room {name} has no configuration file");
            let advice = format!("write one with: beekeeper init {name}");
            return Err(Failure::new(Exit::Missing, none).advising(advice).into());
        }
        let path = folder.filter(|_| file.is_some()).map(|folder| folder.path(name));
        Ok(Self { file, path })
    }

    /// Writes the file with what the flags say.
    fn save(&mut self, after: &RoomConfig) -> Result<()> {
        let Some(before) = &self.file else { return Ok(()) };
        let changes = rooms::changes(before, after);
        if changes.is_empty() {
            note("nothing to save: no flag changes the configuration file");
        } else {
            let path = ConfigFolder::of_this_user()?.save(after, KNOWS_AWS)?;
            note(&format!("saved in {}\n  {}", path.display(), changes.join("\n  ")));
        }
        self.file = Some(after.clone());
        Ok(())
    }
}

/// Refuses a directory with another room than the command line names.
fn refuse_another_name(arguments: &Local, there: &RoomId, directory: &Path) -> Result<()> {
    match &arguments.name {
        Some(name) if name != there => {
            let another = format!("{} holds the room {there}, not {name}", directory.display());
            // Whose name is from a file of flags has typed none.
            let advice = match arguments.from_file.place_of("name") {
                Some(place) => {
                    format!("in {place}: write name = \"{there}\", or choose another directory for data")
                }
                // Another command, without the other flags, would open a demonstration to the room's visitors.
                None => format!(
                    "type {there} in place of {name} in this command, or leave the name out; or choose another --data directory"
                ),
            };
            Err(Failure::new(Exit::Failed, another).advising(advice).into())
        }
        _ => Ok(()),
    }
}

/// How many demonstration visitors wait. Fails if they would wait ahead of real ones.
fn demo_visitors(arguments: &Local, local: &LocalSettings) -> Result<u32, Failure> {
    let real = match (local.names_shop, &arguments.url) {
        (true, _) => format!("has a shop of its own, {}", local.config.shop),
        (false, Some(url)) => format!("has a public URL, {url}"),
        (false, None) => return Ok(arguments.visitors.unwrap_or(Local::USUAL_VISITORS)),
    };
    match arguments.visitors {
        None | Some(0) => Ok(0),
        Some(_) => {
            let ahead = format!(
                "--visitors is for a demonstration, and this room {real}: people would wait behind made-up ones"
            );
            let advice = "leave --visitors out; to send visitors through the room before its event: beekeeper rehearse";
            Err(Failure::new(Exit::Usage, ahead).advising(advice))
        }
    }
}

/// Refuses to start a room that had a public URL at the one where it listens. Every pass names the URL: the shop's guard would send
/// everybody back to the line.
fn refuse_lost_url(kept: &Room, listens: &WebUrl) -> Result<(), Failure> {
    if kept.url == *listens || kept.url.is_on_this_machine() {
        return Ok(());
    }
    let (name, had) = (&kept.settings.room, kept.issuer());
    let without_url = format!(
        "the room {name} had the URL {had}, and this command names none: the shop's guard would refuse its passes"
    );
    let advice = format!("add --url {had}; or, if that isn't its URL any more: --url {listens}");
    Err(Failure::new(Exit::Usage, without_url).advising(advice))
}

/// Refuses another mode than the room has kept as `beekeeper mode` does.
fn refuse_mode(kept: &Room, after: &Room) -> Result<(), Failure> {
    let mode = after.settings.mode;
    let refusal = mode_refusal(after, mode).filter(|_| mode != kept.settings.mode);
    let Some(why) = refusal else { return Ok(()) };
    let refused = format!("the room {} {why}", kept.settings.room);
    let advice = format!("start it without --mode {mode}, do that, and then: beekeeper mode {mode}");
    Err(Failure::new(Exit::Usage, refused).advising(advice))
}

/// Refuses a shop that leads back into the room: to its door or its page, or to the port on which it listens.
fn refuse_own_door(room: &Room, port: u16) -> Result<(), Failure> {
    let shop = &room.settings.shop;
    let is_here = shop.is_on_this_machine() && shop.as_url().port_or_known_default() == Some(port);
    if !is_here && !room.is_entered_by(shop.as_url()) {
        return Ok(());
    }
    let circle = format!("the shop {shop} is this room: admitted visitors would be sent round in a circle");
    Err(Failure::new(Exit::Usage, circle).advising("give the URL of the shop itself with --shop URL"))
}

#[cfg(test)]
mod tests {
    use waitroom::fixture;

    use super::*;

    #[test]
    fn a_room_that_never_had_another_url_starts_where_it_listens() {
        let refused = |had: &str, listens: &str| {
            let kept = Room { url: had.parse().unwrap(), ..fixture::room(60) };
            refuse_lost_url(&kept, &listens.parse().unwrap()).is_err()
        };
        assert!(refused("https://wait.example", "http://localhost:8080"));
        assert!(!refused("http://localhost:8080", "http://localhost:9090"));
        assert!(!refused("http://10.0.0.5:8080", "http://10.0.0.5:8080"), "as with --listen 10.0.0.5:8080");
    }

    #[test]
    fn a_service_is_started_again_without_a_terminal() {
        assert_eq!(starting_again(true, Some(7)), ": sudo systemctl restart beekeeper");
        assert_eq!(starting_again(false, Some(7)), ", stop it first with Ctrl-C in its terminal, or: kill 7");
    }
}
