use std::error::Error;
use std::fmt;
use std::future::ready;
use std::pin::Pin;

use clock::SystemClock;
use waitroom::Timestamp;
use waitroom::ports::Clock;

use crate::{AlarmChange, Order, Reply, Status};

/// An answer of a room that takes its time. Boxed, so that rooms of every kind are one type.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, TransportError>> + Send + 'a>>;

/// Why a room wasn't reached. Each way has errors of its own, and whoever advises a person looks for them in it.
pub type TransportError = Box<dyn Error + Send + Sync>;

/// What to do about an error of a room, if anybody knows.
pub type Advise = fn(&(dyn Error + 'static)) -> Option<String>;

/// How many came for their pass, by minutes of the clock.
pub type EntriesByMinute = Vec<(Timestamp, u64)>;

/// How an order reaches a room, and what only this way knows of it. Another way is another implementation.
pub trait Transport: fmt::Debug + Send + Sync {
    fn execute(&self, order: Order) -> Answer<'_, Reply>;

    /// The time by the clock that decides when an order is in force.
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// Whether the line is in SQS, which counts only roughly and takes a minute to empty a queue.
    fn is_far(&self) -> bool {
        false
    }

    /// Adds to a status what is watched from outside the room: dead letters, alarms and their e-mails. Each needs a permission
    /// of its own.
    fn watched(&self, status: Status) -> Answer<'_, Status> {
        Box::pin(ready(Ok(status)))
    }

    /// When alarms began to ring and stopped, at most so many, oldest first.
    fn alarm_changes(&self, _most: u16) -> Answer<'_, Vec<AlarmChange>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    /// How many came for their pass since then. `None` if the records of the minutes say so.
    fn entered(&self, _since: Timestamp) -> Answer<'_, Option<EntriesByMinute>> {
        Box::pin(ready(Ok(None)))
    }
}
