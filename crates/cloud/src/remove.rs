//! Removing a room, and proving that nothing of it is left.

use std::time::Duration;

use aws_sdk_cloudwatchlogs::types::LogGroup;
use aws_sdk_resourcegroupstagging::types::{ResourceTagMapping, TagFilter};
use config::EdgeSetting;
use tokio::time::{Instant, sleep};
use waitroom::RoomId;

use crate::artefacts::ArtefactBucket;
use crate::aws_errors::code;
use crate::edge_stack::EdgeStack;
use crate::error::OrIncomplete;
use crate::progress::{DeployStep, OnEvent, report_step};
use crate::remove_stack::remove_stack;
use crate::stack::RoomStack;
use crate::{Account, CloudError, CloudErrorKind, DeployEvent, names};

/// AWS's index of tags lists deleted resources for a while.
const TAG_INDEX_DELAY: Duration = Duration::from_secs(45);
const CHECK_INTERVAL: Duration = Duration::from_secs(3);

/// The functions' names in the template. A function can create its log group again by writing to it after the stack
/// deleted it, or create one under Lambda's default name.
const FUNCTIONS: [&str; 5] = ["Producer", "Trigger", "Consumer", "Throttle", "Setup"];

/// What was removed, and what was checked afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Removal {
    /// What this run removed. Empty if there was nothing of the room.
    pub removed: Vec<String>,
    /// What was looked for afterwards and does not exist.
    pub gone: Vec<String>,
    /// What could not be checked, and why.
    pub unverified: Vec<String>,
}

impl Removal {
    /// What was done in this account to remove the room.
    pub fn told(&self, room: &RoomId, account: &Account) -> String {
        let Account { id, region, .. } = account;
        let mut lines = vec![if self.removed.is_empty() {
            format!("nothing of a room {room} is in {region} of the account {id}")
        } else {
            format!("the room {room} is removed")
        }];
        lines.extend(self.removed.iter().map(|what| format!("  removed          {what}")));
        lines.extend(self.gone.iter().map(|what| format!("  none found       {what}")));
        lines.extend(self.unverified.iter().map(|what| format!("  not checked      {what}")));
        lines.join("\n")
    }
}

impl Account {
    /// Removes everything that belongs to a room. It can be repeated, and succeeds if there is nothing to remove.
    pub async fn destroy(&self, room: &RoomId, on_event: OnEvent<'_>) -> Result<Removal, CloudError> {
        let stack = RoomStack::new(self, room);
        let mut removal = Removal::default();
        let found = stack.find().await?;
        if remove_stack(&stack, on_event).await? {
            removal.removed.push(stack.name.clone());
        }
        let artefacts = ArtefactBucket::new(self, room);
        report_step(on_event, DeployStep::RemoveBucket, format!("delete the bucket {}", artefacts.name));
        if artefacts.delete().await? {
            removal.removed.push(artefacts.name.clone());
        }
        report_step(on_event, DeployStep::RemoveLogs, "delete log groups that are left");
        for prefix in log_prefixes(&stack.name) {
            removal.removed.extend(self.delete_log_groups(&prefix).await?);
        }
        let edge = EdgeStack::beside(&stack);
        match edge.remove(found.as_ref(), on_event).await? {
            Ok(false) => {}
            Ok(true) => removal.removed.push(edge.told()),
            Err(error) => removal.unverified.push(format!("{} ({})", edge.told(), error.reason())),
        }
        report_step(on_event, DeployStep::Verify, "check that nothing is left");
        self.verify(&stack, &artefacts, &mut removal, on_event).await?;
        Ok(removal)
    }

    async fn delete_log_groups(&self, prefix: &str) -> Result<Vec<String>, CloudError> {
        let groups = self.log_groups(prefix).await?;
        for group in &groups {
            match self.logs().delete_log_group().log_group_name(group).send().await {
                Ok(_) => {}
                Err(error) if code(&error) == "ResourceNotFoundException" => {}
                Err(error) => {
                    return Err(self.errors.call_failed(format!("delete the log group {group}"), error));
                }
            }
        }
        Ok(groups)
    }

    async fn log_groups(&self, prefix: &str) -> Result<Vec<String>, CloudError> {
        let attempt = format!("look for log groups {prefix}…");
        let groups = self.logs().describe_log_groups().log_group_name_prefix(prefix).into_paginator();
        let groups = groups.items().send().try_collect().await;
        let groups = groups.map_err(|error| self.errors.call_failed(&attempt, error))?;
        let name = |group: LogGroup| group.log_group_name.or_incomplete(&attempt, "the name of a log group");
        groups.into_iter().map(name).collect()
    }

