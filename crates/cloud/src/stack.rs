//! A stack in an account: how it stands, what has to be done with it, and watching it while that happens.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::types::{StackEvent, StackResourceSummary, StackStatus};
use tokio::time::{Instant, sleep};
use waitroom::RoomId;

use crate::error::message;
use crate::progress::{Resource, Tell};
use crate::{Account, CloudError, DeployEvent, Kind, names};

/// How often a stack is looked at while something happens to it.
const LOOK_EVERY: Duration = Duration::from_millis(1500);

/// For how long an order may go unseen before a stack that stands still is believed to have done nothing.
const BEGINS_WITHIN: Duration = Duration::from_mins(1);

/// The next thing to do with a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There is none, or one that was never begun.
    Create,
    Update,
    /// Something happens to it; afterwards this question is asked again.
    Wait,
    /// It is good for nothing else.
    Remove,
    /// An update could not be taken back; once it is, this question is asked again.
    ContinueRollback,
    /// CloudFormation has learned something that this beekeeper does not know.
    Unknown,
}

/// What leads to a working room from here.
pub(crate) fn next_step(status: Option<&StackStatus>) -> Next {
    use StackStatus as Is;
    let Some(status) = status else { return Next::Create };
    match status {
        Is::DeleteComplete | Is::ReviewInProgress => Next::Create,
        Is::CreateComplete
        | Is::UpdateComplete
        | Is::UpdateFailed
        | Is::UpdateRollbackComplete
        | Is::ImportComplete
        | Is::ImportRollbackComplete => Next::Update,
        Is::UpdateRollbackFailed => Next::ContinueRollback,
        Is::CreateFailed | Is::RollbackComplete | Is::RollbackFailed | Is::DeleteFailed => Next::Remove,
        // Nothing that beekeeper does, to a room that worked before.
        Is::ImportRollbackFailed => Next::Unknown,
        other if other.as_str().ends_with("_IN_PROGRESS") => Next::Wait,
        _ => Next::Unknown,
    }
}

/// What leads to nothing being left from here.
pub(crate) fn next_step_to_nothing(status: Option<&StackStatus>) -> Next {
    use StackStatus as Is;
    let Some(status) = status else { return Next::Create };
    match status {
        Is::DeleteComplete => Next::Create,
        // What is only begun, or taken back, need not be finished first.
        Is::ReviewInProgress | Is::CreateInProgress => Next::Remove,
        other if other.as_str().ends_with("_IN_PROGRESS") => Next::Wait,
        _ => Next::Remove,
    }
}

/// A stack as it stands.
#[derive(Clone, Debug)]
pub(crate) struct StackState {
    /// Its ARN: a stack of the same name that is made later has another.
    pub(crate) id: String,
    pub(crate) status: StackStatus,
    pub(crate) reason: Option<String>,
    pub(crate) outputs: BTreeMap<String, String>,
    /// The room that its tag names.
    pub(crate) room: Option<String>,
}

impl StackState {
    pub(crate) fn is_gone(&self) -> bool {
        self.status == StackStatus::DeleteComplete
    }
}

/// The room's stack, by the name that it always has.
pub(crate) struct Stacks<'a> {
    pub(crate) account: &'a Account,
    pub(crate) cloudformation: Client,
    pub(crate) name: String,
    room: RoomId,
}

impl<'a> Stacks<'a> {
    pub(crate) fn of(account: &'a Account, room: &RoomId) -> Self {
        let cloudformation = account.cloudformation();
        Self { account, cloudformation, name: names::stack(room), room: room.clone() }
    }

    pub(crate) fn place(&self) -> String {
        self.account.place(&self.room)
    }

    pub(crate) fn room(&self) -> &RoomId {
        &self.room
    }

    /// The stack, if there is one. An error if it is not this room's.
    pub(crate) async fn standing(&self) -> Result<Option<StackState>, CloudError> {
        let found = self.described(&self.name).await?.filter(|found| !found.is_gone());
        // One that was never executed has no tags yet, and nothing in it.
        match found {
            Some(other)
                if other.status != StackStatus::ReviewInProgress
                    && other.room.as_deref() != Some(self.room.as_str()) =>
            {
                let reason = format!(
                    "there is a stack of that name without the tag {}={}: it is not this room's",
                    names::TAG,
                    self.room
                );
                let advice = "give the room another name, or remove that stack if nobody needs it";
                Err(CloudError::new(Kind::Taken, format!("use {}", self.place()), reason).advise(advice))
            }
            found => Ok(found),
        }
    }

