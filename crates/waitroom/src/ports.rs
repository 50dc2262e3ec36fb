//! The ports: traits for everything that handlers need from outside. Each is as narrow as its users need.
//!
//! A [`Store`], on one machine or on AWS, is a line and a ledger: two handles that are cheap to clone, each with the ports
//! that belong to it. A handler's bounds name only the ports that it uses of each. `crates/testing/port_contracts` tests every
//! store against this documentation.
//!
//! Unless a method says otherwise: when it returns `Ok`, the change is durable. When it fails with [`Fault::Busy`] or
//! [`Fault::Broken`], nothing was changed.

use std::error::Error;
use std::future::{Future, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use pass::{KeyRecord, KeyRefusal, SecretKeys};

use crate::throttle_rules::{Baseline, Finding};
use crate::{
    ActiveCount, ActiveLimit, Admission, AuditEntry, AuditNote, Author, CountedSlot, DoorPermits, Epoch,
    HelpCall, HelpCode, IssuedTickets, KeptReport, KeyOrder, Lifetimes, LineProgress, LineReach, LineStatus,
    LineTotals, MinuteRecord, Place, Plan, Rate, Room, Slice, SliceId, Stock, Timestamp, Token, Turnout,
    WebUrl, Window, WindowAdmissions,
};

/// A failed call to a port: what was attempted, and what the caller may assume.
#[derive(Clone, Debug, thiserror::Error)]
#[error("could not {attempt}")]
pub struct PortError {
    attempt: String,
    pub fault: Fault,
    source: Arc<dyn Error + Send + Sync>,
}

/// Whether a failed call may have had an effect, and whether to retry it. Handlers decide by this alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Certainly not done. A retry may succeed soon.
    Busy,
    /// Perhaps done, because no answer came. Handlers may retry: all their calls can be repeated safely.
    Unsure,
    /// Certainly not done. A retry fails until a person helps: the disk is full, or access is denied.
    Broken,
}

impl PortError {
    /// `attempt` completes the sentence "could not …".
    pub fn new(
        attempt: impl Into<String>,
        fault: Fault,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { attempt: attempt.into(), fault, source: source.into().into() }
    }

    /// For `map_err`: certainly not done, and only a person can help.
    pub fn broken<E: Into<Box<dyn Error + Send + Sync>>>(attempt: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::new(attempt, Fault::Broken, source)
    }
}

pub type PortResult<T> = Result<T, PortError>;

