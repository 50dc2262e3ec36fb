//! Reads just enough of a profile.

use std::path::PathBuf;

use anyhow::{Context, Result};
use cloud::{Access, Architecture, Wanted};
use waitroom::RoomId;

pub(crate) fn profile(room: &RoomId) -> Result<(Access, Wanted)> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
    let path =
        config.context("where is your home directory?")?.join("beekeeper").join(format!("{room}.toml"));
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("there is no profile {}", path.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("could not read {}", path.display()))?;
    let text = |name: &str| table.get(name).and_then(toml::Value::as_str);
    let needed = |name: &str| text(name).with_context(|| format!("{name} is missing in {}", path.display()));
    let rate = table.get("rate").and_then(toml::Value::as_integer).context("rate is missing")?;
    let mut wanted = Wanted::new(
        room.clone(),
        needed("title")?.parse()?,
        needed("shop")?.parse()?,
        waitroom::Rate::new(u32::try_from(rate)?)?,
    );
    wanted.throttle = table.get("throttle").and_then(toml::Value::as_bool).unwrap_or_default();
    wanted.architecture = text("architecture").and_then(Architecture::named);
    let access = Access {
        region: needed("region")?.to_owned(),
        aws_profile: text("aws_profile").map(ToOwned::to_owned),
        account: text("account").map(ToOwned::to_owned),
    };
    Ok((access, wanted))
}
