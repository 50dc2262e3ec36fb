//! `beekeeper deploy`: creates a room on AWS, or updates it.

use anyhow::Result;

use crate::arguments::Deploy;

#[cfg(not(feature = "aws"))]
pub(crate) fn run(deploy: &Deploy, _: bool) -> Result<()> {
    crate::room::without_aws(&deploy.name)
}

#[cfg(feature = "aws")]
pub(crate) use with_aws::run;

#[cfg(feature = "aws")]
mod with_aws {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use cloud::{Account, DeployAction, DeployEvent, DeployPlan, DeployedRoom, ResourceChange, WAIT_MINUTES};
    use config::RoomConfig;
    use page::{Design, Page};
    use serde_json::json;
    use waitroom::RoomState;

    use super::{Deploy, Result};
    use crate::ask;
    use crate::aws::{ProgressDisplay, access, bundle, interruptible, run_async};
    use crate::config_folder::ConfigFolder;
    use crate::printer::say;

    pub(crate) fn run(deploy: &Deploy, json: bool) -> Result<()> {
        let begun = AtomicBool::new(false);
        run_async(interruptible("deploy", &deploy.name, &begun, deployed(deploy, json, &begun)))
    }

    async fn deployed(deploy: &Deploy, json: bool, begun: &AtomicBool) -> Result<()> {
        let folder = ConfigFolder::of_this_user()?;
        let config = folder.load(&deploy.name)?;
        let page = custom_page(&config)?;
        let bundle = bundle();
        let account = Account::sign_in(&access(&config)).await?;
        let plan = account.plan(&config, &bundle).await?;
        if deploy.dry_run {
            let changes = account.changes(&config, page.as_ref(), &bundle, &|_| {}).await?;
            if json {
                return Ok(say(&json!({ "event": "plan", "plan": plan, "changes": changes }).to_string())?);
            }
            say(&text(&plan))?;
            return Ok(say(&changed(changes.as_deref()))?);
        }
        if json {
            say(&json!({ "event": "plan", "plan": plan }).to_string())?;
        } else {
            eprintln!("{}", text(&plan));
        }
        if !deploy.yes {
            ask::confirm("The plan above would be carried out", question(&plan))?;
        }
        if config.account.is_none() {
            // The account is stored before anything is created, so that later commands find it even if this one fails.
            // The file is read again, because somebody may have edited it during the question.
            let mut config = folder.load(&deploy.name)?;
            config.account = Some(account.id.parse().map_err(anyhow::Error::msg)?);
            folder.save(&config)?;
        }
        begun.store(true, Ordering::Relaxed);
        let progress = ProgressDisplay::new(json);
        let tell = |event: DeployEvent| progress.show(&event);
        let room = account.deploy(&config, page.as_ref(), &bundle, &tell).await?;
        let found = room.smoke_check(&tell).await?;
        if found == RoomState::On {
            room.wait_for_schedule(&tell).await?;
        }
        drop(progress);
        if json {
            let deployed = json!({
                "event": "deployed", "room": room.room, "urls": room.urls, "found": found, "account": account.id,
            });
            return Ok(say(&deployed.to_string())?);
        }
        Ok(say(&result(&room, found))?)
    }

    /// The operator's own page or design, if the room has one.
    fn custom_page(config: &RoomConfig) -> Result<Option<Page>> {
        let Some(folder) = &config.page else { return Ok(None) };
        Ok(Some(Design::read(Path::new(folder.as_str()))?.page(&config.title)))
    }

    fn result(room: &DeployedRoom, found: RoomState) -> String {
        let urls = &room.urls;
        let mut lines =
            vec![format!("waiting room   {}", urls.room), format!("client check   {}", urls.client)];
        if let Some(target) = &urls.domain_target {
            lines.push(format!("your domain    create a CNAME or alias record that points to {target}"));
        }
        match found {
            RoomState::On => {}
            RoomState::Paused => lines.push(format!(
                "The room is paused: visitors can join, but nobody enters. Turn it on with: beekeeper on {}",
                room.room
            )),
            RoomState::Off => lines.push(format!(
                "The room is off: all visitors go straight to the shop. Turn it on with: beekeeper on {}",
                room.room
            )),
        }
        lines.join("\n")
    }

