//! `install.sh` installs what was published, on machines with different tools.

use std::fs;

use emulators::{Venv, busybox, workspace};

use crate::copied::CHECKS;
use crate::installer::{Machine, Said, TOOLS, on_path, script};
use crate::releases::{Releases, archive_name, program};

#[test]
fn it_installs_the_latest_and_says_what_to_do_next() {
    let releases = Releases::of("0.1.0");
    let machine = Machine::with(&["curl"]);
    let said = machine.install(&releases, &[]);
    assert!(said.well, "{said:?}");
    assert_eq!(machine.version().unwrap(), "beekeeper 0.1.0");
    let program = machine.program().display().to_string();
    let on_path = format!("  export PATH=\"{}:$PATH\"", machine.program().parent().unwrap().display());
    for line in
        [format!("installed beekeeper 0.1.0: {program}"), on_path, format!("  remove it       rm {program}")]
    {
        assert!(said.out.lines().any(|printed| printed == line), "{line}: {said:?}");
    }
    assert_eq!(machine.beside(), ["beekeeper"], "nothing else is left");
}

#[test]
fn a_newer_version_replaces_an_older_one() {
    let releases = Releases::of("0.1.0");
    let machine = Machine::with(&["curl"]);
    assert!(machine.install(&releases, &[]).well);
    releases.publish("0.2.0", &program("0.2.0"));
    let said = machine.install(&releases, &[]);
    assert!(said.out.contains("beekeeper: beekeeper 0.1.0 -> beekeeper 0.2.0\n"), "{said:?}");
    assert_eq!(machine.version().unwrap(), "beekeeper 0.2.0");
    let back = machine.install(&releases, &["--version", "v0.1.0"]);
    assert!(back.out.contains("beekeeper 0.2.0 -> beekeeper 0.1.0\n"), "{back:?}");
    machine.has_installed("no program\n");
    let broken = machine.install(&releases, &[]);
    assert!(broken.out.contains("a beekeeper that does not start -> beekeeper 0.2.0\n"), "{broken:?}");
}

#[test]
fn it_installs_where_it_is_told() {
    let releases = Releases::of("0.1.0");
    let machine = Machine::with(&["curl"]);
    let here = machine.home().join("my programs");
    let by_flag = machine.install(&releases, &["--to", here.to_str().unwrap()]);
    assert!(
        by_flag.out.contains(&format!("installed beekeeper 0.1.0: {}/beekeeper\n", here.display())),
        "{by_flag:?}"
    );
    let mut command =
        machine.command(&script(), &Releases::empty(), &["--base-url", &releases.url(), "--to", "below"]);
    let relative = Said::of(command.current_dir(machine.home()).output().unwrap());
    assert!(
        relative.out.contains(&format!("{}/below/beekeeper\n", machine.home().display())),
        "{relative:?}"
    );
    let mut command = machine.command(&script(), &releases, &[]);
    let by_variable =
        Said::of(command.env("BEEKEEPER_INSTALL", machine.home().join("bin")).output().unwrap());
    assert!(by_variable.well && machine.home().join("bin/beekeeper").is_file(), "{by_variable:?}");
    assert!(!machine.program().exists());
}

#[test]
fn a_dry_run_downloads_and_changes_nothing() {
    let releases = Releases::of("0.1.0");
    let machine = Machine::with(&["curl"]);
    let said = machine.install(&releases, &["--dry-run"]);
    let archive = format!("{}/latest/download/{}", releases.url(), archive_name());
    assert!(said.well && said.out.contains(&format!("would download   {archive}\n")), "{said:?}");
    assert!(!machine.home().join(".local").exists());
    machine.has_installed(&program("0.0.9"));
    let said = machine.install(&releases, &["--dry-run"]);
    assert!(said.out.contains(".local/bin/beekeeper, in place of beekeeper 0.0.9\n"), "{said:?}");
    assert_eq!((machine.version().unwrap().as_str(), machine.beside().len()), ("beekeeper 0.0.9", 1));
    assert_eq!(releases.all_asked(), [""; 0]);
}

#[test]
fn wget_or_curl_will_do_and_either_tool_for_checksums() {
    let releases = Releases::of("0.1.0");
    for downloader in ["curl", "wget"] {
        for sums in ["sha256sum", "shasum"] {
            let machine = Machine::with(&[downloader]);
            machine.take("sha256sum");
            machine.give(sums, &on_path(sums));
            let said = machine.install(&releases, &[]);
            assert!(said.well && machine.version().is_some(), "{downloader}, {sums}: {said:?}");
        }
    }
}

#[test]
fn it_runs_in_every_shell_and_with_the_tools_of_a_small_machine() {
    let releases = Releases::of("0.1.0");
    for shell in ["dash", "bash"] {
        let machine = Machine::in_shell(shell, &["curl"]);
        let said = machine.install(&releases, &[]);
        assert!(said.well && machine.version().is_some(), "{shell}: {said:?}");
    }
    let busybox = busybox().unwrap();
    let machine = Machine::bare(&busybox, &["sh"]);
    for tool in TOOLS.iter().chain(&["wget"]) {
        machine.give(tool, &busybox);
    }
    let said = machine.install(&releases, &[]);
    assert!(said.well && machine.version().is_some(), "{said:?}");
    let missing = machine.install(&releases, &["--version", "9.9.9"]);
    assert!(missing.err.starts_with("error: there is no version 9.9.9: "), "{missing:?}");
}

#[test]
fn it_installs_the_archive_of_this_release() {
    let machine = Machine::with(&["curl"]);
    let said = machine.install(&Releases::of_this_build(), &[]);
    assert!(said.well, "{said:?}");
    let version = machine.version().unwrap();
    let commit = version.strip_prefix(concat!("beekeeper ", env!("CARGO_PKG_VERSION"), " ("));
    let words = commit.and_then(|commit| commit.split_once(", ")?.0.split_once(' '));
    let (hash, day) = words.unwrap_or_else(|| panic!("{version}"));
    assert_eq!((hash.len(), day.split('-').count()), (12, 3), "{version}");
}

#[test]
fn the_script_is_clean_and_names_this_repository() {
    let checks = Venv::with("release-checks", CHECKS).unwrap();
    let said = Said::of(checks.command("shellcheck").arg(script()).output().unwrap());
    assert!(said.well, "{}", said.out);
    let text = fs::read_to_string(script()).unwrap();
    let named = text.lines().find_map(|line| line.strip_prefix("repository=")).unwrap();
    assert_eq!(named, repository());
    assert!(text.contains(&format!("#   curl -fsSL {named}/releases/latest/download/install.sh | sh\n")));
}

/// The repository of the workspace's manifest.
fn repository() -> String {
    let manifest = fs::read_to_string(workspace::root().join("Cargo.toml")).unwrap();
    let line = manifest.lines().find_map(|line| line.strip_prefix("repository = ")).unwrap();
    line.trim_matches('"').to_owned()
}
