//! A room's second stack: what has to be in us-east-1, where CloudFront looks for it. That is the firewall in front of an edge. The
//! stack is made before the room's own, and removed after it: CloudFormation deletes no firewall that a distribution uses.

use std::collections::BTreeMap;

use aws_sdk_cloudformation::types::StackStatus;
use config::{EdgeSetting, RoomConfig};
use waitroom::RoomId;

use crate::bundle::EDGE_FIREWALL;
use crate::change_set::{self, ResourceChange, StackContent, TemplateSource};
use crate::error::OrIncomplete;
use crate::prepare::prepare;
use crate::progress::OnEvent;
use crate::remove_stack::remove_stack;
use crate::stack::{NextStep, RoomStack, StackState, next_step};
use crate::template::EdgeFirewall;
use crate::{Account, CloudError, CloudErrorKind, bundle, names};

/// The output with the firewall's ARN.
const FIREWALL: &str = "FirewallArn";

/// Stands for an ARN that nobody knows before the stack is there.
const NOT_YET: &str = "arn:aws:wafv2:us-east-1:000000000000:global/webacl/not-yet/0";

pub(crate) struct EdgeStack {
    /// In [`EdgeSetting::REGION`].
    account: Account,
    name: String,
    room: RoomId,
    /// The room's.
    of_region: String,
}

impl EdgeStack {
    /// The second stack of the room that has this one.
    pub(crate) fn beside(stack: &RoomStack<'_>) -> Self {
        let account = stack.account.in_region(EdgeSetting::REGION);
        let name = names::edge_stack(stack.room(), &stack.account.region);
        Self { account, name, room: stack.room().clone(), of_region: stack.account.region.clone() }
    }

    /// For people.
    pub(crate) fn told(&self) -> String {
        format!("the stack {} in {}", self.name, EdgeSetting::REGION)
    }

    fn stack(&self) -> RoomStack<'_> {
        RoomStack::named(&self.account, self.name.clone(), &self.room)
    }

    /// Creates the stack or updates it, if this configuration needs one. Returns the firewall's ARN. `room` is the room's own
    /// stack as it is.
    pub(crate) async fn deploy(
        &self,
        config: &RoomConfig,
        room: Option<&StackState>,
        on_event: OnEvent<'_>,
    ) -> Result<Option<String>, CloudError> {
        if !config.has_edge_firewall() {
            return Ok(None);
        }
        let stack = self.stack();
        self.refuse_half_deleted(stack.find().await?.as_ref(), config, room)?;
        let existing = prepare(&stack, on_event).await?;
        change_set::apply(&stack, content(config)?, existing.as_ref(), on_event).await?;
        let attempt = format!("read the outputs of {}", stack.description());
        let made = stack.find().await?.and_then(|mut made| made.outputs.remove(FIREWALL));
        made.or_incomplete(&attempt, "the firewall's ARN").map(Some)
    }

    /// What [`EdgeStack::deploy`] would return, and what a deployment would change. Nothing is changed.
    pub(crate) async fn changes(
        &self,
        config: &RoomConfig,
        room: &StackState,
    ) -> Result<(Option<String>, Vec<ResourceChange>), CloudError> {
        let stack = self.stack();
        let change = |action| vec![ResourceChange::of(action, EdgeFirewall::RESOURCE, EdgeFirewall::TYPE)];
        if !config.has_edge_firewall() {
            let is_there = self.is_there().await.is_ok_and(|is_there| is_there);
            return Ok((None, if is_there { change("Remove") } else { Vec::new() }));
        }
        let found = stack.find().await?;
        self.refuse_half_deleted(found.as_ref(), config, Some(room))?;
        let existing = found.filter(|found| next_step(Some(&found.status)) == NextStep::Update);
        let Some(existing) = existing else { return Ok((Some(NOT_YET.into()), change("Add"))) };
        let changes = change_set::preview(&stack, content(config)?, &existing).await?;
        Ok((existing.outputs.get(FIREWALL).cloned(), changes))
    }

    /// An error if somebody tried to delete the stack while the room's edge uses its firewall. Then AWS neither updates nor deletes it.
    fn refuse_half_deleted(
        &self,
        found: Option<&StackState>,
        config: &RoomConfig,
        room: Option<&StackState>,
    ) -> Result<(), CloudError> {
        let is_half_deleted = found.is_some_and(|found| found.status == StackStatus::DeleteFailed);
        if !is_half_deleted || !room.is_some_and(has_edge_firewall) {
            return Ok(());
        }
        let attempt = format!("update {}", self.stack().description());
        let reason = "somebody tried to delete it, and AWS can't while the room's edge uses its firewall";
        let limits = config.address_limits().join(" and ");
        let advice =
            format!("leave out {limits} and deploy; then write the same again, and deploy once more");
        Err(CloudError::new(CloudErrorKind::Other, attempt, reason).with_advice(advice))
    }

    /// Removes the stack beside a room that was `room` before. Returns whether it was there, or why nobody may look: that is an error
    /// only of a room which had a firewall.
    pub(crate) async fn remove(
        &self,
        room: Option<&StackState>,
        on_event: OnEvent<'_>,
    ) -> Result<Result<bool, CloudError>, CloudError> {
        match self.is_there().await {
            Ok(true) => remove_stack(&self.stack(), on_event).await.map(Ok),
            Err(error) if room.is_some_and(has_edge_firewall) => Err(error),
            seen => Ok(seen),
        }
    }

    /// Some companies keep everybody out of other regions, so this may fail in a room that has nothing there.
    async fn is_there(&self) -> Result<bool, CloudError> {
        if !EdgeSetting::is_in(&self.of_region) {
            return Ok(false);
        }
        Ok(self.stack().find().await?.is_some())
    }
}

