//! Removing a stack.

use std::time::Duration;

use aws_sdk_cloudformation::types::ResourceStatus;
use tokio::time::sleep;

use crate::artefacts::ArtefactBucket;
use crate::progress::{DeployStep, OnEvent, report_step};
use crate::stack::{RemovalStep, RoomStack, StackState, next_removal_step};
use crate::{CloudError, DeployEvent, names};

/// How often the deletion is attempted.
const ATTEMPTS: u32 = 3;

const FIREWALL_PAUSE: Duration = Duration::from_secs(30);

/// Removes it, whatever state it is in. Returns whether there was one.
pub(crate) async fn remove_stack(stack: &RoomStack<'_>, on_event: OnEvent<'_>) -> Result<bool, CloudError> {
    let mut was_there = false;
    while let Some(found) = stack.find().await? {
        match next_removal_step(&found.status) {
            RemovalStep::Done => break,
            RemovalStep::Wait => {
                let text = format!("wait for the operation that is running on the stack ({})", found.status);
                report_step(on_event, DeployStep::Attach, text);
                stack.attach(&found.id).await?.until_done(on_event).await?;
            }
            RemovalStep::Delete => {
                report_step(on_event, DeployStep::Remove, format!("delete the stack {}", stack.name));
                delete_stack(stack, &found, on_event).await?;
            }
        }
        was_there = true;
    }
    Ok(was_there)
}

/// Deletes a stack. If CloudFormation fails to, removes what blocks the deletion, and tries again.
pub(crate) async fn delete_stack(
    stack: &RoomStack<'_>,
    found: &StackState,
    on_event: OnEvent<'_>,
) -> Result<(), CloudError> {
    let attempt = format!("delete {}", stack.description());
    let mut retain = Vec::new();
    let mut attempts = 0;
    loop {
        let mut watch = stack.watch(&found.id).await?;
        let token = names::request_token();
        let delete = stack.cloudformation.delete_stack().stack_name(&found.id).client_request_token(token);
        let delete = delete.set_retain_resources((!retain.is_empty()).then(|| retain.clone()));
        delete.send().await.map_err(|error| stack.account.errors.call_failed(&attempt, error))?;
        let state = watch.until_done(on_event).await?;
        let Some(state) = state.filter(|state| !state.is_gone()) else { return Ok(()) };
        let error = watch.error(&attempt, Some(&state));
        attempts += 1;
        if attempts == ATTEMPTS {
            return Err(error.or_advice("solve this problem, and run the same command again"));
        }
        let text = format!("CloudFormation could not delete the stack; trying again: {}", error.reason());
        on_event(DeployEvent::Warning { text, advice: None });
        for resource in stack.resources_with(&found.id, &ResourceStatus::DeleteFailed).await? {
            let (name, kind) = (resource.logical_resource_id, resource.resource_type);
            match (kind.as_deref(), resource.physical_resource_id, name) {
                // Something was put into the bucket after the setup function had emptied it.
                (Some("AWS::S3::Bucket"), Some(bucket), _) => {
                    ArtefactBucket::new(stack.account, stack.room()).empty(&bucket).await?;
                }
                // CloudFront may still use it for a moment after its distribution is gone.
                (Some("AWS::WAFv2::WebACL"), ..) => sleep(FIREWALL_PAUSE).await,
                // The setup function does not respond. It is no longer needed: it would only empty the bucket.
                (Some("Custom::Room"), _, Some(name)) => retain.push(name),
                _ => {}
            }
        }
    }
}
