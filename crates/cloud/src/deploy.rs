//! Creating a room, and updating one.
//!
//! A run can stop at any point: an operation that it started continues in AWS, and the next run reads the state of the
//! stack and continues from there. Nothing is stored on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use ::page::Page;
use aws_sdk_cloudformation::types::{
    Capability, ChangeSetStatus, ChangeSetType, OnStackFailure, Parameter, ResourceStatus, StackStatus, Tag,
};
use config::RoomConfig;
use tokio::time::{Instant, sleep};

use crate::artefacts::ArtefactBucket;
use crate::aws_errors::{code, message};
use crate::bundle::PACKAGE_BUCKET;
use crate::error::OrIncomplete;
use crate::progress::{DeployStep, OnEvent, Resource, report_step};
use crate::stack::{NextStep, RoomStack, StackState, next_step};
use crate::{
    Account, Bundle, CloudError, CloudErrorKind, DeployEvent, DeployedRoom, FunctionPackage, bundle,
    check_page, names, remove,
};

const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How long to wait before a change set that CloudFormation is still working on can be deleted.
const CHANGE_SET_TIMEOUT: Duration = Duration::from_mins(2);

/// Change sets have fixed names, so that a run finds and deletes what an interrupted run left.
const DEPLOY_CHANGE_SET: &str = "beekeeper-deploy";
const DRY_RUN_CHANGE_SET: &str = "beekeeper-dry-run";

/// How CloudFormation would change one resource of a stack.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ResourceChange {
    /// The logical ID in the template.
    pub name: String,
    /// Like `AWS::SQS::Queue`.
    pub kind: String,
    /// CloudFormation's word: `Add`, `Modify`, `Remove`.
    pub action: String,
    /// Whether the resource would be replaced by a new one: `True`, `False`, `Conditional`.
    pub replacement: Option<String>,
}

impl fmt::Display for ResourceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, action, replacement } = self;
        let replaced = if replacement.as_deref() == Some("True") { ", replaced" } else { "" };
        write!(f, "{:<8} {name:<28} {kind}{replaced}", action.to_lowercase())
    }
}

/// What one deployment needs: the configuration, and what to upload.
pub(crate) struct Deployment<'a> {
    config: &'a RoomConfig,
    package: &'a FunctionPackage,
    artefacts: ArtefactBucket<'a>,
    template: String,
}

impl<'a> Deployment<'a> {
    pub(crate) fn new(
        account: &'a Account,
        config: &'a RoomConfig,
        custom_page: Option<&Page>,
        bundle: &'a Bundle,
    ) -> Result<Self, CloudError> {
        custom_page.map_or(Ok(()), check_page)?;
        let package = bundle.choose(config.architecture)?;
        let artefacts = ArtefactBucket::new(account, &config.room);
        Ok(Self { config, package, artefacts, template: bundle::template(config.edge())? })
    }

    fn template_key(&self) -> String {
        format!("template/{}.json", names::sha256(self.template.as_bytes()))
    }

    /// Every object that this deployment needs.
    fn keys(&self) -> BTreeSet<String> {
        [self.package.key(), self.template_key()].into()
    }

    fn parameters(&self) -> Result<BTreeMap<String, String>, CloudError> {
        let mut parameters = self.package.parameters(self.config)?;
        parameters.insert(PACKAGE_BUCKET.into(), self.artefacts.name.clone());
        Ok(parameters)
    }

    /// Whether the stack has the functions and the template of this deployment. A deployment deletes every other template
    /// at its end. A pipeline of the operator's own uploads none here, so only its functions are compared.
    pub(crate) async fn is_of(&self, stack: &StackState) -> Result<bool, CloudError> {
        let has_functions = stack.parameters.get("PageVersion") == Some(&self.package.page_version());
        Ok(has_functions
            && (!self.artefacts.exists().await? || self.artefacts.has(&self.template_key()).await?))
    }

    async fn upload(&self, on_event: OnEvent<'_>) -> Result<(), CloudError> {
        let package = self.package;
        let text = format!("upload the functions ({} kB)", package.zip.len() / 1000);
        report_step(on_event, DeployStep::Upload, text);
        self.artefacts.upload(&package.key(), "application/zip", &package.zip).await?;
        self.upload_template(on_event).await.map(drop)
    }

    /// Uploads the template, and returns whether it did. The template may already be in the bucket.
    async fn upload_template(&self, on_event: OnEvent<'_>) -> Result<bool, CloudError> {
        report_step(on_event, DeployStep::Upload, "upload the template");
        self.artefacts.upload(&self.template_key(), "application/json", self.template.as_bytes()).await
    }
}