/// Names the ports that a handler uses together.
#[macro_export]
macro_rules! used_ports {
    ($(#[$meaning:meta])* pub trait $name:ident: $($ports:tt)+) => {
        $(#[$meaning])*
        pub trait $name: $($ports)+ {}

        impl<T: $($ports)+> $name for T {}
    };
}

/// Reads the time and waits.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// If the clock is set back meanwhile, this lasts no longer than it was to, and ends before the clock says `until`.
    fn sleep_until(&self, until: Timestamp) -> impl Future<Output = ()> + Send;
}

/// `None` if the call takes longer than this. The call is looked at first.
pub async fn within<F: Future>(
    clock: &impl Clock,
    time: Duration,
    mut call: Pin<&mut F>,
) -> Option<F::Output> {
    let mut late = pin!(clock.sleep_until(clock.now() + time));
    poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => late.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Generates tokens, in production with the operating system's generator.
pub trait TokenSource: Send + Sync {
    fn token(&self) -> PortResult<Token>;
}

/// A room's line, and its ledger.
pub trait Store: Send + Sync {
    /// Where visitors wait: [`TicketCounter`], [`LineBack`], [`LineFront`] and [`LineLength`].
    type Line;
    /// What is known of the room and of those whom it has admitted: all other ports of a store.
    type Ledger;

    fn line(&self) -> &Self::Line;

    fn ledger(&self) -> &Self::Ledger;
}

/// Reads the room as it is at the time of reading. A room that [was to open](Room::opens) by then is on.
pub trait RoomReader: Send + Sync {
    /// The room as it is now or was at most a second ago, so that every handler sees a change within two seconds.
    fn room(&self) -> impl Future<Output = PortResult<Arc<Room>>> + Send;

    /// The room as it is now. It costs more.
    fn room_now(&self) -> impl Future<Output = PortResult<Arc<Room>>> + Send;
}

/// Marks the room as quiet, or as awake.
pub trait QuietSwitch: Send + Sync {
    /// Changes the mark in one conditional write, unless the room has it already.
    ///
    /// If that changes the valve, the store schedules the change and starts the trigger, as [`RoomAdmin::change`] does.
    fn set_quiet(&self, quiet: bool) -> impl Future<Output = PortResult<()>> + Send;
}

/// Puts right what a clock that was ahead has written.
pub trait Rescheduling: Send + Sync {
    /// Puts in force what was ordered, as a change of the room that changes nothing else, if the room is
    /// [of a clock that was ahead](Room::is_of_clock_ahead). The trigger, which calls this, plans the change itself.
    fn reschedule(&self) -> impl Future<Output = PortResult<()>> + Send;
}

/// The counter behind the ticket numbers, which count the places in a line.
pub trait TicketCounter: Send + Sync {
    /// Reserves the next `count` numbers for the caller and returns the first of them.
    fn lease(&self, count: u32) -> impl Future<Output = PortResult<u64>> + Send;
}

/// Where visitors join the line.
pub trait LineBack: Send + Sync {
    /// Puts a visitor into the line. Once this returns `Ok`, the visitor will be delivered, whatever crashes.
    fn join(&self, visitor: Place) -> impl Future<Output = PortResult<()>> + Send;
}

/// Where visitors leave the line.
///
/// Delivery is at least once: a visitor who was received and not removed is delivered again after
/// [a while](Delivery::HIDDEN_FOR). The order is first come, first served, as far as the line can keep it. A line may put
/// whom it has delivered three times in vain behind everybody else, so a receiver keeps whom it has.
pub trait LineFront: Send + Sync {
    /// Receives up to `most` visitors, at most ten. An empty result does not mean an empty line. If nobody waits, this
    /// may wait for visitors up to `patience`.
    fn receive(
        &self,
        most: u32,
        patience: Duration,
    ) -> impl Future<Output = PortResult<Vec<Delivery>>> + Send;

    /// Hides deliveries for [as long again](Delivery::HIDDEN_FOR), from now on. One that is removed, or that was made again
    /// meanwhile, is not an error.
    fn keep(&self, receipts: Vec<Receipt>) -> impl Future<Output = PortResult<()>> + Send;

    /// Gives deliveries back: the line delivers these visitors again at once. One that is removed is not an error.
    fn hand_back(&self, receipts: Vec<Receipt>) -> impl Future<Output = PortResult<()>> + Send;

    /// Removes deliveries from the line. A delivery that is already removed is not an error.
    fn remove(&self, receipts: Vec<Receipt>) -> impl Future<Output = PortResult<()>> + Send;

    /// Moves a message that is not a visitor to the dead letters, where a person can look at it.
    fn bury(&self, receipt: Receipt, body: String) -> impl Future<Output = PortResult<()>> + Send;
}

/// A visitor received from the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub receipt: Receipt,
    /// The visitor, or the message's text if it is not one.
    pub visitor: Result<Place, String>,
    /// When the visitor joined. `None` for a visitor who joined before the line kept that.
    pub joined: Option<Timestamp>,
}

impl Delivery {
    /// For how long other receivers do not see the visitor.
    pub const HIDDEN_FOR: Duration = Duration::from_secs(30);
}

/// Identifies one delivery, for removing it. Only the line that created it understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt(pub String);

/// How many visitors wait.
pub trait LineLength: Send + Sync {
    /// An approximate number. On AWS it may lag by a minute, and [`LineCount`](crate::LineCount) makes up for it.
    fn waiting(&self) -> impl Future<Output = PortResult<u64>> + Send;

    /// The last ticket number that was [reserved](TicketCounter::lease), and when.
    fn issued(&self) -> impl Future<Output = PortResult<IssuedTickets>> + Send;

    /// How many have joined in this epoch. `None` if the store does not count them: then they are about as many as were
    /// released and as wait.
    fn joined(&self) -> impl Future<Output = PortResult<Option<u64>>> + Send;
}

/// The permits while newcomers go straight in. Doors and consumers share them.
pub trait Permits: Send + Sync {
    /// Takes `count` permits, or none if there are not so many now. If an answer is lost, they may be taken.
    fn take_permits(
        &self,
        of: DoorPermits,
        count: u32,
        by: PermitHolder,
    ) -> impl Future<Output = PortResult<bool>> + Send;
}

/// Counts the newcomers of a room that [observes](Room::observes), by [slots](CountedSlot) of time.
pub trait NewcomerCount: Send + Sync {
    /// Counts so many newcomers in the slot that begins at `slot`. They also count as joined and as released: a store may count
    /// them here, or when they are [admitted](crate::AdmittedBy::Permit).
    fn count_newcomers(&self, slot: Timestamp, count: u32) -> impl Future<Output = PortResult<()>> + Send;

    /// The slots that have any, oldest first. A process on one machine that has just begun knows of none.
    fn newcomers(&self) -> impl Future<Output = PortResult<Vec<CountedSlot>>> + Send;

    /// Forgets the slots that begin before this instant, or some of them.
    fn forget_newcomers(&self, before: Timestamp) -> impl Future<Output = PortResult<()>> + Send;
}

/// Who takes permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitHolder {
    /// For newcomers. They count as joined and as released. A store may count them when the permits are taken, or when they are
    /// [admitted](crate::AdmittedBy::Permit).
    Door,
    /// For visitors from the line, whom their slice counts.
    Slice,
}

