//! Letting CloudFormation compute what would change in a stack, and change it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use aws_sdk_cloudformation::types::{
    Capability, ChangeSetStatus, ChangeSetType, OnStackFailure, Parameter, StackStatus, Tag,
};
use tokio::time::{Instant, sleep};

use crate::aws_errors::{code, message};
use crate::error::OrIncomplete;
use crate::progress::{DeployStep, OnEvent, Resource, report_step};
use crate::stack::{RoomStack, StackState};
use crate::{CloudError, DeployEvent, names};

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

impl ResourceChange {
    pub(crate) fn of(action: &str, name: &str, kind: &str) -> Self {
        Self { name: name.into(), kind: kind.into(), action: action.into(), replacement: None }
    }
}

impl fmt::Display for ResourceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, action, replacement } = self;
        let replaced = if replacement.as_deref() == Some("True") { ", replaced" } else { "" };
        write!(f, "{:<8} {name:<28} {kind}{replaced}", action.to_lowercase())
    }
}

/// What a stack is to become.
pub(crate) struct StackContent {
    pub(crate) template: TemplateSource,
    pub(crate) parameters: BTreeMap<String, String>,
}

pub(crate) enum TemplateSource {
    /// CloudFormation takes a large template only from a bucket.
    Url(String),
    Text(String),
}

/// Creates the stack, or updates it if it exists.
pub(crate) async fn apply(
    stack: &RoomStack<'_>,
    content: StackContent,
    existing: Option<&StackState>,
    on_event: OnEvent<'_>,
) -> Result<(), CloudError> {
    let loses_page = loses_page(existing, &content);
    report_step(on_event, DeployStep::Plan, "let CloudFormation compute the changes");
    if let Some(change_set) = create_change_set(stack, content, existing, DEPLOY_CHANGE_SET).await? {
        let action = if existing.is_some() { "update" } else { "create" };
        report_step(on_event, DeployStep::Stack, format!("{action} the stack {}", stack.name));
        execute(stack, &change_set, action, loses_page, on_event).await
    } else {
        report_step(on_event, DeployStep::Stack, format!("the stack {} is up to date", stack.name));
        Ok(())
    }
}

/// Whether the update replaces the operator's page by the built-in one. The setup function does so early, and a rollback can't bring
/// back what was uploaded.
fn loses_page(existing: Option<&StackState>, content: &StackContent) -> bool {
    let was_own =
        existing.and_then(|existing| existing.parameters.get("Page")).is_some_and(|page| page == "custom");
    was_own && content.parameters.get("Page").is_some_and(|page| page == "built-in")
}

