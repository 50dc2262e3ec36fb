//! The orders that an operator gives a room, and the replies. They are the same on one machine and on AWS.
//!
//! [`execute`] carries out an [`Order`] over the ports that every store implements. How an order reaches the store
//! differs: on one machine it goes as one line of JSON through the control socket of the process that has the store
//! open; on AWS the operator's own process opens the store and calls [`execute`] itself.

mod status;
mod undo;

use pass::KeyRecord;
use serde::{Deserialize, Serialize};
use waitroom::ports::{
    AuditTrail, KeyAdmin, LineLength, MinuteLog, Plans, PortError, PortResult, RoomAdmin, RoomReader,
    StatusBoard, ThrottleStore,
};
use waitroom::{
    AuditEntry, AuditNote, AuditSubject, Author, Epoch, KeyOrder, Message, MinuteRecord, Rate, Room,
    RoomState, Stretch, Timestamp,
};

pub use status::{Alarm, AlarmChange, AlarmMail, AlarmMailState, AlarmState, Status, WindowCount};
pub use undo::{NothingToUndo, UndoableOrder};

/// The ports that [`execute`] uses.
pub trait OperatorStore:
    RoomReader + StatusBoard + LineLength + Plans + ThrottleStore + RoomAdmin + AuditTrail + MinuteLog + KeyAdmin
{
}

impl<S> OperatorStore for S where
    S: RoomReader
        + StatusBoard
        + LineLength
        + Plans
        + ThrottleStore
        + RoomAdmin
        + AuditTrail
        + MinuteLog
        + KeyAdmin
{
}

/// What an operator tells a room to do. In JSON: `{"order": "set-rate", "rate": 600}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub enum Order {
    /// Changes nothing.
    Status,
    SetRate {
        rate: Rate,
    },
    /// An empty text removes the message.
    Message {
        text: Message,
    },
    /// Makes pages poll less often.
    Stretch {
        factor: Stretch,
    },
    /// Visitors join, and nobody is released.
    Pause,
    /// Visitors join and are released.
    On,
    /// Visitors join, and are released from this instant on. Not a field of `on`: a room that does not know it must refuse
    /// the order, and not turn on at once.
    OpenAt {
        at: Timestamp,
    },
    /// The door sends every visitor straight to the shop.
    Off,
    /// Empties the line and starts this epoch.
    Reset {
        epoch: Epoch,
    },
    /// Takes an order back: the one with this number in the audit trail, if it is the [last](UndoableOrder::last).
    Undo {
        number: u64,
    },
    /// Reads the latest entries of the audit trail, at most this many. Changes nothing.
    History {
        most: u16,
    },
    /// Reads the history of the line from this instant on. Changes nothing.
    Minutes {
        since: Timestamp,
    },
    /// Reads which keys sign passes. Changes nothing.
    Keys,
    /// Signs with another key, once everybody has had time to read it.
    RotateKeys,
    /// Unpublishes the key whose id begins with this, at once.
    DropKey {
        id: String,
    },
}

/// How a room replies to an [`Order`]. In JSON: `{"reply": "failed", "error": "…"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reply")]
pub enum Reply {
    Status(Box<Status>),
    /// `lost_places` is how many waited in the epoch before.
    Reset {
        lost_places: u64,
        before: Epoch,
        after: Epoch,
    },
    /// The room before and after the order.
    Changed {
        before: Box<Room>,
        after: Box<Room>,
    },
    /// Oldest first.
    History {
        entries: Vec<AuditEntry>,
    },
    /// Oldest first, after the record before the first minute.
    Minutes {
        records: Vec<MinuteRecord>,
    },
    /// The keys after the order.
    Keys {
        record: KeyRecord,
    },
    Failed {
        error: String,
    },
}

impl From<PortError> for Reply {
    fn from(error: PortError) -> Self {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Self::Failed { error: format!("{error}{}", cause.unwrap_or_default()) }
    }
}