/// How many of those who were released in this epoch came to the door for their pass. Whoever comes again is counted again,
/// except where [turnouts](TurnoutCount) are counted.
pub trait EntryCount: Send + Sync {
    /// Counts one. This costs the visitor no write: the count is stored with the record of the minute.
    fn count_entry(&self);

    /// `None` if the store does not count them.
    fn entered(&self) -> Option<u64>;
}

/// Counts who came of those whom slices have released, for rooms that oversubscribe.
pub trait TurnoutCount: Send + Sync {
    /// Notes that a visitor came whom this slice has released. Returns whether it is the first time. If the process dies meanwhile,
    /// one may be missing, but nobody counts twice.
    fn note_came(&self, visitor: Token, slice: SliceId) -> impl Future<Output = PortResult<bool>> + Send;

    /// The turnout of this epoch's windows that ended in this time.
    fn turnout(&self, ended: Window) -> impl Future<Output = PortResult<Turnout>> + Send;

    /// Keeps the turnout with the room, unless it [heeds](Room::heeds_turnout) no difference. The store schedules the change of the
    /// valve. The trigger, which calls this, plans the change itself.
    fn keep_turnout(&self, turnout: Option<Turnout>) -> impl Future<Output = PortResult<()>> + Send;
}

/// Keeps what guards report of active visitors.
pub trait GuardReports: Send + Sync {
    /// Keeps the report instead of the guard's last one, unless that was made later. A store keeps those of at most
    /// [`KeptReport::MOST`] guards, and forgets the oldest.
    fn keep_report(&self, report: KeptReport) -> impl Future<Output = PortResult<()>> + Send;
}

/// Counts the active visitors, for rooms with a limit.
pub trait ActiveVisitors: GuardReports {
    /// The latest report of each guard.
    fn reports(&self) -> impl Future<Output = PortResult<Vec<KeptReport>>> + Send;

    /// At most how many each window of this epoch has admitted: those that ended since `since`, and those that have not.
    ///
    /// Exactly, once all of its consumers have [said](SliceProgress::at_most) that they are done. Until then a slice may have admitted its
    /// quota; for ever, if its consumer never says so and the store does not count admissions itself.
    fn window_admissions(
        &self,
        since: Timestamp,
    ) -> impl Future<Output = PortResult<Vec<WindowAdmissions>>> + Send;

    /// How many are in the shop, in a room with this limit, and what its windows let in.
    fn active(
        &self,
        limit: ActiveLimit,
        lifetimes: Lifetimes,
        now: Timestamp,
    ) -> impl Future<Output = PortResult<(ActiveCount, Vec<WindowAdmissions>)>> + Send {
        async move {
            let reports = self.reports().await?;
            // After the reports: whom a window lets in later is in none of them.
            let since = ActiveCount::counts_since(&limit, lifetimes, &reports, now);
            let windows = self.window_admissions(since).await?;
            Ok((ActiveCount::of(&limit, lifetimes, &reports, &windows, now), windows))
        }
    }

    /// Keeps with the room how many a minute were lately let in while the shop is full, unless it [heeds](Room::heeds_full) no
    /// difference.
    fn keep_while_full(&self, lately: Option<Rate>) -> impl Future<Output = PortResult<()>> + Send;
}

/// The ledger's admissions.
pub trait Admissions: Send + Sync {
    /// The visitor's admission, expired or not.
    fn admission(&self, token: Token) -> impl Future<Output = PortResult<Option<Admission>>> + Send;

    /// Writes the admission unless the visitor already has one, and returns which of the two happened.
    fn admit(&self, token: Token, admission: Admission) -> impl Future<Output = PortResult<Admitted>> + Send;

