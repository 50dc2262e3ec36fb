//! `set-rate NAME --local 600` means the same as `set-rate --local NAME 600`. Where the name may be missing, clap takes what stands
//! before a flag for the last value. So the flags of such a command go in front.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

/// The command line with the flags of its command in front of the values, where that matters.
pub(crate) fn flags_first(program: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let (mut command, mut begin) = (program, 1);
    for (at, word) in words.iter().enumerate().skip(1) {
        match word.to_str().and_then(|word| command.find_subcommand(word)) {
            Some(found) => (command, begin) = (found, at + 1),
            None if flag(program, word).is_some() => {}
            None => break,
        }
    }
    if !command.is_allow_missing_positional_set() {
        return words;
    }
    let mut typed = words.split_off(begin).into_iter();
    let mut values = Vec::new();
    while let Some(word) = typed.next() {
        if word == "--" {
            values.push(word);
            break;
        }
        let Some(flag) = flag(command, &word).or_else(|| flag(program, &word)) else {
            values.push(word);
            continue;
        };
        let has_value = flag.get_action().takes_values() && !word.to_string_lossy().contains('=');
        words.push(word);
        words.extend(if has_value { typed.next() } else { None });
    }
    words.into_iter().chain(values).chain(typed).collect()
}

fn flag<'a>(command: &'a Command, word: &OsStr) -> Option<&'a Arg> {
    let word = word.to_str()?;
    let name = word.split('=').next()?;
    command.get_arguments().find(|flag| {
        let long = name.strip_prefix("--").is_some_and(|name| flag.get_long() == Some(name));
        long || flag.get_short().is_some_and(|short| word == format!("-{short}"))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    fn sorted(line: &str) -> String {
        let words = ["beekeeper"].into_iter().chain(line.split(' ')).map(OsString::from);
        let sorted = flags_first(&Arguments::command(), words.collect());
        sorted[1..].join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn a_flag_may_stand_before_and_after_a_value() {
        for (typed, expected) in [
            ("set-rate sale --local 9000", "set-rate --local sale 9000"),
            ("set-rate sale 9000 --local -y", "set-rate --local -y sale 9000"),
            ("stretch sale --local --data /srv/sale 3", "stretch --local --data /srv/sale sale 3"),
            ("mode sale --data=/srv/sale overflow", "mode --data=/srv/sale sale overflow"),
            ("--json message sale --local Hello", "--json message --local sale Hello"),
            ("keys drop sale --local -Qm", "keys drop --local sale -Qm"),
            ("message sale -- --local", "message sale -- --local"),
            ("close sale --local", "close sale --local"),
        ] {
            assert_eq!(sorted(typed), expected);
        }
    }

    #[test]
    fn the_room_and_the_value_are_read() {
        for line in ["set-rate sale --local 9000", "stretch sale --local 3", "backup sale --local ./file"] {
            let words: Vec<OsString> = sorted(line).split(' ').map(OsString::from).collect();
            let words = [OsString::from("beekeeper")].into_iter().chain(words);
            let read = Arguments::command().try_get_matches_from(words);
            let (_, values) = read.as_ref().unwrap().subcommand().unwrap();
            assert_eq!(values.get_one::<waitroom::RoomId>("name").unwrap().as_str(), "sale", "{line}");
        }
    }
}
