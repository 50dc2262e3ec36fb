//! Compares commands, flags, exit codes and the configuration file's keys with `infra/frozen-names.txt`.

#[cfg(feature = "aws")]
use clap::{Arg, Command, CommandFactory};
use frozen_names::{Section, assert_frozen};

#[cfg(feature = "aws")]
use crate::arguments::Arguments;
use crate::exit::Exit;

/// The names of a command's arguments, and of its subcommands and their arguments.
#[cfg(feature = "aws")]
fn names(command: &Command, path: &str) -> Vec<String> {
    let line = |name: String| if path.is_empty() { name } else { format!("{path} {name}") };
    let argument = |argument: &Arg| match (argument.get_long(), argument.get_short()) {
        (Some(long), None) => format!("--{long}"),
        (Some(long), Some(short)) => format!("--{long} -{short}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => format!("<{}>", argument.get_id()),
    };
    let aliases = |argument: &Arg| {
        let aliases = argument.get_visible_aliases().unwrap_or_default();
        aliases.into_iter().map(|alias| format!("--{alias}")).collect::<Vec<_>>()
    };
    let arguments = command.get_arguments();
    let own = arguments.flat_map(|it| std::iter::once(argument(it)).chain(aliases(it))).map(line);
    let below = command.get_subcommands().flat_map(|below| {
        let path = line(below.get_name().to_owned());
        let names = names(below, &path);
        std::iter::once(path).chain(names)
    });
    own.chain(below).collect()
}

#[cfg(feature = "aws")]
#[test]
fn commands_and_flags_keep_their_names() {
    assert_frozen(Section::Commands, names(&Arguments::command(), ""));
}

#[test]
fn the_configuration_file_keeps_its_keys() {
    assert_frozen(Section::ConfigurationKeys, config::ROWS.iter().map(|row| row.key));
}

/// The exit after this one. A new exit does not compile until it is added here.
fn after(exit: Option<Exit>) -> Option<Exit> {
    match exit {
        None => Some(Exit::Done),
        Some(Exit::Done) => Some(Exit::Failed),
        Some(Exit::Failed) => Some(Exit::Usage),
        Some(Exit::Usage) => Some(Exit::Missing),
        Some(Exit::Missing) => Some(Exit::Denied),
        Some(Exit::Denied) => Some(Exit::Interrupted),
        Some(Exit::Interrupted) => Some(Exit::Declined),
        Some(Exit::Declined) => None,
    }
}

#[test]
fn exits_keep_their_codes_and_names() {
    let exits = std::iter::successors(after(None), |exit| after(Some(*exit)));
    assert_frozen(Section::ExitCodes, exits.map(|exit| format!("{} {}", exit as u8, exit.kind())));
}
