//! What can be typed. What it does lies in `commands`, one file each.

mod deploy;
mod destroy;
mod init;
mod local;
mod time;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use operator::Order;
use waitroom::{Message, Rate, RoomId, Stretch};

pub(crate) use deploy::Deploy;
pub(crate) use destroy::Destroy;
pub(crate) use init::Init;
pub(crate) use local::Local;

use crate::log::LogFilter;

/// A virtual waiting room that you own
#[derive(Debug, Parser)]
#[command(name = "beekeeper", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print JSON, for scripts; errors too, on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to log on standard error: a level, or `info,consumer=debug` [default: `RUST_LOG`, or warn]
    #[arg(long, global = true, value_name = "FILTER")]
    pub(crate) log: Option<LogFilter>,
}

const EXIT_CODES: &str = "Exit codes:
  0  done
  1  it did not work
  2  the command line makes no sense
  3  there is no such room or profile
  4  AWS does not let us: credentials missing or expired, permission, region
  5  interrupted: what was begun goes on, run the command again
  6  a question was answered no, or could not be asked: no terminal and no --yes";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write down a room: six questions, or flags; run again, it edits
    Init(Box<Init>),
    /// List the rooms that are written down, or show one
    #[command(after_help = "Examples:\n  beekeeper config\n  beekeeper config spring-sale --json")]
    Config(Config),
    /// Run a whole waiting room on this machine
    Local(Box<Local>),
    /// Bring a room to AWS, or up to date
    Deploy(Deploy),
    /// Remove a room from AWS, with everything that belongs to it
    Destroy(Destroy),
    /// Show how the room stands
    Status(ShowStatus),
    /// Let people join, and release them at the rate: ends `off` and `pause`
    #[command(after_help = "Examples:\n  beekeeper on spring-sale\n  beekeeper on --local")]
    On(Which),
    /// Release nobody for now; people still join and keep their places
    #[command(after_help = "Examples:\n  beekeeper pause spring-sale\n  beekeeper pause --local")]
    Pause(Which),
    /// Let everybody go straight on to the shop; asks if people wait
    #[command(after_help = "Examples:\n  beekeeper off spring-sale\n  beekeeper off --local --yes")]
    Off(Drastic),
    /// Set how many visitors may enter a minute
    SetRate(SetRate),
    /// Tell those who wait something; an empty text takes it back
    Message(SetMessage),
    /// Let every waiting page ask less often, when polls become too many
    Stretch(Polls),
    /// Show what the functions of a room on AWS have logged
    Logs(Logs),
    /// Empty the line and begin anew: everybody who waits loses their place; asks
    ///
    /// On AWS that takes a minute, during which the room goes on.
    #[command(after_help = "Examples:\n  beekeeper reset spring-sale\n  beekeeper reset --local --yes")]
    Reset(Drastic),
    /// Print what a shell needs to complete commands
    #[command(
        after_help = "Examples:\n  beekeeper completions bash > ~/.local/share/bash-completion/completions/beekeeper\n  beekeeper completions zsh > ~/.zfunc/_beekeeper\n  beekeeper completions fish > ~/.config/fish/completions/beekeeper.fish"
    )]
    Completions(Completions),
    /// Print the manual page, or write one for every command
    #[command(
        after_help = "Examples:\n  beekeeper man | man -l -\n  beekeeper man --dir ~/.local/share/man/man1"
    )]
    Man(Man),
}

/// Which room a command is for.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The room, as `beekeeper config` lists it; with --local one on this machine [there: demo]
    pub(crate) name: Option<RoomId>,
    /// The room runs on this machine
    #[arg(long)]
    pub(crate) local: bool,
    /// Where it is kept, if it was started with --data
    #[arg(long, value_name = "DIR", requires = "local")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Show this one
    pub(crate) name: Option<RoomId>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper status spring-sale
  beekeeper status spring-sale --watch              charts, in a terminal; q leaves
  beekeeper status spring-sale --watch >> sale.log  a line whenever something changes
  beekeeper status --local --json")]
pub(crate) struct ShowStatus {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Keep showing it: charts in a terminal, elsewhere a line for each change
    #[arg(long)]
    pub(crate) watch: bool,
    /// How often --watch looks
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = every, requires = "watch")]
    pub(crate) every: Duration,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = "Examples:\n  beekeeper set-rate spring-sale 600\n  beekeeper set-rate --local 600"
)]
pub(crate) struct SetRate {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Visitors a minute, from 1 to 270000
    rate: Rate,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = "Examples:\n  beekeeper message spring-sale \"More beer at noon\"\n  beekeeper message spring-sale \"\"\n  beekeeper message --local \"More beer at noon\""
)]
pub(crate) struct SetMessage {
    #[command(flatten)]
    pub(crate) which: Which,
    /// At most 500 characters
    text: Message,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = "Examples:\n  beekeeper stretch spring-sale 3\n  beekeeper stretch --local 1"
)]
pub(crate) struct Polls {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How many times less often than usual, from 1 (as usual) to 12
    factor: Stretch,
}

/// What takes something away from those who wait.
#[derive(Debug, Args)]
pub(crate) struct Drastic {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper logs spring-sale
  beekeeper logs spring-sale --since 2h
  beekeeper logs spring-sale --follow
  beekeeper logs spring-sale --json | jq .text")]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How far back: 30s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = humantime::parse_duration)]
    pub(crate) since: Duration,
    /// Go on with what is logged from now on; Ctrl-C ends it
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page for every command into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

impl Polls {
    pub(crate) fn order(&self) -> Order {
        Order::Stretch { factor: self.factor }
    }
}

impl SetRate {
    pub(crate) fn order(&self) -> Order {
        Order::SetRate { rate: self.rate }
    }
}

impl SetMessage {
    pub(crate) fn order(&self) -> Order {
        Order::Message { text: self.text.clone() }
    }
}

fn every(text: &str) -> Result<Duration, String> {
    time::between(text, Duration::from_secs(1)..=Duration::from_hours(1), "a look is taken every 1s to 1h")
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
    fn the_room_may_be_left_out_before_what_is_said_to_it() {
        let read = |line: &[&str]| Arguments::try_parse_from([&["beekeeper"], line].concat());
        let Command::SetRate(set) = read(&["set-rate", "sale", "600"]).unwrap().command else { panic!() };
        assert_eq!(set.which.name.unwrap().as_str(), "sale");
        let Command::Message(message) = read(&["message", "--local", "sale"]).unwrap().command else {
            panic!()
        };
        assert_eq!((message.which.name, message.text.as_str()), (None, "sale"));
        assert!(read(&["status", "--data", "room"]).is_err(), "a directory is one on this machine");
    }
}
