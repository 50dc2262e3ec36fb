//! A room's second stack: what has to be in us-east-1, where CloudFront looks for it. That is the firewall in front of an edge. The
//! stack is made before the room's own, and removed after it: CloudFront has to know a firewall as long as it has one.

use std::collections::BTreeMap;

use config::{EdgeSetting, RoomConfig};
use waitroom::RoomId;

use crate::change_set::{self, ResourceChange, StackContent, TemplateSource};
use crate::error::OrIncomplete;
use crate::prepare::prepare;
use crate::progress::OnEvent;
use crate::remove_stack::remove_stack;
use crate::stack::{NextStep, RoomStack, next_step};
use crate::template::EdgeFirewall;
use crate::{Account, CloudError, CloudErrorKind, bundle, names};

/// The output with the firewall's ARN.
const FIREWALL: &str = "FirewallArn";

/// Stands for an ARN that nobody knows before the stack is there.
const NOT_YET: &str = "arn:aws:wafv2:us-east-1:000000000000:global/webacl/not-yet/0";

/// What became of the stack.
pub(crate) enum EdgeStackRemoval {
    Removed,
    WasNotThere,
    /// The operator may not look for it, and this is why.
    NotAllowed(String),
}

pub(crate) struct EdgeStack {
    /// In [`EdgeSetting::REGION`].
    account: Account,
    pub(crate) name: String,
    room: RoomId,
}

impl EdgeStack {
    /// The second stack of the room that has this one.
    pub(crate) fn beside(stack: &RoomStack<'_>) -> Self {
        let account = stack.account.in_region(EdgeSetting::REGION);
        let name = names::edge_stack(stack.room(), &stack.account.region);
        Self { account, name, room: stack.room().clone() }
    }

    fn stack(&self) -> RoomStack<'_> {
        RoomStack::named(&self.account, self.name.clone(), &self.room)
    }

    /// Creates the stack or updates it, if this configuration needs one. Returns the firewall's ARN.
    pub(crate) async fn deploy(
        &self,
        config: &RoomConfig,
        on_event: OnEvent<'_>,
    ) -> Result<Option<String>, CloudError> {
        if !config.has_edge_firewall() {
            return Ok(None);
        }
        let stack = self.stack();
        let existing = prepare(&stack, on_event).await?;
        change_set::apply(&stack, content(config)?, existing.as_ref(), on_event).await?;
        let attempt = format!("read the outputs of {}", stack.description());
        let made = stack.find().await?.and_then(|mut made| made.outputs.remove(FIREWALL));
        made.or_incomplete(&attempt, "the firewall's ARN").map(Some)
    }

    /// What [`EdgeStack::deploy`] would return and change. Nothing is changed.
    pub(crate) async fn changes(
        &self,
        config: &RoomConfig,
    ) -> Result<(Option<String>, Vec<ResourceChange>), CloudError> {
        if !config.has_edge_firewall() {
            return Ok((None, Vec::new()));
        }
        let stack = self.stack();
        let existing = stack.find().await?.filter(|found| next_step(Some(&found.status)) == NextStep::Update);
        let Some(existing) = existing else {
            let added = ResourceChange::added(EdgeFirewall::RESOURCE, EdgeFirewall::TYPE);
            return Ok((Some(NOT_YET.into()), vec![added]));
        };
        let changes = change_set::preview(&stack, content(config)?, &existing).await?;
        Ok((existing.outputs.get(FIREWALL).cloned(), changes))
    }

    pub(crate) async fn remove(&self, on_event: OnEvent<'_>) -> Result<EdgeStackRemoval, CloudError> {
        let stack = self.stack();
        match stack.find().await {
            Ok(None) => Ok(EdgeStackRemoval::WasNotThere),
            Ok(Some(_)) => {
                remove_stack(&stack, on_event).await?;
                Ok(EdgeStackRemoval::Removed)
            }
            // Some companies keep everybody out of other regions. A room without an edge has nothing there.
            Err(error) if error.kind() == CloudErrorKind::AccessDenied => {
                Ok(EdgeStackRemoval::NotAllowed(error.reason()))
            }
            Err(error) => Err(error),
        }
    }
}

fn content(config: &RoomConfig) -> Result<StackContent, CloudError> {
    Ok(StackContent { template: TemplateSource::Text(template()?), parameters: parameters(config)? })
}

pub(crate) fn template() -> Result<String, CloudError> {
    Ok(edge_firewall()?.to_string())
}

pub(crate) fn parameters(config: &RoomConfig) -> Result<BTreeMap<String, String>, CloudError> {
    let firewall = edge_firewall()?;
    let all = bundle::with_defaults(&config.parameters())?;
    Ok(all.into_iter().filter(|(name, _)| firewall.asks_for(name)).collect())
}

fn edge_firewall() -> Result<EdgeFirewall, CloudError> {
    EdgeFirewall::read().map_err(|error| bundle::unreadable(&error))
}
