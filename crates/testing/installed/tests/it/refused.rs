//! `install.sh` installs nothing that is wrong, keeps what was there, and says what to do.

use std::fs;
use std::process::Command;

use crate::installer::{Machine, Said, script};
use crate::releases::{Releases, Sent, archive, archive_name, program, sha256};

/// Nothing is installed, and the error begins and ends like this.
fn refuses(machine: &Machine, releases: &Releases, arguments: &[&str], problem: &str, advice: &str) {
    let before = (machine.version(), machine.beside());
    let said = machine.install(releases, arguments);
    assert!(!said.well, "{said:?}");
    assert!(said.err.contains(&format!("error: {problem}")), "{problem}: {said:?}");
    assert!(said.err.contains(&format!("hint: {advice}")), "{advice}: {said:?}");
    assert_eq!((machine.version(), machine.beside()), before, "{said:?}");
}

fn with_old(downloader: &str) -> Machine {
    let machine = Machine::with(&[downloader]);
    machine.has_installed(&program("0.0.9"));
    machine
}

#[test]
fn an_archive_with_another_checksum() {
    let releases = Releases::of("0.1.0");
    let sum = format!("/latest/download/{}.sha256", archive_name());
    let url = format!("{}/latest/download/{}", releases.url(), archive_name());
    for downloader in ["curl", "wget"] {
        let machine = with_old(downloader);
        releases.put(&sum, &sha256(b"another archive"), Sent::Whole);
        let problem = format!("{url} is damaged or was changed: its SHA-256 is ");
        refuses(&machine, &releases, &[], &problem, "nothing was installed; try again");
        releases.put(&sum, b"<html>Please log in</html>", Sent::Whole);
        refuses(&machine, &releases, &[], &format!("{url}.sha256 is not a checksum"), "does a proxy answer");
    }
}

#[test]
fn an_archive_that_arrives_in_part() {
    let releases = Releases::of("0.1.0");
    releases.send_archive(Sent::Half);
    for downloader in ["curl", "wget"] {
        let machine = with_old(downloader);
        let said = machine.install(&releases, &[]);
        assert!(!said.well && said.err.contains("error: "), "{said:?}");
        assert_eq!((machine.version().unwrap().as_str(), machine.beside().len()), ("beekeeper 0.0.9", 1));
    }
}

#[test]
fn an_archive_that_is_none_or_whose_program_does_not_start() {
    let releases = Releases::of("0.1.0");
    let machine = with_old("curl");
    let publish = |bytes: &[u8]| {
        releases.put(&format!("/latest/download/{}", archive_name()), bytes, Sent::Whole);
        releases.put(&format!("/latest/download/{}.sha256", archive_name()), &sha256(bytes), Sent::Whole);
    };
    publish(b"no archive");
    refuses(&machine, &releases, &[], &format!("could not unpack {}", archive_name()), "is the disk full?");
    let folder = tempfile::tempdir().unwrap();
    publish(&archive(folder.path(), "0.1.0", "#!/no/such/interpreter\n"));
    let problem = format!("the beekeeper of {} does not start on this machine", archive_name());
    refuses(&machine, &releases, &[], &problem, "may programs run in ");
}

#[test]
fn a_version_that_does_not_exist() {
    let releases = Releases::of("0.1.0");
    for downloader in ["curl", "wget"] {
        let url = format!("{}/download/v9.9.9/{}", releases.url(), archive_name());
        let problem = format!("there is no version 9.9.9: {url}\n");
        refuses(
            &with_old(downloader),
            &releases,
            &["--version", "9.9.9"],
            &problem,
            "the versions are at https://",
        );
    }
    let none = Releases::empty();
    refuses(
        &with_old("curl"),
        &none,
        &[],
        &format!("there is no {}/latest", none.url()),
        "has anything been",
    );
    let machine = with_old("curl");
    refuses(
        &machine,
        &releases,
        &["--version", "../0.1"],
        "../0.1 is not a version",
        "write it as in --version 0.1.0",
    );
    refuses(&machine, &releases, &["--version"], "--version needs a value", "see --help");
    refuses(&machine, &releases, &["--verison", "1"], "there is no option --verison", "see --help");
}