    /// Fails if the ledger takes no admissions now. Changes nothing.
    fn takes_admissions(&self) -> impl Future<Output = PortResult<()>> + Send;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admitted {
    Now,
    /// The visitor already had this admission. Perhaps the caller wrote it, and the write was not confirmed.
    Before(Admission),
}

/// Counts what was taken of a [`Stock`]: exactly, whatever crashes.
pub trait StockCount: Send + Sync {
    /// Writes admissions by one slice, as [`Admissions::admit`] does, and takes one of the stock for each that it writes. `None`
    /// for whom nothing is left; the first ones come first. The tokens differ.
    ///
    /// An admission and what it takes are written in one transaction, so never more are written than the stock has, and never
    /// fewer while anybody is refused. If the call fails, that holds for each of them on its own.
    fn admit_from(
        &self,
        stock: Stock,
        visitors: Vec<(Token, Admission)>,
    ) -> impl Future<Output = PortResult<Vec<Option<Admitted>>>> + Send;

    /// How many are left. It never increases.
    fn left(&self, stock: Stock) -> impl Future<Output = PortResult<u32>> + Send;

    /// How many are left in the room's stock, if it has one.
    fn left_in(&self, room: &Room) -> impl Future<Output = PortResult<Option<u32>>> + Send {
        let stock = room.stock;
        async move {
            match stock {
                Some(stock) => self.left(stock).await.map(Some),
                None => Ok(None),
            }
        }
    }

    /// Ends the room if nothing is left in its stock, with an [entry](AuditNote::sold_out) of the audit trail. The store schedules
    /// the change of the valve and starts the trigger, as [`RoomAdmin::change`] does.
    fn end_if_sold_out(&self) -> impl Future<Output = PortResult<()>> + Send;
}

/// Who asked for help.
pub trait HelpCalls: Send + Sync {
    /// Keeps this call for [`HelpCall::KEPT`], unless another visitor has its code. Returns whether it is kept.
    fn note_call(&self, call: HelpCall) -> impl Future<Output = PortResult<bool>> + Send;

    /// The call with this code, which may be [over](HelpCall::is_over).
    fn call(&self, code: HelpCode) -> impl Future<Output = PortResult<Option<HelpCall>>> + Send;
}

/// Where the operator helps them.
pub trait HelpDesk: HelpCalls {
    /// Writes the admission, as [`Admissions::admit`] does, with an entry of the audit trail, and takes one of the room's stock if it
    /// has one. All that is one transaction. `None` if nothing is left of the stock.
    fn let_in(
        &self,
        call: HelpCall,
        admission: Admission,
        who: Author,
    ) -> impl Future<Output = PortResult<Option<Admitted>>> + Send;
}

/// The plans of the windows.
pub trait Plans: Send + Sync {
    /// The latest plans, newest first, at most two. More aren't needed: while nothing changes two windows are the two minutes after which
    /// [somebody was overtaken](crate::overtaken_before) or a line [was empty](crate::was_empty); and a plan that is older was stopped,
    /// is over, or has its consumers from the run that wrote it.
    fn recent(&self) -> impl Future<Output = PortResult<Vec<PlanRecord>>> + Send;

    /// Writes the plan unless there is one with its number, and returns whether it did.
    fn write(&self, plan: Plan) -> impl Future<Output = PortResult<bool>> + Send;

