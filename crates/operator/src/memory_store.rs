use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_executor::block_on;
use pass::{KeyRecord, KeyRefusal, PrivateKey};
use waitroom::ports::{
    AuditTrail, KeyAdmin, KeyBoard, LineLength, MinuteLog, PlanRecord, Plans, PortResult, RoomAdmin,
    RoomReader, StatusBoard, ThrottleMemory, ThrottleStore,
};
use waitroom::{
    AuditEntry, AuditNote, AuditSubject, Author, Epoch, IssuedTickets, KeyOrder, LinePosition, LineProgress,
    LineStatus, LineTotals, MinuteRecord, Plan, Rate, Room, Settings, Timestamp, Window,
};

use crate::{Order, Reply, execute};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A store in memory in which visitors wait.
pub(crate) struct MemoryStore {
    pub(crate) room: Mutex<Room>,
    entries: Mutex<Vec<AuditEntry>>,
    keys: Mutex<KeyRecord>,
    waiting: u64,
    /// Of a line that counts late, as on AWS.
    issued: Option<IssuedTickets>,
}

impl MemoryStore {
    /// Seven visitors wait.
    pub(crate) fn new() -> Self {
        Self::with_waiting(7)
    }

    pub(crate) fn with_waiting(waiting: u64) -> Self {
        let settings = Settings::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example".parse().unwrap(),
            Rate::new(300).unwrap(),
        );
        let url = "https://room.example".parse().unwrap();
        let room = Room::new(settings, url, "ab12".parse().unwrap());
        Self {
            room: Mutex::new(room),
            entries: Mutex::default(),
            keys: Mutex::default(),
            waiting,
            issued: None,
        }
    }

    /// The line counts nobody, although tickets were given out.
    pub(crate) fn counting_late(issued: IssuedTickets) -> Self {
        Self { issued: Some(issued), ..Self::with_waiting(0) }
    }

    pub(crate) fn add_entry(&self, note: &AuditNote, before: &Room, after: &Room) {
        let mut entries = self.entries.lock().unwrap();
        let number = entries.len() as u64 + 1;
        entries.extend(note.entry(number, Timestamp::default(), before, after));
    }

    /// Carries out an order by Anna.
    pub(crate) fn execute(&self, order: Order) -> Reply {
        block_on(execute(self, order, Author::new("anna"), NOW)).unwrap()
    }

    /// The number of the last entry of the audit trail.
    pub(crate) fn last_entry(&self) -> u64 {
        self.entries.lock().unwrap().last().unwrap().number
    }

    /// Publishes a first key, and returns its id.
    pub(crate) fn publish_key(&self) -> String {
        let key = PrivateKey::generate().unwrap().public().unwrap();
        let id = key.kid().to_owned();
        self.keys.lock().unwrap().publish(key, Duration::from_mins(5), 0);
        id
    }
}

impl RoomReader for MemoryStore {
    async fn room(&self) -> PortResult<Arc<Room>> {
        Ok(Arc::new(self.room.lock().unwrap().clone()))
    }

    async fn room_now(&self) -> PortResult<Arc<Room>> {
        self.room().await
    }
}

impl StatusBoard for MemoryStore {
    async fn position(&self) -> PortResult<LinePosition> {
        unreachable!("no order calls this")
    }

    async fn progress(&self) -> PortResult<LineProgress> {
        Ok(LineProgress { served: 4100, passed: 2100, released: 4090, disorder: 0 })
    }

    async fn pass_by(&self, _: u64, _: u64) -> PortResult<()> {
        unreachable!("no order calls this")
    }

    async fn publish(&self, _: LineStatus) -> PortResult<()> {
        unreachable!("no order calls this")
    }
}

impl LineLength for MemoryStore {
    async fn waiting(&self) -> PortResult<u64> {
        Ok(self.waiting)
    }

    async fn issued(&self) -> PortResult<IssuedTickets> {
        Ok(self.issued.expect("no order asks a line that counts exactly"))
    }

