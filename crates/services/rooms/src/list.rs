//! All rooms, on this machine and on AWS, and how each does.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use config::{Region, RoomConfig};
use control::{OperatedRoom, SocketRoom, Status};
use document::words;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;
use waitroom::{RoomId, RoomState, Timestamp};

use crate::{ConfigFolder, data};

/// How long a room or an AWS account may take to answer a question that is asked by the way.
pub const PATIENCE: Duration = Duration::from_secs(4);

#[derive(Debug, Default)]
pub struct ListedRoom {
    /// None if this machine has no data of the room.
    pub here: Option<RoomHere>,
    /// None if the room is not configured.
    pub configured: Option<ConfiguredRoom>,
}

#[derive(Debug)]
pub struct RoomHere {
    pub kept_in: PathBuf,
    /// None if only another user may ask it.
    pub running: Option<bool>,
    pub port: Option<u16>,
    pub line: Option<ListedLine>,
}

#[derive(Debug)]
pub struct ConfiguredRoom {
    pub path: PathBuf,
    /// An invalid file has an error.
    pub config: Result<RoomConfig>,
    pub deployed: Deployed,
}

/// The state of a room that runs, and how many wait.
#[derive(Debug)]
pub struct ListedLine {
    pub state: RoomState,
    pub opens: Option<Timestamp>,
    pub waiting: u64,
}

impl ListedLine {
    pub fn of(status: &Status) -> Self {
        Self { state: status.room.state, opens: status.room.opens, waiting: status.line.waiting }
    }

    pub fn text(&self) -> String {
        let opens = self.opens.map(|opens| format!(", opens {}", words::at(opens))).unwrap_or_default();
        format!("{}{opens}, {} waiting", self.state, self.waiting)
    }
}

/// How it does on AWS.
#[derive(Debug)]
pub enum Deployed {
    No,
    /// Its file has no account that could be asked. A pipeline may have deployed it.
    NotFromHere,
    /// The line is none if it could not be read.
    Yes(Option<ListedLine>),
    /// The account could not be asked.
    Unknown,
}

/// Asks every room and every account at the same time. `service` is a room with a directory of its own. `on_aws` asks the account of
/// a room that was deployed from here.
pub async fn listed<A: Future<Output = Deployed> + Send + 'static>(
    folder: &ConfigFolder,
    service: Option<(RoomId, PathBuf)>,
    on_aws: impl Fn(RoomConfig) -> A,
) -> Result<BTreeMap<RoomId, ListedRoom>> {
    let mut rooms: BTreeMap<RoomId, ListedRoom> = BTreeMap::new();
    let (mut here, mut deployed) = (JoinSet::new(), JoinSet::new());
    let in_their_places = data::rooms().into_iter().map(|name| Ok((data::directory(None, &name)?, name)));
    let in_their_places: Vec<_> = in_their_places.collect::<Result<_>>()?;
    // The service is what visitors see, whatever else has its name.
    let is_other = |name: &RoomId| service.as_ref().is_none_or(|(served, _)| served != name);
    let others = in_their_places.into_iter().filter(|(_, name)| is_other(name));
    for (kept_in, name) in others.chain(service.clone().map(|(name, kept_in)| (kept_in, name))) {
        here.spawn(async move { (name.clone(), ask_here(name, kept_in).await) });
    }
    for name in folder.names()? {
        let config = match folder.find(&name) {
            Ok(None) => continue,
            Ok(Some(config)) => Ok(config),
            Err(error) => Err(error),
        };
        // The first deployment from here writes the account into the file.
        if let Some(config) = config.as_ref().ok().filter(|config| config.account.is_some()) {
            let (name, asked) = (name.clone(), on_aws(config.clone()));
            deployed.spawn(async move { (name, asked.await) });
        }
        let has_region = config.as_ref().is_ok_and(|config| config.region.is_some());
        let unasked = if has_region { Deployed::NotFromHere } else { Deployed::No };
        let configured = ConfiguredRoom { path: folder.path(&name), config, deployed: unasked };
        rooms.entry(name).or_default().configured = Some(configured);
    }
    while let Some(found) = here.join_next().await {
        let (name, here) = found?;
        rooms.entry(name).or_default().here = Some(here);
    }
    while let Some(found) = deployed.join_next().await {
        let (name, deployed) = found?;
        if let Some(configured) = rooms.entry(name).or_default().configured.as_mut() {
            configured.deployed = deployed;
        }
    }
    Ok(rooms)
}

async fn ask_here(name: RoomId, kept_in: PathBuf) -> RoomHere {
    let running = match SocketRoom::runs_in(&kept_in) {
        Ok(runs) => Some(runs),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
        Err(_) => Some(false),
    };
    let mut here = RoomHere { kept_in, running, port: None, line: None };
    if running == Some(true) {
        let socket = SocketRoom::new(&here.kept_in).named(name.clone());
        let room = OperatedRoom { name, transport: std::sync::Arc::new(socket.clone()) };
        let asked = timeout(PATIENCE, async { (socket.address().await, room.status().await) }).await;
        if let Ok((listens, status)) = asked {
            (here.port, here.line) =
                (listens.map(|at| at.port()), status.ok().map(|status| ListedLine::of(&status)));
        }
    }
    here
}

