//! A copy of a room that runs on this machine.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use control::{ControlError, SocketRoom, UpkeepOrder, UpkeepReply};
use document::Refusal;
use embedded::BackedUp;
use waitroom::RoomId;

/// Lets the room write a copy of itself, and takes it here. Returns who is in it, and how long it is.
pub async fn back_up(room: &SocketRoom, name: &RoomId, to: &Path) -> Result<(BackedUp, u64)> {
    match room.keep_up(UpkeepOrder::BackUp).await? {
        UpkeepReply::BackedUp { file, waiting, admissions } => {
            let length = move_file(&WrittenCopy(room.directory.join(file)), to)?;
            Ok((BackedUp { waiting, admissions }, length))
        }
        UpkeepReply::Failed { error } => bail!("the room {name} {error}"),
        UpkeepReply::Port { .. } | UpkeepReply::Checked(_) => {
            Err(ControlError::Unexpected { room: name.clone() }.into())
        }
    }
}

/// The copy that the room wrote. Removed when this is dropped.
struct WrittenCopy(PathBuf);

impl Drop for WrittenCopy {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// Copies the file, so that the result belongs to whoever runs this command, and may be on another disk. Returns its length.
fn move_file(copy: &WrittenCopy, to: &Path) -> Result<u64> {
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
        io::ErrorKind::AlreadyExists => file_exists(to).into(),
        _ => anyhow::Error::new(error).context(format!("could not create {}", to.display())),
    })?;
    let copied = io::copy(&mut source, &mut target).and_then(|bytes| target.sync_all().map(|()| bytes));
    copied
        .inspect_err(|_| drop(fs::remove_file(to)))
        .with_context(|| format!("could not write {}", to.display()))
}

/// Why nothing is copied into this file.
pub fn file_exists(file: &Path) -> Refusal {
    let reason = format!("{} exists, and a backup never overwrites a file", file.display());
    Refusal::new(reason, "choose another name")
}