    async fn joined(&self) -> PortResult<Option<u64>> {
        Ok(self.issued.is_none().then_some(4100))
    }
}

impl Plans for MemoryStore {
    async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
        let window = Window { start: Timestamp::from_millis(0), end: Timestamp::from_millis(60_000) };
        let plan = Plan {
            number: 12,
            window,
            rate: Rate::MIN,
            quota: 300,
            releases_from: window.start,
            ahead: 0,
            valve_from: Timestamp::default(),
            made_at: Timestamp::default(),
            planned_before: Timestamp::default(),
        };
        Ok(vec![PlanRecord { plan, released: 31, lowest: None }])
    }

    async fn write(&self, _: Plan) -> PortResult<bool> {
        unreachable!("no order calls this")
    }
}

impl ThrottleStore for MemoryStore {
    async fn recall(&self) -> PortResult<ThrottleMemory> {
        Ok(ThrottleMemory::default())
    }

    async fn remember(&self, _: ThrottleMemory) -> PortResult<bool> {
        unreachable!("no order calls this")
    }

    async fn hold(&self, _: Option<Rate>) -> PortResult<()> {
        unreachable!("no order calls this")
    }
}

impl RoomAdmin for MemoryStore {
    async fn change(
        &self,
        _: &'static str,
        note: AuditNote,
        change: impl Fn(&mut Room) + Send + 'static,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        let mut room = self.room.lock().unwrap();
        let before = Arc::new(room.clone());
        change(&mut room);
        self.add_entry(&note, &before, &room);
        Ok((before, Arc::new(room.clone())))
    }

    async fn start_epoch(&self, epoch: Epoch, who: Author) -> PortResult<u64> {
        let mut room = self.room.lock().unwrap();
        let before = room.clone();
        room.start_epoch(epoch);
        self.add_entry(&AuditNote::new(who, AuditSubject::Reset), &before, &room);
        Ok(self.waiting)
    }
}

impl AuditTrail for MemoryStore {
    async fn entries(&self, most: u16) -> PortResult<Vec<AuditEntry>> {
        let entries = self.entries.lock().unwrap();
        Ok(entries[entries.len().saturating_sub(most.into())..].to_vec())
    }
}

impl KeyBoard for MemoryStore {
    async fn key_record(&self) -> PortResult<KeyRecord> {
        Ok(self.keys.lock().unwrap().clone())
    }
}

impl KeyAdmin for MemoryStore {
    async fn order_keys(&self, order: KeyOrder, who: Author) -> PortResult<Result<KeyRecord, KeyRefusal>> {
        let (mut record, mut entries) = (self.keys.lock().unwrap(), self.entries.lock().unwrap());
        Ok(order.carry_out(&mut record, NOW).map(|change| {
            let number = entries.len() as u64 + 1;
            entries.push(AuditEntry::of_keys(number, NOW, who, change));
            record.clone()
        }))
    }
}

impl MinuteLog for MemoryStore {
    async fn note(&self, _: LineTotals) -> PortResult<()> {
        unreachable!("no order calls this")
    }

    async fn note_wait(&self, _: Timestamp, _: Duration) -> PortResult<()> {
        unreachable!("no order calls this")
    }

    async fn longest_wait(&self, since: Timestamp) -> PortResult<Option<Duration>> {
        assert_eq!(NOW.since(since), Duration::from_mins(1));
        Ok(Some(Duration::from_secs(90)))
    }

    async fn minutes(&self, at: Timestamp) -> PortResult<Vec<MinuteRecord>> {
        let epoch = self.room.lock().unwrap().epoch;
        let totals = LineTotals {
            at,
            epoch,
            joined: 4100,
            released: 4090,
            entered: None,
            waiting: 7,
            rate: None,
            rehearsal: true,
        };
        Ok(vec![MinuteRecord { totals, longest_wait: None }])
    }
}
