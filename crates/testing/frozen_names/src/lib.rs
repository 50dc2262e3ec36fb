//! Compares names that are public or stored with `infra/frozen-names.txt`, the list that freezes them.
//!
//! Each crate tests its own names: it collects them from real values (a parsed template, an encoded item, the command
//! line's definition) and calls [`assert_frozen`] with their [`Section`]. A name that is missing was renamed or
//! removed, which the list forbids. A name that is new has to be added to the list, so that nobody freezes a name
//! without noticing.
//!
//! Test support only: no product code depends on it.

#![allow(clippy::missing_panics_doc, reason = "a name that changed fails the test")]

use std::collections::BTreeSet;
use std::env;
use std::path::Path;

const LIST: &str = include_str!("../../../../infra/frozen-names.txt");

/// A section of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Resources,
    Parameters,
    Outputs,
    Stage,
    AccountNames,
    Pipeline,
    Routes,
    PollFields,
    ClientCheckFields,
    DiscoveryFields,
    Cookie,
    PassClaims,
    LedgerKeys,
    LedgerAttributes,
    KeySecret,
    Metrics,
    MonitoringMetrics,
    Guard,
    GuardMetrics,
    SessionTable,
    FileTables,
    FileSingles,
    ConfigurationKeys,
    Commands,
    ExitCodes,
    OrderFields,
    ReplyFields,
    PageElements,
    PageTexts,
}

impl Section {
    pub const ALL: [Self; 29] = [
        Self::Resources,
        Self::Parameters,
        Self::Outputs,
        Self::Stage,
        Self::AccountNames,
        Self::Pipeline,
        Self::Routes,
        Self::PollFields,
        Self::ClientCheckFields,
        Self::DiscoveryFields,
        Self::Cookie,
        Self::PassClaims,
        Self::LedgerKeys,
        Self::LedgerAttributes,
        Self::KeySecret,
        Self::Metrics,
        Self::MonitoringMetrics,
        Self::Guard,
        Self::GuardMetrics,
        Self::SessionTable,
        Self::FileTables,
        Self::FileSingles,
        Self::ConfigurationKeys,
        Self::Commands,
        Self::ExitCodes,
        Self::OrderFields,
        Self::ReplyFields,
        Self::PageElements,
        Self::PageTexts,
    ];

    /// The section's heading in the list.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Parameters => "parameters",
            Self::Outputs => "outputs",
            Self::Stage => "stage",
            Self::AccountNames => "account names",
            Self::Pipeline => "pipeline",
            Self::Routes => "routes",
            Self::PollFields => "poll fields",
            Self::ClientCheckFields => "client check fields",
            Self::DiscoveryFields => "discovery fields",
            Self::Cookie => "cookie",
            Self::PassClaims => "pass claims",
            Self::LedgerKeys => "ledger keys",
            Self::LedgerAttributes => "ledger attributes",
            Self::KeySecret => "key secret",
            Self::Metrics => "metrics",
            Self::MonitoringMetrics => "monitoring metrics",
            Self::Guard => "guard",
            Self::GuardMetrics => "guard metrics",
            Self::SessionTable => "session table",
            Self::FileTables => "file tables",
            Self::FileSingles => "file singles",
            Self::ConfigurationKeys => "configuration keys",
            Self::Commands => "commands",
            Self::ExitCodes => "exit codes",
            Self::OrderFields => "order fields",
            Self::ReplyFields => "reply fields",
            Self::PageElements => "page elements",
            Self::PageTexts => "page texts",
        }
    }

    /// What the list has in this section.
    pub fn names(self) -> BTreeSet<&'static str> {
        let heading = format!("[{}]", self.heading());
        lines()
            .skip_while(|line| **line != heading)
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .collect()
    }
}

/// The list without comments and empty lines.
fn lines() -> impl Iterator<Item = &'static str> {
    LIST.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Compares these names with those of the section, in any order.
///
/// # Panics
/// If a frozen name is missing, or a name is not frozen yet.
#[track_caller]
pub fn assert_frozen(section: Section, found: impl IntoIterator<Item = impl Into<String>>) {
    let found: BTreeSet<String> = found.into_iter().map(Into::into).collect();
    let frozen: BTreeSet<String> = section.names().into_iter().map(ToOwned::to_owned).collect();
    let missing: Vec<_> = frozen.difference(&found).collect();
    let new: Vec<_> = found.difference(&frozen).collect();
    let heading = section.heading();
    assert!(
        missing.is_empty(),
        "{heading}: {missing:?} is frozen and no longer exists. Rooms, scripts or stored data depend on the old name: bring \
         it back. See infra/frozen-names.txt. New names: {new:?}"
    );
    assert!(
        new.is_empty(),
        "{heading}: {new:?} is not in infra/frozen-names.txt. Add it there: the name can never change afterwards"
    );
}

/// The variable with which `cargo xtask fixtures` asks for new fixtures.
const WRITE: &str = "BEEKEEPER_WRITE_FIXTURES";

/// Fails if this fixture is lost: made anew, it would be what today's code writes, and prove nothing about what an older
/// version wrote.
pub fn assert_fixture(path: &Path, write: impl FnOnce()) {
    if !path.exists() && env::var_os(WRITE).is_some() {
        write();
    }
    assert!(
        path.exists(),
        "{} is missing: get it back from the repository's history; only a new one is written, by \
         cargo xtask fixtures",
        path.display()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_section_once_and_no_other() {
        let headings: Vec<_> = lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(headings, Section::ALL.map(|section| format!("[{}]", section.heading())));
        for section in Section::ALL {
            assert!(!section.names().is_empty(), "{section:?}");
        }
        let names: usize = Section::ALL.map(|section| section.names().len()).iter().sum();
        assert_eq!(names + headings.len(), lines().count(), "a name is listed twice in a section");
    }

    #[test]
    fn the_same_names_in_any_order_pass() {
        assert_frozen(Section::Stage, ["prod"]);
        let reversed = Section::FileTables.names().into_iter().rev();
        assert_frozen(Section::FileTables, reversed);
    }

    #[test]
    #[should_panic(expected = "stage: [\"prod\"] is frozen and no longer exists")]
    fn a_missing_name_fails() {
        assert_frozen(Section::Stage, ["live"]);
    }

    #[test]
    #[should_panic(expected = "stage: [\"beta\"] is not in infra/frozen-names.txt")]
    fn a_new_name_fails() {
        assert_frozen(Section::Stage, ["prod", "beta"]);
    }
}
