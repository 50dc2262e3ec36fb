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

/// Decides which fault each call gets, and how long the call takes.
pub trait FaultInjector: Send {
    fn next(&mut self, call: PortCall) -> (InjectedFault, Duration);
}

impl<F: FnMut(PortCall) -> (InjectedFault, Duration) + Send> FaultInjector for F {
    fn next(&mut self, call: PortCall) -> (InjectedFault, Duration) {
        self(call)
    }
}

/// Ports with injected faults. Records what really happened in [`Observations`].
#[derive(Clone)]
pub struct FaultyPorts<S> {
    inner: S,
    clock: SimClock,
    injector: Arc<Mutex<dyn FaultInjector>>,
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
        injector: Arc<Mutex<dyn FaultInjector>>,
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
        let (fault, takes) = self.injector.lock().next(call);
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

impl<S: RoomReader> RoomReader for FaultyPorts<S> {
    async fn room(&self) -> PortResult<Arc<Room>> {
        self.call(PortCall::Room, self.inner.room()).await
    }

    async fn room_now(&self) -> PortResult<Arc<Room>> {
        self.call(PortCall::Room, self.inner.room_now()).await
    }
}

impl<S: QuietSwitch> QuietSwitch for FaultyPorts<S> {
    async fn set_quiet(&self, quiet: bool) -> PortResult<()> {
        self.call(PortCall::SetQuiet, self.inner.set_quiet(quiet)).await
    }
}

impl<S: Rescheduling> Rescheduling for FaultyPorts<S> {
    async fn reschedule(&self) -> PortResult<()> {
        self.call(PortCall::Reschedule, self.inner.reschedule()).await
    }
}

impl<S: TicketCounter> TicketCounter for FaultyPorts<S> {
    async fn lease(&self, count: u32) -> PortResult<u64> {
        self.call(PortCall::LeaseTickets, self.inner.lease(count)).await
    }
}

impl<S: LineBack> LineBack for FaultyPorts<S> {
    async fn join(&self, visitor: Place) -> PortResult<()> {
        self.call(PortCall::Join, self.inner.join(visitor)).await
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

impl<S: LineLength> LineLength for FaultyPorts<S> {
    async fn waiting(&self) -> PortResult<u64> {
        self.call(PortCall::CountWaiting, self.inner.waiting()).await
    }

    async fn issued(&self) -> PortResult<IssuedTickets> {
        self.call(PortCall::CountIssued, self.inner.issued()).await
    }

    async fn joined(&self) -> PortResult<Option<u64>> {
        self.call(PortCall::CountJoined, self.inner.joined()).await
    }
}

impl<S: Permits> Permits for FaultyPorts<S> {
    async fn take_permits(&self, of: DoorPermits, count: u32, by: PermitHolder) -> PortResult<bool> {
        self.call(PortCall::TakePermits, self.inner.take_permits(of, count, by)).await
    }
}

impl<S: HelpCalls> HelpCalls for FaultyPorts<S> {
    async fn note_call(&self, call: HelpCall) -> PortResult<bool> {
        self.call(PortCall::NoteCall, self.inner.note_call(call)).await
    }

    async fn call(&self, code: HelpCode) -> PortResult<Option<HelpCall>> {
        self.call(PortCall::LookUp, self.inner.call(code)).await
    }
}

impl<S: TurnoutCount> TurnoutCount for FaultyPorts<S> {
    async fn note_came(&self, visitor: Token, slice: SliceId) -> PortResult<bool> {
        self.call(PortCall::NoteCame, self.inner.note_came(visitor, slice)).await
    }

    async fn turnout(&self, ended: Window) -> PortResult<Turnout> {
        self.call(PortCall::CountCame, self.inner.turnout(ended)).await
    }

    async fn keep_turnout(&self, turnout: Option<Turnout>) -> PortResult<()> {
        self.call(PortCall::KeepTurnout, self.inner.keep_turnout(turnout)).await
    }
}

impl<S: GuardReports> GuardReports for FaultyPorts<S> {
    async fn keep_report(&self, report: KeptReport) -> PortResult<()> {
        self.call(PortCall::KeepReport, self.inner.keep_report(report)).await
    }
}

impl<S: ActiveVisitors> ActiveVisitors for FaultyPorts<S> {
    async fn reports(&self) -> PortResult<Vec<KeptReport>> {
        self.call(PortCall::Reports, self.inner.reports()).await
    }

    async fn window_admissions(&self, since: Timestamp) -> PortResult<Vec<WindowAdmissions>> {
        self.call(PortCall::CountWindows, self.inner.window_admissions(since)).await
    }

    async fn keep_while_full(&self, lately: Option<Rate>) -> PortResult<()> {
        self.call(PortCall::KeepWhileFull, self.inner.keep_while_full(lately)).await
    }
}

impl<S: NewcomerCount> NewcomerCount for FaultyPorts<S> {
    async fn count_newcomers(&self, slot: Timestamp, count: u32) -> PortResult<()> {
        self.call(PortCall::CountNewcomers, self.inner.count_newcomers(slot, count)).await
    }

    async fn newcomers(&self) -> PortResult<Vec<CountedSlot>> {
        self.call(PortCall::Newcomers, self.inner.newcomers()).await
    }

    async fn forget_newcomers(&self, before: Timestamp) -> PortResult<()> {
        self.call(PortCall::ForgetNewcomers, self.inner.forget_newcomers(before)).await
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

impl<S: Plans> Plans for FaultyPorts<S> {
    async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
        self.call(PortCall::RecentPlans, self.inner.recent()).await
    }

    async fn write(&self, plan: Plan) -> PortResult<bool> {
        self.call(PortCall::WritePlan, self.inner.write(plan)).await
    }
}

impl<S: Slices> Slices for FaultyPorts<S> {
    async fn take(&self, slice: SliceId, consumer_run: ConsumerRun) -> PortResult<Taken> {
        self.call(PortCall::Take, self.inner.take(slice, consumer_run)).await
    }

    async fn record(&self, slice: SliceId, progress: SliceProgress) -> PortResult<()> {
        self.call(PortCall::Record, self.inner.record(slice, progress)).await
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

impl<S: LineStatusReader> LineStatusReader for FaultyPorts<S> {
    async fn line_status(&self, room: &Room) -> PortResult<LineStatus> {
        self.call(PortCall::Status, self.inner.line_status(room)).await
    }
}

impl<S: MinuteLog> MinuteLog for FaultyPorts<S> {
    async fn note(&self, totals: LineTotals) -> PortResult<()> {
        self.call(PortCall::History, self.inner.note(totals)).await
    }

    async fn note_wait(&self, at: Timestamp, wait: Duration) -> PortResult<()> {
        self.call(PortCall::History, self.inner.note_wait(at, wait)).await
    }

    async fn longest_wait(&self, since: Timestamp) -> PortResult<Option<Duration>> {
        self.call(PortCall::History, self.inner.longest_wait(since)).await
    }

    async fn minutes(&self, since: Timestamp) -> PortResult<Vec<MinuteRecord>> {
        self.call(PortCall::History, self.inner.minutes(since)).await
    }
}

impl<S: KeyBoard> KeyBoard for FaultyPorts<S> {
    async fn key_record(&self) -> PortResult<KeyRecord> {
        self.call(PortCall::Keys, self.inner.key_record()).await
    }
}

impl<S: Keys> Keys for FaultyPorts<S> {
    async fn publish_keys(&self, record: KeyRecord) -> PortResult<bool> {
        self.call(PortCall::PublishKeys, self.inner.publish_keys(record)).await
    }

    async fn secret_keys(&self, number: u64) -> PortResult<Option<SecretKeys>> {
        self.call(PortCall::SecretKeys, self.inner.secret_keys(number)).await
    }

    async fn create_secret_keys(&self, number: u64, first: SecretKeys) -> PortResult<SecretKeys> {
        self.call(PortCall::SecretKeys, self.inner.create_secret_keys(number, first)).await
    }
}

impl<S: ThrottleStore> ThrottleStore for FaultyPorts<S> {
    async fn recall(&self) -> PortResult<ThrottleMemory> {
        self.call(PortCall::Throttle, self.inner.recall()).await
    }

    async fn remember(&self, memory: ThrottleMemory) -> PortResult<bool> {
        self.call(PortCall::Throttle, self.inner.remember(memory)).await
    }

    async fn hold(&self, rate: Option<Rate>) -> PortResult<()> {
        self.call(PortCall::Throttle, self.inner.hold(rate)).await
    }
}

impl<S: Dispatch> Dispatch for FaultyPorts<S> {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        self.call(PortCall::Send, self.inner.send(slice)).await
    }
}