    /// The slices of a plan that [`Slices::take`] would give to nobody any more. A store that can tell whether a consumer still runs
    /// gives its slice to another one, so it has none of these.
    fn given_away(&self, _plan: Plan) -> impl Future<Output = PortResult<Vec<SliceId>>> + Send {
        ready(Ok(Vec::new()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanRecord {
    pub plan: Plan,
    /// How many visitors its slices have recorded as released so far.
    pub released: u64,
    /// The lowest ticket that the line delivered to its slices, as far as is known.
    pub lowest: Option<u64>,
}

/// The slices of a plan. Each is released by one consumer.
pub trait Slices: Send + Sync {
    /// Gives the slice to `consumer_run` unless another consumer works on it. A repeated call returns the same answer.
    ///
    /// If a store can prove that the consumer that took it before no longer runs, it gives the slice to the new
    /// consumer.
    fn take(
        &self,
        slice: SliceId,
        consumer_run: ConsumerRun,
    ) -> impl Future<Output = PortResult<Taken>> + Send;

    /// Records the slice's progress. Repeating a call changes nothing, and `released` and `reached` never decrease. Records
    /// of a slice that nobody has taken are ignored.
    fn record(&self, slice: SliceId, progress: SliceProgress) -> impl Future<Output = PortResult<()>> + Send;
}

/// What a slice records of its progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceProgress {
    /// How many visitors it has released in total.
    pub released: u32,
    /// The ticket that the line has reached.
    pub reached: u64,
    /// The lowest ticket that the line has delivered to it. Stores may keep it only when `released` increases.
    pub lowest: Option<u64>,
    /// How many places from their turn visitors leave the line, if that has changed. The latest record counts.
    pub disorder: Option<u64>,
    /// Once the slice is over: how many it may have admitted.
    pub at_most: Option<u32>,
}

/// The answer to whoever takes a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The slice is this consumer's. A consumer that no longer runs has already released `released` of its visitors.
    Here { released: u32 },
    /// Another consumer works on the slice.
    Elsewhere,
}

/// Identifies one run of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerRun(pub u128);

/// How far the line has come, and the status that polls publish.
pub trait StatusBoard: Send + Sync {
    /// The part of the progress that the door and the pages need.
    fn reach(&self) -> impl Future<Output = PortResult<LineReach>> + Send;

    fn progress(&self) -> impl Future<Output = PortResult<LineProgress>> + Send;

    /// Records that visitors with tickets below `overtaken` were overtaken, which was found in the plans from `plan` on. The
    /// number never decreases. If that plan is of an earlier epoch, nothing is changed.
    fn overtake(&self, plan: u64, overtaken: u64) -> impl Future<Output = PortResult<()>> + Send;

    fn publish(&self, status: LineStatus) -> impl Future<Output = PortResult<()>> + Send;

    /// The same, for somebody who does not know what was published last. Stores that charge for writes look first.
    fn publish_if_changed(&self, status: LineStatus) -> impl Future<Output = PortResult<()>> + Send {
        self.publish(status)
    }
}

/// The status of the line, for polls and for whoever cannot poll.
pub trait LineStatusReader: Send + Sync {
    /// The status that belongs to `room`, which the caller has just read. On one machine every poll calls this, so it must be
    /// cheap. It may be a few seconds old.
    fn line_status(&self, room: &Room) -> impl Future<Output = PortResult<LineStatus>> + Send;
}

/// Starts consumers.
pub trait Dispatch: Send + Sync {
    /// Starts a consumer for the slice and does not wait for it. Two may be started: only one of them can take the slice.
    fn send(&self, slice: Slice) -> impl Future<Output = PortResult<()>> + Send;
}

/// Which keys the room publishes. Everybody may read that.
pub trait KeyBoard: Send + Sync {
    /// The record as it is now. A room without keys has an empty one.
    fn key_record(&self) -> impl Future<Output = PortResult<KeyRecord>> + Send;
}

/// The keys of the room, for whoever signs passes. Nobody else may read the secret ones.
///
/// A key signs only once it is published, and is published only once its secret part is stored. So whoever crashes in
/// between leaves a secret that the next one finds and publishes.
pub trait Keys: KeyBoard {
    /// Replaces the record if it still has the version of `record`, and returns whether it did. The new record is stored with
    /// the next version. Its keys are published then.
    fn publish_keys(&self, record: KeyRecord) -> impl Future<Output = PortResult<bool>> + Send;

    /// The secret part of the key with this number.
    fn secret_keys(&self, number: u64) -> impl Future<Output = PortResult<Option<SecretKeys>>> + Send;

    /// Stores the secret part of the key with this number unless there is one, and returns the stored one: everybody who
    /// creates the same key gets the same one. What was stored never changes.
    ///
    /// A store that has the keys of a room from before there was a record stores those as key 1.
    fn create_secret_keys(
        &self,
        number: u64,
        first: SecretKeys,
    ) -> impl Future<Output = PortResult<SecretKeys>> + Send;
}

/// The operator's orders about the keys.
pub trait KeyAdmin: KeyBoard {
    /// Carries out the order, and returns the record after it. The entry of the audit trail is written in the same
    /// transaction. Nothing is written if the order is refused.
    fn order_keys(
        &self,
        order: KeyOrder,
        who: Author,
    ) -> impl Future<Output = PortResult<Result<KeyRecord, KeyRefusal>>> + Send;
}

/// What the throttle keeps from one minute to the next.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ThrottleMemory {
    pub baseline: Option<Baseline>,
    /// Where the baseline was taken. Earlier versions did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<WebUrl>,
    /// The findings of the last hour, oldest first.
    pub history: Vec<Finding>,
    /// Increases with every write.
    pub version: u64,
}

/// The throttle's memory, and the rate that it allows.
pub trait ThrottleStore: Send + Sync {
    fn recall(&self) -> impl Future<Output = PortResult<ThrottleMemory>> + Send;

