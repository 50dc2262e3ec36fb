//! Injects faults between a handler and its ports.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pass::{KeyRecord, SecretKeys};
use simulation::SimClock;
use waitroom::ports::{
    ActiveVisitors, Admissions, Admitted, Clock, ConsumerRun, Delivery, Dispatch, EntryCount, Fault,
    GuardReports, HelpCalls, KeyBoard, Keys, LineBack, LineFront, LineLength, LineStatusReader, MinuteLog,
    NewcomerCount, PermitHolder, Permits, PlanRecord, Plans, PortError, PortResult, QuietSwitch, Receipt,
    Rescheduling, RoomReader, SliceProgress, Slices, StatusBoard, StockCount, Taken, ThrottleMemory,
    ThrottleStore, TicketCounter, TurnoutCount,
};
use waitroom::{
    Admission, CountedSlot, DoorPermits, HelpCall, HelpCode, IssuedTickets, KeptReport, LineProgress,
    LineReach, LineStatus, LineTotals, MinuteRecord, Place, Plan, Rate, Room, Slice, SliceId, Stock,
    Timestamp, Token, Turnout, Window, WindowAdmissions,
};

use crate::Observations;

/// The kinds of calls to the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortCall {
    Room,
    SetQuiet,
    Reschedule,
    EndIfSoldOut,
    LeaseTickets,
    Join,
    Receive,
    Keep,
    HandBack,
    Remove,
    CountWaiting,
    CountIssued,
    CountJoined,
    CountLeft,
    LookUp,
    Admit,
    TakePermits,
    CountCame,
    CountNewcomers,
    ForgetNewcomers,
    KeepTurnout,
    KeepReport,
    Reports,
    CountWindows,
    KeepWhileFull,
    Newcomers,
    NoteCall,
    NoteCame,
    RecentPlans,
    WritePlan,
    Take,
    Record,
    Reach,
    Status,
    Progress,
    Publish,
    PublishIfChanged,
    History,
    Keys,
    PublishKeys,
    SecretKeys,
    Throttle,
    Send,
}

impl PortCall {
    /// Whether this writes to the ledger.
    pub const fn writes(self) -> bool {
        match self {
            Self::SetQuiet
            | Self::Reschedule
            | Self::EndIfSoldOut
            | Self::LeaseTickets
            | Self::Admit
            | Self::TakePermits
            | Self::NoteCall
            | Self::NoteCame
            | Self::KeepTurnout
            | Self::KeepReport
            | Self::KeepWhileFull
            | Self::CountNewcomers
            | Self::ForgetNewcomers
            | Self::WritePlan
            | Self::Take
            | Self::Record
            | Self::Publish
            | Self::PublishIfChanged
            | Self::History
            | Self::PublishKeys
            | Self::Throttle => true,
            Self::Room
            | Self::Join
            | Self::Receive
            | Self::Keep
            | Self::HandBack
            | Self::Remove
            | Self::CountWaiting
            | Self::CountIssued
            | Self::CountJoined
            | Self::CountLeft
            | Self::LookUp
            | Self::CountCame
            | Self::Reports
            | Self::CountWindows
            | Self::Newcomers
            | Self::RecentPlans
            | Self::Reach
            | Self::Status
            | Self::Progress
            | Self::Keys
            | Self::SecretKeys
            | Self::Send => false,
        }
    }
}

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    None,
    /// The call has no effect and returns an error of this kind.
    Refused(Fault),
    /// The call takes effect, but returns `Fault::Unsure`.
    Unconfirmed,
    /// `receive` returns nobody although visitors wait. No effect on other calls.
    EmptyLine,
    /// `receive` returns every visitor twice. No effect on other calls.
    DeliveredTwice,
    /// `receive` also returns a visitor whom it returned before. No effect on other calls.
    DeliveredAgain,
}

/// Every `nth` call of one kind.
pub fn every(nth: u32, kind: PortCall) -> impl FnMut(PortCall) -> bool + Send {
    let mut calls = 0;
    move |call| {
        calls += u32::from(call == kind);
        call == kind && calls % nth == 0
    }
}

/// Decides which fault each call gets, and how long the call takes.
pub type FaultInjector = Box<dyn FnMut(PortCall) -> (InjectedFault, Duration) + Send>;

/// Ports with injected faults. Records what really happened in [`Observations`].
#[derive(Clone)]
pub struct FaultyPorts<S> {
    inner: S,
    clock: SimClock,
    injector: Arc<Mutex<FaultInjector>>,
    observations: Arc<Mutex<Observations>>,
    delivered: Arc<Mutex<Vec<Delivery>>>,
}

impl<S> fmt::Debug for FaultyPorts<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyPorts").finish_non_exhaustive()
    }
}

impl<S: Sync> FaultyPorts<S> {
    pub fn new(
        inner: S,
        clock: SimClock,
        injector: Arc<Mutex<FaultInjector>>,
        observations: Arc<Mutex<Observations>>,
    ) -> Self {
        Self { inner, clock, injector, observations, delivered: Arc::default() }
    }

