use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use emulators::workspace;
use pass::Jwks;
use serde::{Deserialize, Serialize};

use crate::cookies::cookies;
use crate::passes::{NAME, ROOM, SECRET, passes};
use crate::requests::{requests, sessions};
use crate::{CookieVector, PassVector, RequestVector, SessionVector, VectorKey};

const ABOUT: &str = "What a shop in front of which a connector stands has to do. Made by crates/testing/connectors. Passes \
                     and sessions are valid from 2023 to 2100, or over, or begin in 2100, so that no test needs a clock. In a Cookie header, each character is one byte.";

/// The test vectors of all connectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vectors {
    about: String,
    pub room: String,
    pub name: String,
    pub secret: String,
    pub keys: Jwks,
    pub passes: Vec<PassVector>,
    pub sessions: Vec<SessionVector>,
    pub cookies: Vec<CookieVector>,
    pub requests: Vec<RequestVector>,
}

impl Vectors {
    /// Where they are kept.
    pub fn path() -> PathBuf {
        workspace::root().join("docs/connectors/vectors.json")
    }

    pub fn read() -> Result<Self> {
        let path = Self::path();
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("could not read {}", path.display()))
    }

    /// The file's text.
    pub fn to_text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn make() -> Result<Self> {
        let (current, previous) = (VectorKey::named("current")?, VectorKey::named("previous")?);
        let keys = [current.published()?, previous.published()?];
        Ok(Self {
            about: ABOUT.into(),
            room: ROOM.into(),
            name: NAME.into(),
            secret: SECRET.into(),
            keys: Jwks { keys: keys.into_iter().flat_map(|jwks| jwks.keys).collect() },
            passes: passes(&current, &previous, &VectorKey::named("stranger")?)?,
            sessions: sessions(),
            cookies: cookies(),
            requests: requests(&current)?,
        })
    }
}