    /// Replaces the memory if its version is the one before `memory.version`, and returns whether it did.
    fn remember(&self, memory: ThrottleMemory) -> impl Future<Output = PortResult<bool>> + Send;

    /// Limits the rate in force to `rate`. With `None`, the rate in force is the operator's. The store schedules the
    /// change of the valve and starts the trigger, as [`RoomAdmin::change`] does. If the rate in force changes, that is
    /// written with its [entry](AuditNote::throttle) of the audit trail.
    fn hold(&self, rate: Option<Rate>) -> impl Future<Output = PortResult<()>> + Send;
}

/// Changes of the room by the operator. A reset empties the line too, so a ledger that implements this knows its line.
pub trait RoomAdmin: Send + Sync {
    /// [Changes](Room::changed) the room, and returns it before and after. The entry of the audit trail that `note` describes is
    /// written in the same transaction.
    ///
    /// If that changes the valve, the store starts the trigger, which plans the next window. If the room [counts apart](Room::counts_apart) after it, the history gets a closing record.
    ///
    /// The closure may be retried after a concurrent change, so it must be idempotent: it sets values, for example
    /// "paused".
    fn change(
        &self,
        attempt: &'static str,
        note: AuditNote,
        change: impl Fn(&mut Room) + Send + 'static,
    ) -> impl Future<Output = PortResult<(Arc<Room>, Arc<Room>)>> + Send;

    /// Empties the line and starts a new epoch. Visitors who waited become newcomers, and tickets start at 1.
    /// Returns how many visitors lost their places. On AWS the number is approximate, and the call takes a minute. The
    /// audit trail is kept, and gets an entry by `who`. The history gets a closing record of the epoch before. If an opening is
    /// ahead, that changes the valve, and the store starts the trigger.
    fn start_epoch(&self, epoch: Epoch, who: Author) -> impl Future<Output = PortResult<u64>> + Send;
}

/// Reads the audit trail. What somebody orders adds to it ([`RoomAdmin`], [`HelpDesk`], [`KeyAdmin`]), and what the throttle or a stock
/// that is sold changes. What the room notes about itself doesn't: that it's quiet, its turnout, how fast a full shop lets in.
pub trait AuditTrail: Send + Sync {
    /// The latest entries, oldest first, at most `most`. A room keeps [`AuditEntry::KEPT`].
    fn entries(&self, most: u16) -> impl Future<Output = PortResult<Vec<AuditEntry>>> + Send;
}

/// The history of the line, for [`MinuteRecord::KEPT`].
pub trait MinuteLog: Send + Sync {
    /// Writes the record of the minute of `totals.at`, [in place of](LineTotals::replacing) an earlier one. A closing record stays.
    fn note(&self, totals: LineTotals) -> impl Future<Output = PortResult<()>> + Send;

    /// Notes that somebody was released at `at` after this wait. The minute keeps the longest one, in whole seconds. If the
    /// minute gets no record, the wait is in the next one.
    fn note_wait(&self, at: Timestamp, wait: Duration) -> impl Future<Output = PortResult<()>> + Send;

    /// The longest wait that was noted for the minute of `since` and later ones, until now.
    fn longest_wait(&self, since: Timestamp) -> impl Future<Output = PortResult<Option<Duration>>> + Send;

    /// The records of the minute of `since` and later ones, oldest first, after the one before them. That one may be
    /// missing if it is more than an hour older. Closing records are among them, so a minute may have several. A store that can be
    /// restored also returns the last record of each other epoch before them.
    fn minutes(&self, since: Timestamp) -> impl Future<Output = PortResult<Vec<MinuteRecord>>> + Send;
}

/// Sends one request to the shop.
pub trait Probe: Send + Sync {
    /// Sends one request and follows no redirects. Only a missing response is an error, whatever its reason.
    fn ask(&self, url: &url::Url) -> impl Future<Output = Result<ProbeReply, ProbeError>> + Send;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeReply {
    pub status: u16,
    /// The `Location` header, unchanged.
    pub location: Option<String>,
    /// The time from before connecting until the headers are complete.
    pub took: Duration,
}

#[derive(Debug, thiserror::Error)]
#[error("the shop did not answer")]
pub struct ProbeError(#[source] pub Box<dyn Error + Send + Sync>);
