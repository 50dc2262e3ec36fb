//! The command line. What each command does is in `commands`, one file each.

mod doctor;
mod guard;
mod init;
mod keys;
mod local;
mod number;
#[cfg_attr(not(feature = "aws"), path = "arguments/without_aws.rs")]
pub(crate) mod on_aws;
pub(crate) mod people;
pub(crate) mod rehearse;
mod removable;
mod report;
mod setting_flags;
mod setup;
mod simulate;
mod throttling;
mod time;
mod which;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use control::TypedTime;
use url::Url;
use waitroom::{
    AuditEntry, ExtraSize, HelpCode, Message, Mode, Notice, Rate, RoomId, StockSize, Stretch, WebUrl,
};

pub(crate) use doctor::ExamineRoom;
pub(crate) use guard::GuardArguments;
pub(crate) use init::Init;
pub(crate) use keys::{DropKey, KeysCommand, ManageKeys};
pub(crate) use local::{Local, TypedOrders};
pub(crate) use on_aws::{AwsCommand, SharedTable};
pub(crate) use rehearse::{Rehearse, RehearsedRoom};
pub(crate) use removable::Removable;
pub(crate) use report::{MakeReport, ReportSource};
pub(crate) use setting_flags::SettingFlags;
pub(crate) use setup::{GUARD_FILE, NGINX_CONF, ROOM_FILE, SetUp, SetUpNginx, WhatToSetUp};
pub(crate) use simulate::{SimulateEvent, Sought};
pub(crate) use throttling::Throttling;
pub(crate) use which::{KNOWS_AWS, LOCAL, OnThisMachine, Which, as_typed, examples};

use crate::log::LogFilter;

/// A virtual waiting room that you own
#[derive(Debug, Parser)]
#[command(name = "beekeeper", version, after_help = exit_codes())]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print JSON, for scripts; errors go to standard error as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Do not ask whether to go ahead; a command that never asks takes it too
    #[arg(long, short, global = true)]
    pub(crate) yes: bool,
    /// What to log on standard error: a level, or `info,consumer=debug` [default: `RUST_LOG`, or warn]
    #[arg(long, global = true, value_name = "FILTER")]
    pub(crate) log: Option<LogFilter>,
}

/// Only AWS denies access and has stacks.
fn exit_codes() -> String {
    if KNOWS_AWS {
        return EXIT_CODES.to_owned();
    }
    let lines = EXIT_CODES.lines().filter(|line| !line.contains("AWS"));
    lines
        .collect::<Vec<_>>()
        .join("\n")
        .replace(", its configuration file or its stack", " or its configuration file")
}