    /// By name, or by ARN: then one that has gone is found too.
    pub(crate) async fn described(&self, stack: &str) -> Result<Option<StackState>, CloudError> {
        let answer = match self.cloudformation.describe_stacks().stack_name(stack).send().await {
            Ok(answer) => answer,
            Err(error) if message(&error).contains("does not exist") => return Ok(None),
            Err(error) => {
                return Err(self.account.adviser.trouble(format!("look for {}", self.place()), error));
            }
        };
        Ok(answer.stacks.unwrap_or_default().into_iter().next().map(|stack| {
            let outputs = stack.outputs.unwrap_or_default().into_iter();
            let tag = stack.tags.unwrap_or_default().into_iter().find(|tag| tag.key() == Some(names::TAG));
            StackState {
                id: stack.stack_id.unwrap_or_default(),
                status: stack.stack_status.unwrap_or(StackStatus::from("UNKNOWN")),
                reason: stack.stack_status_reason,
                outputs: outputs
                    .filter_map(|output| Some((output.output_key?, output.output_value?)))
                    .collect(),
                room: tag.and_then(|tag| tag.value),
            }
        }))
    }

    /// What happened to a stack, oldest first. What is known already is not read once more, but for the last of it.
    async fn events(&self, id: &str, known: &BTreeSet<String>) -> Result<Vec<StackEvent>, CloudError> {
        let (mut all, mut more) = (Vec::new(), None);
        loop {
            let ask = self.cloudformation.describe_stack_events().stack_name(id).set_next_token(more);
            let page = ask.send().await.map_err(|error| {
                self.account.adviser.trouble(format!("read what happens to {}", self.place()), error)
            })?;
            all.extend(page.stack_events.unwrap_or_default());
            more = page.next_token;
            let is_known = |event: &StackEvent| event.event_id().is_some_and(|id| known.contains(id));
            if more.is_none() || all.last().is_some_and(is_known) {
                all.reverse();
                return Ok(all);
            }
        }
    }

    /// What a stack is made of.
    pub(crate) async fn resources(&self, id: &str) -> Result<Vec<StackResourceSummary>, CloudError> {
        let (mut all, mut more) = (Vec::new(), None);
        loop {
            let list = self.cloudformation.list_stack_resources().stack_name(id).set_next_token(more);
            let page = list.send().await.map_err(|error| {
                self.account.adviser.trouble(format!("list the parts of {}", self.place()), error)
            })?;
            all.extend(page.stack_resource_summaries.unwrap_or_default());
            more = page.next_token;
            if more.is_none() {
                return Ok(all);
            }
        }
    }

    /// From here on only what is new is told.
    pub(crate) async fn watch(&self, id: &str) -> Result<Watch<'_>, CloudError> {
        let seen =
            self.events(id, &BTreeSet::new()).await?.into_iter().filter_map(|event| event.event_id).collect();
        Ok(Watch { stacks: self, id: id.to_owned(), seen, has_begun: false, failed: None })
    }

    /// Somebody else's work on the stack is told from its beginning.
    pub(crate) async fn attach(&self, id: &str) -> Result<Watch<'_>, CloudError> {
        let events = self.events(id, &BTreeSet::new()).await?;
        let of_stack = |event: &StackEvent| event.physical_resource_id() == Some(id);
        let begins = |event: &StackEvent| {
            let status = event.resource_status().map(ToString::to_string).unwrap_or_default();
            of_stack(event)
                && ["CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS"]
                    .contains(&status.as_str())
        };
        let before = events.iter().rposition(begins).unwrap_or(0);
        let seen = events.into_iter().take(before).filter_map(|event| event.event_id).collect();
        Ok(Watch { stacks: self, id: id.to_owned(), seen, has_begun: true, failed: None })
    }
}

/// Follows one stack, and remembers what failed first: all later failures only follow from that one.
pub(crate) struct Watch<'a> {
    stacks: &'a Stacks<'a>,
    id: String,
    seen: BTreeSet<String>,
    /// Whether anything has happened to the stack itself. Right after an order it may still stand as it stood before.
    has_begun: bool,
    failed: Option<Resource>,
}

