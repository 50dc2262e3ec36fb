//! Compares commands and flags with `infra/frozen-names.txt`.

use clap::{Arg, Command, CommandFactory};
use frozen_names::{Section, assert_frozen};

use crate::arguments::Arguments;

/// The names of a command's arguments, and of its subcommands and their arguments.
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

#[test]
fn commands_and_flags_keep_their_names() {
    assert_frozen(Section::Commands, names(&Arguments::command(), ""));
}