/// Carries out an order by `who`. [`Order::On`], [`Order::OpenAt`], [`Order::Pause`] and [`Order::Off`] work from every
/// state of the room.
pub async fn execute(
    store: &impl OperatorStore,
    order: Order,
    who: Author,
    now: Timestamp,
) -> PortResult<Reply> {
    let note = |subject| AuditNote::new(who.clone(), subject);
    let (before, after) = match order {
        Order::Status => return Status::of(store, now).await.map(Box::new).map(Reply::Status),
        Order::Reset { epoch } => {
            let before = store.room().await?.epoch;
            let lost_places = store.start_epoch(epoch, who).await?;
            return Ok(Reply::Reset { lost_places, before, after: epoch });
        }
        Order::SetRate { rate } => {
            let set = move |room: &mut Room| room.settings.rate = rate;
            store.change("set the rate", note(AuditSubject::Rate), set).await?
        }
        Order::Message { text } => {
            let set = move |room: &mut Room| room.settings.message.clone_from(&text);
            store.change("set the message", note(AuditSubject::Message), set).await?
        }
        Order::Stretch { factor } => {
            let set = move |room: &mut Room| room.stretch = factor;
            store.change("stretch the polls", note(AuditSubject::Stretch), set).await?
        }
        Order::Pause => {
            let pause = |room: &mut Room| room.turn(RoomState::Paused);
            store.change("pause the room", note(AuditSubject::State), pause).await?
        }
        Order::On => {
            let turn_on = |room: &mut Room| room.turn(RoomState::On);
            store.change("turn the room on", note(AuditSubject::State), turn_on).await?
        }
        Order::OpenAt { at } => {
            let open = move |room: &mut Room| room.open_at(at);
            store.change("set when the room opens", note(AuditSubject::State), open).await?
        }
        Order::Off => {
            let turn_off = |room: &mut Room| room.turn(RoomState::Off);
            store.change("turn the room off", note(AuditSubject::State), turn_off).await?
        }
        Order::Undo { number } => return undo::execute(store, number, who).await,
        Order::History { most } => {
            return store.entries(most).await.map(|entries| Reply::History { entries });
        }
        Order::Minutes { since } => {
            return store.minutes(since).await.map(|records| Reply::Minutes { records });
        }
        Order::Keys => return store.key_record().await.map(|record| Reply::Keys { record }),
        Order::RotateKeys => return order_keys(store, KeyOrder::Rotate, who).await,
        Order::DropKey { id } => return order_keys(store, KeyOrder::Drop { id }, who).await,
    };
    Ok(Reply::Changed { before: Box::new(Room::clone(&before)), after: Box::new(Room::clone(&after)) })
}

