//! Bringing a stack into a state in which it can be created or updated, whatever an earlier run left.

use aws_sdk_cloudformation::types::{ResourceStatus, StackStatus};

use crate::progress::{DeployStep, OnEvent, report_step};
use crate::remove_stack::delete_stack;
use crate::stack::{NextStep, RoomStack, StackState, next_step};
use crate::{CloudError, CloudErrorKind, DeployEvent};

/// Returns the stack to update, if there is one.
pub(crate) async fn prepare(
    stack: &RoomStack<'_>,
    on_event: OnEvent<'_>,
) -> Result<Option<StackState>, CloudError> {
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
                delete_stack(stack, &found, on_event).await?;
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
    let (region, name, failed) = (&stack.account.region, &stack.name, failed.join(" "));
    Ok(format!(
        "solve this problem, and run the same command again; or leave what cannot go back as it is: aws cloudformation \
         continue-update-rollback --region {region} --stack-name {name} --resources-to-skip {failed}"
    ))
}
