//! `beekeeper destroy`: removes a room and everything that belongs to it.

use anyhow::Result;

use crate::arguments::Destroy;

#[cfg(not(feature = "aws"))]
pub(crate) fn run(destroy: &Destroy, _: bool) -> Result<()> {
    crate::room::without_aws(&destroy.name)
}

#[cfg(feature = "aws")]
pub(crate) use with_aws::run;

#[cfg(feature = "aws")]
mod with_aws {
    use std::sync::atomic::{AtomicBool, Ordering};

    use cloud::{Account, CloudErrorKind, DeployEvent, Removal};
    use waitroom::ports::LineLength;

    use super::{Destroy, Result};
    use crate::ask;
    use crate::aws::{ProgressDisplay, access, interruptible, run_async};
    use crate::config_folder::ConfigFolder;
    use crate::printer::{note, say};

    pub(crate) fn run(destroy: &Destroy, json: bool) -> Result<()> {
        let begun = AtomicBool::new(false);
        run_async(interruptible("destroy", &destroy.name, &begun, destroyed(destroy, json, &begun)))
    }

    async fn destroyed(destroy: &Destroy, json: bool, begun: &AtomicBool) -> Result<()> {
        let config = ConfigFolder::of_this_user()?.load(&destroy.name)?;
        let account = Account::sign_in(&access(&config)).await?;
        let waiting = waiting(&account, destroy).await;
        if destroy.yes {
            // With --yes, a line that cannot be counted does not stop the removal.
            if let Ok(waiting) = waiting {
                note(&waiting);
            }
        } else {
            ask::confirm(&waiting?, &format!("Remove the room {} permanently?", destroy.name))?;
        }
        begun.store(true, Ordering::Relaxed);
        let progress = ProgressDisplay::new(json);
        let tell = |event: DeployEvent| progress.show(&event);
        let removal = account.destroy(&destroy.name, &tell).await?;
        drop(progress);
        if json {
            return Ok(say(
                &serde_json::json!({ "event": "destroyed", "room": destroy.name, "removal": removal })
                    .to_string(),
            )?);
        }
        Ok(say(&result(destroy, &removal))?)
    }

    /// How many visitors would lose their places. An incomplete room has no line to count.
    async fn waiting(account: &Account, destroy: &Destroy) -> Result<String> {
        match account.room(&destroy.name).await {
            Ok(room) => Ok(match room.store().waiting().await? {
                0 => "No visitors wait".to_owned(),
                1 => "One visitor waits, and loses their place".to_owned(),
                waiting => format!("About {waiting} visitors wait, and lose their places"),
            }),
            Err(error) if error.kind() == CloudErrorKind::NotFound => {
                Ok("The room is missing or incomplete".to_owned())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn result(destroy: &Destroy, removal: &Removal) -> String {
        let mut lines = vec![if removal.removed.is_empty() {
            format!("the room {} was already removed", destroy.name)
        } else {
            format!("the room {} is removed", destroy.name)
        }];
        lines.extend(removal.removed.iter().map(|what| format!("  removed          {what}")));
        lines.extend(removal.gone.iter().map(|what| format!("  none found       {what}")));
        lines.extend(removal.unverified.iter().map(|what| format!("  not checked      {what}")));
        lines.join("\n")
    }
}