#[test]
fn a_machine_without_the_tools() {
    let releases = Releases::of("0.1.0");
    for arguments in [&[][..], &["--dry-run"]] {
        refuses(
            &Machine::with(&[]),
            &releases,
            arguments,
            "neither curl nor wget is installed",
            "install one",
        );
        let machine = with_old("curl");
        machine.take("sha256sum");
        refuses(
            &machine,
            &releases,
            arguments,
            "neither sha256sum nor shasum is installed",
            "install coreutils",
        );
    }
}

#[test]
fn a_machine_that_nothing_is_built_for() {
    let releases = Releases::of("0.1.0");
    for (system, problem, advice) in [
        ("Darwin", "this script installs on Linux only", "on macOS there is a Homebrew formula: https://"),
        ("MINGW64_NT-10.0", "there is no beekeeper for Windows itself", "it runs in WSL: `wsl --install`"),
        (
            "FreeBSD",
            "there is no beekeeper for FreeBSD to download",
            "with Rust you can try to build it: git clone https",
        ),
    ] {
        let machine = Machine::with(&["curl"]);
        machine.give_saying("uname", system);
        refuses(&machine, &releases, &[], problem, advice);
    }
    let machine = Machine::with(&["curl"]);
    machine.give_saying("uname", "Linux");
    refuses(
        &machine,
        &releases,
        &[],
        "there is no beekeeper for Linux on Linux to download",
        "with Rust you can build it: git",
    );
    assert_eq!(releases.all_asked(), [""; 0]);
}

#[test]
fn a_folder_that_cannot_be_written() {
    let releases = Releases::of("0.1.0");
    let machine = with_old("curl");
    fs::write(machine.home().join("file"), "").unwrap();
    let below_file = machine.home().join("file/bin").display().to_string();
    let advice = "install elsewhere: --to DIR";
    refuses(&machine, &releases, &["--to", &below_file], &format!("could not create {below_file}"), advice);
    // Not even root can write there.
    refuses(&machine, &releases, &["--to", "/proc"], "could not write into /proc", advice);
    fs::create_dir_all(machine.home().join("taken/beekeeper")).unwrap();
    let taken = machine.home().join("taken").display().to_string();
    refuses(&machine, &releases, &["--to", &taken], &format!("{taken}/beekeeper is a folder"), advice);
}

/// In a file system of 64 KiB, in a namespace of its own.
#[test]
fn a_full_disk() {
    let releases = Releases::empty();
    // Random digits, which gzip can't make small enough.
    let digits: String = (0..40_000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string()).collect();
    releases.publish("0.1.0", &format!("{}exit\n{digits}", program("0.1.0")));
    let machine = Machine::with(&["curl"]);
    let small = machine.home().join("small");
    fs::create_dir(&small).unwrap();
    let mut install = Command::new("unshare");
    install.args(["--map-root-user", "--mount", "sh", "-c"]);
    install.arg(
        r#"mount -t tmpfs -o size=64k none "$1" && printf '#!/bin/sh\necho old\n' >"$1/beekeeper" && chmod 755 "$1/beekeeper"
           script=$2; url=$3; PATH=$4; sh=$5
           "$sh" "$script" --base-url "$url" --to "$1"; echo "ended with $?"; echo "$1"/* "$1"/.b*; "$1/beekeeper""#,
    );
    install.arg("sh").arg(&small).arg(script()).arg(releases.url()).arg(machine.home().join("tools"));
    let said = Said::of(install.arg(crate::installer::on_path("sh")).output().unwrap());
    assert!(said.err.contains("error: could not download "), "{said:?}");
    let kept = format!("ended with 1\n{0}/beekeeper {0}/.b*\nold\n", small.display());
    assert!(said.out.ends_with(&kept), "{said:?}");
}
