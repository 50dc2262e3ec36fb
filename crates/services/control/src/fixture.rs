use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_executor::block_on;
use memory::{LineBehaviour, MemoryLedger, MemoryLine};
use pass::PrivateKey;
use waitroom::ports::{
    AuditTrail, ConsumerRun, HelpCalls, KeyBoard, Keys, LineBack, LineFront, MinuteLog, Plans, PortResult,
    RoomAdmin, SliceProgress, Slices, StatusBoard, Store, TicketCounter,
};
use waitroom::{
    AuditEntry, AuditNote, Author, HelpCall, HelpCode, LineTotals, Place, Plan, Rate, Room, SliceId, Stock,
    Ticket, Timestamp, Token, ValveSchedule, Window,
};

use crate::{Order, Reply, Status, execute};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A room in memory, at [`NOW`].
pub(crate) struct WaitingRoom {
    pub(crate) ledger: MemoryLedger,
    /// Whether something else is to change the room as soon as the next order has read it.
    is_to_be_interrupted: Arc<AtomicBool>,
}

impl WaitingRoom {
    /// When its only record of a minute was written.
    pub(crate) const MINUTE: Timestamp = Timestamp::from_millis(NOW.as_millis() - 300_000);

    /// Nobody waits, and nobody has ever.
    pub(crate) fn empty() -> Self {
        Self::over(MemoryLine::new(|| NOW, 1, LineBehaviour::default()))
    }

    /// Seven visitors wait, and 31 were released.
    pub(crate) fn new() -> Self {
        let room = Self::empty();
        block_on(room.release(38, 31, 35)).unwrap();
        room
    }

    /// The line counts nobody, although this many tickets were given out until so long ago, and it has reached this one.
    pub(crate) fn counting_late(tickets: u32, ago: Duration, reached: u64) -> Self {
        let count_lag = Duration::from_mins(1);
        let line = MemoryLine::new(move || NOW - ago, 1, LineBehaviour { count_lag, ..Default::default() });
        let room = Self::over(line);
        block_on(room.ledger.line().lease(tickets)).unwrap();
        block_on(room.release(0, 0, reached)).unwrap();
        room
    }

    fn over(line: MemoryLine) -> Self {
        let room = waitroom::fixture::room(300);
        let ledger = MemoryLedger::new(line, room, ValveSchedule::LEAD_TIME_IN_ONE_PROCESS);
        Self { ledger, is_to_be_interrupted: Arc::default() }
    }

    /// An empty room that is changed once, at the worst moment: after an order has [read](Self::interrupt) it. A ledger in memory
    /// asks for the time after it has read the room, and before it changes it.
    pub(crate) fn interrupted(change: impl Fn(&mut Room) + Send + Sync + 'static) -> Self {
        let (ledger, is_to_be) =
            (Arc::new(OnceLock::<MemoryLedger>::new()), Arc::new(AtomicBool::new(false)));
        let (known, is_due) = (ledger.clone(), is_to_be.clone());
        let line = MemoryLine::new(
            move || {
                if is_due.swap(false, Ordering::Relaxed) {
                    known.get().unwrap().change_room(&change);
                }
                NOW
            },
            1,
            LineBehaviour::default(),
        );
        let room = Self { is_to_be_interrupted: is_to_be, ..Self::over(line) };
        ledger.set(room.ledger.clone()).unwrap();
        room
    }

    /// The next order finds another room when it changes it than when it read it.
    pub(crate) fn interrupt(&self) {
        self.is_to_be_interrupted.store(true, Ordering::Relaxed);
    }

