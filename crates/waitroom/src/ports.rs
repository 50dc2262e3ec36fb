//! What the handlers need from the world, each need as narrow as its users.
//!
//! A store, on one machine or on AWS, implements all of them on one cheap handle; a handler names in its
//! bounds the few that it uses. `crates/testing/port_contracts` holds every implementation to the words written here.
//!
//! Unless a method says otherwise: what it reported as done is durable, and what failed with
//! [`Fault::Busy`] or [`Fault::Broken`] was not done at all.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pass::KeyRing;

use crate::throttle_rules::{Baseline, Finding};
use crate::{
    Admission, Epoch, LineProgress, LineStatus, Place, Plan, Rate, Room, Slice, SliceId, Timestamp, Token,
};

/// A need that was not met: what was attempted, and what the caller may assume about it.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt}")]
pub struct PortError {
    attempt: String,
    pub fault: Fault,
    source: Box<dyn Error + Send + Sync>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Refused for now and certainly not done: try again soon.
    Busy,
    /// No answer: it may have been done. Everything that the handlers do can be done again safely.
    Unsure,
    /// Refused and not done, and trying again will not help before a person has: disk full, not allowed.
    Broken,
}

impl PortError {
    /// `attempt` completes the sentence "could not …".
    pub fn new(
        attempt: impl Into<String>,
        fault: Fault,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { attempt: attempt.into(), fault, source: source.into() }
    }
}

pub type PortResult<T> = Result<T, PortError>;

/// The time, and waiting for it.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    fn sleep_until(&self, until: Timestamp) -> impl Future<Output = ()> + Send;
}

/// New tokens, from the operating system's generator.
pub trait TokenSource: Send + Sync {
    fn token(&self) -> PortResult<Token>;
}

/// The room's settings and state.
pub trait RoomReader: Send + Sync {
    /// As they are now or were at most a second ago, so that a change reaches everybody within two.
    fn room(&self) -> impl Future<Output = PortResult<Arc<Room>>> + Send;
}

/// The counter behind the ticket numbers.
pub trait TicketCounter: Send + Sync {
    /// Grants the next `count` numbers to the caller alone, and returns the first of them.
    fn lease(&self, count: u32) -> impl Future<Output = PortResult<u64>> + Send;
}

/// Where visitors join the line.
pub trait LineBack: Send + Sync {
    /// Puts a visitor in line. Once this returns they will be delivered, whatever crashes.
    fn join(&self, visitor: Place) -> impl Future<Output = PortResult<()>> + Send;
}

/// Where visitors leave the line.
///
/// Delivery is at least once: whoever was received and not removed is received again, after a while.
/// Order is first come, first served, as nearly as the line can.
pub trait LineFront: Send + Sync {
    /// Up to `most` visitors, at most ten. An empty answer does not mean an empty line. A line may wait up
    /// to `patience` for somebody to come, and may answer sooner.
    fn receive(
        &self,
        most: u32,
        patience: Duration,
    ) -> impl Future<Output = PortResult<Vec<Delivery>>> + Send;

    /// Takes deliveries out of the line for good. One that is gone already is no error.
    fn remove(&self, receipts: Vec<Receipt>) -> impl Future<Output = PortResult<()>> + Send;

    /// Moves what is not a visitor at all to the dead letters, where a person can look at it.
    fn bury(&self, receipt: Receipt, body: String) -> impl Future<Output = PortResult<()>> + Send;
}

/// Somebody received from the line, invisible to other receivers for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub receipt: Receipt,
    /// The visitor, or the text that should have been one.
    pub visitor: Result<Place, String>,
}

/// Proof of having received a delivery. Only the line that gave it can read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt(pub String);

/// How many wait.
pub trait LineLength: Send + Sync {
    /// Roughly; a line that is far away may lag by a minute.
    fn waiting(&self) -> impl Future<Output = PortResult<u64>> + Send;
}

/// Who is admitted.
pub trait Admissions: Send + Sync {
    /// The visitor's admission, expired or not.
    fn admission(&self, token: Token) -> impl Future<Output = PortResult<Option<Admission>>> + Send;

    /// Writes the admission unless the visitor has one, and says which of the two it was.
    fn admit(&self, token: Token, admission: Admission) -> impl Future<Output = PortResult<Admitted>> + Send;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admitted {
    Now,
    /// Somebody admitted this visitor before: perhaps the caller, in a write that was never confirmed.
    Before(Admission),
}

/// The minutes' plans.
pub trait Plans: Send + Sync {
    /// The latest plans, newest first, two at most.
    fn recent(&self) -> impl Future<Output = PortResult<Vec<PlanRecord>>> + Send;