impl Account {
    /// Creates the room, or updates it to this configuration. An update keeps line, epoch and signing keys.
    pub async fn deploy(
        &self,
        config: &RoomConfig,
        custom_page: Option<&Page>,
        bundle: &Bundle,
        on_event: OnEvent<'_>,
    ) -> Result<DeployedRoom, CloudError> {
        let deployment = Deployment::new(self, config, custom_page, bundle)?;
        let stack = RoomStack::new(self, &config.room);
        let existing = prepare(&stack, on_event).await?;
        let bucket = &deployment.artefacts;
        report_step(on_event, DeployStep::Bucket, format!("create the bucket {}", bucket.name));
        bucket.ensure().await?;
        deployment.upload(on_event).await?;

        report_step(on_event, DeployStep::Plan, "let CloudFormation compute the changes");
        let change_set = create_change_set(&stack, &deployment, existing.as_ref(), DEPLOY_CHANGE_SET).await?;
        if let Some(change_set) = change_set {
            let action = if existing.is_some() { "update" } else { "create" };
            report_step(on_event, DeployStep::Stack, format!("{action} the stack {}", stack.name));
            execute(&stack, &change_set, action, on_event).await?;
        } else {
            report_step(on_event, DeployStep::Stack, format!("the stack {} is up to date", stack.name));
        }
        let room = self.room(&config.room).await?;
        if let Some(page) = custom_page {
            report_step(on_event, DeployStep::Page, "upload the custom page");
            room.upload_page(page).await?;
        }
        report_step(on_event, DeployStep::Tidy, "delete packages and templates of earlier deployments");
        bucket.keep_only(&deployment.keys()).await?;
        Ok(room)
    }

    /// What [`Account::deploy`] would change in an existing stack. `None` if there is no stack that could be updated, an
    /// empty list if it is up to date. Nothing is changed.
    pub async fn changes(
        &self,
        config: &RoomConfig,
        custom_page: Option<&Page>,
        bundle: &Bundle,
        on_event: OnEvent<'_>,
    ) -> Result<Option<Vec<ResourceChange>>, CloudError> {
        let deployment = Deployment::new(self, config, custom_page, bundle)?;
        let stack = RoomStack::new(self, &config.room);
        let Some(existing) = stack.find().await? else { return Ok(None) };
        let can_update = next_step(Some(&existing.status)) == NextStep::Update;
        if !can_update || !deployment.artefacts.exists().await? {
            return Ok(None);
        }
        // CloudFormation reads a template of this size only from a bucket.
        let was_uploaded = deployment.upload_template(on_event).await?;
        report_step(on_event, DeployStep::Plan, "let CloudFormation compute the changes");
        let change_set = create_change_set(&stack, &deployment, Some(&existing), DRY_RUN_CHANGE_SET).await;
        if was_uploaded {
            deployment.artefacts.delete_object(&deployment.template_key()).await?;
        }
        let Some(change_set) = change_set? else { return Ok(Some(Vec::new())) };
        delete_change_set(&stack, DRY_RUN_CHANGE_SET).await?;
        Ok(Some(change_set.changes))
    }
}

/// Brings the stack into a state in which it can be created or updated. Returns the stack to update, if there is one.
async fn prepare(stack: &RoomStack<'_>, on_event: OnEvent<'_>) -> Result<Option<StackState>, CloudError> {
    loop {
        let found = stack.find().await?;
        let next = next_step(found.as_ref().map(|found| &found.status));
        let Some(found) = found else { return Ok(None) };
        match next {
            NextStep::Create => return Ok(None),
            NextStep::Update => return Ok(Some(found)),
            NextStep::Wait => wait(stack, &found, on_event).await?,
            NextStep::Remove => {
                let text = format!("delete the stack that an earlier run left ({})", found.status);
                report_step(on_event, DeployStep::Clear, text);
                remove::delete_stack(stack, &found, on_event).await?;
            }
            NextStep::ContinueRollback => finish_rollback(stack, &found, on_event).await?,
            NextStep::Unknown => {
                let reason = format!("this version of beekeeper does not know its status {}", found.status);
                let attempt = format!("update {}", stack.description());
                return Err(CloudError::new(CloudErrorKind::Other, attempt, reason)
                    .with_advice("try a newer version of beekeeper"));
            }
        }
    }
}

