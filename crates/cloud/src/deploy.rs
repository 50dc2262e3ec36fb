//! Making a room, and changing one.
//!
//! A run may end anywhere: what it has begun goes on in AWS, and the next run begins by looking how far it came. Nothing
//! is remembered on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_cloudformation::types::{
    Capability, ChangeSetStatus, ChangeSetType, OnStackFailure, Parameter, StackStatus, Tag,
};
use tokio::time::{Instant, sleep};

use crate::artefacts::Artefacts;
use crate::error::{code, message};
use crate::progress::{DeployStep, Tell, step};
use crate::stack::{Next, StackState, Stacks, next_step};
use crate::{
    Account, Architecture, Bundle, CloudError, DeployEvent, DeployedRoom, Kind, RoomConfig, bundle, names,
    page, remove,
};

/// How often it is looked whether CloudFormation has worked out what there is to do.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long CloudFormation may take for that.
const PLANNED_WITHIN: Duration = Duration::from_mins(2);

/// A change set has a name; an earlier one of that name is what an interrupted run left.
const TO_EXECUTE: &str = "beekeeper-deploy";
const TO_LOOK_AT: &str = "beekeeper-dry-run";

/// What CloudFormation would do to one part of a stack.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ResourceChange {
    /// As the template calls it.
    pub name: String,
    /// Like `AWS::SQS::Queue`.
    pub kind: String,
    /// `Add`, `Modify`, `Remove`, as CloudFormation says it.
    pub action: String,
    /// Whether it would be another one afterwards: `True`, `False`, `Conditional`.
    pub replacement: Option<String>,
}

/// What a deployment is made of.
struct Made<'a> {
    wanted: &'a RoomConfig,
    bundle: &'a Bundle,
    architecture: Architecture,
    artefacts: Artefacts<'a>,
    template: String,
}

impl<'a> Made<'a> {
    fn of(account: &'a Account, wanted: &'a RoomConfig, bundle: &'a Bundle) -> Result<Self, CloudError> {
        wanted.page.as_ref().map_or(Ok(()), page::check)?;
        let architecture = bundle.choose(wanted.architecture)?;
        let artefacts = Artefacts::of(account, &wanted.room);
        let template = bundle.template(architecture, &artefacts.bucket)?;
        Ok(Self { wanted, bundle, architecture, artefacts, template })
    }

    fn template_key(&self) -> String {
        format!("template/{}.json", names::sha256(self.template.as_bytes()))
    }

    fn keys(&self) -> BTreeSet<String> {
        let packages = self.bundle.packages(self.architecture).map(crate::FunctionPackage::key);
        packages.chain([self.template_key()]).collect()
    }

    fn parameters(&self) -> Result<BTreeMap<String, String>, CloudError> {
        let mut given = self.wanted.parameters(self.architecture);
        given.extend(self.bundle.page_version(self.architecture).map(|version| ("PageVersion", version)));
        bundle::all_parameters(&given)
    }

    async fn send(&self, tell: Tell<'_>) -> Result<(), CloudError> {
        for package in self.bundle.packages(self.architecture) {
            step(
                tell,
                DeployStep::Upload,
                format!("send the function {} ({} kB)", package.function, package.zip.len() / 1000),
            );
            self.artefacts.put(&package.key(), "application/zip", &package.zip).await?;
        }
        self.send_template(tell).await.map(drop)
    }

    async fn send_template(&self, tell: Tell<'_>) -> Result<bool, CloudError> {
        step(tell, DeployStep::Upload, "send the template");
        self.artefacts.put(&self.template_key(), "application/json", self.template.as_bytes()).await
    }
}

impl Account {
    /// Makes the room, or changes it to what is wanted. Line, epoch and keys stay what they are.
    pub async fn deploy(
        &self,
        wanted: &RoomConfig,
        bundle: &Bundle,
        tell: Tell<'_>,
    ) -> Result<DeployedRoom, CloudError> {
        let made = Made::of(self, wanted, bundle)?;
        let stacks = Stacks::of(self, &wanted.room);
        let before = ready(&stacks, tell).await?;
        step(tell, DeployStep::Bucket, format!("make the bucket {}", made.artefacts.bucket));
        made.artefacts.make().await?;
        made.send(tell).await?;

        step(tell, DeployStep::Plan, "let CloudFormation work out what there is to do");
        if let Some(planned) = plan(&stacks, &made, before.as_ref(), TO_EXECUTE).await? {
            let what = if before.is_some() { "change" } else { "make" };
            step(tell, DeployStep::Stack, format!("{what} the stack {}", stacks.name));
            execute(&stacks, &planned, what, tell).await?;
        } else {
            step(tell, DeployStep::Stack, format!("the stack {} is as it should be", stacks.name));
        }
        let room = self.room(&wanted.room).await?;
        if let Some(page) = &wanted.page {
            step(tell, DeployStep::Page, "put your page where the API serves it from");
            room.put_page(page).await?;
        }
        step(tell, DeployStep::Tidy, "remove what earlier deployments were made from");
        made.artefacts.keep_only(&made.keys()).await?;
        Ok(room)
    }

