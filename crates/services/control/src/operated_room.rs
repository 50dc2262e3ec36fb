use std::sync::Arc;

use waitroom::{AuditEntry, HelpCode, MinuteRecord, Room, RoomId, Timestamp};

use crate::transport::{Transport, TransportError};
use crate::{HelpedVisitor, HistoryLine, Order, Reply, Status};

/// A room that takes orders, wherever it is.
#[derive(Clone, Debug)]
pub struct OperatedRoom {
    pub name: RoomId,
    pub transport: Arc<dyn Transport>,
}

/// What an order changed.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedRoom {
    pub before: Room,
    pub after: Room,
}

/// Why an order was not carried out, as far as anybody knows.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("the room {room} {why}")]
    Refused { room: RoomId, why: String },
    /// It may have been.
    #[error("the room {room} {why}")]
    Unsure { room: RoomId, why: String },
    /// The reply doesn't belong to the order.
    #[error("the room {room} sent an unexpected reply; use the same version of beekeeper as the room")]
    Unexpected { room: RoomId },
    #[error(transparent)]
    Unreached(#[from] TransportError),
}

impl OperatedRoom {
    pub async fn execute(&self, order: Order) -> Result<Reply, ControlError> {
        match self.transport.execute(order).await? {
            Reply::Failed { error: why, may_be_done } => {
                let room = self.name.clone();
                Err(if may_be_done {
                    ControlError::Unsure { room, why }
                } else {
                    ControlError::Refused { room, why }
                })
            }
            reply => Ok(reply),
        }
    }

    /// Carries out an order that changes a setting or a switch.
    pub async fn change(&self, order: Order) -> Result<ChangedRoom, ControlError> {
        match self.execute(order).await? {
            Reply::Changed { before, after } => Ok(ChangedRoom { before: *before, after: *after }),
            _ => Err(self.unexpected()),
        }
    }

    /// The status as the room itself knows it.
    pub async fn status(&self) -> Result<Status, ControlError> {
        match self.execute(Order::Status).await? {
            Reply::Status(status) => Ok(*status),
            _ => Err(self.unexpected()),
        }
    }

    /// The status, with what is watched from outside the room.
    pub async fn watched_status(&self) -> Result<Status, ControlError> {
        Ok(self.transport.watched(self.status().await?).await?)
    }

    /// The latest entries of the audit trail, oldest first.
    pub async fn entries(&self, most: u16) -> Result<Vec<AuditEntry>, ControlError> {
        match self.execute(Order::History { most }).await? {
            Reply::History { entries } => Ok(entries),
            _ => Err(self.unexpected()),
        }
    }

    /// The latest orders and alarms, at most so many of each, oldest first. And why the alarms aren't among them, if they aren't:
    /// what was ordered is known without them.
    pub async fn history(
        &self,
        most: u16,
    ) -> Result<(Vec<HistoryLine>, Option<TransportError>), ControlError> {
        let entries = self.entries(most).await?;
        let (changes, missing) = match self.transport.alarm_changes(most).await {
            Ok(changes) => (changes, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Ok((HistoryLine::merged(entries, changes), missing))
    }

    /// How the visitor with this help code stands.
    pub async fn find(&self, code: HelpCode) -> Result<HelpedVisitor, ControlError> {
        self.visitor(Order::Find { code }).await
    }

    /// Lets the visitor with this help code in.
    pub async fn admit(&self, code: HelpCode) -> Result<HelpedVisitor, ControlError> {
        self.visitor(Order::Admit { code }).await
    }

    async fn visitor(&self, order: Order) -> Result<HelpedVisitor, ControlError> {
        match self.execute(order).await? {
            Reply::Visitor { visitor } => Ok(visitor),
            _ => Err(self.unexpected()),
        }
    }

    /// The history of the line from this instant on, oldest first, after the record before it.
    pub async fn minutes(&self, since: Timestamp) -> Result<Vec<MinuteRecord>, ControlError> {
        match self.execute(Order::Minutes { since }).await? {
            Reply::Minutes { records } => Ok(records),
            _ => Err(self.unexpected()),
        }
    }

    /// The error for a reply that doesn't belong to the order.
    pub fn unexpected(&self) -> ControlError {
        ControlError::Unexpected { room: self.name.clone() }
    }
}
