//! `beekeeper list`: all rooms, on this machine and on AWS.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use config::{Region, RoomConfig};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;
use waitroom::RoomId;

use super::listed_line::{Deployed, ListedLine};
use crate::arguments::{KNOWS_AWS, List};
use crate::config_folder::ConfigFolder;
use crate::data;
use crate::printer::say;
use crate::room::{PATIENCE, RoomHandle};
use crate::runtime::block_on;

#[derive(Default)]
struct ListedRoom {
    /// None if this machine has no data of the room.
    here: Option<Here>,
    /// None if the room is not configured.
    configured: Option<Configured>,
}

struct Here {
    kept_in: PathBuf,
    running: bool,
    port: Option<u16>,
    line: Option<ListedLine>,
}

struct Configured {
    path: PathBuf,
    /// An invalid file has an error.
    config: Result<RoomConfig>,
    deployed: Deployed,
}

pub(crate) fn run(list: &List, json: bool) -> Result<()> {
    let folder = ConfigFolder::of_this_user()?;
    let mut rooms: BTreeMap<RoomId, ListedRoom> = BTreeMap::new();
    for name in data::rooms().into_iter().chain(folder.names()?) {
        rooms.entry(name).or_default();
    }
    if list.names {
        return say_names(rooms.keys(), json);
    }
    block_on(ask_all(&folder, &mut rooms))?;
    if json {
        let rooms: Vec<_> = rooms.iter().map(|(name, room)| for_scripts(name, room)).collect();
        return Ok(say(&Value::from(rooms).to_string())?);
    }
    if rooms.is_empty() {
        return Ok(say("no rooms yet; try one with: beekeeper local; configure one with: beekeeper init")?);
    }
    Ok(say(&table(&rooms))?)
}

fn say_names<'a>(names: impl Iterator<Item = &'a RoomId>, json: bool) -> Result<()> {
    if json {
        let names: Vec<_> = names.map(RoomId::as_str).collect();
        return Ok(say(&json!(names).to_string())?);
    }
    for name in names {
        say(name.as_str())?;
    }
    Ok(())
}

/// Asks every room and every account at the same time.
async fn ask_all(folder: &ConfigFolder, rooms: &mut BTreeMap<RoomId, ListedRoom>) -> Result<()> {
    let (mut here, mut on_aws) = (JoinSet::new(), JoinSet::new());
    for name in data::rooms() {
        here.spawn(async move { Ok::<_, anyhow::Error>((name.clone(), ask_here(name).await?)) });
    }
    for (name, room) in &mut *rooms {
        let config = match folder.find(name) {
            Ok(None) => continue,
            Ok(Some(config)) => Ok(config),
            Err(error) => Err(error),
        };
        // The first deployment writes the account into the file.
        if let Some(config) = config.as_ref().ok().filter(|config| config.account.is_some()) {
            let (name, config) = (name.clone(), config.clone());
            on_aws.spawn(async move { (name, crate::aws::listed(&config).await) });
        }
        room.configured = Some(Configured { path: folder.path(name), config, deployed: Deployed::No });
    }
    while let Some(found) = here.join_next().await {
        let (name, here) = found??;
        rooms.entry(name).or_default().here = Some(here);
    }
    while let Some(found) = on_aws.join_next().await {
        let (name, deployed) = found?;
        if let Some(configured) = rooms.entry(name).or_default().configured.as_mut() {
            configured.deployed = deployed;
        }
    }
    Ok(())
}

async fn ask_here(name: RoomId) -> Result<Here> {
    let kept_in = data::directory(None, &name)?;
    let running = data::running().contains(&name);
    let mut here = Here { kept_in, running, port: None, line: None };
    if running {
        let found = RoomHandle::here(name)?;
        let asked = timeout(PATIENCE, async { (found.listens().await, found.room.status().await) }).await;
        if let Ok((listens, status)) = asked {
            (here.port, here.line) =
                (listens.map(|at| at.port()), status.ok().map(|status| ListedLine::of(&status)));
        }
    }
    Ok(here)
}

impl Here {
    fn text(&self) -> String {
        let port = self.port.map(|port| format!("port {port}"));
        match &self.line {
            _ if !self.running => "not running".into(),
            Some(line) => format!("{}, {}", port.as_deref().unwrap_or("running"), line.text()),
            None => "running, does not answer".into(),
        }
    }
}

