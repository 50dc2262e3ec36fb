//! Bringing a stack into a state in which it can be created or updated, whatever an earlier run left.

use aws_sdk_cloudformation::types::{ResourceStatus, StackResourceSummary, StackStatus};

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
    let failed = failed(stack, &found.id).await?;
    let skipped = named(failed.iter().filter(|resource| stays_warm(resource)));
    let skipped = (!skipped.is_empty()).then_some(skipped);
    let mut watch = stack.watch(&found.id).await?;
    let rollback = stack.cloudformation.continue_update_rollback().stack_name(&found.id);
    let rollback = rollback.set_resources_to_skip(skipped).send().await;
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
    let failed = named(&failed(stack, id).await?);
    if failed.is_empty() {
        return Ok("solve this problem, and run the same command again".into());
    }
    let (region, name, failed) = (&stack.account.region, &stack.name, failed.join(" "));
    Ok(format!(
        "solve this problem, and run the same command again; or leave what cannot go back as it is: aws cloudformation \
         continue-update-rollback --region {region} --stack-name {name} --resources-to-skip {failed}"
    ))
}

/// What could not go back.
async fn failed(stack: &RoomStack<'_>, id: &str) -> Result<Vec<StackResourceSummary>, CloudError> {
    stack.resources_with(id, &ResourceStatus::UpdateFailed).await
}

/// Whether this is a table whose warm capacity was raised: AWS lowers none, so the rollback ends only without it. The next update asks for
/// no less than the table has.
fn stays_warm(resource: &StackResourceSummary) -> bool {
    resource.resource_status_reason().is_some_and(|reason| reason.contains("decreasing WarmThroughput"))
}

fn named<'a>(resources: impl IntoIterator<Item = &'a StackResourceSummary>) -> Vec<String> {
    resources.into_iter().filter_map(|resource| resource.logical_resource_id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub_aws;

    /// The second raise of a table's warm capacity, which AWS took back for another reason, and a bucket that did not go back either.
    fn answer(request: &str) -> (u16, String) {
        let action = stub_aws::action(request).unwrap();
        let failed = |name: &str, reason: &str| {
            format!(
                "<member><LogicalResourceId>{name}</LogicalResourceId><ResourceStatus>UPDATE_FAILED</ResourceStatus>\
                 <ResourceStatusReason>{reason}</ResourceStatusReason></member>"
            )
        };
        match action {
            "DescribeStacks" => (200, stub_aws::described("UPDATE_ROLLBACK_FAILED", &[])),
            "ListStackResources" => {
                let reason = "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, decreasing \
                              WarmThroughput is not supported";
                let failed = failed("Ledger", reason) + &failed("PageBucket", "AccessDenied");
                let summaries = format!("<StackResourceSummaries>{failed}</StackResourceSummaries>");
                (200, stub_aws::answered(action, &summaries))
            }
            "ContinueUpdateRollback" => (400, String::new()),
            _ => (200, stub_aws::answered(action, "")),
        }
    }

    #[tokio::test]
    async fn a_rollback_leaves_a_table_as_warm_as_it_is() {
        let (account, asked) = stub_aws::account(answer).await;
        let stack = RoomStack::new(&account, &"sale".parse().unwrap());
        let error = prepare(&stack, &|_| ()).await.unwrap_err();
        assert!(error.to_string().starts_with("could not roll back an earlier update of "), "{error:?}");
        let asked = asked.lock().unwrap();
        let is_rollback = |request: &&String| stub_aws::action(request) == Some("ContinueUpdateRollback");
        let skipped = asked.iter().find(is_rollback).unwrap();
        assert!(skipped.contains("&ResourcesToSkip.member.1=Ledger"), "{skipped}");
        assert_eq!(skipped.matches("ResourcesToSkip").count(), 1, "{skipped}");
    }
}