const EXIT_CODES: &str = "Exit codes:
  0  success
  1  the command failed
  2  the command line is invalid
  3  the room, its configuration file or its stack does not exist
  4  AWS denied access: credentials missing or expired, permission missing, region disabled
  5  interrupted: the error says what has been done
  6  a question was answered with no, or could not be asked: no terminal and no --yes";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Configure a room with five questions or with flags; run again to edit
    Init(Box<Init>),
    /// List all rooms: those on this machine, and those that are configured
    #[command(
        after_help = "Examples:\n  beekeeper list\n  beekeeper list --json\n\nA room that was started with --data is listed only if it is the service of this machine, or configured."
    )]
    List(List),
    /// List the configured rooms, or show one
    #[command(after_help = "Examples:\n  beekeeper config\n  beekeeper config spring-sale --json")]
    Config(Config),
    /// Run a waiting room on this machine
    Local(Box<Local>),
    /// Guard a shop: tell its web server who was admitted by the room
    Guard(Box<GuardArguments>),
    /// Set up the web server of this machine: the room and the guard of the shop, beside what is there
    Setup(SetUp),
    /// Simulate an event: how long would a crowd wait, what breaks first, and what does it cost?
    Simulate(Box<SimulateEvent>),
    /// Rehearse the event: send real visitors to a room of yours, and report what they saw
    Rehearse(Box<Rehearse>),
    #[command(flatten)]
    OnAws(AwsCommand),
    #[command(about = DOCTOR)]
    Doctor(ExamineRoom),
    /// Check whether a room or a guard on this machine is well: for the health check of a container, and for scripts
    Health(CheckHealth),
    /// Show the state of a room
    Status(ShowStatus),
    /// Show who gave which order, and when; or how the line was, minute by minute
    History(History),
    /// Tell what happened in an event, minute by minute: as text, as a page with plots, as CSV or JSON
    Report(MakeReport),
    /// Turn a room on after `off` or `pause`, now or with --at: visitors join, and are released at the rate
    On(On),
    /// Pause a room: nobody is released; visitors can join, and keep their places
    #[command(after_help = examples("Examples:\n  beekeeper pause spring-sale\n  beekeeper pause --local"))]
    Pause(Which),
    /// Close a room: nobody new joins, and those who wait are let in; asks first
    Close(CloseRoom),
    /// End a room: nobody is let in any more, and everybody who waits reads so; asks first
    End(EndRoom),
    /// Turn a room off: all visitors go straight to the shop; asks first if visitors wait
    #[command(after_help = examples("Examples:\n  beekeeper off spring-sale\n  beekeeper off --local --yes"))]
    Off(Which),
    /// Set how many visitors may enter a minute; asks first if that is three times as many, or more than ever
    SetRate(SetRate),
    /// Let so many more in within a minute, beyond the rate, which then goes on; asks first if that is much
    Release(ReleaseMore),
    /// Say whether newcomers go straight in: never, while nobody waits, or always
    Mode(SetMode),
    /// Show a message to the visitors; an empty text removes it
    Message(SetMessage),
    /// Make every waiting page poll less often, if there are too many polls
    Stretch(Polls),
    /// Show where a visitor is in line, by the help code that they read to you
    Find(VisitorByCode),
    /// Let the visitor with this help code in now, ahead of the line and beyond the rate
    Admit(VisitorByCode),
    /// Take the last order back: a rate, a release, a mode, a message, a state or a stretch
    ///
    /// Takes back the last order that changed something and was not taken back yet. Run it again to take back the order
    /// before that. An undo is never taken back: to repeat an order, give it again. Decisions of the throttle are skipped.
    /// A reset cannot be taken back, nor any order before it; the same goes for orders about the keys. Asks first if that
    /// would let in whoever waits, close the room, or end it.
    #[command(after_help = examples("Examples:\n  beekeeper undo spring-sale\n  beekeeper undo --local"))]
    Undo(Which),
    /// Show the keys that sign passes, replace the one that signs, or drop one that leaked
    #[command(
        after_help = "Examples:\n  beekeeper keys list spring-sale\n  beekeeper keys rotate spring-sale\n  beekeeper keys drop spring-sale Qm9vdH"
    )]
    Keys(ManageKeys),
    /// Empty the line and start again at number 1; asks first
    #[command(long_about = RESET, after_help = examples("Examples:\n  beekeeper reset spring-sale\n  beekeeper reset --local --yes"))]
    Reset(Which),
    /// Copy a room on this machine into a file, whether it runs or not
    Backup(Backup),
    /// Put a backup in the place of a stopped room's file; asks first, and keeps the file that was there
    Restore(Restore),
    /// Print a script that completes commands and names of rooms in your shell
    #[command(
        after_help = "Examples:\n  beekeeper completions bash > ~/.local/share/bash-completion/completions/beekeeper\n  beekeeper completions zsh > ~/.zfunc/_beekeeper\n  beekeeper completions fish > ~/.config/fish/completions/beekeeper.fish\n\nIn bash, zsh and fish, the names of your rooms are completed too."
    )]
    Completions(Completions),
    /// Print the manual page, or write one for every command
    #[command(
        after_help = "Examples:\n  beekeeper man | man -l -\n  beekeeper man --dir ~/.local/share/man/man1"
    )]
    Man(Man),
}

const DOCTOR: &str = if KNOWS_AWS {
    "Check whether a room is ready: account, page, shop, alarms; before deploying, and before the event"
} else {
    "Check whether a room is ready: page, certificate, shop, machine; before the event"
};

const RESET: &str = if KNOWS_AWS {
    "Empty the line and start again at number 1; asks first\n\nAll waiting visitors lose their places. On AWS this takes a \
     minute, and the room keeps running meanwhile."
} else {
    "Empty the line and start again at number 1; asks first\n\nAll waiting visitors lose their places."
};

const RATE: &str = if KNOWS_AWS {
    "Visitors a minute, from 1 to 270000; 3k is 3000. An AWS account may bear less: docs/crowd.md"
} else {
    "Visitors a minute, from 1 to 270000; 3k is 3000"
};

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper on spring-sale
  beekeeper on spring-sale --at 2027-03-05T12:00    in the time zone of this machine
  beekeeper on spring-sale --at 2027-03-05T11:00Z
  beekeeper on spring-sale --at \"Friday 12:00\"
  beekeeper on spring-sale --at \"tomorrow 12pm\"
  beekeeper on spring-sale --at \"in 2h\"
  beekeeper on --local --at 12:00                   today

