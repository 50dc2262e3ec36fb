//! A copy of a room that runs on this machine.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::process;

use anyhow::{Context, Result, bail};
use control::{ControlError, SocketRoom, UpkeepReply};
use document::Refusal;
use embedded::{BackedUp, Unfinished};
use rustix::fs::OFlags;
use waitroom::RoomId;

/// Lets the room write a copy of itself, and takes it here. Returns who is in it, and how long it is.
pub async fn back_up(room: &SocketRoom, name: &RoomId, to: &Path) -> Result<(BackedUp, u64)> {
    // The room removes its copy when the connection is closed, also if this command is killed.
    let (reply, _connection) = room.back_up().await?;
    match reply {
        UpkeepReply::BackedUp { file, waiting, admissions } => {
            let Some(copy) = written_copy(&file, &room.directory) else {
                return Err(ControlError::Unexpected { room: name.clone() }.into());
            };
            let length = move_file(&copy, to)?;
            Ok((BackedUp { waiting, admissions }, length))
        }
        UpkeepReply::Failed { error } => bail!("the room {name} {error}"),
        UpkeepReply::Port { .. } | UpkeepReply::Checked(_) => {
            Err(ControlError::Unexpected { room: name.clone() }.into())
        }
    }
}

/// The copy that the room has written. It says the name, and this command may run as root: no other folder is meant.
fn written_copy(file: &str, directory: &Path) -> Option<Unfinished> {
    let mut parts = Path::new(file).components();
    let is_one_name = matches!(parts.next(), Some(Component::Normal(name)) if name == file);
    is_one_name.then(|| Unfinished::at(directory.join(file)))
}

/// Copies the file, so that the result belongs to whoever runs this command, and may be on another disk. Returns its length.
fn move_file(copy: &Unfinished, to: &Path) -> Result<u64> {
    let from = copy.path();
    // Whoever runs the room owns its directory, and could lead root to another file by a link there.
    let source = OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(from);
    let mut source = source.with_context(|| {
        format!(
            "could not read {}; run this command as the user who runs the room, or as root",
            from.display()
        )
    })?;
    let unfinished = UnfinishedBackup::of(to);
    let mut options = OpenOptions::new();
    let target = options.write(true).create_new(true).mode(0o600).open(unfinished.path());
    let attempt = |what| format!("could not {what} {}", to.display());
    let mut target = target.with_context(|| attempt("create"))?;
    let copied = io::copy(&mut source, &mut target).and_then(|_| target.sync_all());
    copied.with_context(|| attempt("write"))?;
    unfinished.finish()
}

/// A backup that has its name only when it's whole, so that a killed command leaves nothing that looks like one.
#[derive(Debug)]
pub struct UnfinishedBackup {
    file: Unfinished,
    to: PathBuf,
}

impl UnfinishedBackup {
    /// Nothing is written yet.
    pub fn of(to: &Path) -> Self {
        let mut name = to.as_os_str().to_owned();
        name.push(format!(".{}.part", process::id()));
        Self { file: Unfinished::at(name.into()), to: to.to_owned() }
    }

    /// Where it's written until then.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns its length.
    pub fn finish(self) -> Result<u64> {
        let attempt = || format!("could not create {}", self.to.display());
        // Unlike a file that is renamed, a link takes no other's name. Not every disk has links.
        match fs::hard_link(self.path(), &self.to) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(file_exists(&self.to).into());
            }
            Err(_) if self.to.symlink_metadata().is_ok() => return Err(file_exists(&self.to).into()),
            Err(_) => fs::rename(self.path(), &self.to).with_context(attempt)?,
        }
        // The name, too, is there after a power cut.
        let folder = self.to.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))
            .and_then(|folder| folder.sync_all())
            .with_context(attempt)?;
        Ok(self.to.metadata().with_context(attempt)?.len())
    }
}

/// Why nothing is copied into this file.
pub fn file_exists(file: &Path) -> Refusal {
    let reason = format!("{} exists, and a backup never overwrites a file", file.display());
    Refusal::new(reason, "choose another name")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_room_names_a_file_of_its_directory_and_no_link_to_another() {
        let folder = tempfile::tempdir().unwrap();
        let (room, outside) = (folder.path().join("room"), folder.path().join("outside"));
        fs::create_dir(&room).unwrap();
        fs::write(&outside, "a secret").unwrap();
        for other in ["", ".", "..", "../outside", "/etc/shadow", "a/b", "a/", "./a"] {
            assert!(written_copy(other, &room).is_none(), "{other}");
        }
        assert!(written_copy(outside.to_str().unwrap(), &room).is_none());
        symlink(&outside, room.join("copy")).unwrap();
        let link = written_copy("copy", &room).unwrap();
        let to = folder.path().join("noon.redb");
        let refused = move_file(&link, &to).unwrap_err().to_string();
        assert!(refused.starts_with("could not read ") && !to.exists(), "{refused}");
        drop(link);
        assert!(outside.exists() && !room.join("copy").exists());
        fs::write(room.join("copy"), "places").unwrap();
        assert_eq!(move_file(&written_copy("copy", &room).unwrap(), &to).unwrap(), 6);
    }

    #[test]
    fn a_backup_has_its_name_when_it_is_whole_and_takes_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("noon.redb");
        let unfinished = || {
            let unfinished = UnfinishedBackup::of(&to);
            fs::write(unfinished.path(), "places").unwrap();
            assert_ne!(unfinished.path(), to);
            unfinished
        };
        drop(unfinished());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(unfinished().finish().unwrap(), 6);
        fs::write(&to, "another").unwrap();
        let refused = unfinished().finish().unwrap_err().to_string();
        assert!(refused.contains("a backup never overwrites a file"), "{refused}");
        assert_eq!((fs::read(&to).unwrap(), fs::read_dir(&folder).unwrap().count()), (b"another".into(), 1));
    }
}
