//! `beekeeper backup`: a copy of a room on this machine, whether it runs or not.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use embedded::BackedUp;
use serde_json::json;
use waitroom::RoomId;

use crate::arguments::{Backup, LOCAL};
use crate::exit::{Exit, Failure};
use crate::printer::say;
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(backup: &Backup, json: bool) -> Result<()> {
    if !backup.which.here.is_meant() {
        let reason = "only a room on this machine has a file to back up";
        return Err(Failure::new(Exit::Usage, reason).advising("name it with --local").into());
    }
    block_on(async {
        let file = backup.file.display();
        if backup.which.name.is_none() && file.to_string().parse::<RoomId>().is_ok() {
            let RoomHandle { room, as_typed, .. } = RoomHandle::find_to_read(&backup.which).await?;
            let unclear = format!("it is unclear whether {file} is the room or the file; nothing was copied");
            return Err(Failure::new(Exit::Usage, unclear)
                .advising(format!(
                    "for the room {file}: beekeeper backup {LOCAL}{file} FILE; \
                     to copy {} into the file: beekeeper backup {as_typed} ./{file}",
                    room.name
                ))
                .into());
        }
        // Checked first, so that the room does not write a copy for nothing.
        if backup.file.symlink_metadata().is_ok() {
            return Err(exists(&backup.file));
        }
        let found = RoomHandle::find_to_read(&backup.which).await?;
        let (copied, bytes, stopped_at) = if let Some(stopped) = found.stopped() {
            // Nobody joins meanwhile, so the copy goes where it belongs.
            let copied = stopped.store.back_up(&backup.file)?;
            (copied, backup.file.metadata()?.len(), Some(stopped.at))
        } else {
            let (copy, copied) = found.back_up().await?;
            (copied, move_file(&Temporary(copy), &backup.file)?, None)
        };
        let BackedUp { waiting, admissions } = copied;
        if json {
            let mut done = json!({
                "file": backup.file, "bytes": bytes, "waiting": waiting, "admissions": admissions,
            });
            if let Some(at) = stopped_at {
                done["stopped_at"] = json!(at);
            }
            return Ok(say(&done.to_string())?);
        }
        Ok(say(&format!(
            "backed up {} into {}: {waiting} waiting, {admissions} admitted",
            found.room.name,
            backup.file.display(),
        ))?)
    })
}

/// The copy that the room wrote. Removed when this is dropped.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// Copies the file, so that the result belongs to whoever runs this command, and may be on another disk. Returns its length.
fn move_file(copy: &Temporary, to: &Path) -> Result<u64> {
    let from = &copy.0;
    let mut source = File::open(from).with_context(|| {
        format!(
            "could not read {}; run this command as the user who runs the room, or as root",
            from.display()
        )
    })?;
    let mut options = OpenOptions::new();
    let target = options.write(true).create_new(true).mode(0o600).open(to);
    let mut target = target.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(to),
        _ => anyhow::Error::new(error).context(format!("could not create {}", to.display())),
    })?;
    let copied = io::copy(&mut source, &mut target).and_then(|bytes| target.sync_all().map(|()| bytes));
    copied
        .inspect_err(|_| drop(fs::remove_file(to)))
        .with_context(|| format!("could not write {}", to.display()))
}

fn exists(file: &Path) -> anyhow::Error {
    let reason = format!("{} exists, and a backup never overwrites a file", file.display());
    Failure::new(Exit::Failed, reason).advising("choose another name").into()
}