impl Configured {
    fn text(&self, name: &RoomId) -> String {
        let Ok(config) = &self.config else { return format!("invalid file; see: beekeeper config {name}") };
        let deployed = match &self.deployed {
            Deployed::No => "not deployed".into(),
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

fn table(rooms: &BTreeMap<RoomId, ListedRoom>) -> String {
    if KNOWS_AWS { table_with_aws(rooms) } else { table_of_this_machine(rooms) }
}

fn table_with_aws(rooms: &BTreeMap<RoomId, ListedRoom>) -> String {
    let heads = ["room", "on this machine", "on AWS"].map(String::from);
    let rows = rooms.iter().map(|(name, room)| {
        let here = room.here.as_ref().map_or_else(|| "-".into(), Here::text);
        let aws = room.configured.as_ref().map_or_else(|| "-".into(), |configured| configured.text(name));
        [name.to_string(), here, aws]
    });
    let rows: Vec<_> = std::iter::once(heads).chain(rows).collect();
    let widest = |at: fn(&[String; 3]) -> &String| rows.iter().map(|row| at(row).len()).max().unwrap_or(0);
    let (name_width, here_width) = (widest(|[name, _, _]| name), widest(|[_, here, _]| here));
    let lines =
        rows.iter().map(|[name, here, aws]| format!("{name:<name_width$}  {here:<here_width$}  {aws}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Without AWS there is nothing else to tell of a room that was configured and never started.
fn table_of_this_machine(rooms: &BTreeMap<RoomId, ListedRoom>) -> String {
    let width = rooms.keys().map(|name| name.as_str().len()).max().unwrap_or(0);
    let lines = rooms.iter().map(|(name, room)| {
        let state = match room {
            ListedRoom { configured: Some(Configured { config: Err(_), .. }), .. } => {
                format!("invalid file; see: beekeeper config {name}")
            }
            ListedRoom { here: Some(here), .. } => here.text(),
            _ => format!("never started; to start it: beekeeper local {name}"),
        };
        format!("{:<width$}  {state}", name.as_str())
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn for_scripts(name: &RoomId, room: &ListedRoom) -> Value {
    let mut listed = json!({ "name": name, "here": null, "aws": null });
    if let Some(Here { kept_in, running, port, line }) = &room.here {
        listed["here"] = json!({ "kept_in": kept_in, "running": running, "port": port });
        add_line(&mut listed["here"], line.as_ref());
    }
    let Some(Configured { path, config, deployed }) = &room.configured else { return listed };
    listed["path"] = json!(path);
    match config {
        Err(error) => listed["error"] = format!("{error:#}").into(),
        Ok(config) => {
            let (word, line) = match deployed {
                Deployed::No => ("no", None),
                Deployed::Yes(line) => ("yes", line.as_ref()),
                Deployed::Unknown => ("unknown", None),
            };
            listed["aws"] = json!({ "region": config.region.as_ref().map(Region::as_str), "deployed": word });
            add_line(&mut listed["aws"], line);
        }
    }
    listed
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
    use waitroom::Rate;

    use waitroom::{RoomState, Timestamp};

    use super::*;

    fn room(here: Option<Here>, deployed: Option<Deployed>) -> ListedRoom {
        let configured = deployed.map(|deployed| {
            let mut config = RoomConfig::new(
                "sale".parse().unwrap(),
                "Sale".parse().unwrap(),
                "https://shop.example".parse().unwrap(),
                Rate::MIN,
            );
            config.region = Some("eu-central-1".parse().unwrap());
            Configured { path: "/etc/sale.toml".into(), config: Ok(config), deployed }
        });
        ListedRoom { here, configured }
    }

    fn here(running: bool, port: Option<u16>, line: Option<ListedLine>) -> Here {
        Here { kept_in: "/data".into(), running, port, line }
    }

    fn rooms() -> BTreeMap<RoomId, ListedRoom> {
        let line = |state, waiting| Some(ListedLine { state, opens: None, waiting });
        let rooms = [
            ("autumn", room(None, Some(Deployed::Unknown))),
            ("demo", room(Some(here(true, Some(8080), line(RoomState::On, 3))), None)),
            ("hung", room(Some(here(true, None, None)), Some(Deployed::Yes(None)))),
            ("old", room(Some(here(true, None, line(RoomState::Off, 0))), None)),
            ("spring-sale", room(Some(here(false, None, None)), Some(Deployed::No))),
            ("summer", room(None, Some(Deployed::Yes(line(RoomState::Paused, 9120))))),
        ];
        rooms.into_iter().map(|(name, room)| (name.parse().unwrap(), room)).collect()
    }

    #[test]
    fn a_line_says_where_a_room_is_and_how_it_does() {
        snapbox::assert_data_eq!(
            table_with_aws(&rooms()),
            snapbox::str![[r"
room         on this machine           on AWS
autumn       -                         eu-central-1, unknown
demo         port 8080, on, 3 waiting  -
hung         running, does not answer  eu-central-1, deployed
old          running, off, 0 waiting   -
spring-sale  not running               eu-central-1, not deployed
summer       -                         eu-central-1, deployed, paused, 9120 waiting
"]]
        );
    }

    #[test]
    fn a_script_reads_the_same() {
        let rooms = rooms();
        let listed = |name: &str| {
            let name = name.parse().unwrap();
            for_scripts(&name, &rooms[&name])
        };
        let demo = json!({
            "name": "demo", "aws": null,
            "here": { "kept_in": "/data", "running": true, "port": 8080, "state": "on", "waiting": 3 },
        });
        assert_eq!(listed("demo"), demo);
        let summer = json!({
            "name": "summer", "here": null, "path": "/etc/sale.toml",
            "aws": { "region": "eu-central-1", "deployed": "yes", "state": "paused", "waiting": 9120 },
        });
        assert_eq!(listed("summer"), summer);
        let opening =
            ListedLine { state: RoomState::Paused, opens: Some(Timestamp::from_millis(7)), waiting: 1 };
        let mut to = json!({});
        add_line(&mut to, Some(&opening));
        assert_eq!(to, json!({ "state": "paused", "opens": 7, "waiting": 1 }));
        assert!(opening.text().starts_with("paused, opens 19"), "{}", opening.text());
        assert_eq!(listed("autumn")["aws"]["deployed"], "unknown");
        assert_eq!(listed("spring-sale")["here"]["running"], false);
    }
}
