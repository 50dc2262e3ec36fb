//! Words that are no commands, and flags that a command doesn't have. The tip says what does what the word means.
//!
//! Similar spelling says nothing about the meaning: `resume` looks like `reset`, and `restart` like `destroy`. So a command that
//! takes something from visitors for good is never suggested.

use crate::arguments::KNOWS_AWS;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use control::TypedTime;
use waitroom::RoomId;

/// What cannot be taken back, as `off` can.
const FINAL: [&str; 3] = ["destroy", "drop", "reset"];

/// Words that people type, and what to tell them.
const MEANT: [(&str, &[&str]); 4] = [
    (
        "activate begin continue enable go launch open resume run start unpause",
        &[
            "to let visitors in at the room's rate: beekeeper on NAME",
            "to start a room on this machine: beekeeper local NAME, or a service: sudo systemctl start beekeeper",
        ],
    ),
    (
        "block disable exit finish freeze halt hold quit shutdown stop suspend",
        &[
            "to let nobody in for now, and keep everybody's place: beekeeper pause NAME",
            "to let nobody new join, and let in who waits: beekeeper close NAME",
            "to let nobody in any more, and tell everybody so: beekeeper end NAME",
            "to end the waiting and send everybody straight to the shop: beekeeper off NAME",
            "a room on this machine stops with Ctrl-C in its terminal, or as a service: sudo systemctl stop beekeeper; every place is kept",
        ],
    ),
    (
        "reboot reload restart",
        &[
            "to turn a room on again after `pause` or `off`: beekeeper on NAME",
            "to start a room on this machine again, with every place: Ctrl-C in its terminal, then the command that started it; or a \
             service: sudo systemctl restart beekeeper",
        ],
    ),
    (
        "cancel clear delete drop empty erase kill purge remove rm terminate uninstall wipe",
        &[
            "to end the waiting, first send everybody straight to the shop: beekeeper off NAME",
            "what removes a room or its line, and what visitors lose by it: beekeeper help",
        ],
    ),
];

/// Flags that people look for on a command, and what to tell them.
const MEANT_FLAGS: [(&str, &str, &str); 4] = [
    ("set-rate", "--rate", "the rate needs no flag: beekeeper set-rate NAME 60"),
    ("off", "--at", "off can't wait for a time; on, close and end can: docs/closing.md"),
    ("pause", "--at", "pause can't wait for a time; on, close and end can: docs/closing.md"),
    ("end", "--after", "to end the room after so many more visitors: beekeeper close NAME --after 5000"),
];

/// What only a `beekeeper` with AWS knows.
const ON_AWS: [&str; 3] = ["deploy", "destroy", "logs"];
const WITHOUT_AWS: &str = "this beekeeper was built without AWS; to build one with it: cargo xtask dist";

/// The error for a command line, with tips that are about the meaning of its words.
pub(crate) fn with_tips(mut error: clap::Error, command_line: impl Iterator<Item = String>) -> clap::Error {
    let words: Vec<_> = command_line.collect();
    if let Some(tip) = meant_by_flag(&error, &words) {
        error.remove(ContextKind::SuggestedArg);
        tell(&mut error, &[tip]);
        return error;
    }
    drop_escape(&mut error);
    if let Some(tip) = unquoted_time(&error, &words).or_else(|| swapped(&error, &words)) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    let command_line = words.into_iter();
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand).cloned()
    {
        let about_keys = command_line.take_while(|typed| *typed != word).any(|typed| typed == "keys");
        let similar = harmless(error.remove(ContextKind::SuggestedSubcommand));
        if about_keys {
            tell(&mut error, &["what can be done with the keys that sign passes: beekeeper help keys"]);
        } else if !KNOWS_AWS && ON_AWS.contains(&&*word) {
            tell(&mut error, &[WITHOUT_AWS]);
        } else if let Some(tips) = meant(&word) {
            tell(&mut error, tips);
        } else if !similar.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(similar));
        }
    }
    error
}

/// For a flag that another command has, or none.
fn meant_by_flag(error: &clap::Error, words: &[String]) -> Option<&'static str> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    let command = words.iter().find(|word| !word.starts_with('-'))?;
    let is_such = |meant: &(&str, &str, &str)| meant.0 == command && meant.1 == wrong;
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    MEANT_FLAGS.into_iter().find(|meant| is_unknown && is_such(meant)).map(|(_, _, tip)| tip)
}

/// Whoever types `--rate` means a flag, and not `-- --rate`. Only a text in quotation marks may begin like one.
fn drop_escape(error: &mut clap::Error) {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return };
    if wrong.starts_with("--")
        && !wrong.contains(' ')
        && let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested)
    {
        tips.retain(|tip| !tip.to_string().starts_with("to pass "));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
}

fn is_about_a_value(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::ValueValidation | ErrorKind::InvalidValue)
}

/// For a time of several words without quotation marks.
fn unquoted_time(error: &clap::Error, words: &[String]) -> Option<String> {
    const MOST_WORDS: usize = 4;

    let after = words.iter().position(|word| word == "--at")? + 1;
    if !is_about_a_value(error) {
        return None;
    }
    let typed: Vec<_> =
        words[after..].iter().take(MOST_WORDS).take_while(|word| !word.starts_with('-')).collect();
    let joined = |count| typed[..count].iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
    let time = (2..=typed.len()).map(joined).find(|joined| joined.parse::<TypedTime>().is_ok())?;
    Some(format!("put the time in quotation marks: --at \"{time}\""))
}

/// For a number that stands before the room's name.
fn swapped(error: &clap::Error, words: &[String]) -> Option<String> {
    const WITH_NUMBER: [&str; 3] = ["set-rate", "release", "stretch"];

    let command = words.iter().find(|word| WITH_NUMBER.contains(&word.as_str()))?;
    let is_number = |word: &str| word.trim_end_matches(['k', 'K']).parse::<f64>().is_ok();
    // A word after a flag is that flag's.
    let is_name = |word: &str| word.parse::<RoomId>().is_ok() && !is_number(word);
    let [number, name] = words.array_windows().find(|[number, name]| is_number(number) && is_name(name))?;
    is_about_a_value(error).then(|| format!("the name comes first: beekeeper {command} {name} {number}"))
}

fn meant(word: &str) -> Option<&'static [&'static str]> {
    let word = word.to_lowercase();
    let is_such = |words: &str| words.split(' ').any(|known| known == word);
    MEANT.iter().find(|(words, _)| is_such(words)).map(|(_, tips)| *tips)
}

fn harmless(suggested: Option<ContextValue>) -> Vec<String> {
    let Some(ContextValue::Strings(mut commands)) = suggested else { return Vec::new() };
    let is_final = |command: &String| FINAL.contains(&command.as_str());
    // The most similar one is the last. If that was meant, no other was.
    if commands.last().is_some_and(is_final) {
        return Vec::new();
    }
    commands.pop().into_iter().collect()
}

fn tell(error: &mut clap::Error, tips: &[&'static str]) {
    let tips = tips.iter().map(|tip| (*tip).into()).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}