    fn question(plan: &DeployPlan) -> &'static str {
        match plan.action {
            DeployAction::Create => "Create this room?",
            DeployAction::Update => "Update this room?",
            DeployAction::Replace { .. } => "Remove the old stack and create this room?",
            DeployAction::Resume { .. } => "Continue with this room?",
        }
    }

    fn text(plan: &DeployPlan) -> String {
        let many = |number: Option<u64>| number.map_or_else(|| "unknown".to_owned(), grouped);
        let purpose = match &plan.action {
            DeployAction::Create => "a new stack".to_owned(),
            DeployAction::Update => {
                "an update of the stack; the line, its epoch and the keys stay".to_owned()
            }
            DeployAction::Replace { status } => format!(
                "a new stack; the remains of an earlier one ({status}) are removed first, with their line"
            ),
            DeployAction::Resume { status } => format!("the stack of an earlier run, which is {status}"),
        };
        let resources: usize = plan.resources.values().sum();
        let kinds: Vec<_> =
            plan.resources.iter().map(|(kind, count)| format!("{count} {}", short(kind))).collect();
        let shop = match plan.shop.mean {
            Some(mean) => format!(
                "{}: {:.0} ms on average, {} of 20 failed",
                plan.shop.url,
                mean * 1000.0,
                plan.shop.failed
            ),
            None if plan.shop.refused > plan.shop.failed => {
                format!("{}: protected as recommended, it refuses visitors without a pass", plan.shop.url)
            }
            None => format!(
                "{}: {} of {} requests failed",
                plan.shop.url,
                plan.shop.failed,
                plan.shop.failed + plan.shop.answered + plan.shop.refused
            ),
        };
        let costs = &plan.costs;
        let mut lines = vec![
            format!(
                "room       {} in {}, account {} as {}",
                plan.room, plan.region, plan.account, plan.caller
            ),
            format!("           {purpose}"),
            format!("resources  {resources}: {}", wrapped(&kinds)),
        ];
        for quota in &plan.limits {
            lines.push(match (quota.value, &quota.error) {
                (Some(value), _) => format!("limit      {}: {value}", quota.name),
                (None, because) => format!(
                    "limit      {}: unknown ({})",
                    quota.name,
                    because.as_deref().unwrap_or("AWS gives no reason")
                ),
            });
        }
        lines.extend([
            format!("capacity   {} waiting, {} joining a second, {} entering a minute", many(plan.capacity.waiting), many(plan.capacity.joins_per_second), many(plan.capacity.rate)),
            format!("shop       {shop}"),
            format!(
                "costs      about ${:.0} a month while on without visitors (${:.2} while off), and ${:.0} per 100,000 visitors who wait\n           {WAIT_MINUTES} minutes and poll {} times each; an estimate from the list prices of us-east-1",
                costs.idle_month, costs.off_month, costs.per_100_000, costs.polls_per_visitor
            ),
        ]);
        for concern in &plan.warnings {
            lines.push(format!("warning    {}\n           {}", concern.text, concern.advice));
        }
        lines.join("\n")
    }

    /// Shortens `AWS::SQS::Queue` to `SQS::Queue`.
    fn short(kind: &str) -> &str {
        kind.strip_prefix("AWS::").unwrap_or(kind)
    }

    /// Wraps a list into lines of a readable length.
    fn wrapped(items: &[String]) -> String {
        let mut lines = vec![String::new()];
        for (at, item) in items.iter().enumerate() {
            let item = if at + 1 < items.len() { format!("{item}, ") } else { item.clone() };
            match lines.last_mut() {
                Some(line) if line.len() + item.len() < 90 => line.push_str(&item),
                _ => lines.push(item),
            }
        }
        let lines: Vec<_> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n           ")
    }

    fn grouped(number: u64) -> String {
        let digits = number.to_string();
        let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
        groups.join(",")
    }

    fn changed(changes: Option<&[ResourceChange]>) -> String {
        match changes {
            None => "Dry run: nothing was changed. Without --dry-run the room is created.".to_owned(),
            Some([]) => "Dry run: nothing was changed, and nothing would change.".to_owned(),
            Some(changes) => {
                let line = |change: &ResourceChange| {
                    let replaced =
                        change.replacement.as_deref().is_some_and(|replacement| replacement == "True");
                    let replaced = if replaced { ", replaced" } else { "" };
                    format!(
                        "  {:<8} {:<28} {}{replaced}",
                        change.action.to_lowercase(),
                        change.name,
                        change.kind
                    )
                };
                let lines: Vec<_> = changes.iter().map(line).collect();
                format!("Dry run: nothing was changed. These resources would change:\n{}", lines.join("\n"))
            }
        }
    }
}