impl RoomHere {
    pub fn text(&self) -> String {
        let port = self.port.map(|port| format!("port {port}"));
        match (self.running, &self.line) {
            (None, _) => "a service; ask it with sudo".into(),
            (Some(false), _) => "not running".into(),
            (Some(true), Some(line)) => format!("{}, {}", port.as_deref().unwrap_or("running"), line.text()),
            (Some(true), None) => "running, does not answer".into(),
        }
    }
}

impl ConfiguredRoom {
    pub fn text(&self, name: &RoomId) -> String {
        let Ok(config) = &self.config else { return format!("invalid file; see: beekeeper config {name}") };
        let deployed = match &self.deployed {
            Deployed::No => "not deployed".into(),
            Deployed::NotFromHere => "not deployed from here".into(),
            Deployed::Yes(None) => "deployed".into(),
            Deployed::Yes(Some(line)) => format!("deployed, {}", line.text()),
            Deployed::Unknown => "unknown".into(),
        };
        match &config.region {
            Some(region) => format!("{region}, {deployed}"),
            None => deployed,
        }
    }
}

impl ListedRoom {
    /// The room for scripts.
    pub fn json(&self, name: &RoomId) -> Value {
        let mut listed = json!({ "name": name, "here": null, "aws": null });
        if let Some(RoomHere { kept_in, running, port, line }) = &self.here {
            listed["here"] = json!({ "kept_in": kept_in, "running": running, "port": port });
            add_line(&mut listed["here"], line.as_ref());
        }
        let Some(ConfiguredRoom { path, config, deployed }) = &self.configured else { return listed };
        listed["path"] = json!(path);
        match config {
            Err(error) => listed["error"] = format!("{error:#}").into(),
            Ok(config) => {
                let (word, line) = match deployed {
                    Deployed::No => ("no", None),
                    Deployed::Yes(line) => ("yes", line.as_ref()),
                    Deployed::NotFromHere | Deployed::Unknown => ("unknown", None),
                };
                listed["aws"] =
                    json!({ "region": config.region.as_ref().map(Region::as_str), "deployed": word });
                add_line(&mut listed["aws"], line);
            }
        }
        listed
    }
}

fn add_line(to: &mut Value, line: Option<&ListedLine>) {
    let Some(ListedLine { state, opens, waiting }) = line else { return };
    (to["state"], to["waiting"]) = (state.as_str().into(), (*waiting).into());
    if let Some(opens) = opens {
        to["opens"] = opens.as_millis().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(deployed: Deployed) -> ListedRoom {
        let mut config = RoomConfig::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example".parse().unwrap(),
            waitroom::Rate::MIN,
        );
        config.region = Some("eu-central-1".parse().unwrap());
        let configured = ConfiguredRoom { path: "/etc/sale.toml".into(), config: Ok(config), deployed };
        ListedRoom { here: None, configured: Some(configured) }
    }

    #[test]
    fn a_service_is_listed_wherever_its_data_are() {
        let data = PathBuf::from("/nowhere/of-this-test");
        let name: RoomId = "a-service-of-this-test".parse().unwrap();
        let service = Some((name.clone(), data.clone()));
        let folder = ConfigFolder::of_this_user().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let asked = listed(&folder, service, |_| async { Deployed::Unknown });
        let rooms = runtime.block_on(asked).unwrap();
        let here = rooms[&name].here.as_ref().unwrap();
        assert_eq!((&here.kept_in, here.text()), (&data, "not running".into()));
        let denied = RoomHere { kept_in: data, running: None, port: None, line: None };
        assert_eq!(denied.text(), "a service; ask it with sudo");
    }

    #[test]
    fn a_script_reads_what_a_person_does() {
        let line = |state, waiting| Some(ListedLine { state, opens: None, waiting });
        let listed = |name: &str, room: &ListedRoom| room.json(&name.parse().unwrap());
        let here = RoomHere {
            kept_in: "/data".into(),
            running: Some(true),
            port: Some(8080),
            line: line(RoomState::On, 3),
        };
        let demo = json!({
            "name": "demo", "aws": null,
            "here": { "kept_in": "/data", "running": true, "port": 8080, "state": "on", "waiting": 3 },
        });
        assert_eq!(listed("demo", &ListedRoom { here: Some(here), configured: None }), demo);
        let summer = json!({
            "name": "summer", "here": null, "path": "/etc/sale.toml",
            "aws": { "region": "eu-central-1", "deployed": "yes", "state": "paused", "waiting": 9120 },
        });
        let paused = Deployed::Yes(line(RoomState::Paused, 9120));
        assert_eq!(listed("summer", &configured(paused)), summer);
        for unknown in [Deployed::Unknown, Deployed::NotFromHere] {
            assert_eq!(listed("autumn", &configured(unknown))["aws"]["deployed"], "unknown");
        }
        let opening =
            ListedLine { state: RoomState::Paused, opens: Some(Timestamp::from_millis(7)), waiting: 1 };
        let mut to = json!({});
        add_line(&mut to, Some(&opening));
        assert_eq!(to, json!({ "state": "paused", "opens": 7, "waiting": 1 }));
        assert!(opening.text().starts_with("paused, opens 19"), "{}", opening.text());
    }
}