    /// Looks for everything that a room has. An error if something is left.
    async fn verify(
        &self,
        stack: &RoomStack<'_>,
        artefacts: &ArtefactBucket<'_>,
        removal: &mut Removal,
        on_event: OnEvent<'_>,
    ) -> Result<(), CloudError> {
        let mut left = Vec::new();
        match stack.find().await? {
            Some(found) => left.push(format!("the stack {} ({})", stack.name, found.status)),
            None => removal.gone.push(format!("the stack {}", stack.name)),
        }
        if artefacts.exists().await? {
            left.push(format!("the bucket {}", artefacts.name));
        } else {
            removal.gone.push(format!("the bucket {}", artefacts.name));
        }
        let mut groups = Vec::new();
        for prefix in log_prefixes(&stack.name) {
            groups.extend(self.log_groups(&prefix).await?);
        }
        if groups.is_empty() {
            removal.gone.push(format!("log groups of {}", stack.name));
        }
        left.extend(groups.into_iter().map(|group| format!("the log group {group}")));
        if !left.is_empty() {
            let reason = format!("these still exist: {}", left.join(", "));
            let attempt = format!("remove everything of the room {}", stack.room());
            return Err(CloudError::new(CloudErrorKind::Other, attempt, reason)
                .with_advice("run the same command again"));
        }
        self.verify_tags(stack.room(), removal, on_event).await;
        Ok(())
    }

    /// A second check, by AWS's index of tags. The result is recorded; it is never an error.
    async fn verify_tags(&self, room: &RoomId, removal: &mut Removal, on_event: OnEvent<'_>) {
        let tagged = format!("resources with the tag {}={room}", names::TAG);
        match self.tagged(room).await {
            Ok(found) if found.is_empty() => removal.gone.push(tagged),
            Ok(found) => {
                let text = format!("AWS still lists resources with the room's tag: {}", found.join(", "));
                let advice = "its index of tags lists deleted resources for a while; to check again, run the same \
                              command later. A room of this name in another region has the tag too";
                on_event(DeployEvent::Warning { text, advice: Some(advice.into()) });
                removal.unverified.push(tagged);
            }
            Err(error) => removal.unverified.push(format!("{tagged} ({})", error.reason())),
        }
    }

    /// The ARNs of the resources with the room's tag. Retries until there are none, or the index had time to catch up.
    async fn tagged(&self, room: &RoomId) -> Result<Vec<String>, CloudError> {
        let started = Instant::now();
        loop {
            let found = self.tagged_now(room).await?;
            if found.is_empty() || started.elapsed() > TAG_INDEX_DELAY {
                return Ok(found);
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    async fn tagged_now(&self, room: &RoomId) -> Result<Vec<String>, CloudError> {
        let mut arns = self.tagged_here(room).await?;
        // What CloudFront has is listed there, whatever the room's region. The rest of that region is of another room.
        if self.region != EdgeSetting::REGION && EdgeSetting::is_in(&self.region) {
            let there = self.in_region(EdgeSetting::REGION).tagged_here(room).await?;
            let is_of_edge =
                |arn: &String| arn.starts_with("arn:aws:cloudfront:") || arn.contains(":global/webacl/");
            arns.extend(there.into_iter().filter(is_of_edge));
        }
        Ok(arns)
    }

    async fn tagged_here(&self, room: &RoomId) -> Result<Vec<String>, CloudError> {
        let attempt = "look for resources with the room's tag";
        let tagging = aws_sdk_resourcegroupstagging::Client::new(&self.config);
        let filter = TagFilter::builder().key(names::TAG).values(room.to_string()).build();
        let found =
            tagging.get_resources().tag_filters(filter).into_paginator().items().send().try_collect().await;
        let found: Vec<_> = found.map_err(|error| self.errors.call_failed(attempt, error))?;
        let arn =
            |found: ResourceTagMapping| found.resource_arn.or_incomplete(attempt, "the ARN of a resource");
        found.into_iter().map(arn).collect()
    }
}

/// What the names of the functions' log groups begin with: those of the stack, and Lambda's default names.
fn log_prefixes(stack: &str) -> Vec<String> {
    let of_function =
        |function: &str| [format!("{stack}-{function}Log-"), format!("/aws/lambda/{stack}-{function}-")];
    FUNCTIONS.into_iter().flat_map(of_function).collect()
}