async fn order_keys(store: &impl OperatorStore, order: KeyOrder, who: Author) -> PortResult<Reply> {
    Ok(match store.order_keys(order, who).await? {
        Ok(record) => Reply::Keys { record },
        Err(refusal) => Reply::Failed { error: refusal.to_string() },
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use futures_executor::block_on;
    use pass::{KeyRefusal, PrivateKey};
    use serde_json::json;
    use waitroom::ports::{Fault, KeyBoard, PlanRecord, ThrottleMemory};
    use waitroom::{LineProgress, LineStatus, LineTotals, Plan, Settings};

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    /// A store in memory in which 7 visitors wait.
    pub(crate) struct MemoryStore(pub(crate) Mutex<Room>, Mutex<Vec<AuditEntry>>, Mutex<KeyRecord>);

    impl RoomReader for MemoryStore {
        async fn room(&self) -> PortResult<Arc<Room>> {
            Ok(Arc::new(self.0.lock().unwrap().clone()))
        }

        async fn room_now(&self) -> PortResult<Arc<Room>> {
            self.room().await
        }
    }

    impl StatusBoard for MemoryStore {
        async fn position(&self) -> PortResult<waitroom::LinePosition> {
            unreachable!("no order calls this")
        }

        async fn progress(&self) -> PortResult<LineProgress> {
            Ok(LineProgress { served: 4100, passed: 2100, released: 4090 })
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
            Ok(7)
        }

        async fn issued(&self) -> PortResult<waitroom::IssuedTickets> {
            unreachable!("no order calls this")
        }

        async fn joined(&self) -> PortResult<Option<u64>> {
            Ok(Some(4100))
        }
    }

    impl Plans for MemoryStore {
        async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
            let window =
                waitroom::Window { start: Timestamp::from_millis(0), end: Timestamp::from_millis(60_000) };
            let plan = Plan {
                number: 12,
                window,
                rate: Rate::MIN,
                quota: 300,
                releases_from: window.start,
                valve_from: waitroom::Timestamp::default(),
                made_at: waitroom::Timestamp::default(),
                planned_before: waitroom::Timestamp::default(),
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
            let mut room = self.0.lock().unwrap();
            let before = Arc::new(room.clone());
            change(&mut room);
            self.add_entry(&note, &before, &room);
            Ok((before, Arc::new(room.clone())))
        }

        async fn start_epoch(&self, epoch: Epoch, who: Author) -> PortResult<u64> {
            let mut room = self.0.lock().unwrap();
            let before = room.clone();
            room.epoch = epoch;
            self.add_entry(&AuditNote::new(who, AuditSubject::Reset), &before, &room);
            Ok(7)
        }
    }

    impl MemoryStore {
        pub(crate) fn add_entry(&self, note: &AuditNote, before: &Room, after: &Room) {
            let mut entries = self.1.lock().unwrap();
            let number = entries.len() as u64 + 1;
            entries.extend(note.entry(number, Timestamp::default(), before, after));
        }

        /// Carries out an order by Anna.
        pub(crate) fn execute(&self, order: Order) -> Reply {
            block_on(execute(self, order, Author::new("anna"), NOW)).unwrap()
        }
    }

    impl AuditTrail for MemoryStore {
        async fn entries(&self, most: u16) -> PortResult<Vec<AuditEntry>> {
            let entries = self.1.lock().unwrap();
            Ok(entries[entries.len().saturating_sub(most.into())..].to_vec())
        }
    }

    impl KeyBoard for MemoryStore {
        async fn key_record(&self) -> PortResult<KeyRecord> {
            Ok(self.2.lock().unwrap().clone())
        }
    }

    impl KeyAdmin for MemoryStore {
        async fn order_keys(
            &self,
            order: KeyOrder,
            who: Author,
        ) -> PortResult<Result<KeyRecord, KeyRefusal>> {
            let (mut record, mut entries) = (self.2.lock().unwrap(), self.1.lock().unwrap());
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
            let epoch = self.0.lock().unwrap().epoch;
            let totals = LineTotals { at, epoch, joined: 4100, released: 4090, waiting: 7, rate: None };
            Ok(vec![MinuteRecord { totals, longest_wait: None }])
        }
    }

    pub(crate) fn memory_store() -> MemoryStore {
        let settings = Settings::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example".parse().unwrap(),
            Rate::new(300).unwrap(),
        );
        let url = "https://room.example".parse().unwrap();
        MemoryStore(
            Mutex::new(Room::new(settings, url, "ab12".parse().unwrap())),
            Mutex::default(),
            Mutex::default(),
        )
    }

    #[test]
    fn on_pause_and_off_work_from_every_state() {
        let store = memory_store();
        for first in [Order::On, Order::Pause, Order::Off] {
            for (second, expected) in
                [(Order::On, RoomState::On), (Order::Pause, RoomState::Paused), (Order::Off, RoomState::Off)]
            {
                store.execute(first.clone());
                store.execute(second.clone());
                let room = store.0.lock().unwrap();
                assert_eq!(room.state, expected, "{first:?}, then {second:?}");
            }
        }
    }

    #[test]
    fn an_opening_is_withdrawn_by_on_pause_and_off_and_kept_by_every_other_order() {
        let store = memory_store();
        let at = Timestamp::from_millis(1_800_000_000_000);
        assert_eq!(
            serde_json::to_value(Order::OpenAt { at }).unwrap(),
            json!({ "order": "open-at", "at": 1_800_000_000_000_u64 })
        );
        for order in [Order::On, Order::Pause, Order::Off] {
            store.execute(Order::OpenAt { at });
            assert_eq!(store.0.lock().unwrap().opens, Some(at));
            store.execute(order.clone());
            assert_eq!(store.0.lock().unwrap().opens, None, "{order:?}");
        }
        store.execute(Order::OpenAt { at });
        for order in [
            Order::SetRate { rate: Rate::MAX },
            Order::Message { text: "Soon".parse().unwrap() },
            Order::Stretch { factor: Stretch::MAX },
            Order::Reset { epoch: "cd34".parse().unwrap() },
        ] {
            store.execute(order.clone());
            assert_eq!(store.0.lock().unwrap().opens, Some(at), "{order:?}");
        }
    }

    #[test]
    fn a_change_replies_with_before_and_after() {
        let store = memory_store();
        let rate = Rate::new(600).unwrap();
        let Reply::Changed { before, after } = store.execute(Order::SetRate { rate }) else {
            panic!("not a change")
        };
        assert_eq!((before.settings.rate.get(), after.settings.rate.get()), (300, 600));
        let text: Message = "Soon".parse().unwrap();
        store.execute(Order::Message { text: text.clone() });
        store.execute(Order::Stretch { factor: Stretch::MAX });
        let epoch = "cd34".parse().unwrap();
        let reset = store.execute(Order::Reset { epoch });
        let before = "ab12".parse().unwrap();
        assert_eq!(reset, Reply::Reset { lost_places: 7, before, after: epoch });
        let room = store.0.lock().unwrap();
        assert_eq!((&room.settings.message, room.stretch, room.epoch), (&text, Stretch::MAX, epoch));
    }

    #[test]
    fn a_status_has_this_json_and_reads_back() {
        let Reply::Status(status) = memory_store().execute(Order::Status) else { panic!("not a status") };
        let expected = json!({ "served": 4100, "passed": 2100, "waiting": 7, "rate": 300, "slow": false });
        let json = serde_json::to_value(&status).unwrap();
        assert_eq!((&json["line"], &json["released"]), (&expected, &json!(4090)));
        assert_eq!(json["wait"], 1, "seven visitors at 300 a minute");
        assert_eq!((&json["joined"], &json["longest_wait"]), (&json!(4100), &json!(90)));
        assert_eq!(json["windows"], json!([{ "number": 12, "released": 31, "planned": 300 }]));
        for only_on_aws in ["dead_letters", "alarms", "alarm_mail"] {
            assert_eq!(json.get(only_on_aws), None);
        }
        assert_eq!(serde_json::from_value::<Status>(json).unwrap(), *status);
    }

    #[test]
    fn the_history_of_the_line_has_this_json_and_reads_back() {
        let minutes = memory_store().execute(Order::Minutes { since: Timestamp::from_millis(60_000) });
        let record = json!({
            "at": 60_000, "epoch": "ab12", "joined": 4100, "released": 4090, "waiting": 7, "rate": null,
            "longest_wait": null,
        });
        let json = serde_json::to_value(&minutes).unwrap();
        assert_eq!(json, json!({ "reply": "minutes", "records": [record] }));
        assert_eq!(serde_json::from_value::<Reply>(json).unwrap(), minutes);
    }

    impl MemoryStore {
        /// Publishes a first key, and returns its id.
        pub(crate) fn publish_key(&self) -> String {
            let key = PrivateKey::generate().unwrap().public().unwrap();
            let id = key.kid().to_owned();
            self.2.lock().unwrap().publish(key, Duration::from_mins(5), 0);
            id
        }
    }

    #[test]
    fn orders_about_the_keys_reply_with_the_keys_after_them() {
        let store = memory_store();
        let refused = Reply::Failed { error: KeyRefusal::NoKeys.to_string() };
        assert_eq!(store.execute(Order::RotateKeys), refused);
        let id = store.publish_key();
        let Reply::Keys { record } = store.execute(Order::RotateKeys) else { panic!("no keys") };
        assert!(record.is_asked_for_another());
        assert_eq!(store.execute(Order::Keys), Reply::Keys { record });
        let order = Order::DropKey { id };
        let json = serde_json::to_value(&order).unwrap();
        assert_eq!(serde_json::from_value::<Order>(json).unwrap(), order);
        let reply = store.execute(order);
        let json = serde_json::to_value(&reply).unwrap();
        assert_eq!((&json["reply"], &json["record"]["keys"]), (&json!("keys"), &json!([])));
        assert_eq!(serde_json::from_value::<Reply>(json).unwrap(), reply);
    }

    #[test]
    fn a_failure_replies_with_its_cause() {
        let error = PortError::new("set the rate", Fault::Busy, "the disk is full");
        let expected = Reply::Failed { error: "could not set the rate: the disk is full".into() };
        assert_eq!(Reply::from(error), expected);
    }
}
