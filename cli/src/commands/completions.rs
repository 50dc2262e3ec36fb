//! `beekeeper completions`: clap's scripts, which complete commands and flags, and names of rooms in bash, zsh and fish.
//!
//! A script that completes a name calls `beekeeper list --names`, so it always knows the present rooms.

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::arguments::{Arguments, Completions};
use crate::printer::write;

pub(crate) fn run(completions: &Completions) -> Result<()> {
    Ok(write(script(completions.shell)?.as_bytes())?)
}

fn script(shell: Shell) -> Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(&Arguments::command()), "beekeeper", &mut script);
    let script = String::from_utf8(script).context("could not write the completions as UTF-8")?;
    let commands = commands_with_a_room();
    Ok(match shell {
        Shell::Bash => with_rooms_in_bash(script, &commands),
        Shell::Zsh => with_rooms_in_zsh(&script),
        Shell::Fish => with_rooms_in_fish(script, &commands),
        _ => script,
    })
}

/// The command without the flags that its help leaves out. clap would complete them.
fn visible(command: &Command) -> Command {
    let shown = Command::new(command.get_name().to_owned()).version(env!("CARGO_PKG_VERSION"));
    let about = command.get_about().cloned().unwrap_or_default();
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned();
    let shown = shown.allow_missing_positional(command.is_allow_missing_positional_set());
    shown.about(about).args(arguments).subcommands(command.get_subcommands().map(visible))
}

/// The commands that have the name of a room as an argument, like `status` and `keys list`.
fn commands_with_a_room() -> Vec<String> {
    fn collect(parent: &Command, begin: &str, named: &mut Vec<String>) {
        for command in parent.get_subcommands() {
            let name = format!("{begin}{}", command.get_name());
            collect(command, &format!("{name} "), named);
            if command.get_positionals().any(|argument| argument.get_id() == "name") {
                named.push(name);
            }
        }
    }
    let mut named = Vec::new();
    collect(&Arguments::command(), "", &mut named);
    named
}

/// In clap's script, a command begins with a `case`, then its words in double quotes. Names are added to the words.
fn with_rooms_in_bash(script: String, commands: &[String]) -> String {
    const ROOMS: &str = "$(\"$1\" list --names 2>/dev/null)";

    commands.iter().fold(script, |script, command| {
        let begin = bash_words(command);
        script.replace(&begin, &format!("{begin}{ROOMS} "))
    })
}

fn bash_words(command: &str) -> String {
    let case = command.replace([' ', '-'], "__subcmd__");
    format!("        beekeeper__subcmd__{case})\n            opts=\"")
}

/// In clap's script, an argument is a line `'::name -- Name of the room:_default'`. `_default` completes files.
fn with_rooms_in_zsh(script: &str) -> String {
    const ROOMS: &str = "
_beekeeper_rooms() {
    local -a rooms
    rooms=(${(f)\"$(beekeeper list --names 2>/dev/null)\"})
    compadd -a rooms
}
";

    let with_rooms = script.lines().map(|line| {
        let is_name = line.starts_with("'::name -- ") || line.starts_with("':name -- ");
        match line.strip_suffix(":_default' \\").filter(|_| is_name) {
            Some(argument) => format!("{argument}:_beekeeper_rooms' \\\n"),
            // The first line must stay the first: zsh reads in it which command the script is for.
            None if line.starts_with("#compdef") => format!("{line}\n{ROOMS}"),
            None => format!("{line}\n"),
        }
    });
    with_rooms.collect()
}

/// clap's script has no arguments. Fish offers files too, where they may be meant.
fn with_rooms_in_fish(script: String, commands: &[String]) -> String {
    let rooms = |command: &String| {
        let condition = fish_condition(command);
        let no_files = if ["backup", "report", "restore"].contains(&command.as_str()) { "" } else { " -f" };
        format!(
            "complete -c beekeeper -n \"{condition}\"{no_files} -a \"(beekeeper list --names 2>/dev/null)\" -d Room\n"
        )
    };
    script + &commands.iter().map(rooms).collect::<String>()
}

/// Whether this command is being typed.
fn fish_condition(command: &str) -> String {
    let (outer, inner) = command.split_once(' ').unwrap_or((command, ""));
    let inner = if inner.is_empty() { "" } else { &format!("; and __fish_seen_subcommand_from {inner}") };
    format!("__fish_beekeeper_using_subcommand {outer}{inner}")
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ValueHint};

    use super::*;

    #[test]
    fn every_command_with_a_room_completes_its_name() {
        let (program, commands) = (Arguments::command(), commands_with_a_room());
        for with_a_room in ["status", "set-rate", "local", "init", "backup", "keys list"] {
            assert!(commands.iter().any(|command| command == with_a_room), "{with_a_room} in {commands:?}");
        }
        let [bash, zsh, fish] = [Shell::Bash, Shell::Zsh, Shell::Fish].map(|shell| script(shell).unwrap());
        for command in &commands {
            let words = format!("{}$(\"$1\" list --names 2>/dev/null) ", bash_words(command));
            assert_eq!(bash.matches(&words).count(), 1, "{command} in bash");
            let condition = format!("-n \"{}\"", fish_condition(command));
            let in_fish = fish.lines().filter(|line| line.contains("list --names"));
            let in_fish: Vec<_> = in_fish.filter(|line| line.contains(&condition)).collect();
            let is_path = |argument: &Arg| argument.get_value_hint() == ValueHint::AnyPath;
            let takes_path = program
                .find_subcommand(command)
                .is_some_and(|command| command.get_positionals().any(is_path));
            // A report's one argument is a room or a file.
            let takes_path = takes_path || command == "report";
            let [line] = in_fish[..] else { panic!("{command}: {in_fish:?}") };
            assert_eq!(line.contains(" -f "), !takes_path, "{line}");
        }
        assert_eq!(bash.matches("list --names").count(), commands.len());
        assert!(zsh.starts_with("#compdef beekeeper\n"));
        assert_eq!(zsh.matches(":_beekeeper_rooms' \\").count(), commands.len());
    }
}