    /// Writes the plan unless its number is taken, and says whether it did.
    fn write(&self, plan: Plan) -> impl Future<Output = PortResult<bool>> + Send;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanRecord {
    pub plan: Plan,
    /// How many its slices have recorded so far.
    pub released: u64,
}

/// The slices of a plan, one consumer each.
pub trait Slices: Send + Sync {
    /// Gives the slice to `claimant` unless another has it. Asking again is answered the same.
    fn claim(&self, slice: SliceId, claimant: Claimant) -> impl Future<Output = PortResult<bool>> + Send;

    /// Records how many the slice has released in all and how far it came. Said twice, counted once; never
    /// goes back. For a slice that nobody has claimed nothing is counted.
    fn record(
        &self,
        slice: SliceId,
        released: u32,
        served: u64,
    ) -> impl Future<Output = PortResult<()>> + Send;
}

/// One run of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claimant(pub u128);

/// How far the line has come, and what visitors are told of it.
pub trait StatusBoard: Send + Sync {
    /// The ticket that the line has reached: all of the progress that the room itself goes by.
    fn served(&self) -> impl Future<Output = PortResult<u64>> + Send;

    fn progress(&self) -> impl Future<Output = PortResult<LineProgress>> + Send;

    fn publish(&self, status: LineStatus) -> impl Future<Output = PortResult<()>> + Send;
}

/// The status of the line, for polls.
pub trait LineStatusReader: Send + Sync {
    /// The status that belongs to `room`, which the caller has just read. Every poll asks for it, so it must
    /// be cheap.
    fn line_status(&self, room: &Room) -> impl Future<Output = PortResult<LineStatus>> + Send;
}

/// The consumers, waiting for work.
pub trait Dispatch: Send + Sync {
    /// Starts a consumer on the slice and does not wait for it. May happen twice; claims see to that.
    fn send(&self, slice: Slice) -> impl Future<Output = PortResult<()>> + Send;
}

/// The keys that sign passes.
pub trait Keys: Send + Sync {
    fn keys(&self) -> impl Future<Output = PortResult<Option<KeyRing>>> + Send;

    /// Stores the room's first keys unless there are some, and returns those that hold.
    fn create(&self, first: KeyRing) -> impl Future<Output = PortResult<KeyRing>> + Send;
}

/// What the throttle remembers from one minute to the next.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ThrottleMemory {
    pub baseline: Option<Baseline>,
    /// The last hour, oldest first.
    pub history: Vec<Finding>,
    /// Rises with every write.
    pub version: u64,
}

pub trait ThrottleStore: Send + Sync {
    fn recall(&self) -> impl Future<Output = PortResult<ThrottleMemory>> + Send;

    /// Replaces the memory if it still has the version before this one's, and says whether it did.
    fn remember(&self, memory: ThrottleMemory) -> impl Future<Output = PortResult<bool>> + Send;

    /// Holds the rate down, or with none lets it be what the operator wants.
    fn hold(&self, rate: Option<Rate>) -> impl Future<Output = PortResult<()>> + Send;
}

/// What only the operator does.
pub trait RoomAdmin: Send + Sync {
    /// Changes the room, counts that as a new version, and returns the room as it was and as it is.
    ///
    /// The change may be made again on what another change left, so it says what is to be, as in "paused".
    fn change(
        &self,
        attempt: &'static str,
        change: impl Fn(&mut Room) + Send + 'static,
    ) -> impl Future<Output = PortResult<(Arc<Room>, Arc<Room>)>> + Send;

    /// Empties the line and begins a new epoch: whoever waited is a newcomer then, and numbers begin at 1.
    /// Returns how many lost their places, roughly where the line is far away. There it takes a minute.
    fn begin_anew(&self, epoch: Epoch) -> impl Future<Output = PortResult<u64>> + Send;
}

/// One request to the shop.
pub trait Probe: Send + Sync {
    /// Asks once and follows nothing. No answer at all, for whatever reason, is an error.
    fn ask(&self, url: &url::Url) -> impl Future<Output = Result<ProbeReply, ProbeError>> + Send;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeReply {
    pub status: u16,
    /// The `Location` header, as it was sent.
    pub location: Option<String>,
    /// From before connecting to the end of the headers.
    pub took: Duration,
}

/// The shop did not answer.
#[derive(Debug)]
pub struct ProbeError(pub Box<dyn Error + Send + Sync>);

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the shop did not answer")
    }
}

impl Error for ProbeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