Asks first if it would let in those who were told that it's over."))]
pub(crate) struct On {
    #[command(flatten)]
    pub(crate) which: Which,
    /// When the room opens by itself. Until then it is paused: visitors join and wait, and the page counts down. `on`, `pause`,
    /// `close`, `end` and `off` withdraw it; `set-rate` sets the rate of the opening. Asks first if it would pause a sale
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<TypedTime>,
}

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper close spring-sale --message \"All 5,000 tickets are taken\" --link https://news.example/next
  beekeeper close spring-sale --at \"Friday 18:00\"
  beekeeper close spring-sale --then off              when everybody who waits was let in
  beekeeper close spring-sale --after 5k              let 5,000 more in, then end
  beekeeper close spring-sale --never                 withdraw the time, the 5,000 and --then off
  beekeeper close --local --yes

Those who wait keep their places and are let in at the rate. To let people join again: beekeeper on, or beekeeper undo.
In a room that is closed or ended already, --message or --link alone replaces just that.

With --after, people may join until the room ends by itself. Given again, it counts anew from then on."))]
#[command(mut_arg("never", |never| never.help("Withdraw the time of --at, the stock of --after, and --then off")))]
pub(crate) struct CloseRoom {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) told: TellLatecomers,
    /// What the room does when everybody who waited was let in: `off` sends everybody straight to the shop
    #[arg(long, value_name = "STATE", value_parser = ["off"], conflicts_with_all = ["never", "after"])]
    pub(crate) then: Option<String>,
    /// How many more are let in before the room ends by itself, from now on: a stock, like 5000 or 5k
    #[arg(long, value_name = "VISITORS", conflicts_with_all = ["never", "at"], allow_negative_numbers = true)]
    pub(crate) after: Option<StockSize>,
}

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper end spring-sale --message \"Sold out. Thank you for waiting!\" --link https://news.example/next
  beekeeper end spring-sale --at \"Friday 20:00\"
  beekeeper end spring-sale --never                   withdraw the time
  beekeeper end --local --yes

Nobody is removed from the line: `beekeeper undo` or `beekeeper on` gives everybody their places back. Who was let in before
may still enter the shop."))]
pub(crate) struct EndRoom {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) told: TellLatecomers,
}

#[derive(Debug, Args)]
pub(crate) struct TellLatecomers {
    /// When it happens by itself, like on --at
    #[arg(long, value_name = "TIME", conflicts_with = "never")]
    pub(crate) at: Option<TypedTime>,
    /// Withdraw the time that was set with --at
    #[arg(long, conflicts_with_all = ["message", "link"])]
    pub(crate) never: bool,
    /// What those read who come too late, at most 500 characters; an empty text removes it, and they read the room's message
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<Message>,
    #[arg(
        long,
        value_name = "URL",
        help = "A link that they see below it, in full: https://news.example/next; an empty one removes it"
    )]
    pub(crate) link: Option<Removable<WebUrl>>,
}

impl TellLatecomers {
    /// Whether a text or a link was typed.
    pub(crate) fn has_words(&self) -> bool {
        self.message.is_some() || self.link.is_some()
    }

    /// What replaces the notice that is there. What was not typed stays.
    pub(crate) fn notice(&self, kept: &Notice) -> Notice {
        let text = self.message.clone().unwrap_or_else(|| kept.text.clone());
        Notice { text, link: Removable::or_kept(self.link.as_ref(), kept.link.clone()) }
    }
}

const NAMES: &str = if KNOWS_AWS {
    "Print the names only, and ask no room and no account"
} else {
    "Print the names only, and ask no room"
};

#[derive(Debug, Args)]
pub(crate) struct List {
    #[arg(long, help = NAMES)]
    pub(crate) names: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Name of the room to show
    pub(crate) name: Option<RoomId>,
}

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper status spring-sale
  beekeeper status spring-sale --watch              charts in a terminal; q quits
  beekeeper status spring-sale --watch >> sale.log  a line for each change
  beekeeper status --local --json"))]
