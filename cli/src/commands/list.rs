//! `beekeeper list`: all rooms, on this machine and on AWS.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use rooms::{ConfigFolder, ConfiguredRoom, ListedRoom, RoomHere, data, listed};
use serde_json::{Value, json};
use waitroom::RoomId;

use crate::arguments::{KNOWS_AWS, List};
use crate::printer::say;
use crate::runtime::block_on;
use crate::service_room::ServiceRoom;

pub(crate) fn run(list: &List, json: bool) -> Result<()> {
    let folder = ConfigFolder::of_this_user()?;
    if list.names {
        let names: BTreeSet<_> = data::rooms().into_iter().chain(folder.names()?).collect();
        return say_names(names.iter(), json);
    }
    let service = ServiceRoom::of_this_machine().map(|service| (service.name, service.data));
    let asked = listed(&folder, service, |config| async move { crate::aws::listed(&config).await });
    let rooms = block_on(asked)?;
    if json {
        let rooms: Vec<_> = rooms.iter().map(|(name, room)| room.json(name)).collect();
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

fn table(rooms: &BTreeMap<RoomId, ListedRoom>) -> String {
    if KNOWS_AWS { table_with_aws(rooms) } else { table_of_this_machine(rooms) }
}

fn table_with_aws(rooms: &BTreeMap<RoomId, ListedRoom>) -> String {
    let heads = ["room", "on this machine", "on AWS"].map(String::from);
    let rows = rooms.iter().map(|(name, room)| {
        let here = room.here.as_ref().map_or_else(|| "-".into(), RoomHere::text);
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
            ListedRoom { configured: Some(ConfiguredRoom { config: Err(_), .. }), .. } => {
                format!("invalid file; see: beekeeper config {name}")
            }
            ListedRoom { here: Some(here), .. } => here.text(),
            _ => format!("never started; to start it: beekeeper local {name}"),
        };
        format!("{:<width$}  {state}", name.as_str())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use config::RoomConfig;
    use rooms::{Deployed, ListedLine};
    use waitroom::{Rate, RoomState};

    use super::*;

    fn room(here: Option<RoomHere>, deployed: Option<Deployed>) -> ListedRoom {
        let configured = deployed.map(|deployed| {
            let mut config = RoomConfig::new(
                "sale".parse().unwrap(),
                "Sale".parse().unwrap(),
                "https://shop.example".parse().unwrap(),
                Rate::MIN,
            );
            config.region = Some("eu-central-1".parse().unwrap());
            ConfiguredRoom { path: "/etc/sale.toml".into(), config: Ok(config), deployed }
        });
        ListedRoom { here, configured }
    }

    fn here(running: bool, port: Option<u16>, line: Option<ListedLine>) -> RoomHere {
        RoomHere { kept_in: "/data".into(), running: Some(running), port, line }
    }

    fn rooms() -> BTreeMap<RoomId, ListedRoom> {
        let line = |state, waiting| Some(ListedLine { state, opens: None, waiting });
        let rooms = [
            ("autumn", room(None, Some(Deployed::Unknown))),
            ("demo", room(Some(here(true, Some(8080), line(RoomState::On, 3))), None)),
            ("hung", room(Some(here(true, None, None)), Some(Deployed::Yes(None)))),
            ("old", room(Some(here(true, None, line(RoomState::Off, 0))), None)),
            ("spring-sale", room(Some(here(false, None, None)), Some(Deployed::No))),
            ("spring-shop", room(None, Some(Deployed::NotFromHere))),
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
spring-shop  -                         eu-central-1, not deployed from here
summer       -                         eu-central-1, deployed, paused, 9120 waiting
"]]
        );
    }
}