    /// What [`Account::deploy`] would do to a stack that is there: none if there is no such stack, an empty list if
    /// it is as it should be. Leaves everything as it was.
    pub async fn changes(
        &self,
        wanted: &RoomConfig,
        bundle: &Bundle,
        tell: Tell<'_>,
    ) -> Result<Option<Vec<ResourceChange>>, CloudError> {
        let made = Made::of(self, wanted, bundle)?;
        let stacks = Stacks::of(self, &wanted.room);
        let Some(before) = stacks.standing().await? else { return Ok(None) };
        if next_step(Some(&before.status)) != Next::Update || !made.artefacts.exists().await? {
            return Ok(None);
        }
        // CloudFormation reads a template of this size only from a bucket.
        let was_sent = made.send_template(tell).await?;
        step(tell, DeployStep::Plan, "let CloudFormation work out what there is to do");
        let planned = plan(&stacks, &made, Some(&before), TO_LOOK_AT).await;
        if was_sent {
            made.artefacts.remove(&made.template_key()).await?;
        }
        let Some(planned) = planned? else { return Ok(Some(Vec::new())) };
        discard(&stacks, TO_LOOK_AT).await?;
        Ok(Some(planned.changes))
    }
}

/// Brings the stack into a state from which it can be made or changed. The stack, if there is one to be changed.
async fn ready(stacks: &Stacks<'_>, tell: Tell<'_>) -> Result<Option<StackState>, CloudError> {
    loop {
        let standing = stacks.standing().await?;
        let next = next_step(standing.as_ref().map(|standing| &standing.status));
        let Some(found) = standing else { return Ok(None) };
        match next {
            Next::Create => return Ok(None),
            Next::Update => return Ok(Some(found)),
            Next::Wait => {
                step(
                    tell,
                    DeployStep::Attach,
                    format!("wait for what happens to the stack already ({})", found.status),
                );
                let mut watch = stacks.attach(&found.id).await?;
                watch.until_done(tell).await?;
                if let Some(failed) = watch.first_failure() {
                    let reason = failed.reason.as_deref().unwrap_or("AWS does not say why");
                    let text = format!("it failed at {} ({}): {reason}", failed.name, failed.kind);
                    tell(DeployEvent::Warning { text, advice: stacks.account.adviser.advice("", reason).1 });
                }
            }
            Next::Remove => {
                step(tell, DeployStep::Clear, format!("remove what an earlier run left ({})", found.status));
                remove::stack(stacks, &found, tell).await?;
            }
            Next::ContinueRollback => {
                step(tell, DeployStep::Clear, "finish taking back an earlier change");
                let attempt = format!("take back an earlier change of {}", stacks.place());
                let mut watch = stacks.watch(&found.id).await?;
                let rollback =
                    stacks.cloudformation.continue_update_rollback().stack_name(&found.id).send().await;
                rollback.map_err(|error| stacks.account.adviser.trouble(&attempt, error))?;
                let standing = watch.until_done(tell).await?;
                if standing
                    .as_ref()
                    .is_some_and(|standing| standing.status == StackStatus::UpdateRollbackFailed)
                {
                    let trouble = watch.trouble(attempt, standing.as_ref());
                    return Err(trouble.or_advise("deal with that, and run the same command again"));
                }
            }
            Next::Unknown => {
                let reason = format!("it is in a state that this beekeeper does not know: {}", found.status);
                return Err(CloudError::new(Kind::Failed, format!("change {}", stacks.place()), reason)
                    .advise("a newer beekeeper may"));
            }
        }
    }
}

/// What CloudFormation has worked out, and holds ready to be executed.
struct Planned {
    change_set: String,
    stack: String,
    changes: Vec<ResourceChange>,
}