/// What would change in a stack that exists. Nothing is changed.
pub(crate) async fn preview(
    stack: &RoomStack<'_>,
    content: StackContent,
    existing: &StackState,
) -> Result<Vec<ResourceChange>, CloudError> {
    let change_set = create_change_set(stack, content, Some(existing), DRY_RUN_CHANGE_SET).await?;
    let Some(change_set) = change_set else { return Ok(Vec::new()) };
    delete_change_set(stack, DRY_RUN_CHANGE_SET).await?;
    Ok(change_set.changes)
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
    content: StackContent,
    existing: Option<&StackState>,
    name: &str,
) -> Result<Option<ChangeSet>, CloudError> {
    delete_change_set(stack, name).await?;
    let attempt = format!("compute the changes of {}", stack.description());
    let create = stack
        .cloudformation
        .create_change_set()
        .stack_name(&stack.name)
        .change_set_name(name)
        .capabilities(Capability::CapabilityIam)
        .capabilities(Capability::CapabilityAutoExpand)
        .tags(Tag::builder().key(names::TAG).value(stack.room().to_string()).build());
    let create = match content.template {
        TemplateSource::Url(url) => create.template_url(url),
        TemplateSource::Text(text) => create.template_body(text),
    };
    let create = match existing {
        Some(_) => create.change_set_type(ChangeSetType::Update),
        // With this setting, CloudFormation deletes a stack that it could not create.
        None => create.change_set_type(ChangeSetType::Create).on_stack_failure(OnStackFailure::Delete),
    };
    let parameters = content
        .parameters
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
    loses_page: bool,
    on_event: OnEvent<'_>,
) -> Result<(), CloudError> {
    let attempt = format!("{action} {}", stack.description());
    let mut watch = stack.watch(&change_set.stack_id).await?;
    let token = names::request_token();
    let execute = stack.cloudformation.execute_change_set().change_set_name(&change_set.id);
    let executed = execute.stack_name(&change_set.stack_id).client_request_token(token).send().await;
    executed.map_err(|error| stack.account.errors.call_failed(&attempt, error))?;
    let state = watch.until_done(on_event).await?;
    let status = state.as_ref().map(|state| &state.status);
    if !matches!(status, Some(StackStatus::CreateComplete | StackStatus::UpdateComplete)) {
        if loses_page {
            on_event(DeployEvent::Warning {
                text: "visitors may see the built-in page now, although AWS took this update back".into(),
                advice: Some(
                    "deploy again; to have your own page back, name it in the configuration file first"
                        .into(),
                ),
            });
        }
        return Err(watch
            .error(attempt, state.as_ref())
            .or_advice("AWS rolled the changes back; solve this problem, and run the same command again"));
    }
    // CloudFormation removes last what the room needs no more. Afterwards it forgets what it could not remove.
    for Resource { name, kind, reason, .. } in watch.left() {
        let reason = reason.as_deref().unwrap_or("AWS gave no reason");
        let text = format!("AWS could not remove {name} ({kind}), which the room no longer needs: {reason}");
        let advice = "remove it by hand in AWS's console, or it may go on costing something".to_owned();
        on_event(DeployEvent::Warning { text, advice: Some(advice) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::stub_aws;

    /// A stack whose next update AWS takes back.
    fn answer(request: &str, is_executed: &AtomicBool) -> String {
        let action = stub_aws::action(request).unwrap();
        let result = match action {
            "CreateChangeSet" => "<Id>changes</Id><StackId>stack</StackId>",
            "DescribeChangeSet" => "<Status>CREATE_COMPLETE</Status>",
            "DescribeStacks" => {
                "<Stacks><member><StackId>stack</StackId><StackStatus>UPDATE_ROLLBACK_COMPLETE</StackStatus></member></Stacks>"
            }
            "DescribeStackEvents" if is_executed.load(Ordering::Relaxed) => {
                "<StackEvents><member><EventId>1</EventId><PhysicalResourceId>stack</PhysicalResourceId></member></StackEvents>"
            }
            _ => "",
        };
        is_executed.fetch_or(action == "ExecuteChangeSet", Ordering::Relaxed);
        stub_aws::answered(action, result)
    }

    /// What is told when an update to this page is taken back.
    async fn warnings(page: &str) -> Vec<String> {
        let is_executed = AtomicBool::new(false);
        let (account, _) = stub_aws::account(move |request| (200, answer(request, &is_executed))).await;
        let stack = RoomStack::new(&account, &"sale".parse().unwrap());
        let existing = StackState::with([("Page".into(), "custom".into())].into());
        let parameters = [("Page".into(), page.into())].into();
        let content = StackContent { template: TemplateSource::Text("{}".into()), parameters };
        let warnings = Mutex::new(Vec::new());
        let on_event = |event| {
            if let DeployEvent::Warning { text, .. } = event {
                warnings.lock().unwrap().push(text);
            }
        };
        let error = apply(&stack, content, Some(&existing), &on_event).await.unwrap_err();
        assert!(error.advice().unwrap().starts_with("AWS rolled the changes back"), "{error:?}");
        warnings.into_inner().unwrap()
    }

    #[tokio::test]
    async fn whoever_took_their_page_out_in_vain_reads_that_it_may_be_gone() {
        assert_eq!(warnings("custom").await, [""; 0]);
        let told = warnings("built-in").await;
        assert!(told.len() == 1 && told[0].starts_with("visitors may see the built-in page now"), "{told:?}");
    }
}
