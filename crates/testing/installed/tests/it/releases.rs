//! A server with releases, on a port of this machine.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use emulators::workspace;

/// How a file is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Whole,
    /// Half of it, and then the connection is closed.
    Half,
    /// Half of it, and then nothing for as long as the client waits.
    Stalling,
}

type Files = Arc<Mutex<HashMap<String, (Vec<u8>, Sent)>>>;

pub(crate) struct Releases {
    port: u16,
    files: Files,
    asked: Receiver<String>,
}

impl Releases {
    /// Without any release.
    pub(crate) fn empty() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let files = Files::default();
        let (ask, asked) = mpsc::channel();
        let served = files.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (served, ask) = (served.clone(), ask.clone());
                thread::spawn(move || answer(stream, &served, &ask));
            }
        });
        Self { port, files, asked }
    }

    /// With a release of this version, which is the latest. Its program is a script that says the version.
    pub(crate) fn of(version: &str) -> Self {
        let releases = Self::empty();
        releases.publish(version, &program(version));
        releases
    }

    /// With what `cargo xtask release` built, as the latest.
    pub(crate) fn of_this_build() -> Self {
        let releases = Self::empty();
        for name in [archive_name(), format!("{}.sha256", archive_name())] {
            let file = workspace::target().join("release-files").join(&name);
            let bytes = fs::read(&file)
                .unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask release`", file.display()));
            releases.put(&format!("/latest/download/{name}"), &bytes, Sent::Whole);
        }
        releases
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Publishes a release with this program, as the latest.
    pub(crate) fn publish(&self, version: &str, program: &str) {
        let folder = tempfile::tempdir().unwrap();
        let archive = archive(folder.path(), version, program);
        for below in ["latest/download".to_owned(), format!("download/v{version}")] {
            self.put(&format!("/{below}/{}", archive_name()), &archive, Sent::Whole);
            self.put(&format!("/{below}/{}.sha256", archive_name()), &sha256(&archive), Sent::Whole);
        }
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8], sent: Sent) {
        self.files.lock().unwrap().insert(path.to_owned(), (bytes.to_owned(), sent));
    }

    /// Changes how the archive of the latest release is sent.
    pub(crate) fn send_archive(&self, sent: Sent) {
        let path = format!("/latest/download/{}", archive_name());
        self.files.lock().unwrap().get_mut(&path).unwrap().1 = sent;
    }

    /// Waits until as much of a file was sent as will be, and returns its path.
    pub(crate) fn next_asked(&self) -> String {
        self.asked.recv().unwrap()
    }

    pub(crate) fn all_asked(&self) -> Vec<String> {
        self.asked.try_iter().collect()
    }
}

fn answer(mut stream: TcpStream, files: &Files, asked: &Sender<String>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap().to_owned();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let found = files.lock().unwrap().get(&path).cloned();
    let (status, (bytes, sent)) = match found {
        Some(file) => ("200 OK", file),
        None => ("404 Not Found", (b"nothing is here".to_vec(), Sent::Whole)),
    };
    let part = if sent == Sent::Whole { bytes.len() } else { bytes.len() / 2 };
    // The client may have been killed.
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&bytes[..part]));
    let _ = asked.send(path);
    if sent == Sent::Stalling {
        // Until the client goes away.
        let _ = BufReader::new(stream).read_line(&mut String::new());
    }
}

/// The name of the archive for this machine.
pub(crate) fn archive_name() -> String {
    format!("beekeeper-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH)
}

/// A program that says this version.
pub(crate) fn program(version: &str) -> String {
    format!("#!/bin/sh\necho \"beekeeper {version}\"\n")
}

/// An archive of a release, with this program.
pub(crate) fn archive(folder: &Path, version: &str, program: &str) -> Vec<u8> {
    let name = format!("beekeeper-{version}-{}-unknown-linux-musl", std::env::consts::ARCH);
    fs::create_dir(folder.join(&name)).unwrap();
    fs::write(folder.join(&name).join("beekeeper"), program).unwrap();
    fs::write(folder.join(&name).join("README.md"), "A waiting room.\n").unwrap();
    let archive = folder.join("archive.tar.gz");
    let tar = Command::new("tar").arg("czf").arg(&archive).arg("-C").arg(folder).arg(&name).status().unwrap();
    assert!(tar.success());
    fs::read(archive).unwrap()
}

/// What `sha256sum` writes of the archive.
pub(crate) fn sha256(bytes: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(archive_name()), bytes).unwrap();
    let sum = Command::new("sha256sum").arg(archive_name()).current_dir(&folder).output().unwrap();
    assert!(sum.status.success());
    sum.stdout
}