/// None if there is nothing to change.
async fn plan(
    stacks: &Stacks<'_>,
    made: &Made<'_>,
    before: Option<&StackState>,
    name: &str,
) -> Result<Option<Planned>, CloudError> {
    discard(stacks, name).await?;
    let (adviser, cloudformation) = (&stacks.account.adviser, &stacks.cloudformation);
    let attempt = format!("plan {}", stacks.place());
    let create = cloudformation
        .create_change_set()
        .stack_name(&stacks.name)
        .change_set_name(name)
        .template_url(made.artefacts.url(&made.template_key()))
        .capabilities(Capability::CapabilityIam)
        .capabilities(Capability::CapabilityAutoExpand)
        .tags(Tag::builder().key(names::TAG).value(made.wanted.room.to_string()).build());
    let create = match before {
        Some(_) => create.change_set_type(ChangeSetType::Update),
        // A stack that could not be made goes by itself.
        None => create.change_set_type(ChangeSetType::Create).on_stack_failure(OnStackFailure::Delete),
    };
    let parameters = made.parameters()?.into_iter();
    let parameters = parameters
        .map(|(name, value)| Parameter::builder().parameter_key(name).parameter_value(value).build());
    let created = create.set_parameters(Some(parameters.collect())).send().await;
    let created = created.map_err(|error| adviser.trouble(&attempt, error))?;
    let (change_set, stack) = (created.id.unwrap_or_default(), created.stack_id.unwrap_or_default());
    let mut changes = Vec::new();
    let mut more = None;
    loop {
        let describe = cloudformation.describe_change_set().change_set_name(&change_set).stack_name(&stack);
        let described = describe.set_next_token(more.take()).send().await;
        let described = described.map_err(|error| adviser.trouble(&attempt, error))?;
        match described.status {
            Some(ChangeSetStatus::CreateComplete) => {}
            Some(ChangeSetStatus::Failed) => {
                let reason = described.status_reason.unwrap_or_else(|| "AWS does not say why".into());
                discard(stacks, name).await?;
                if is_nothing_to_do(&reason) {
                    return Ok(None);
                }
                if before.is_none() {
                    // With nothing in it.
                    drop(cloudformation.delete_stack().stack_name(&stack).send().await);
                }
                let (kind, advice) = adviser.advice("", &reason);
                let trouble = CloudError::new(kind, attempt, reason);
                return Err(match advice {
                    Some(advice) => trouble.advise(advice),
                    None => trouble,
                });
            }
            _ => {
                sleep(LOOK_EVERY).await;
                continue;
            }
        }
        let resources =
            described.changes.unwrap_or_default().into_iter().filter_map(|change| change.resource_change);
        changes.extend(resources.map(|change| ResourceChange {
            name: change.logical_resource_id.unwrap_or_default(),
            kind: change.resource_type.unwrap_or_default(),
            action: change.action.map(|action| action.to_string()).unwrap_or_default(),
            replacement: change.replacement.map(|replacement| replacement.to_string()),
        }));
        more = described.next_token;
        if more.is_none() {
            return Ok(Some(Planned { change_set, stack, changes }));
        }
    }
}

/// In CloudFormation's own words, of which there are two.
fn is_nothing_to_do(reason: &str) -> bool {
    reason.contains("didn't contain changes") || reason.contains("No updates are to be performed")
}

/// Removes a change set, if there is one.
async fn discard(stacks: &Stacks<'_>, name: &str) -> Result<(), CloudError> {
    let delete = stacks.cloudformation.delete_change_set().stack_name(&stacks.name).change_set_name(name);
    let begun = Instant::now();
    loop {
        let Err(error) = delete.clone().send().await else { return Ok(()) };
        let code = code(&error);
        // Somebody, or a run that was interrupted, had it made a moment ago.
        if code == "InvalidChangeSetStatus" && begun.elapsed() < PLANNED_WITHIN {
            sleep(LOOK_EVERY).await;
            continue;
        }
        if code.starts_with("ChangeSetNotFound") || message(&error).contains("does not exist") {
            return Ok(());
        }
        let attempt = format!("remove an earlier plan of {}", stacks.place());
        return Err(stacks.account.adviser.trouble(attempt, error));
    }
}

async fn execute(
    stacks: &Stacks<'_>,
    planned: &Planned,
    what: &str,
    tell: Tell<'_>,
) -> Result<(), CloudError> {
    let attempt = format!("{what} {}", stacks.place());
    let mut watch = stacks.watch(&planned.stack).await?;
    let token = format!("beekeeper-{:016x}", rand::random::<u64>());
    let execute = stacks.cloudformation.execute_change_set().change_set_name(&planned.change_set);
    let executed = execute.stack_name(&planned.stack).client_request_token(token).send().await;
    executed.map_err(|error| stacks.account.adviser.trouble(&attempt, error))?;
    let standing = watch.until_done(tell).await?;
    match standing.as_ref().map(|standing| &standing.status) {
        Some(StackStatus::CreateComplete | StackStatus::UpdateComplete) => Ok(()),
        _ => Err(watch.trouble(attempt, standing.as_ref()).or_advise(
            "what had been made was taken back; deal with the reason, and run the same command again",
        )),
    }
}