pub(crate) struct ShowStatus {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Keep watching: charts in a terminal, otherwise a line for each change
    #[arg(long)]
    pub(crate) watch: bool,
    /// How often --watch reads the status, from 1s to 1h
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = time::between("1s", "1h"), requires = "watch")]
    pub(crate) every: Duration,
}

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper history spring-sale
  beekeeper history --local --limit 500
  beekeeper history spring-sale --minutes --since 6h
  beekeeper history spring-sale --json | jq -r '[.at, .who, .what, .from, .to] | @csv'
  beekeeper history spring-sale --minutes --since 14d --json | jq -r '[.at, .joined, .released, .waiting] | @csv'"))]
pub(crate) struct History {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How many entries to show, from 1 to 500; the latest is the last
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::between(1, AuditEntry::KEPT), allow_negative_numbers = true)]
    pub(crate) limit: u16,
    /// Show the line minute by minute instead: how many joined, were released and waited
    #[arg(long, conflicts_with = "limit")]
    pub(crate) minutes: bool,
    /// How far back --minutes begins, from 1m to 14d
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = time::between("1m", "14d"), requires = "minutes")]
    pub(crate) since: Duration,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = examples("Examples:\n  beekeeper set-rate spring-sale 600\n  beekeeper set-rate spring-sale 3k --yes\n  beekeeper set-rate --local 600")
)]
pub(crate) struct SetRate {
    #[command(flatten)]
    pub(crate) which: Which,
    #[arg(value_parser = some, help = RATE)]
    pub(crate) rate: Rate,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = examples("Examples:
  beekeeper release spring-sale 50
  beekeeper release spring-sale 5k --yes
  beekeeper release --local 50

They come on top of the rate, spread over a minute, from the front of the line. Takes it back: beekeeper undo. A stock, an end and a
limit of active visitors hold; the throttle's rate doesn't hold it down.")
)]
pub(crate) struct ReleaseMore {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How many more, from 1 to 270000; 3k is 3000. With the rate, no more than 270000
    pub(crate) visitors: ExtraSize,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = examples("Examples:\n  beekeeper message spring-sale \"More beer at noon\"\n  beekeeper message spring-sale \"\"\n  beekeeper message --local \"More beer at noon\"")
)]
pub(crate) struct SetMessage {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The message, at most 500 characters. A single word that could be the room's name needs NAME before it
    pub(crate) text: Message,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = examples("Examples:\n  beekeeper mode spring-sale observe\n  beekeeper mode --local line")
)]
pub(crate) struct SetMode {
    #[command(flatten)]
    pub(crate) which: Which,
    /// line: every newcomer joins the line. overflow: newcomers go straight in while nobody waits, and only beyond the rate a
    /// line forms. observe: everybody goes straight in, and the room counts what the line would have been
    pub(crate) mode: Mode,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = examples("Examples:\n  beekeeper find spring-sale 7K3M-Q0ZX\n  beekeeper admit spring-sale 7k3mq0zx\n  beekeeper admit --local 7K3M-Q0ZX\n\nVisitors get the code at the bottom of the waiting page. It is good for an hour: docs/help.md")
)]
pub(crate) struct VisitorByCode {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The code that the visitor reads to you; case and hyphen don't matter
    pub(crate) code: HelpCode,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = examples("Examples:\n  beekeeper stretch spring-sale 3\n  beekeeper stretch --local 1")
)]
pub(crate) struct Polls {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How many times less often pages poll, from 1 (the usual) to 12
    pub(crate) factor: Stretch,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = examples("Examples:\n  beekeeper backup --local demo.redb\n  beekeeper backup /backup/spring-sale.redb --data /var/lib/beekeeper\n\nTo put it back: beekeeper restore FILE")
)]
pub(crate) struct Backup {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The file to write; it must not exist. A single word that could be the room's name needs NAME or ./ before it
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  beekeeper restore /backup/spring-sale-1200.redb\n  beekeeper restore /backup/spring-sale-1200.redb --data /var/lib/beekeeper\n\nWhoever is in the file that is replaced keeps what they have, as far as it can be read: docs/hosting.md"
)]
pub(crate) struct Restore {
    /// A backup, as `backup` wrote it
    pub(crate) file: PathBuf,
    /// Name of the room [default: the room that the backup is of]
    pub(crate) name: Option<RoomId>,
    /// Use the room on this machine; no other has a file
    #[arg(long, hide = !KNOWS_AWS)]
    local: bool,
    /// Directory of the room's data, if the room was started with --data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper health                                        the only room that runs here
  beekeeper health spring-sale
  beekeeper health --data /var/lib/beekeeper
  beekeeper health --url http://127.0.0.1:9181/healthz    a guard that was started with --metrics 9181

The room writes to its file, because nobody can join while it can't. The answer comes within five seconds.")]
pub(crate) struct CheckHealth {
    /// Name of the room [default: the room in --data, or the only one that runs]
    pub(crate) name: Option<RoomId>,
    /// Use the room on this machine; no other is asked
    #[arg(long, hide = true)]
    local: bool,
    /// Directory of the room's data, if the room was started with --data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Ask here instead, where --metrics answers /healthz: the way to ask a guard
    #[arg(long, value_name = "URL", conflicts_with_all = ["name", "data"])]
    pub(crate) url: Option<Url>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page for every command into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// A rate that lets somebody in.
fn some(text: &str) -> Result<Rate, String> {
    let nobody = text.parse() == Ok(0_u32);
    let pause = if nobody { "to let nobody in, use: beekeeper pause NAME; " } else { "" };
    number::rate(text).map_err(|error| format!("{pause}{error}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    /// Not the help, whose examples have words beside them.
    #[cfg(feature = "aws")]
    #[test]
    fn every_command_of_the_documents_can_be_typed() {
        use emulators::console;

        let (mut typed, mut refused) = (0, Vec::new());
        for (path, document) in console::documents().unwrap() {
            let blocks = console::blocks(&document);
            let blocks = blocks.iter().filter(|block| path != "docs/commands.md" && block.language != "rust");
            let text: String = blocks.map(|block| block.text.replace("\\\n", "")).collect();
            for line in text.lines() {
                let line = line.strip_prefix("$ ").unwrap_or(line);
                let line = line.strip_prefix("docker compose exec room /").unwrap_or(line);
                let line = &line.replace("docker compose run --rm room ", "beekeeper ");
                let line = line.strip_prefix("sudo ").unwrap_or(line);
                let command = line.strip_prefix("target/release/").unwrap_or(line);
                if !command.starts_with("beekeeper ") || command.starts_with("beekeeper 0.") {
                    continue;
                }
                // Up to what a shell takes: a comment, a pipe, a file.
                let command = [" # ", " | ", " > "].iter().fold(command, |command, end| {
                    command.split_once(end).map_or(command, |(command, _)| command)
                });
                let words = console::words(&command.replace("//…", "//wait.example").replace(" … ", " "));
                if let Err(refusal) = Arguments::try_parse_from(words) {
                    let is_version = refusal.kind() == clap::error::ErrorKind::DisplayVersion;
                    // The reader has it.
                    let lacks_a_file = refusal.to_string().contains("No such file");
                    refused
                        .extend((!is_version && !lacks_a_file).then(|| format!("{path}: {line}\n{refusal}")));
                }
                typed += 1;
            }
        }
        assert!(refused.is_empty(), "{}", refused.join("\n"));
        assert!(typed > 100, "{typed}");
    }

    #[test]
    fn what_latecomers_are_told_stays_unless_it_is_typed() {
        let kept = Notice {
            text: "Full".parse().unwrap(),
            link: Some("https://shop.example/next".parse().unwrap()),
        };
        let told = |line: &[&str]| {
            let typed = Arguments::try_parse_from([&["beekeeper", "end", "sale"], line].concat());
            let Command::End(end) = typed.unwrap().command else { panic!() };
            let Notice { text, link } = end.told.notice(&kept);
            (text.to_string(), link.is_some())
        };
        assert_eq!(told(&["--message", "Gone"]), ("Gone".to_owned(), true));
        assert_eq!(told(&["--link", ""]), ("Full".to_owned(), false));
        assert_eq!(told(&["--message", "", "--link", "https://shop.example/other"]), (String::new(), true));
    }

    #[test]
    fn the_room_is_optional_before_other_arguments() {
        let read = |line: &[&str]| Arguments::try_parse_from([&["beekeeper"], line].concat());
        let Command::SetRate(set) = read(&["set-rate", "sale", "600"]).unwrap().command else { panic!() };
        assert_eq!(set.which.name.unwrap().as_str(), "sale");
        let Command::Message(message) = read(&["message", "--local", "sale"]).unwrap().command else {
            panic!()
        };
        assert_eq!((message.which.name, message.text.as_str()), (None, "sale"));
        let Command::Status(status) = read(&["status", "--data", "room"]).unwrap().command else { panic!() };
        assert!(status.which.here.is_meant(), "a directory is one on this machine");
    }
}
