//! Taking a room away, and proving that it is gone.

use std::time::Duration;

use aws_sdk_cloudformation::types::{ResourceStatus, StackResourceSummary};
use aws_sdk_resourcegroupstagging::types::TagFilter;
use tokio::time::{Instant, sleep};
use waitroom::RoomId;

use crate::artefacts::Artefacts;
use crate::error::code;
use crate::progress::{DeployStep, Tell, step};
use crate::stack::{Next, StackState, Stacks, next_step_to_nothing};
use crate::{Account, CloudError, DeployEvent, Kind, names};

/// How often a stack is told to go that does not.
const ATTEMPTS: u32 = 3;

/// AWS's index of tags hears of what is gone a little later.
const INDEX_LAGS: Duration = Duration::from_secs(45);
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// The functions, as the template calls them. Should one have written its log after that was removed, or elsewhere than it
/// is told, there is one again.
const FUNCTIONS: [&str; 5] = ["Producer", "Trigger", "Consumer", "Throttle", "Setup"];

/// What was removed, and what was looked for afterwards without being found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct RemovalProof {
    /// What was there, and has been removed by this run. Nothing, if the room was gone already.
    pub removed: Vec<String>,
    /// What was looked for, and is not there.
    pub gone: Vec<String>,
    /// What could not be looked for, and why.
    pub unseen: Vec<String>,
}

impl Account {
    /// Removes everything that belongs to a room. To do that again, or when there is nothing, is no mistake.
    pub async fn destroy(&self, room: &RoomId, tell: Tell<'_>) -> Result<RemovalProof, CloudError> {
        let stacks = Stacks::of(self, room);
        let mut proof = RemovalProof::default();
        loop {
            let Some(found) = stacks.standing().await? else { break };
            match next_step_to_nothing(Some(&found.status)) {
                Next::Create => break,
                Next::Wait => {
                    step(
                        tell,
                        DeployStep::Attach,
                        format!("wait for what happens to the stack already ({})", found.status),
                    );
                    stacks.attach(&found.id).await?.until_done(tell).await?;
                }
                _ => {
                    step(tell, DeployStep::Remove, format!("remove the stack {}", stacks.name));
                    self::stack(&stacks, &found, tell).await?;
                }
            }
            if !proof.removed.contains(&stacks.name) {
                proof.removed.push(stacks.name.clone());
            }
        }
        let artefacts = Artefacts::of(self, room);
        step(tell, DeployStep::RemoveBucket, format!("remove the bucket {}", artefacts.bucket));
        if artefacts.destroy().await? {
            proof.removed.push(artefacts.bucket.clone());
        }
        step(tell, DeployStep::RemoveLogs, "remove what AWS logged besides");
        let logs: Vec<_> = FUNCTIONS
            .iter()
            .flat_map(|function| ["", "/aws/lambda/"].map(|place| (place, function)))
            .map(|(place, function)| {
                // What is random in their names begins after these.
                let log = if place.is_empty() { "Log" } else { "" };
                format!("{place}{}-{function}{log}-", stacks.name)
            })
            .collect();
        for prefix in &logs {
            proof.removed.extend(self.remove_logs(prefix).await?);
        }
        step(tell, DeployStep::Prove, "look whether anything is left");
        self.prove(&stacks, &artefacts, &logs, room, &mut proof, tell).await?;
        Ok(proof)
    }

    async fn remove_logs(&self, prefix: &str) -> Result<Vec<String>, CloudError> {
        let groups = self.log_groups(prefix).await?;
        for group in &groups {
            match self.logs().delete_log_group().log_group_name(group).send().await {
                Ok(_) => {}
                Err(error) if code(&error) == "ResourceNotFoundException" => {}
                Err(error) => {
                    return Err(self.adviser.trouble(format!("remove the log group {group}"), error));
                }
            }
        }
        Ok(groups)
    }

    async fn log_groups(&self, prefix: &str) -> Result<Vec<String>, CloudError> {
        let (mut all, mut more) = (Vec::new(), None);
        loop {
            let describe =
                self.logs().describe_log_groups().log_group_name_prefix(prefix).set_next_token(more);
            let page = describe.send().await;
            let page =
                page.map_err(|error| self.adviser.trouble(format!("look for log groups {prefix}…"), error))?;
            all.extend(
                page.log_groups.unwrap_or_default().into_iter().filter_map(|group| group.log_group_name),
            );
            more = page.next_token;
            if more.is_none() {
                return Ok(all);
            }
        }
    }

