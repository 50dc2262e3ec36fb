//! A room's stack: its state, its next step, and watching an operation on it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::types::{ResourceStatus, Stack, StackEvent, StackResourceSummary, StackStatus};
use tokio::time::{Instant, sleep};
use waitroom::RoomId;

use crate::aws_errors::message;
use crate::error::OrIncomplete;
use crate::progress::{OnEvent, Resource};
use crate::{Account, CloudError, CloudErrorKind, DeployEvent, names};

/// How often the state of a stack is read while an operation on it runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(1500);

/// How long an operation may take to show up in the stack's events. After that, a stack that is not in progress counts as
/// done: the operation had nothing to do.
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// The next step towards a working room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// There is no stack, or only one in which nothing was created yet.
    Create,
    Update,
    /// Wait for the operation that is running, then decide again.
    Wait,
    /// Delete the stack: it can be neither updated nor repaired.
    Remove,
    /// Finish the rollback of an update, then decide again.
    ContinueRollback,
    /// CloudFormation returned a status that this version of beekeeper does not know.
    Unknown,
}

pub(crate) fn next_step(status: Option<&StackStatus>) -> NextStep {
    use StackStatus as Is;
    let Some(status) = status else { return NextStep::Create };
    match status {
        Is::DeleteComplete | Is::ReviewInProgress => NextStep::Create,
        Is::CreateComplete
        | Is::UpdateComplete
        | Is::UpdateFailed
        | Is::UpdateRollbackComplete
        | Is::ImportComplete
        | Is::ImportRollbackComplete => NextStep::Update,
        Is::UpdateRollbackFailed => NextStep::ContinueRollback,
        Is::CreateFailed | Is::RollbackComplete | Is::RollbackFailed | Is::DeleteFailed => NextStep::Remove,
        // Beekeeper never imports. Somebody else did, and the room worked before, so do not delete it.
        Is::ImportRollbackFailed => NextStep::Unknown,
        other if is_in_progress(other) => NextStep::Wait,
        _ => NextStep::Unknown,
    }
}

/// The next step towards removing the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovalStep {
    /// There is no stack.
    Done,
    /// Wait for the operation that is running, then decide again.
    Wait,
    Delete,
}

pub(crate) fn next_removal_step(status: &StackStatus) -> RemovalStep {
    use StackStatus as Is;
    match status {
        Is::DeleteComplete => RemovalStep::Done,
        // CloudFormation deletes these without finishing the creation first.
        Is::ReviewInProgress | Is::CreateInProgress => RemovalStep::Delete,
        other if is_in_progress(other) => RemovalStep::Wait,
        _ => RemovalStep::Delete,
    }
}

fn is_in_progress(status: &StackStatus) -> bool {
    status.as_str().ends_with("_IN_PROGRESS")
}

/// What CloudFormation says about a stack.
#[derive(Clone, Debug)]
pub(crate) struct StackState {
    /// The ARN. A stack that is created later under the same name has another one.
    pub(crate) id: String,
    pub(crate) status: StackStatus,
    pub(crate) reason: Option<String>,
    pub(crate) outputs: BTreeMap<String, String>,
    pub(crate) parameters: BTreeMap<String, String>,
    /// The room in the stack's tag.
    pub(crate) room: Option<String>,
}

impl StackState {
    pub(crate) fn is_gone(&self) -> bool {
        self.status == StackStatus::DeleteComplete
    }

    /// A complete stack that was deployed with these.
    #[cfg(test)]
    pub(crate) fn with(parameters: BTreeMap<String, String>) -> Self {
        let status = StackStatus::UpdateComplete;
        Self { id: "1".into(), status, reason: None, outputs: BTreeMap::new(), parameters, room: None }
    }