/// Whether the room of this stack has a firewall in front of its edge.
pub(crate) fn has_edge_firewall(room: &StackState) -> bool {
    room.parameters.get(EDGE_FIREWALL).is_some_and(|arn| !arn.is_empty())
}

/// Whether this configuration gives the firewall in front of the edge of this room's stack other limits.
pub(crate) fn changes_limits(config: &RoomConfig, room: &StackState) -> Result<bool, CloudError> {
    let (_, parameters) = content_text(config)?;
    let differs =
        |(name, value): (&String, &String)| room.parameters.get(name).is_some_and(|before| before != value);
    Ok(config.has_edge_firewall() && has_edge_firewall(room) && parameters.iter().any(differs))
}

fn content(config: &RoomConfig) -> Result<StackContent, CloudError> {
    let (template, parameters) = content_text(config)?;
    Ok(StackContent { template: TemplateSource::Text(template), parameters })
}

/// The template and its parameters.
pub(crate) fn content_text(config: &RoomConfig) -> Result<(String, BTreeMap<String, String>), CloudError> {
    let firewall = EdgeFirewall::read().map_err(|error| bundle::unreadable(&error))?;
    let all = bundle::with_defaults(&config.parameters())?;
    let parameters = all.into_iter().filter(|(name, _)| firewall.asks_for(name)).collect();
    Ok((firewall.to_string(), parameters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::edge_config;
    use crate::stub_aws;

    /// A stack that somebody tried to delete.
    fn answer(_: &str) -> (u16, String) {
        (200, stub_aws::described("DELETE_FAILED", &[]))
    }

    #[tokio::test]
    async fn a_stack_that_the_rooms_edge_keeps_from_being_deleted_is_told_at_once() {
        let (account, asked) = stub_aws::account(answer).await;
        let stack = RoomStack::new(&account, &edge_config().room);
        let edge = EdgeStack::beside(&stack);
        let room = StackState::with([(EDGE_FIREWALL.to_owned(), NOT_YET.to_owned())].into());
        let deployed = edge.deploy(&edge_config(), Some(&room), &|_| ()).await.unwrap_err();
        let previewed = edge.changes(&edge_config(), &room).await.unwrap_err();
        for error in [deployed, previewed] {
            assert!(error.to_string().contains(" in us-east-1 of account "), "{error}");
            assert!(error.reason().starts_with("somebody tried to delete it"), "{error:?}");
            let advice = error.advice().unwrap();
            assert!(advice.starts_with("leave out door_requests_per_address and deploy; then"), "{advice}");
        }
        let asked = asked.lock().unwrap();
        assert!(asked.iter().all(|request| request.contains("Action=DescribeStacks&")), "{asked:?}");
    }

    #[tokio::test]
    async fn one_that_nobody_uses_is_made_anew() {
        let (account, _) = stub_aws::account(answer).await;
        let stack = RoomStack::new(&account, &edge_config().room);
        let room = StackState::with(BTreeMap::new());
        let (firewall, changes) = EdgeStack::beside(&stack).changes(&edge_config(), &room).await.unwrap();
        assert_eq!(firewall.as_deref(), Some(NOT_YET));
        assert_eq!(changes, [ResourceChange::of("Add", EdgeFirewall::RESOURCE, EdgeFirewall::TYPE)]);
    }
}
