use serde::{Deserialize, Serialize};
use waitroom::ports::PortResult;
use waitroom::throttle_rules::Finding;
use waitroom::{LineStatus, Room};

use crate::OperatorStore;

/// How the room stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub room: Room,
    pub line: LineStatus,
    /// Released in this epoch.
    pub released: u64,
    /// The latest windows, newest first.
    pub windows: Vec<WindowCount>,
    /// What the throttle found, oldest first; empty if it does not run.
    pub findings: Vec<Finding>,
    /// What lay in the line and was no visitor; nothing where that is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letters: Option<u64>,
    /// Empty where nobody watches the room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<Alarm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowCount {
    /// Windows are numbered in sequence.
    pub number: u64,
    pub released: u64,
    pub planned: u32,
}

/// Something that watches the room, and what it makes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alarm {
    pub name: String,
    pub state: AlarmState,
    /// In the watcher's own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmState {
    Quiet,
    Ringing,
    /// Too little was measured so far.
    Unknown,
}

impl Status {
    /// What the store knows. Who knows of dead letters and alarms adds them.
    pub async fn of(store: &impl OperatorStore) -> PortResult<Self> {
        let windows = store.recent().await?;
        let (room, progress, waiting) =
            (store.room().await?, store.progress().await?, store.waiting().await?);
        Ok(Self {
            line: LineStatus::of(&room, progress.served, waiting),
            room: Room::clone(&room),
            released: progress.released,
            windows: windows
                .iter()
                .map(|record| WindowCount {
                    number: record.plan.number,
                    released: record.released,
                    planned: record.plan.quota,
                })
                .collect(),
            findings: store.recall().await?.history,
            dead_letters: None,
            alarms: Vec::new(),
        })
    }
}