    fn from_description(stack: Stack, attempt: &str) -> Result<Self, CloudError> {
        let outputs = stack.outputs.unwrap_or_default().into_iter();
        let parameters = stack.parameters.unwrap_or_default().into_iter();
        let tag = stack.tags.unwrap_or_default().into_iter().find(|tag| tag.key() == Some(names::TAG));
        Ok(Self {
            id: stack.stack_id.or_incomplete(attempt, "the stack's ID")?,
            status: stack.stack_status.or_incomplete(attempt, "the stack's status")?,
            reason: stack.stack_status_reason,
            outputs: outputs.filter_map(|output| Some((output.output_key?, output.output_value?))).collect(),
            parameters: parameters
                .filter_map(|parameter| Some((parameter.parameter_key?, parameter.parameter_value?)))
                .collect(),
            room: tag.and_then(|tag| tag.value),
        })
    }
}

/// A stack of one room, which may not exist. Its name depends only on the room and its region.
pub(crate) struct RoomStack<'a> {
    pub(crate) account: &'a Account,
    pub(crate) cloudformation: Client,
    pub(crate) name: String,
    room: RoomId,
}

impl<'a> RoomStack<'a> {
    pub(crate) fn new(account: &'a Account, room: &RoomId) -> Self {
        Self::named(account, names::stack(room), room)
    }

    pub(crate) fn named(account: &'a Account, name: String, room: &RoomId) -> Self {
        let cloudformation = account.cloudformation();
        Self { account, cloudformation, name, room: room.clone() }
    }

    /// With its region and account, for error texts.
    pub(crate) fn description(&self) -> String {
        self.account.describe_stack(&self.name)
    }

    pub(crate) fn room(&self) -> &RoomId {
        &self.room
    }

    /// The state of the stack, if it exists. An error if a stack of this name exists that is not this room's.
    pub(crate) async fn find(&self) -> Result<Option<StackState>, CloudError> {
        let found = self.describe(&self.name).await?.filter(|found| !found.is_gone());
        match found {
            // A stack whose first change set was never executed has no tags yet, and no resources.
            Some(other)
                if other.status != StackStatus::ReviewInProgress
                    && other.room.as_deref() != Some(self.room.as_str()) =>
            {
                let reason = format!(
                    "a stack of this name exists without the tag {}={}, so it is not this room's",
                    names::TAG,
                    self.room
                );
                let attempt = format!("use {}", self.description());
                let error = CloudError::new(CloudErrorKind::NameTaken, attempt, reason);
                Err(error.with_advice("give the room another name, or delete that stack if nobody needs it"))
            }
            found => Ok(found),
        }
    }

    /// Reads the state of a stack by name or ARN. By ARN, a deleted stack is found too.
    async fn describe(&self, name_or_id: &str) -> Result<Option<StackState>, CloudError> {
        let attempt = format!("look for {}", self.description());
        match self.cloudformation.describe_stacks().stack_name(name_or_id).send().await {
            Ok(answer) => {
                let stack = answer.stacks.unwrap_or_default().into_iter().next();
                let stack = stack.or_incomplete(&attempt, "the stack")?;
                StackState::from_description(stack, &attempt).map(Some)
            }
            Err(error) if message(&error).contains("does not exist") => Ok(None),
            Err(error) => Err(self.account.errors.call_failed(attempt, error)),
        }
    }

    /// The events of a stack, oldest first. Events come in pages, newest first: reading stops after the first page with
    /// a known event at its end.
    async fn events(&self, id: &str, known: &BTreeSet<String>) -> Result<Vec<StackEvent>, CloudError> {
        let describe = self.cloudformation.describe_stack_events().stack_name(id);
        let mut pages = describe.into_paginator().send();
        let mut events = Vec::new();
        while let Some(page) = pages.try_next().await.map_err(|error| {
            let attempt = format!("read the events of {}", self.description());
            self.account.errors.call_failed(attempt, error)
        })? {
            events.extend(page.stack_events.unwrap_or_default());
            let is_known = |event: &StackEvent| event.event_id().is_some_and(|id| known.contains(id));
            if events.last().is_some_and(is_known) {
                break;
            }
        }
        events.reverse();
        Ok(events)
    }

