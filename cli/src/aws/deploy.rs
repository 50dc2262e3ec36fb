//! `beekeeper deploy`: creates a room on AWS, or updates it.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use cloud::{Account, DeployAction, DeployEvent, ResourceChange};
use rooms::{ConfigFolder, custom_page};
use serde_json::json;

use super::progress::{ProgressDisplay, bundle, interruptible};
use super::rooms::access;
use crate::arguments::on_aws::Deploy;
use crate::arguments::people::people;
use crate::ask::{self, TextQuestion};
use crate::printer::{note, readable_width, say};
use crate::runtime::block_on_all_cores;

pub(crate) fn run(deploy: &Deploy, json: bool, yes: bool) -> Result<()> {
    let begun = AtomicBool::new(false);
    block_on_all_cores(interruptible("deploy", &deploy.name, &begun, deployed(deploy, json, yes, &begun)))
}

async fn deployed(deploy: &Deploy, json: bool, yes: bool, begun: &AtomicBool) -> Result<()> {
    let folder = ConfigFolder::of_this_user()?;
    let config = folder.load(&deploy.name)?;
    let page = custom_page(&config)?;
    let bundle = bundle();
    // Before anybody looks for credentials in vain.
    bundle.refuse_missing(&config)?;
    let account = Account::sign_in(&access(&config)?).await?;
    let expected = expected(deploy, json || yes)?;
    let plan = account.plan(&config, page.as_ref(), &bundle, expected).await?;
    if deploy.dry_run {
        let changes = account.changes(&config, page.as_ref(), &bundle, &|_| {}).await?;
        if json {
            return Ok(say(&json!({ "event": "plan", "plan": plan, "changes": changes }).to_string())?);
        }
        say(&plan.document().text(readable_width()))?;
        return Ok(say(&changed(&plan.action, changes.as_deref()))?);
    }
    if json {
        // If the output was closed, the deployment continues.
        drop(say(&json!({ "event": "plan", "plan": plan }).to_string()));
    } else {
        note(&plan.document().text(readable_width()));
    }
    if !yes {
        ask::confirm("The plan above would be carried out", plan.question())?;
    }
    if config.account.is_none() {
        // The account is stored before anything is created, so that later commands find it even if this one fails.
        // The file is read again, because somebody may have edited it during the question.
        let mut config = folder.load(&deploy.name)?;
        config.account = Some(account.id.parse().map_err(anyhow::Error::msg)?);
        folder.save(&config, true)?;
    }
    begun.store(true, Ordering::Relaxed);
    let progress = ProgressDisplay::new(json);
    let tell = |event: DeployEvent| progress.show(&event);
    let confirmed = (!yes).then_some(&*plan.settings);
    let room = account.deploy(&config, page.as_ref(), &bundle, confirmed, &tell).await?;
    let found = room.smoke_check(&tell).await?;
    if found.switches().releases {
        room.wait_for_schedule(&tell).await?;
    }
    let mail = room.alarm_mail().await;
    drop(progress);
    if json {
        let deployed = json!({
            "event": "deployed", "room": room.room, "urls": room.urls, "found": found, "account": account.id,
            "alarm_mail": mail,
        });
        return Ok(say(&deployed.to_string())?);
    }
    Ok(say(&room.told(found, mail.as_ref()))?)
}

/// How many people the operator expects, if they want to say so.
fn expected(deploy: &Deploy, asks_nothing: bool) -> Result<Option<u64>> {
    if !asks_for_crowd(deploy, asks_nothing, ask::can_ask()) {
        return Ok(deploy.expect);
    }
    let question = TextQuestion {
        question: "How many people do you expect at most?",
        help: "like 20000 or 150k, to be warned of what does not fit them; Enter skips this",
        initial: String::new(),
        check: &|answer| crowd(answer).map(drop),
        suggest: &|_| Vec::new(),
    };
    crowd(&question.ask()?).map_err(anyhow::Error::msg)
}

/// Only a person at a terminal is asked, who has not said it already.
fn asks_for_crowd(deploy: &Deploy, asks_nothing: bool, at_terminal: bool) -> bool {
    at_terminal && !asks_nothing && deploy.expect.is_none()
}

fn crowd(answer: &str) -> Result<Option<u64>, String> {
    if answer.is_empty() { Ok(None) } else { people(answer).map(Some) }
}

fn changed(action: &DeployAction, changes: Option<&[ResourceChange]>) -> String {
    let would = match (changes, action) {
        (Some([]), _) => return "Dry run: nothing was changed, and nothing would change.".to_owned(),
        (Some(changes), _) => {
            let lines: Vec<_> = changes.iter().map(|change| format!("  {change}")).collect();
            format!("These resources would change:\n{}", lines.join("\n"))
        }
        (None, DeployAction::Create) => "Without --dry-run the room is created.".to_owned(),
        (None, DeployAction::Replace { .. }) => {
            "Without --dry-run the old stack is removed, and the room is created.".to_owned()
        }
        (None, DeployAction::Resume { .. }) => {
            "What would change isn't known before the earlier run is finished, which is what deploy does first.".to_owned()
        }
        (None, DeployAction::Update) => {
            "What would change isn't known, because the room's bucket for packages is missing; deploy makes it again.".to_owned()
        }
    };
    format!("Dry run: nothing was changed. {would}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Arguments, AwsCommand, Command};

    fn deploy(flags: &[&str]) -> Deploy {
        let line = [&["beekeeper", "deploy", "sale"], flags].concat();
        let command = Arguments::try_parse_from(line).unwrap().command;
        let Command::OnAws(AwsCommand::Deploy(deploy)) = command else { panic!() };
        deploy
    }

    #[test]
    fn a_person_at_a_terminal_is_asked_how_many_people_come() {
        let asks = |flags: &[&str], asks_nothing, at_terminal| {
            asks_for_crowd(&deploy(flags), asks_nothing, at_terminal)
        };
        assert!(asks(&[], false, true));
        assert!(asks(&["--dry-run"], false, true));
        assert!(!asks(&["--expect", "20k"], false, true), "it was said");
        assert!(!asks(&[], true, true), "no question is wanted");
        assert!(!asks(&[], false, false), "nobody is there");
    }

    #[test]
    fn a_dry_run_says_why_it_knows_no_changes() {
        let status = || "UPDATE_IN_PROGRESS".to_owned();
        for (action, told) in [
            (DeployAction::Create, "the room is created"),
            (DeployAction::Replace { status: status() }, "the old stack is removed"),
            (DeployAction::Resume { status: status() }, "before the earlier run is finished"),
            (DeployAction::Update, "bucket for packages is missing"),
        ] {
            assert!(changed(&action, None).contains(told), "{action:?}");
            assert!(changed(&action, Some(&[])).ends_with("nothing would change."), "{action:?}");
        }
    }

    #[test]
    fn enter_alone_skips_the_question() {
        assert_eq!(crowd(""), Ok(None));
        assert_eq!(crowd("150k"), Ok(Some(150_000)));
        assert!(crowd("many").is_err());
    }
}
