//! `beekeeper config`: the rooms that are written down.

use anyhow::Result;
use serde_json::json;
use waitroom::RoomId;

use crate::arguments::Config;
use crate::printer::say;
use crate::profile::{Profile, Profiles};

pub(crate) fn run(config: &Config, json: bool) -> Result<()> {
    let profiles = Profiles::of_this_user()?;
    match &config.name {
        Some(name) => show(&profiles, name, json),
        None if json => list_for_scripts(&profiles),
        None => list(&profiles),
    }
}

/// What is written down about a room, and where.
pub(crate) fn described(profiles: &Profiles, name: &RoomId, profile: &Profile) -> Result<serde_json::Value> {
    let mut described = json!({ "name": name, "path": profiles.path(name) });
    if let (Some(described), serde_json::Value::Object(entries)) =
        (described.as_object_mut(), serde_json::to_value(profile)?)
    {
        described.extend(entries);
    }
    Ok(described)
}

fn show(profiles: &Profiles, name: &RoomId, json: bool) -> Result<()> {
    let profile = profiles.load(name)?;
    if json {
        return Ok(say(&described(profiles, name, &profile)?.to_string())?);
    }
    let mut lines = vec![format!("{name}, in {}", profiles.path(name).display())];
    let place = profile.region.place().map(|place| format!("  {place}")).unwrap_or_default();
    for (entry, value) in profile.entries() {
        let Some(value) = value else { continue };
        let plain = value.as_str().map_or_else(|| value.to_string().trim().to_owned(), ToOwned::to_owned);
        let place = if entry == "region" { place.as_str() } else { "" };
        lines.push(format!("  {entry:<20} {plain}{place}"));
    }
    Ok(say(&lines.join("\n"))?)
}

fn list(profiles: &Profiles) -> Result<()> {
    let names = profiles.names()?;
    if names.is_empty() {
        return Ok(say("no room is written down yet; begin with: beekeeper init")?);
    }
    let width = names.iter().map(|name| name.as_str().len()).max().unwrap_or_default();
    for name in names {
        let said = match profiles.find(&name) {
            Ok(Some(profile)) => {
                format!("{:<15} {} a minute to {}", profile.region, profile.rate, profile.shop)
            }
            Ok(None) => continue,
            Err(error) => format!("{error}; see: beekeeper config {name}"),
        };
        say(&format!("{name:<width$}  {said}", name = name.as_str()))?;
    }
    Ok(())
}

fn list_for_scripts(profiles: &Profiles) -> Result<()> {
    let mut rooms = Vec::new();
    for name in profiles.names()? {
        rooms.push(match profiles.find(&name) {
            Ok(Some(profile)) => described(profiles, &name, &profile)?,
            Ok(None) => continue,
            Err(error) => {
                json!({ "name": name, "path": profiles.path(&name), "error": format!("{error:#}") })
            }
        });
    }
    Ok(say(&serde_json::Value::from(rooms).to_string())?)
}