    pub(crate) async fn resources(&self, id: &str) -> Result<Vec<StackResourceSummary>, CloudError> {
        let list = self.cloudformation.list_stack_resources().stack_name(id).into_paginator();
        list.items().send().try_collect().await.map_err(|error| {
            let attempt = format!("list the resources of {}", self.description());
            self.account.errors.call_failed(attempt, error)
        })
    }

    pub(crate) async fn resources_with(
        &self,
        id: &str,
        status: &ResourceStatus,
    ) -> Result<Vec<StackResourceSummary>, CloudError> {
        let mut resources = self.resources(id).await?;
        resources.retain(|resource| resource.resource_status.as_ref() == Some(status));
        Ok(resources)
    }

    /// Watches an operation that is about to start. Events until now are not reported.
    pub(crate) async fn watch(&self, id: &str) -> Result<StackWatch<'_>, CloudError> {
        let events = self.events(id, &BTreeSet::new()).await?;
        let seen = events.into_iter().filter_map(|event| event.event_id).collect();
        Ok(self.watch_from(id, seen, false))
    }

    /// Watches an operation that is already running. Its events are reported from its beginning.
    pub(crate) async fn attach(&self, id: &str) -> Result<StackWatch<'_>, CloudError> {
        let events = self.events(id, &BTreeSet::new()).await?;
        let is_start = |event: &StackEvent| {
            let status = event.resource_status().map(ToString::to_string);
            event.physical_resource_id() == Some(id)
                && matches!(
                    status.as_deref(),
                    Some("CREATE_IN_PROGRESS" | "UPDATE_IN_PROGRESS" | "DELETE_IN_PROGRESS")
                )
        };
        let start = events.iter().rposition(is_start).unwrap_or(0);
        let seen = events.into_iter().take(start).filter_map(|event| event.event_id).collect();
        Ok(self.watch_from(id, seen, true))
    }

    fn watch_from(&self, id: &str, seen: BTreeSet<String>, has_started: bool) -> StackWatch<'_> {
        StackWatch { stack: self, id: id.to_owned(), seen, has_started, failed: None, left: BTreeMap::new() }
    }
}

/// Watches an operation on a stack. It keeps the first failure, since later ones are only its consequences.
pub(crate) struct StackWatch<'a> {
    stack: &'a RoomStack<'a>,
    id: String,
    seen: BTreeSet<String>,
    /// Whether an event of the stack itself was seen. Right after the call that starts an operation, the stack may still
    /// have the status from before.
    has_started: bool,
    failed: Option<Resource>,
    /// What CloudFormation could not remove, however often it tried.
    left: BTreeMap<String, Resource>,
}

