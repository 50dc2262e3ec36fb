//! `beekeeper backup`: a copy of a room on this machine, whether it runs or not.

use anyhow::Result;
use embedded::BackedUp;
use rooms::{UnfinishedBackup, back_up, file_exists};
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
            let found = RoomHandle::find_to_read(&backup.which).await?;
            let unclear = format!("it is unclear whether {file} is the room or the file; nothing was copied");
            return Err(Failure::new(Exit::Usage, unclear)
                .advising(format!(
                    "for the room {file}: beekeeper backup {LOCAL}{file} FILE; \
                     to copy {} into the file: beekeeper backup {} ./{file}",
                    found.room.name, found.as_typed
                ))
                .into());
        }
        // Checked first, so that the room does not write a copy for nothing.
        if backup.file.symlink_metadata().is_ok() {
            return Err(file_exists(&backup.file).into());
        }
        let found = RoomHandle::find_to_read(&backup.which).await?;
        let (copied, bytes, stopped_at) = if let Some(stopped) = found.stopped() {
            // Nobody joins meanwhile, so the copy goes where it belongs.
            let unfinished = UnfinishedBackup::of(&backup.file);
            let copied = stopped.store.back_up(unfinished.path())?;
            (copied, unfinished.finish()?, Some(stopped.at))
        } else {
            let running = found.on_this_machine().ok_or_else(|| found.room.unexpected())?;
            let (copied, bytes) = back_up(running, &found.room.name, &backup.file).await?;
            (copied, bytes, None)
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
