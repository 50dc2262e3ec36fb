//! Words that are no commands. The tip says which command does what the word means.
//!
//! Similar spelling says nothing about the meaning: `resume` looks like `reset`, and `restart` like `destroy`. So a command that
//! takes something from visitors for good is never suggested.

use crate::arguments::KNOWS_AWS;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What cannot be taken back, as `off` can.
const FINAL: [&str; 3] = ["destroy", "drop", "reset"];

/// Words that people type, and what to tell them.
const MEANT: [(&str, &[&str]); 4] = [
    (
        "activate begin continue enable go launch open resume run start unpause",
        &[
            "to let visitors in at the room's rate: beekeeper on NAME",
            "to start a room on this machine: beekeeper local NAME",
        ],
    ),
    (
        "block disable exit finish freeze halt hold quit shutdown stop suspend",
        &[
            "to let nobody in for now, and keep everybody's place: beekeeper pause NAME",
            "to let nobody new join, and let in who waits: beekeeper close NAME",
            "to let nobody in any more, and tell everybody so: beekeeper end NAME",
            "to end the waiting and send everybody straight to the shop: beekeeper off NAME",
            "a room on this machine stops with Ctrl-C in its terminal, and every place is kept",
        ],
    ),
    (
        "reboot reload restart",
        &[
            "to turn a room on again after `pause` or `off`: beekeeper on NAME",
            "to start a room on this machine again, with every place: Ctrl-C in its terminal, then: beekeeper local NAME",
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

/// What only a `beekeeper` with AWS knows.
const ON_AWS: [&str; 3] = ["deploy", "destroy", "logs"];
const WITHOUT_AWS: &str = "this beekeeper was built without AWS; to build one with it: cargo xtask dist";

/// The error for a command line, with tips that are about the meaning of its words.
pub(crate) fn with_tips(mut error: clap::Error, command_line: impl Iterator<Item = String>) -> clap::Error {
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
    commands.retain(|command| !is_final(command));
    commands
}

fn tell(error: &mut clap::Error, tips: &[&'static str]) {
    let tips = tips.iter().map(|tip| (*tip).into()).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}