impl StackWatch<'_> {
    /// Reports events until the operation has ended. Returns the state of the stack then, or `None` if CloudFormation no
    /// longer knows it.
    pub(crate) async fn until_done(
        &mut self,
        on_event: OnEvent<'_>,
    ) -> Result<Option<StackState>, CloudError> {
        let started = Instant::now();
        loop {
            // `has_started` is read first. Otherwise a status from before the operation could be taken for its end.
            // The state is read before the events, so that the events include everything that led to it.
            let had_started = self.has_started;
            let Some(state) = self.stack.describe(&self.id).await? else { return Ok(None) };
            self.report_new_events(on_event).await?;
            if !is_in_progress(&state.status) && (had_started || started.elapsed() > STARTS_WITHIN) {
                return Ok(Some(state));
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    async fn report_new_events(&mut self, on_event: OnEvent<'_>) -> Result<(), CloudError> {
        for event in self.stack.events(&self.id, &self.seen).await? {
            let attempt = || format!("read the events of {}", self.stack.description());
            let id = event.event_id.or_incomplete(&attempt(), "the ID of an event")?;
            if !self.seen.insert(id) {
                continue;
            }
            self.has_started |= event.physical_resource_id.as_ref() == Some(&self.id);
            // AWS may leave these out. They are only displayed.
            let resource = Resource {
                name: event.logical_resource_id.unwrap_or_default(),
                kind: event.resource_type.unwrap_or_default(),
                status: event.resource_status.map(|status| status.as_str().to_owned()).unwrap_or_default(),
                reason: event.resource_status_reason,
            };
            // When one resource fails, CloudFormation cancels the others: these fail too, but are not the cause.
            let was_cancelled = resource.reason.as_deref().is_some_and(|reason| reason.contains("cancelled"));
            match resource.status.as_str() {
                "DELETE_FAILED" => drop(self.left.insert(resource.name.clone(), resource.clone())),
                "DELETE_COMPLETE" => drop(self.left.remove(&resource.name)),
                _ => {}
            }
            if resource.has_failed() && !resource.is_stack() && !was_cancelled && self.failed.is_none() {
                self.failed = Some(resource.clone());
            }
            on_event(DeployEvent::Resource(resource));
        }
        Ok(())
    }

    /// The error for an operation that failed. `attempt` completes the sentence "could not …".
    pub(crate) fn error(&self, attempt: impl Into<String>, state: Option<&StackState>) -> CloudError {
        let errors = &self.stack.account.errors;
        match (&self.failed, state) {
            (Some(failed), _) => {
                let reason = failed.reason.as_deref().unwrap_or("AWS gave no reason");
                errors.failed_with(attempt, format!("{} ({}): {reason}", failed.name, failed.kind), reason)
            }
            (None, Some(state)) => {
                let reason = state.reason.clone().unwrap_or_else(|| state.status.to_string());
                errors.failed_with(attempt, reason.clone(), &reason)
            }
            (None, None) => CloudError::new(CloudErrorKind::Other, attempt, "the stack no longer exists"),
        }
    }

    pub(crate) fn left(&self) -> impl Iterator<Item = &Resource> {
        self.left.values()
    }

    pub(crate) fn first_failure(&self) -> Option<&Resource> {
        self.failed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_every_status_there_is_a_way_to_a_working_room() {
        for status in StackStatus::values() {
            let next = next_step(Some(&StackStatus::from(*status)));
            assert_eq!(next == NextStep::Unknown, *status == "IMPORT_ROLLBACK_FAILED", "{status}");
            let is_under_way = status.ends_with("_IN_PROGRESS") && *status != "REVIEW_IN_PROGRESS";
            assert_eq!(next == NextStep::Wait, is_under_way, "{status}");
        }
        let table = [
            (None, NextStep::Create),
            (Some("REVIEW_IN_PROGRESS"), NextStep::Create),
            (Some("DELETE_COMPLETE"), NextStep::Create),
            (Some("CREATE_COMPLETE"), NextStep::Update),
            (Some("UPDATE_COMPLETE"), NextStep::Update),
            (Some("UPDATE_ROLLBACK_COMPLETE"), NextStep::Update),
            (Some("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"), NextStep::Wait),
            (Some("DELETE_IN_PROGRESS"), NextStep::Wait),
            (Some("ROLLBACK_IN_PROGRESS"), NextStep::Wait),
            (Some("ROLLBACK_COMPLETE"), NextStep::Remove),
            (Some("ROLLBACK_FAILED"), NextStep::Remove),
            (Some("CREATE_FAILED"), NextStep::Remove),
            (Some("DELETE_FAILED"), NextStep::Remove),
            (Some("UPDATE_ROLLBACK_FAILED"), NextStep::ContinueRollback),
            (Some("SOMETHING_NEW"), NextStep::Unknown),
        ];
        for (status, expected) in table {
            assert_eq!(next_step(status.map(StackStatus::from).as_ref()), expected, "{status:?}");
        }
    }

    #[test]
    fn from_every_status_there_is_a_way_to_no_stack() {
        let of = |status: &str| next_removal_step(&StackStatus::from(status));
        for status in StackStatus::values() {
            assert_eq!(of(status) == RemovalStep::Done, *status == "DELETE_COMPLETE", "{status}");
        }
        assert_eq!(
            (of("CREATE_IN_PROGRESS"), of("UPDATE_IN_PROGRESS")),
            (RemovalStep::Delete, RemovalStep::Wait)
        );
        assert_eq!((of("DELETE_IN_PROGRESS"), of("DELETE_FAILED")), (RemovalStep::Wait, RemovalStep::Delete));
    }
}