    pub fn inner(&self) -> &S {
        &self.inner
    }

    async fn call<T: Send>(
        &self,
        call: PortCall,
        work: impl Future<Output = PortResult<T>> + Send,
    ) -> PortResult<T> {
        self.call_with_fault(call, work).await.map(|(result, _)| result)
    }

    async fn call_with_fault<T: Send>(
        &self,
        call: PortCall,
        work: impl Future<Output = PortResult<T>> + Send,
    ) -> PortResult<(T, InjectedFault)> {
        let (fault, takes) = self.injector.lock()(call);
        let arrives = self.clock.now() + takes / 2;
        self.clock.sleep_until(arrives).await;
        let result = match fault {
            InjectedFault::Refused(kind) => Err(PortError::new(format!("{call:?}"), kind, "injected fault")),
            InjectedFault::Unconfirmed => {
                work.await?;
                Err(PortError::new(
                    format!("{call:?}"),
                    Fault::Unsure,
                    "injected fault after the call took effect",
                ))
            }
            _ => work.await.map(|result| (result, fault)),
        };
        self.clock.sleep_until(self.clock.now() + takes / 2).await;
        result
    }
}

/// Ports of which a call only gets its fault. The others are written out below.
macro_rules! faulty {
    ($($port:ident { $($kind:ident: $call:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+ })+) => {
        $(impl<S: $port> $port for FaultyPorts<S> {
            $(async fn $call(&self, $($argument: $type),*) -> PortResult<$answer> {
                self.call(PortCall::$kind, self.inner.$call($($argument),*)).await
            })+
        })+
    };
}

faulty! {
    RoomReader {
        Room: room() -> Arc<Room>;
        Room: room_now() -> Arc<Room>;
    }
    QuietSwitch {
        SetQuiet: set_quiet(quiet: bool) -> ();
    }
    Rescheduling {
        Reschedule: reschedule() -> ();
    }
    TicketCounter {
        LeaseTickets: lease(count: u32) -> u64;
    }
    LineBack {
        Join: join(visitor: Place) -> ();
    }
    LineLength {
        CountWaiting: waiting() -> u64;
        CountIssued: issued() -> IssuedTickets;
        CountJoined: joined() -> Option<u64>;
    }
    Permits {
        TakePermits: take_permits(of: DoorPermits, count: u32, by: PermitHolder) -> bool;
    }
    HelpCalls {
        NoteCall: note_call(call: HelpCall) -> bool;
        LookUp: call(code: HelpCode) -> Option<HelpCall>;
    }
    TurnoutCount {
        NoteCame: note_came(visitor: Token, slice: SliceId) -> bool;
        CountCame: turnout(ended: Window) -> Turnout;
        KeepTurnout: keep_turnout(turnout: Option<Turnout>) -> ();
    }
    GuardReports {
        KeepReport: keep_report(report: KeptReport) -> ();
    }
    ActiveVisitors {
        Reports: reports() -> Vec<KeptReport>;
        CountWindows: window_admissions(since: Timestamp) -> Vec<WindowAdmissions>;
        KeepWhileFull: keep_while_full(lately: Option<Rate>) -> ();
    }
    NewcomerCount {
        CountNewcomers: count_newcomers(slot: Timestamp, count: u32) -> ();
        Newcomers: newcomers() -> Vec<CountedSlot>;
        ForgetNewcomers: forget_newcomers(before: Timestamp) -> ();
    }
    Plans {
        RecentPlans: recent() -> Vec<PlanRecord>;
        WritePlan: write(plan: Plan) -> bool;
    }
    Slices {
        Take: take(slice: SliceId, consumer_run: ConsumerRun) -> Taken;
        Record: record(slice: SliceId, progress: SliceProgress) -> ();
    }
    LineStatusReader {
        Status: line_status(room: &Room) -> LineStatus;
    }
    MinuteLog {
        History: note(totals: LineTotals) -> ();
        History: note_wait(at: Timestamp, wait: Duration) -> ();
        History: longest_wait(since: Timestamp) -> Option<Duration>;
        History: minutes(since: Timestamp) -> Vec<MinuteRecord>;
    }
    KeyBoard {
        Keys: key_record() -> KeyRecord;
    }
    Keys {
        PublishKeys: publish_keys(record: KeyRecord) -> bool;
        SecretKeys: secret_keys(number: u64) -> Option<SecretKeys>;
        SecretKeys: create_secret_keys(number: u64, first: SecretKeys) -> SecretKeys;
    }
    ThrottleStore {
        Throttle: recall() -> ThrottleMemory;
        Throttle: remember(memory: ThrottleMemory) -> bool;
        Throttle: hold(rate: Option<Rate>) -> ();
    }
    Dispatch {
        Send: send(slice: Slice) -> ();
    }
}

impl<S: LineFront> LineFront for FaultyPorts<S> {
    async fn receive(&self, most: u32, patience: Duration) -> PortResult<Vec<Delivery>> {
        let sent = Mutex::new(Vec::new());
        let received = async {
            let received = self.inner.receive(most, patience).await?;
            sent.lock().clone_from(&received);
            Ok(received)
        };
        let answer = self.call_with_fault(PortCall::Receive, received).await;
        if !matches!(&answer, Ok((_, fault)) if *fault != InjectedFault::EmptyLine) {
            let sent = sent.lock();
            let visitors = sent.iter().filter_map(|delivery| delivery.visitor.as_ref().ok());
            self.observations.lock().unheard.extend(visitors.map(|visitor| visitor.token));
        }
        let (mut received, fault) = answer?;
        let mut delivered = self.delivered.lock();
        match fault {
            // The visitors are invisible now and are delivered again later.
            InjectedFault::EmptyLine => received.clear(),
            InjectedFault::DeliveredTwice => received.extend(received.clone()),
            InjectedFault::DeliveredAgain => received.extend(delivered.last().cloned()),
            _ => {}
        }
        delivered.extend(received.iter().cloned());
        let (now, mut observations) = (self.clock.now(), self.observations.lock());
        for visitor in received.iter().filter_map(|delivery| delivery.visitor.as_ref().ok()) {
            observations.delivered.entry((visitor.token, visitor.ticket.get())).or_insert(now);
        }
        Ok(received)
    }

    async fn keep(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.call(PortCall::Keep, self.inner.keep(receipts)).await
    }

    async fn hand_back(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.call(PortCall::HandBack, self.inner.hand_back(receipts)).await
    }

    async fn remove(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.call(PortCall::Remove, self.inner.remove(receipts)).await
    }

    async fn bury(&self, receipt: Receipt, body: String) -> PortResult<()> {
        self.call(PortCall::Remove, self.inner.bury(receipt, body)).await
    }
}

impl<S: EntryCount> EntryCount for FaultyPorts<S> {
    fn count_entry(&self) {
        self.inner.count_entry();
    }

    fn entered(&self) -> Option<u64> {
        self.inner.entered()
    }
}

impl<S: Admissions> Admissions for FaultyPorts<S> {
    async fn admission(&self, token: Token) -> PortResult<Option<Admission>> {
        self.call(PortCall::LookUp, self.inner.admission(token)).await
    }

    async fn admit(&self, token: Token, admission: Admission) -> PortResult<Admitted> {
        let observed = async {
            let answer = self.inner.admit(token, admission).await?;
            if answer == Admitted::Now {
                self.observations.lock().confirmed.push((token, self.clock.now()));
            }
            Ok(answer)
        };
        self.call(PortCall::Admit, observed).await
    }

    async fn takes_admissions(&self) -> PortResult<()> {
        self.call(PortCall::Admit, self.inner.takes_admissions()).await
    }
}

impl<S: StockCount> StockCount for FaultyPorts<S> {
    async fn admit_from(
        &self,
        stock: Stock,
        visitors: Vec<(Token, Admission)>,
    ) -> PortResult<Vec<Option<Admitted>>> {
        let observed = async {
            let answers = self.inner.admit_from(stock, visitors.clone()).await?;
            let mut observations = self.observations.lock();
            for ((token, _), answer) in visitors.iter().zip(&answers) {
                if *answer == Some(Admitted::Now) {
                    observations.confirmed.push((*token, self.clock.now()));
                }
            }
            Ok(answers)
        };
        self.call(PortCall::Admit, observed).await
    }

    async fn left(&self, stock: Stock) -> PortResult<u32> {
        self.call(PortCall::CountLeft, self.inner.left(stock)).await
    }

    async fn end_if_sold_out(&self) -> PortResult<()> {
        self.call(PortCall::EndIfSoldOut, self.inner.end_if_sold_out()).await
    }
}

impl<S: StatusBoard> StatusBoard for FaultyPorts<S> {
    async fn reach(&self) -> PortResult<LineReach> {
        self.call(PortCall::Reach, self.inner.reach()).await
    }

    async fn progress(&self) -> PortResult<LineProgress> {
        self.call(PortCall::Progress, self.inner.progress()).await
    }

    async fn overtake(&self, plan: u64, overtaken: u64) -> PortResult<()> {
        self.call(PortCall::Publish, self.inner.overtake(plan, overtaken)).await
    }

    async fn publish(&self, status: LineStatus) -> PortResult<()> {
        let publish = async {
            self.observations.lock().published = Some(status);
            self.inner.publish(status).await
        };
        self.call(PortCall::Publish, publish).await
    }

    async fn publish_if_changed(&self, status: LineStatus) -> PortResult<()> {
        let publish = async {
            self.observations.lock().published = Some(status);
            self.inner.publish_if_changed(status).await
        };
        self.call(PortCall::PublishIfChanged, publish).await
    }
}
