//! The page that a configuration file names.

use std::path::Path;

use anyhow::Result;
use config::RoomConfig;
use page::{Design, Page};

/// The operator's own page or design, if the room has one.
pub fn custom_page(config: &RoomConfig) -> Result<Option<Page>> {
    let Some(folder) = &config.page else { return Ok(None) };
    Ok(Some(Design::read(Path::new(folder.as_str()))?.page(&config.title)))
}
