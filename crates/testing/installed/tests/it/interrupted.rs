//! However `install.sh` ends, the old program is there or the new one.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::installer::{Machine, Said, script};
use crate::releases::{Releases, Sent, program};

fn end(installing: &mut Child, signal: Signal) -> ExitStatus {
    kill_process_group(Pid::from_child(installing), signal).unwrap();
    installing.wait().unwrap()
}

#[test]
fn in_the_middle_of_the_download_the_old_program_stays() {
    let releases = Releases::of("0.1.0");
    releases.send_archive(Sent::Stalling);
    for downloader in ["curl", "wget"] {
        let machine = Machine::with(&[downloader]);
        machine.has_installed(&program("0.0.9"));
        for (signal, code, is_tidy) in [(Signal::TERM, Some(143), true), (Signal::KILL, None, false)] {
            let mut installing = machine.begin(&releases);
            releases.next_asked();
            let status = end(&mut installing, signal);
            assert_eq!(status.code(), code, "{status}");
            assert_eq!(status.signal().is_some(), code.is_none(), "{status}");
            assert_eq!(machine.version().unwrap(), "beekeeper 0.0.9");
            assert_eq!(machine.beside().len() == 1, is_tidy, "{:?}", machine.beside());
        }
        // What a kill left there does not disturb the next time.
        releases.send_archive(Sent::Whole);
        assert!(machine.install(&releases, &[]).well);
        assert_eq!(machine.version().unwrap(), "beekeeper 0.1.0");
        releases.send_archive(Sent::Stalling);
        releases.all_asked();
    }
}

#[test]
fn at_any_moment_one_of_the_two_is_there() {
    let releases = Releases::of("0.1.0");
    let machine = Machine::with(&["curl"]);
    for after in (0..120).step_by(4) {
        machine.has_installed(&program("0.0.9"));
        let mut installing = machine.begin(&releases);
        thread::sleep(Duration::from_millis(after));
        end(&mut installing, Signal::KILL);
        let version = machine.version().unwrap();
        assert!(["beekeeper 0.0.9", "beekeeper 0.1.0"].contains(&&*version), "{version} after {after} ms");
    }
}

/// `curl … | sh`, and the connection breaks.
#[test]
fn a_script_that_arrived_in_part_does_nothing() {
    let releases = Releases::of("0.1.0");
    let machine = Machine::with(&["curl"]);
    let whole = fs::read(script()).unwrap();
    let whole = whole.strip_suffix(b"\n").unwrap();
    let lines = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let last = lines.clone().next_back().unwrap();
    let part = machine.home().join("part.sh");
    for shell in ["dash", "bash"].map(crate::installer::on_path) {
        for length in lines.clone().chain(last..whole.len()) {
            fs::write(&part, &whole[..length]).unwrap();
            let mut command = std::process::Command::new(&shell);
            command
                .arg(&part)
                .env_clear()
                .env("HOME", machine.home())
                .env("BEEKEEPER_BASE_URL", releases.url());
            let said = Said::of(command.env("PATH", machine.home().join("tools")).output().unwrap());
            assert!(said.out.is_empty() && !machine.home().join(".local").exists(), "{length}: {said:?}");
        }
        assert_eq!(releases.all_asked(), [""; 0]);
    }
    fs::write(&part, whole).unwrap();
    let said = Said::of(machine.command(&part, &releases, &[]).output().unwrap());
    assert!(said.well && machine.version().is_some(), "the whole one does: {said:?}");
}
