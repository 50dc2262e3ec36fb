//! What can be typed. What it does lies in `commands`, one file each.

use std::path::PathBuf;
use std::time::Duration;

use crate::commands;
use clap::{Args, Parser, Subcommand};
use server::control;
use waitroom::{Notice, Rate, RoomId, Stretch, Title, WebUrl};

/// A virtual waiting room that you own
///
/// Exit codes: 0 done, 1 it did not work and the last line says why, 2 the command line makes no sense.
#[derive(Debug, Parser)]
#[command(name = "beekeeper", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a whole waiting room on this machine
    Local(Box<Local>),
    /// Bring a room to AWS, or up to date
    Deploy(commands::deploy::Deploy),
    /// Remove a room from AWS, with everything that belongs to it
    Destroy(commands::destroy::Destroy),
    /// Show how the room stands
    Status(Status),
    /// Set how many visitors may enter a minute
    SetRate(SetRate),
    /// Tell those who wait something; an empty text takes it back
    Message(Message),
    /// Let every waiting page ask less often, when polls become too many
    Stretch(Polls),
    /// Release nobody for now; people still join and keep their places
    #[command(after_help = "Example:\n  beekeeper pause --local")]
    Pause(Room),
    /// Let people join, and release them at the rate: ends `off` and `pause`
    #[command(after_help = "Example:\n  beekeeper on --local")]
    On(Room),
    /// Let everybody go straight on to the shop
    #[command(after_help = "Example:\n  beekeeper off --local")]
    Off(Room),
    /// Empty the line and begin anew: everybody who waits loses their place
    #[command(after_help = "Example:\n  beekeeper reset --local --yes")]
    Reset(Reset),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper local                                          a demonstration, with a shop of its own
  beekeeper local --minute 5s                              the same, in a hurry
  beekeeper local --name spring-sale --title \"Seal Brewing\" \\
      --origin https://shop.example/sale --rate 300        a room for your shop
  beekeeper local --name spring-sale --url https://wait.example
                                                           the same room, behind your web server
  beekeeper local --page branding                          with your page; every state is at /preview/")]
pub(crate) struct Local {
    /// The room's short name, part of its cookie
    #[arg(long, default_value = "demo")]
    pub(crate) name: RoomId,
    /// What visitors read as the room's name
    #[arg(long)]
    pub(crate) title: Option<Title>,
    /// Where the admitted are sent; a new room without it gets a demonstration shop
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<WebUrl>,
    /// Where visitors reach the room, if something that serves your domain stands in front of it
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<WebUrl>,
    /// How many may enter a minute, from 1 to 270000 [a new room: 60]
    #[arg(long)]
    pub(crate) rate: Option<Rate>,
    /// The port to listen on at 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    pub(crate) port: u16,
    /// Where the room is kept [default: beekeeper/NAME in your data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// How long a minute takes: shorter for demonstrations and tests
    #[arg(long, default_value = "60s", value_parser = minute)]
    pub(crate) minute: Duration,
    /// A folder with your colour and logo, or a whole page of your own; see docs/page.md
    #[arg(long, value_name = "DIR")]
    pub(crate) page: Option<PathBuf>,
    /// Let fewer enter while the shop is slower than usual or fails
    #[arg(long)]
    pub(crate) throttle: bool,
    /// What the throttle asks instead of the shop's own URL
    #[arg(long, value_name = "URL", requires = "throttle")]
    pub(crate) health: Option<WebUrl>,
    /// Print a line for every request
    #[arg(long)]
    pub(crate) access_log: bool,
}

/// Which room a command is for.
#[derive(Debug, Args)]
pub(crate) struct Room {
    /// The room that runs on this machine
    #[arg(long, required = true)]
    local: bool,
    /// Its name
    #[arg(long, default_value = "demo")]
    pub(crate) name: RoomId,
    /// Where it is kept, if it was started with --data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON, for scripts
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  beekeeper status --local\n  beekeeper status --local --json")]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) room: Room,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  beekeeper set-rate --local 600")]
pub(crate) struct SetRate {
    /// Visitors a minute, from 1 to 270000
    rate: Rate,
    #[command(flatten)]
    pub(crate) room: Room,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  beekeeper message --local \"More beer at noon\"\n  beekeeper message --local \"\""
)]
pub(crate) struct Message {
    text: Notice,
    #[command(flatten)]
    pub(crate) room: Room,
}

#[derive(Debug, Args)]
pub(crate) struct Reset {
    #[command(flatten)]
    pub(crate) room: Room,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  beekeeper stretch --local 3\n  beekeeper stretch --local 1")]
pub(crate) struct Polls {
    /// How many times less often than usual, from 1 (as usual) to 12
    factor: Stretch,
    #[command(flatten)]
    pub(crate) room: Room,
}

impl Polls {
    pub(crate) fn command(&self) -> control::Command {
        control::Command::Stretch { factor: self.factor }
    }
}

impl SetRate {
    pub(crate) fn command(&self) -> control::Command {
        control::Command::SetRate { rate: self.rate }
    }
}

impl Message {
    pub(crate) fn command(&self) -> control::Command {
        control::Command::Message { text: self.text.clone() }
    }
}

fn minute(text: &str) -> Result<Duration, String> {
    let minute =
        humantime::parse_duration(text).map_err(|error| format!("{error}; write it like 5s or 1m"))?;
    let allowed = Duration::from_secs(1)..=Duration::from_mins(1);
    if allowed.contains(&minute) { Ok(minute) } else { Err("a minute takes from 1s to 60s".into()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_minute_is_at_most_a_minute() {
        assert_eq!(minute("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(minute("1m"), Ok(Duration::from_mins(1)));
        assert_eq!(minute("2m"), Err("a minute takes from 1s to 60s".into()));
        assert!(minute("soon").unwrap_err().ends_with("write it like 5s or 1m"));
    }
}