/// Waits for an operation that another run or another program started.
async fn wait(stack: &RoomStack<'_>, found: &StackState, on_event: OnEvent<'_>) -> Result<(), CloudError> {
    let text = format!("wait for the operation that is running on the stack ({})", found.status);
    report_step(on_event, DeployStep::Attach, text);
    let mut watch = stack.attach(&found.id).await?;
    watch.until_done(on_event).await?;
    if let Some(failed) = watch.first_failure() {
        let reason = failed.reason.as_deref().unwrap_or("AWS gave no reason");
        let text = format!("that operation failed at {} ({}): {reason}", failed.name, failed.kind);
        on_event(DeployEvent::Warning { text, advice: stack.account.errors.advice_for(reason) });
    }
    Ok(())
}

/// Finishes the rollback of an update that got stuck.
async fn finish_rollback(
    stack: &RoomStack<'_>,
    found: &StackState,
    on_event: OnEvent<'_>,
) -> Result<(), CloudError> {
    report_step(on_event, DeployStep::Clear, "finish the rollback of an earlier update");
    let attempt = format!("roll back an earlier update of {}", stack.description());
    let mut watch = stack.watch(&found.id).await?;
    let rollback = stack.cloudformation.continue_update_rollback().stack_name(&found.id).send().await;
    rollback.map_err(|error| stack.account.errors.call_failed(&attempt, error))?;
    match watch.until_done(on_event).await? {
        Some(state) if state.status == StackStatus::UpdateRollbackFailed => {
            Err(watch.error(attempt, Some(&state)).or_advice(&skipping(stack, &found.id).await?))
        }
        _ => Ok(()),
    }
}

/// How to end a rollback that AWS cannot carry out, because a resource cannot go back to what it was.
async fn skipping(stack: &RoomStack<'_>, id: &str) -> Result<String, CloudError> {
    let resources = stack.resources(id).await?;
    let failed = resources.iter().filter(|resource| {
        resource.resource_status.as_ref().is_some_and(|status| *status == ResourceStatus::UpdateFailed)
    });
    let failed: Vec<_> = failed.filter_map(|resource| resource.logical_resource_id.as_deref()).collect();
    if failed.is_empty() {
        return Ok("solve this problem, and run the same command again".into());
    }
    let (name, failed) = (&stack.name, failed.join(" "));
    Ok(format!(
        "solve this problem, and run the same command again; or leave what cannot go back as it is: aws cloudformation \
         continue-update-rollback --stack-name {name} --resources-to-skip {failed}"
    ))
}

/// A change set that is ready to be executed.
struct ChangeSet {
    id: String,
    stack_id: String,
    changes: Vec<ResourceChange>,
}

/// Lets CloudFormation compute the changes. `None` if there are none.
async fn create_change_set(
    stack: &RoomStack<'_>,
    deployment: &Deployment<'_>,
    existing: Option<&StackState>,
    name: &str,
) -> Result<Option<ChangeSet>, CloudError> {
    if let Some(existing) = existing {
        stack.account.refuse_lost_visitors(existing, deployment.config).await?;
    }
    delete_change_set(stack, name).await?;
    let attempt = format!("compute the changes of {}", stack.description());
    let create = stack
        .cloudformation
        .create_change_set()
        .stack_name(&stack.name)
        .change_set_name(name)
        .template_url(deployment.artefacts.url(&deployment.template_key()))
        .capabilities(Capability::CapabilityIam)
        .capabilities(Capability::CapabilityAutoExpand)
        .tags(Tag::builder().key(names::TAG).value(deployment.config.room.to_string()).build());
    let create = match existing {
        Some(_) => create.change_set_type(ChangeSetType::Update),
        // With this setting, CloudFormation deletes a stack that it could not create.
        None => create.change_set_type(ChangeSetType::Create).on_stack_failure(OnStackFailure::Delete),
    };
    let mut parameters = deployment.parameters()?;
    if let Some(existing) = existing {
        stack.account.keep_warm(existing, &mut parameters).await?;
    }
    let functions = stack.account.function_limits().await;
    let reserved = stack.account.plan_reservation(deployment.config, existing, &functions).await;
    reserved.set(&mut parameters);
    let parameters = parameters
        .into_iter()
        .map(|(name, value)| Parameter::builder().parameter_key(name).parameter_value(value).build());
    let created = create.set_parameters(Some(parameters.collect())).send().await;
    let created = created.map_err(|error| stack.account.errors.call_failed(&attempt, error))?;
    let id = created.id.or_incomplete(&attempt, "the change set's ID")?;
    let stack_id = created.stack_id.or_incomplete(&attempt, "the stack's ID")?;
    let reason = match computed_changes(stack, &id, &stack_id, &attempt).await? {
        Ok(changes) => return Ok(Some(ChangeSet { id, stack_id, changes })),
        Err(reason) => reason,
    };
    delete_change_set(stack, name).await?;
    if says_no_changes(&reason) {
        return Ok(None);
    }
    if existing.is_none() {
        // The stack was created for this change set and has no resources. The next run can also handle it, so a failure here
        // does not matter.
        drop(stack.cloudformation.delete_stack().stack_name(&stack_id).send().await);
    }
    Err(stack.account.errors.failed_with(attempt, reason.clone(), &reason))
}

