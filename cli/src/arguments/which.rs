use std::path::{Path, PathBuf};

use clap::Args;
use waitroom::RoomId;

/// Whether this program knows rooms on AWS.
pub(crate) const KNOWS_AWS: bool = cfg!(feature = "aws");

/// The help of an argument that names a room, or what else it may be.
macro_rules! naming_a_room {
    ($what:literal) => {
        if $crate::arguments::KNOWS_AWS {
            concat!(
                $what,
                "; required unless --local is given [default with --local: the room in --data, or the only one that runs]"
            )
        } else {
            concat!($what, " [default: the room in --data, or the only one that runs]")
        }
    };
}

pub(super) use naming_a_room;

/// Which room a command is for.
#[derive(Debug, Args)]
pub(crate) struct Which {
    #[arg(help = naming_a_room!("Name of the room"))]
    pub(crate) name: Option<RoomId>,
    #[command(flatten)]
    pub(crate) here: OnThisMachine,
}

/// Whether the room is on this machine, and where.
#[derive(Clone, Debug, Args)]
pub(crate) struct OnThisMachine {
    /// Use the room on this machine
    #[arg(long, hide = !KNOWS_AWS)]
    local: bool,
    /// Directory of the room's data, if the room was started with --data: it is on this machine
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

impl OnThisMachine {
    /// The room in this directory, or one in the user's data directory.
    pub(crate) fn at(data: Option<PathBuf>) -> Self {
        Self { local: true, data }
    }

    /// A `beekeeper` without AWS knows rooms on this machine only.
    pub(crate) fn is_meant(&self) -> bool {
        self.is_given() || !KNOWS_AWS
    }

    /// Whether somebody wrote --local or --data.
    pub(crate) fn is_given(&self) -> bool {
        self.local || self.data.is_some()
    }
}

/// How a command says that a room is on this machine.
pub(crate) const LOCAL: &str = if KNOWS_AWS { "--local " } else { "" };

/// How a command names a room on this machine. In a directory, nothing else is needed.
pub(crate) fn as_typed(data: Option<&Path>, name: &RoomId) -> String {
    match data {
        Some(directory) => format!("--data {}", directory.display()),
        None => format!("{LOCAL}{name}"),
    }
}

/// The text of a help with its examples. Where only this machine is known, without --local and without what is about AWS. Remarks
/// stay below each other.
pub(crate) fn examples(text: &str) -> String {
    const ABOUT_AWS: [&str; 5] = ["AWS", "account", "deploy", "quota", "region"];

    if KNOWS_AWS {
        return text.to_owned();
    }
    let text = text.replace(" --region eu-central-1", "").replace(", also by `destroy`", "");
    let line = |line: &str| {
        let Some((before, after)) = line.split_once(" --local") else { return line.to_owned() };
        match after.split_once("  ") {
            Some((arguments, remark)) => format!("{before}{arguments}{:10}{remark}", ""),
            None => format!("{before}{after}"),
        }
    };
    let lines = text.lines().filter(|line| !ABOUT_AWS.iter().any(|word| line.contains(word)));
    lines.map(line).collect::<Vec<_>>().join("\n")
}
