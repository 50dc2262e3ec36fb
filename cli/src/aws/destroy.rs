//! `beekeeper destroy`: removes a room and everything that belongs to it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use cloud::{Account, CloudErrorKind, DeployEvent};
use document::words;
use report::{EventReport, KeptRecords, ReportRange};
use rooms::ConfigFolder;
use waitroom::ports::{LineLength, PortResult, Store};
use waitroom::{MinuteRecord, with_causes};

use super::kept_files::keep;
use super::progress::{ProgressDisplay, interruptible};
use super::rooms::{access, handle};
use crate::arguments::on_aws::Destroy;
use crate::ask;
use crate::ending;
use crate::exit::Failure;
use crate::printer::{note, say};
use crate::runtime::block_on_all_cores;

pub(crate) fn run(destroy: &Destroy, json: bool, yes: bool) -> Result<()> {
    let begun = AtomicBool::new(false);
    block_on_all_cores(interruptible("destroy", &destroy.name, &begun, destroyed(destroy, json, yes, &begun)))
}

async fn destroyed(destroy: &Destroy, json: bool, yes: bool, begun: &AtomicBool) -> Result<()> {
    let folder = ConfigFolder::of_this_user()?;
    let config = folder.load(&destroy.name)?;
    let account = Account::sign_in(&access(&config)?).await?;
    let consequence = consequence(&account, destroy).await?;
    if yes {
        note(&consequence);
    } else {
        let (name, Account { id, region, .. }) = (&destroy.name, &account);
        let question = format!("Remove the room {name} in {region} of the account {id} permanently?");
        ask::confirm(&consequence, &question)?;
    }
    let kept = if destroy.no_report { None } else { keep_report(&account, destroy).await? };
    begun.store(true, Ordering::Relaxed);
    let progress = ProgressDisplay::new(json);
    let tell = |event: DeployEvent| progress.show(&event);
    let removal = account.destroy(&destroy.name, &tell).await?;
    drop(progress);
    // What was removed is told first: the file may not be writable.
    let said = if json {
        let destroyed = serde_json::json!({
            "event": "destroyed", "room": destroy.name, "removal": removal, "report": kept,
        });
        say(&destroyed.to_string())
    } else {
        say(&removal.told(&destroy.name, &account))
    };
    if !removal.removed.is_empty() {
        folder.forget_account(&destroy.name)?;
    } else if config.account.is_some() {
        let file = folder.path(&destroy.name);
        note(&format!(
            "warning: {} says that {} is deployed, but nothing of it was in {}. If it was deployed in another region, it's still there.\n  \
             set `region` in that file to the one where it is, and destroy it again",
            file.display(),
            destroy.name,
            account.region,
        ));
    }
    Ok(said?)
}

/// Saves what the room knows of its events, because that is removed with it. Returns where it is: none if there is no
/// room, or if its removal has begun, because parts of it may be gone.
async fn keep_report(account: &Account, destroy: &Destroy) -> Result<Option<PathBuf>> {
    let failed = |error: anyhow::Error| {
        let told = format!(
            "could not save a report of the room {}, so nothing was removed: {error:#}",
            destroy.name
        );
        let remedy = ending::advice(&error).map(|advice| format!("{advice}; or ")).unwrap_or_default();
        let advice = format!("{remedy}add --no-report to remove the room without it");
        Failure::new(ending::exit(&error), told).advising(advice)
    };
    let room = match account.room(&destroy.name).await {
        Ok(room) if room.is_being_removed() => return Ok(None),
        Ok(room) => handle(room).room,
        Err(error) if error.kind() == CloudErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let kept = Box::pin(KeptRecords::read(&room, MinuteRecord::KEPT, ending::advice_for)).await;
    let kept = kept.map_err(|error| failed(error.into()))?;
    let report = EventReport::of(kept, ReportRange::Kept);
    let day = &report.made.to_string()[..10];
    let name = format!("{}-report-{day}", destroy.name);
    let json = serde_json::to_string(&report)? + "\n";
    let files = [("json", json), ("html", report.document().html())];
    let [json, html] =
        keep(&ConfigFolder::of_this_user()?.path(&destroy.name), &name, &files).map_err(failed)?;
    note(&format!("saved a report of the room: {} and {}", json.display(), html.display()));
    Ok(Some(json))
}

/// What the removal does to those who wait. An incomplete room has no line to count.
async fn consequence(account: &Account, destroy: &Destroy) -> Result<String> {
    match account.room(&destroy.name).await {
        Ok(room) => Ok(of_room(room.is_being_removed(), room.store().line().waiting()).await),
        Err(error) if error.kind() == CloudErrorKind::NotFound => {
            Ok("The room is missing or incomplete".to_owned())
        }
        Err(error) => Err(error.into()),
    }
}

/// A line that cannot be counted does not stop the removal, and one that may be gone is not asked.
async fn of_room(is_being_removed: bool, waiting: impl Future<Output = PortResult<u64>>) -> String {
    if is_being_removed {
        return "Its removal has begun".to_owned();
    }
    match waiting.await {
        Ok(0) => "No visitors wait".to_owned(),
        Ok(1) => "One visitor waits, and loses their place".to_owned(),
        Ok(waiting) => format!("About {} visitors wait, and lose their places", words::count(waiting)),
        Err(error) => {
            format!("Whoever waits loses their place; how many do isn't known: {}", with_causes(&error))
        }
    }
}

#[cfg(test)]
mod tests {
    use waitroom::ports::{Fault, PortError};

    use super::*;

    #[tokio::test]
    async fn a_line_that_is_gone_or_unknown_does_not_keep_a_room_from_being_removed() {
        let told = of_room(true, async { panic!("the queue may be gone, so nobody asks it") });
        assert_eq!(told.await, "Its removal has begun");
        let told = of_room(false, async { Ok(7000) }).await;
        assert_eq!(told, "About 7,000 visitors wait, and lose their places");
        let error = PortError::new("count the line", Fault::Broken, "AccessDenied: no");
        let told = of_room(false, async { Err(error) }).await;
        assert!(told.ends_with("isn't known: could not count the line: AccessDenied: no"), "{told}");
    }
}
