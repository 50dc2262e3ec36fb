//! `beekeeper config`: the configured rooms.

use anyhow::Result;
use config::{Region, RoomConfig};
use rooms::ConfigFolder;
use serde_json::json;
use waitroom::RoomId;

use crate::arguments::Config;
use crate::printer::say;

pub(crate) fn run(config: &Config, json: bool) -> Result<()> {
    let folder = ConfigFolder::of_this_user()?;
    match &config.name {
        Some(name) => show(&folder, name, json),
        None if json => list_for_scripts(&folder),
        None => list(&folder),
    }
}

/// A room's settings and where its file is.
pub(crate) fn described(folder: &ConfigFolder, config: &RoomConfig) -> serde_json::Value {
    let mut described = json!({ "name": config.room, "path": folder.path(&config.room) });
    for (row, value) in config.entries() {
        if let Some(value) = value {
            described[row.key] = json!(value);
        }
    }
    described
}

fn show(folder: &ConfigFolder, name: &RoomId, json: bool) -> Result<()> {
    let config = folder.load(name)?;
    if json {
        return Ok(say(&described(folder, &config).to_string())?);
    }
    let mut lines = vec![format!("{name}, in {}", folder.path(name).display())];
    let place =
        config.region.as_ref().and_then(Region::place).map(|place| format!("  {place}")).unwrap_or_default();
    for (row, value) in config.entries() {
        let Some(value) = value else { continue };
        let place = if row.key == "region" { place.as_str() } else { "" };
        lines.push(format!("  {:<20} {value}{place}", row.key));
    }
    Ok(say(&lines.join("\n"))?)
}

fn list(folder: &ConfigFolder) -> Result<()> {
    let names = folder.names()?;
    if names.is_empty() {
        return Ok(say("no rooms yet; configure one with: beekeeper init")?);
    }
    let width = names.iter().map(|name| name.as_str().len()).max().unwrap_or_default();
    for name in names {
        let summary = match folder.find(&name) {
            Ok(Some(config)) => {
                let region =
                    config.region.as_ref().map(|region| format!("{region:<15} ")).unwrap_or_default();
                format!("{region}{} a minute to {}", config.rate, config.shop)
            }
            Ok(None) => continue,
            Err(error) => format!("{error}; see: beekeeper config {name}"),
        };
        say(&format!("{name:<width$}  {summary}", name = name.as_str()))?;
    }
    Ok(())
}

fn list_for_scripts(folder: &ConfigFolder) -> Result<()> {
    let mut rooms = Vec::new();
    for name in folder.names()? {
        rooms.push(match folder.find(&name) {
            Ok(Some(config)) => described(folder, &config),
            Ok(None) => continue,
            Err(error) => json!({ "name": name, "path": folder.path(&name), "error": format!("{error:#}") }),
        });
    }
    Ok(say(&serde_json::Value::from(rooms).to_string())?)
}