    /// So many join, and the first slice of plan 12 releases some of them and reaches ticket `reached`.
    async fn release(&self, join: u64, released: u32, reached: u64) -> PortResult<()> {
        let (ledger, line, epoch) = (&self.ledger, self.ledger.line(), self.room().epoch);
        for number in 1..=join {
            let token = Token::from_bytes(u128::from(number).to_be_bytes());
            line.join(Place { epoch, token, ticket: Ticket::new(number).unwrap() }).await?;
        }
        for _ in 0..released {
            let received = line.receive(1, Duration::ZERO).await?;
            line.remove(received.into_iter().map(|delivery| delivery.receipt).collect()).await?;
        }
        ledger.write(plan()).await?;
        let slice = SliceId { plan: plan().number, index: 0 };
        ledger.take(slice, ConsumerRun(1)).await?;
        ledger
            .record(slice, SliceProgress { released, reached, lowest: None, disorder: None, at_most: None })
            .await?;
        ledger.overtake(plan().number, reached / 2).await?;
        ledger.note_wait(NOW, Duration::from_secs(90)).await?;
        let totals = LineTotals {
            at: Self::MINUTE,
            epoch,
            joined: join,
            released: released.into(),
            entered: None,
            waiting: join - u64::from(released),
            rate: None,
            rehearsal: true,
            observed: None,
        };
        ledger.note(totals).await
    }

    /// As if this stock of the room was sold, with its entry of the audit trail.
    pub(crate) fn sell_out(&self, stock: Stock) {
        let sell_out = move |room: &mut Room| _ = room.sell_out(stock);
        block_on(self.ledger.change("end the room", AuditNote::sold_out(), sell_out)).unwrap();
    }

    pub(crate) fn room(&self) -> Arc<Room> {
        self.ledger.kept_room()
    }

    /// Carries out an order by Anna.
    pub(crate) fn execute(&self, order: Order) -> Reply {
        block_on(execute(&self.ledger, order, Author::new("anna"), NOW)).unwrap()
    }

    /// Why an order by Anna is refused.
    pub(crate) fn refused(&self, order: Order) -> String {
        match self.execute(order) {
            Reply::Failed { error, may_be_done: false } => error,
            reply => panic!("{reply:?}"),
        }
    }

    pub(crate) fn status(&self) -> Status {
        match self.execute(Order::Status) {
            Reply::Status(status) => *status,
            reply => panic!("{reply:?}"),
        }
    }

    /// The visitor with this number in line asks for help at this time.
    pub(crate) fn ask_for_help(&self, number: u64, at: Timestamp) -> HelpCode {
        // The code is made of the first bytes.
        let token = Token::from_bytes(u128::from(number).to_le_bytes());
        let place = Place { epoch: self.room().epoch, token, ticket: Ticket::new(number).unwrap() };
        let [code, ..] = HelpCode::of(token);
        assert!(block_on(self.ledger.note_call(HelpCall { code, place, at })).unwrap());
        code
    }

    /// The number of the last entry of the audit trail.
    pub(crate) fn last_entry(&self) -> u64 {
        block_on(self.ledger.entries(AuditEntry::KEPT)).unwrap().last().unwrap().number
    }

    /// Publishes a first key, and returns its id.
    pub(crate) fn publish_key(&self) -> String {
        let key = PrivateKey::generate().unwrap().public().unwrap();
        let id = key.kid().to_owned();
        let mut record = block_on(self.ledger.key_record()).unwrap();
        record.publish(key, Duration::from_mins(5), 0);
        assert!(block_on(self.ledger.publish_keys(record)).unwrap());
        id
    }
}

/// The order to mark a room for a rehearsal.
pub(crate) fn rehearse() -> Order {
    Order::Rehearse { mark: "abcdefghijkmnpqr".parse().unwrap() }
}

/// The plan of the minute before.
fn plan() -> Plan {
    let window = Window { start: NOW - Duration::from_mins(1), end: NOW };
    let at = window.start;
    let rate = Rate::new(300).unwrap();
    Plan {
        number: 12,
        window,
        rate,
        quota: rate.get(),
        releases_from: at,
        ahead: 0,
        valve_from: Timestamp::default(),
        made_at: at,
        planned_before: at,
        needs_permits: false,
    }
}