/// Waits until a change set is computed, and reads it. Or why `CloudFormation` could not compute it.
async fn computed_changes(
    stack: &RoomStack<'_>,
    id: &str,
    stack_id: &str,
    attempt: &str,
) -> Result<Result<Vec<ResourceChange>, String>, CloudError> {
    let (mut changes, mut next_page) = (Vec::new(), None);
    loop {
        let describe = stack.cloudformation.describe_change_set().change_set_name(id).stack_name(stack_id);
        let page = describe.set_next_token(next_page.take()).send().await;
        let page = page.map_err(|error| stack.account.errors.call_failed(attempt, error))?;
        match page.status {
            Some(ChangeSetStatus::CreateComplete) => {}
            Some(ChangeSetStatus::Failed) => {
                return Ok(Err(page.status_reason.unwrap_or_else(|| "AWS gave no reason".into())));
            }
            _ => {
                sleep(CHECK_INTERVAL).await;
                continue;
            }
        }
        for change in page.changes.unwrap_or_default() {
            let Some(change) = change.resource_change else { continue };
            changes.push(ResourceChange {
                name: change.logical_resource_id.or_incomplete(attempt, "the name of a changed resource")?,
                kind: change.resource_type.or_incomplete(attempt, "the type of a changed resource")?,
                action: change.action.or_incomplete(attempt, "the action of a change")?.to_string(),
                replacement: change.replacement.map(|replacement| replacement.to_string()),
            });
        }
        next_page = page.next_token;
        if next_page.is_none() {
            return Ok(Ok(changes));
        }
    }
}

/// CloudFormation reports this as a failure, in one of two sentences.
fn says_no_changes(reason: &str) -> bool {
    reason.contains("didn't contain changes") || reason.contains("No updates are to be performed")
}

/// Deletes a change set, if there is one.
async fn delete_change_set(stack: &RoomStack<'_>, name: &str) -> Result<(), CloudError> {
    let delete = stack.cloudformation.delete_change_set().stack_name(&stack.name).change_set_name(name);
    let started = Instant::now();
    loop {
        let Err(error) = delete.clone().send().await else { return Ok(()) };
        let code = code(&error);
        // CloudFormation is still working on it: an interrupted run, or somebody else, created it a moment ago.
        if code == "InvalidChangeSetStatus" && started.elapsed() < CHANGE_SET_TIMEOUT {
            sleep(CHECK_INTERVAL).await;
            continue;
        }
        if code.starts_with("ChangeSetNotFound") || message(&error).contains("does not exist") {
            return Ok(());
        }
        let attempt = format!("delete an earlier change set of {}", stack.description());
        return Err(stack.account.errors.call_failed(attempt, error));
    }
}

async fn execute(
    stack: &RoomStack<'_>,
    change_set: &ChangeSet,
    action: &str,
    on_event: OnEvent<'_>,
) -> Result<(), CloudError> {
    let attempt = format!("{action} {}", stack.description());
    let mut watch = stack.watch(&change_set.stack_id).await?;
    let token = format!("beekeeper-{:016x}", rand::random::<u64>());
    let execute = stack.cloudformation.execute_change_set().change_set_name(&change_set.id);
    let executed = execute.stack_name(&change_set.stack_id).client_request_token(token).send().await;
    executed.map_err(|error| stack.account.errors.call_failed(&attempt, error))?;
    let state = watch.until_done(on_event).await?;
    match state.as_ref().map(|state| &state.status) {
        Some(StackStatus::CreateComplete | StackStatus::UpdateComplete) => {
            // CloudFormation removes last what the room needs no more. Afterwards it forgets what it could not remove.
            for Resource { name, kind, reason, .. } in watch.left() {
                let reason = reason.as_deref().unwrap_or("AWS gave no reason");
                let text =
                    format!("AWS could not remove {name} ({kind}), which the room no longer needs: {reason}");
                let advice =
                    "remove it by hand in AWS's console, or it may go on costing something".to_owned();
                on_event(DeployEvent::Warning { text, advice: Some(advice) });
            }
            Ok(())
        }
        _ => Err(watch
            .error(attempt, state.as_ref())
            .or_advice("AWS rolled the changes back; solve this problem, and run the same command again")),
    }
}
