//! Compares exit codes and the configuration file's keys with `infra/frozen-names.txt`.

use frozen_names::{Section, assert_frozen};

use crate::exit::Exit;

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