    async fn prove(
        &self,
        stacks: &Stacks<'_>,
        artefacts: &Artefacts<'_>,
        logs: &[String],
        room: &RoomId,
        proof: &mut RemovalProof,
        tell: Tell<'_>,
    ) -> Result<(), CloudError> {
        let mut left = Vec::new();
        match stacks.standing().await? {
            Some(standing) => left.push(format!("the stack {} ({})", stacks.name, standing.status)),
            None => proof.gone.push(format!("the stack {}", stacks.name)),
        }
        if artefacts.exists().await? {
            left.push(format!("the bucket {}", artefacts.bucket));
        } else {
            proof.gone.push(format!("the bucket {}", artefacts.bucket));
        }
        let mut groups = Vec::new();
        for prefix in logs {
            groups.extend(self.log_groups(prefix).await?);
        }
        if groups.is_empty() {
            proof.gone.push(format!("log groups of {}", stacks.name));
        }
        left.extend(groups.into_iter().map(|group| format!("the log group {group}")));
        if !left.is_empty() {
            let reason = format!("there is still {}", left.join(", "));
            let attempt = format!("remove everything of the room {room}");
            return Err(CloudError::new(Kind::Failed, attempt, reason).advise("run the same command again"));
        }
        let tagged = format!("whatever has the tag {}={room}", names::TAG);
        match self.tagged(room).await {
            Ok(found) if found.is_empty() => proof.gone.push(tagged),
            Ok(found) => {
                let text = format!("AWS still lists by the room's tag: {}", found.join(", "));
                let advice = "its index of tags forgets what is gone only after a while; run the same command again later to see it empty";
                tell(DeployEvent::Warning { text, advice: Some(advice.into()) });
                proof.unseen.push(tagged);
            }
            Err(trouble) => {
                let because =
                    std::error::Error::source(&trouble).map(ToString::to_string).unwrap_or_default();
                proof.unseen.push(format!("{tagged} ({because})"));
            }
        }
        Ok(())
    }

    /// The ARNs of what is tagged as the room's, once that no longer changes.
    async fn tagged(&self, room: &RoomId) -> Result<Vec<String>, CloudError> {
        let begun = Instant::now();
        let tagging = aws_sdk_resourcegroupstagging::Client::new(&self.config);
        loop {
            let filter = TagFilter::builder().key(names::TAG).values(room.to_string()).build();
            let (mut all, mut more) = (Vec::new(), None);
            loop {
                let page = tagging
                    .get_resources()
                    .tag_filters(filter.clone())
                    .set_pagination_token(more)
                    .send()
                    .await;
                let page =
                    page.map_err(|error| self.adviser.trouble("look for what has the room's tag", error))?;
                let found = page.resource_tag_mapping_list.unwrap_or_default().into_iter();
                all.extend(found.filter_map(|found| found.resource_arn));
                more = page.pagination_token.filter(|token| !token.is_empty());
                if more.is_none() {
                    break;
                }
            }
            if all.is_empty() || begun.elapsed() > INDEX_LAGS {
                return Ok(all);
            }
            sleep(LOOK_EVERY).await;
        }
    }
}

/// Deletes a stack until it is gone. What keeps it is dealt with as far as that is possible from here.
pub(crate) async fn stack(stacks: &Stacks<'_>, found: &StackState, tell: Tell<'_>) -> Result<(), CloudError> {
    let attempt = format!("remove {}", stacks.place());
    let mut retain = Vec::new();
    for round in 1.. {
        let mut watch = stacks.watch(&found.id).await?;
        let token = format!("beekeeper-{:016x}", rand::random::<u64>());
        let delete = stacks.cloudformation.delete_stack().stack_name(&found.id).client_request_token(token);
        let delete = delete.set_retain_resources((!retain.is_empty()).then(|| retain.clone()));
        delete.send().await.map_err(|error| stacks.account.adviser.trouble(&attempt, error))?;
        let standing = watch.until_done(tell).await?;
        let Some(standing) = standing.filter(|standing| !standing.is_gone()) else { return Ok(()) };
        let trouble = watch.trouble(&attempt, Some(&standing));
        if round == ATTEMPTS {
            return Err(trouble.or_advise("deal with that, and run the same command again"));
        }
        let reason = std::error::Error::source(&trouble).map(ToString::to_string).unwrap_or_default();
        tell(DeployEvent::Warning {
            text: format!("the stack did not go, and is told again: {reason}"),
            advice: None,
        });
        for resource in kept(stacks, &found.id).await? {
            let (name, kind) = (resource.logical_resource_id, resource.resource_type);
            match (kind.as_deref(), resource.physical_resource_id, name) {
                // Somebody put something into it after the setup had emptied it.
                (Some("AWS::S3::Bucket"), Some(bucket), _) => {
                    Artefacts::of(stacks.account, stacks.room()).empty(&bucket).await?;
                }
                // The setup does not answer, and is not needed any more: what it clears was cleared here.
                (Some("Custom::Room"), _, Some(name)) => retain.push(name),
                _ => {}
            }
        }
    }
    Ok(())
}

/// What CloudFormation could not remove.
async fn kept(stacks: &Stacks<'_>, id: &str) -> Result<Vec<StackResourceSummary>, CloudError> {
    let mut resources = stacks.resources(id).await?;
    resources.retain(|resource| resource.resource_status == Some(ResourceStatus::DeleteFailed));
    Ok(resources)
}
