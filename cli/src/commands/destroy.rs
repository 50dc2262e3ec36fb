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

    use cloud::{Account, CloudErrorKind, DeployEvent, RemovalProof};
    use waitroom::ports::LineLength;

    use super::{Destroy, Result};
    use crate::ask;
    use crate::aws::{ProgressDisplay, interruptible, run_async};
    use crate::printer::{note, say};
    use crate::profile::Profiles;

    pub(crate) fn run(destroy: &Destroy, json: bool) -> Result<()> {
        let begun = AtomicBool::new(false);
        run_async(interruptible("destroy", &destroy.name, &begun, destroyed(destroy, json, &begun)))
    }

    async fn destroyed(destroy: &Destroy, json: bool, begun: &AtomicBool) -> Result<()> {
        let profile = Profiles::of_this_user()?.load(&destroy.name)?;
        let account = Account::sign_in(&profile.access()).await?;
        let waiting = waiting(&account, destroy).await;
        if destroy.yes {
            // Whoever has decided is told, and not kept from it by a room that cannot be counted.
            if let Ok(waiting) = waiting {
                note(&waiting);
            }
        } else {
            ask::whether_meant(&waiting?, &format!("Remove the room {} for good?", destroy.name))?;
        }
        begun.store(true, Ordering::Relaxed);
        let progress = ProgressDisplay::new(json);
        let tell = |event: DeployEvent| progress.show(&event);
        let proof = account.destroy(&destroy.name, &tell).await?;
        drop(progress);
        if json {
            return Ok(say(
                &serde_json::json!({ "event": "destroyed", "room": destroy.name, "proof": proof })
                    .to_string(),
            )?);
        }
        Ok(say(&told(destroy, &proof))?)
    }

    /// How many would lose their places. A room that is only half there has nobody to count.
    async fn waiting(account: &Account, destroy: &Destroy) -> Result<String> {
        match account.room(&destroy.name).await {
            Ok(room) => Ok(match room.store().waiting().await? {
                0 => "Nobody waits".to_owned(),
                1 => "One person waits, and loses the place".to_owned(),
                waiting => format!("About {waiting} people wait, and lose their places"),
            }),
            Err(trouble) if trouble.kind() == CloudErrorKind::NotFound => {
                Ok("The room is not, or not wholly, there".to_owned())
            }
            Err(trouble) => Err(trouble.into()),
        }
    }

    fn told(destroy: &Destroy, proof: &RemovalProof) -> String {
        let mut lines = vec![if proof.removed.is_empty() {
            format!("the room {} was gone already", destroy.name)
        } else {
            format!("the room {} is gone", destroy.name)
        }];
        lines.extend(proof.removed.iter().map(|what| format!("  removed          {what}")));
        lines.extend(proof.gone.iter().map(|what| format!("  looked for, none {what}")));
        lines.extend(proof.unverified.iter().map(|what| format!("  could not see    {what}")));
        lines.join("\n")
    }
}
