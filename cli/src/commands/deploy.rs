//! `beekeeper deploy`: brings a room to AWS, or up to date.

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
    use cloud::{Account, DeployAction, DeployEvent, DeployPlan, DeployedRoom, ResourceChange, WAIT_MINUTES};
    use serde_json::json;
    use std::sync::atomic::{AtomicBool, Ordering};

    use waitroom::RoomState;

    use super::{Deploy, Result};
    use crate::ask;
    use crate::aws::{ProgressDisplay, bundle, interruptible, run_async};
    use crate::printer::say;
    use crate::profile::Profiles;

    pub(crate) fn run(deploy: &Deploy, json: bool) -> Result<()> {
        let begun = AtomicBool::new(false);
        run_async(interruptible("deploy", &deploy.name, &begun, deployed(deploy, json, &begun)))
    }

    async fn deployed(deploy: &Deploy, json: bool, begun: &AtomicBool) -> Result<()> {
        let profiles = Profiles::of_this_user()?;
        let profile = profiles.load(&deploy.name)?;
        let wanted = profile.wanted(&deploy.name)?;
        let bundle = bundle();
        let account = Account::sign_in(&profile.access()).await?;
        let plan = account.plan(&wanted, &bundle).await?;
        if deploy.dry_run {
            let changes = account.changes(&wanted, &bundle, &|_| {}).await?;
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
            ask::whether_meant("That is what would be done", question(&plan))?;
        }
        if profile.more.account.is_none() {
            // Before anything is made, so that whatever becomes of it is looked for there. Read again, since somebody may
            // have edited the file while they were asked.
            let mut profile = profiles.load(&deploy.name)?;
            profile.more.account = Some(account.id.clone());
            profiles.save(&deploy.name, &profile)?;
        }
        begun.store(true, Ordering::Relaxed);
        let progress = ProgressDisplay::new(json);
        let tell = |event: DeployEvent| progress.show(&event);
        let room = account.deploy(&wanted, &bundle, &tell).await?;
        let found = room.smoke_check(&tell).await?;
        if found == RoomState::On {
            room.wait_for_schedule(&tell).await?;
        }
        drop(progress);
        if json {
            let told = json!({
                "event": "deployed", "room": room.room, "urls": room.urls, "found": found, "account": account.id,
            });
            return Ok(say(&told.to_string())?);
        }
        Ok(say(&told(&room, found))?)
    }

    fn told(room: &DeployedRoom, found: RoomState) -> String {
        let urls = &room.urls;
        let mut lines =
            vec![format!("waiting room   {}", urls.room), format!("client check   {}", urls.client)];
        if let Some(target) = &urls.domain_target {
            lines.push(format!("your domain    let its CNAME or alias point to {target}"));
        }
        match found {
            RoomState::On => {}
            RoomState::Paused => lines.push(format!(
                "The room is paused: people join, and nobody enters until: beekeeper on {}",
                room.room
            )),
            RoomState::Off => lines.push(format!(
                "The room is off: everybody goes straight on to the shop, until: beekeeper on {}",
                room.room
            )),
        }
        lines.join("\n")
    }

    fn question(plan: &DeployPlan) -> &'static str {
        match plan.action {
            DeployAction::Create => "Make this room?",
            DeployAction::Update => "Bring this room up to date?",
            DeployAction::Replace { .. } => "Remove that, and make this room?",
            DeployAction::Resume { .. } => "Go on with this room?",
        }
    }

    fn text(plan: &DeployPlan) -> String {
        let many = |number: Option<u64>| number.map_or_else(|| "unknown".to_owned(), grouped);
        let purpose = match &plan.action {
            DeployAction::Create => "a new stack".to_owned(),
            DeployAction::Update => {
                "the stack that is there, brought up to date; line, epoch and keys stay".to_owned()
            }
            DeployAction::Replace { status } => format!(
                "what is left of an earlier one ({status}) is removed, with its line, and a new one made"
            ),
            DeployAction::Resume { status } => format!("the stack that an earlier run left as {status}"),
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
            None => format!(
                "{}: {} of {} requests failed",
                plan.shop.url,
                plan.shop.failed,
                plan.shop.failed + plan.shop.answered
            ),
        };
        let costs = &plan.costs;
        let mut lines = vec![
            format!(
                "room       {} in {}, account {} as {}",
                plan.room, plan.region, plan.account, plan.caller
            ),
            format!("           {purpose}"),
            format!("made of    {resources} resources: {}", wrapped(&kinds)),
        ];
        for quota in &plan.limits {
            lines.push(match (quota.value, &quota.error) {
                (Some(value), _) => format!("limit      {}: {value}", quota.name),
                (None, because) => format!(
                    "limit      {}: not known ({})",
                    quota.name,
                    because.as_deref().unwrap_or("AWS does not say")
                ),
            });
        }
        lines.extend([
            format!("bears      {} waiting, {} joining a second, {} entering a minute", many(plan.capacity.waiting), many(plan.capacity.joins_per_second), many(plan.capacity.rate)),
            format!("shop       {shop}"),
            format!(
                "costs      about ${:.0} a month on with nobody there (${:.2} off), and ${:.0} per 100,000 visitors who wait {WAIT_MINUTES}\n           minutes and ask {} times each; an estimate from the list prices of us-east-1",
                costs.idle_month, costs.off_month, costs.per_100_000, costs.polls_per_visitor
            ),
        ]);
        for concern in &plan.warnings {
            lines.push(format!("warning    {}\n           {}", concern.text, concern.advice));
        }
        lines.join("\n")
    }

    /// `AWS::SQS::Queue` is a `SQS::Queue`.
    fn short(kind: &str) -> &str {
        kind.strip_prefix("AWS::").unwrap_or(kind)
    }

    /// A list in lines of a readable length.
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
            None => "nothing was made; without --dry-run this is".to_owned(),
            Some([]) => "nothing would change".to_owned(),
            Some(changes) => {
                let line = |change: &ResourceChange| {
                    let replaced =
                        change.replacement.as_deref().is_some_and(|replacement| replacement == "True");
                    let replaced = if replaced { ", as another one" } else { "" };
                    format!(
                        "  {:<8} {:<28} {}{replaced}",
                        change.action.to_lowercase(),
                        change.name,
                        change.kind
                    )
                };
                let lines: Vec<_> = changes.iter().map(line).collect();
                format!("would change:\n{}", lines.join("\n"))
            }
        }
    }
}