impl Watch<'_> {
    /// Until nothing happens to it any more. How it stands then; none if it is gone without a trace.
    pub(crate) async fn until_done(&mut self, tell: Tell<'_>) -> Result<Option<StackState>, CloudError> {
        let begun = Instant::now();
        loop {
            // In this order, so that no event of what is done is missed. Whether it has begun must be known before it is
            // looked at: else it may stand as it stood before, and be taken for done.
            let had_begun = self.has_begun;
            let Some(standing) = self.stacks.described(&self.id).await? else { return Ok(None) };
            self.tell_new(tell).await?;
            let is_done = !standing.status.as_str().ends_with("_IN_PROGRESS");
            if is_done && (had_begun || begun.elapsed() > BEGINS_WITHIN) {
                return Ok(Some(standing));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    async fn tell_new(&mut self, tell: Tell<'_>) -> Result<(), CloudError> {
        for event in self.stacks.events(&self.id, &self.seen).await? {
            let Some(id) = event.event_id else { continue };
            if !self.seen.insert(id) {
                continue;
            }
            self.has_begun |= event.physical_resource_id.as_ref() == Some(&self.id);
            let resource = Resource {
                name: event.logical_resource_id.unwrap_or_default(),
                kind: event.resource_type.unwrap_or_default(),
                status: event.resource_status.map(|status| status.as_str().to_owned()).unwrap_or_default(),
                reason: event.resource_status_reason,
            };
            let was_cancelled = resource.reason.as_deref().is_some_and(|reason| reason.contains("cancelled"));
            if resource.has_failed() && !resource.is_stack() && !was_cancelled && self.failed.is_none() {
                self.failed = Some(resource.clone());
            }
            tell(DeployEvent::Resource(resource));
        }
        Ok(())
    }

    /// Why what was attempted has failed.
    pub(crate) fn trouble(&self, attempt: impl Into<String>, standing: Option<&StackState>) -> CloudError {
        let (said, advice) = match (&self.failed, standing) {
            (Some(failed), _) => {
                let reason = failed.reason.as_deref().unwrap_or("AWS does not say why");
                (format!("{} ({}): {reason}", failed.name, failed.kind), reason.to_owned())
            }
            (None, Some(standing)) => {
                let reason = standing.reason.clone().unwrap_or_else(|| standing.status.to_string());
                (reason.clone(), reason)
            }
            (None, None) => ("the stack is gone".to_owned(), String::new()),
        };
        let (kind, advice) = self.stacks.account.adviser.advice("", &advice);
        let trouble = CloudError::new(kind, attempt, said);
        match advice {
            Some(advice) => trouble.advise(advice),
            None => trouble,
        }
    }

    pub(crate) fn first_failure(&self) -> Option<&Resource> {
        self.failed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_of_a_stack_leads_to_a_room() {
        for status in StackStatus::values() {
            let next = next_step(Some(&StackStatus::from(*status)));
            assert_eq!(next == Next::Unknown, *status == "IMPORT_ROLLBACK_FAILED", "{status}");
            let is_under_way = status.ends_with("_IN_PROGRESS") && *status != "REVIEW_IN_PROGRESS";
            assert_eq!(next == Next::Wait, is_under_way, "{status}");
        }
        let table = [
            (None, Next::Create),
            (Some("REVIEW_IN_PROGRESS"), Next::Create),
            (Some("DELETE_COMPLETE"), Next::Create),
            (Some("CREATE_COMPLETE"), Next::Update),
            (Some("UPDATE_COMPLETE"), Next::Update),
            (Some("UPDATE_ROLLBACK_COMPLETE"), Next::Update),
            (Some("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"), Next::Wait),
            (Some("DELETE_IN_PROGRESS"), Next::Wait),
            (Some("ROLLBACK_IN_PROGRESS"), Next::Wait),
            (Some("ROLLBACK_COMPLETE"), Next::Remove),
            (Some("ROLLBACK_FAILED"), Next::Remove),
            (Some("CREATE_FAILED"), Next::Remove),
            (Some("DELETE_FAILED"), Next::Remove),
            (Some("UPDATE_ROLLBACK_FAILED"), Next::ContinueRollback),
            (Some("SOMETHING_NEW"), Next::Unknown),
        ];
        for (status, expected) in table {
            assert_eq!(next_step(status.map(StackStatus::from).as_ref()), expected, "{status:?}");
        }
    }

    #[test]
    fn every_state_of_a_stack_leads_to_nothing() {
        for status in StackStatus::values() {
            let next = next_step_to_nothing(Some(&StackStatus::from(*status)));
            assert!(
                matches!(next, Next::Wait | Next::Remove) || *status == "DELETE_COMPLETE",
                "{status}: {next:?}"
            );
        }
        let of = |status: &str| next_step_to_nothing(Some(&StackStatus::from(status)));
        assert_eq!(next_step_to_nothing(None), Next::Create);
        assert_eq!((of("CREATE_IN_PROGRESS"), of("UPDATE_IN_PROGRESS")), (Next::Remove, Next::Wait));
        assert_eq!((of("DELETE_IN_PROGRESS"), of("DELETE_FAILED")), (Next::Wait, Next::Remove));
    }
}
