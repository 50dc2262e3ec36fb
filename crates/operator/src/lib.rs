//! What an operator tells a room, and what it answers: the same words on one machine and on AWS.
//!
//! [`obey`] is written once, over the ports that every store has. How a [`Order`] reaches a store is not decided here:
//! on one machine it goes through the control socket of the process that has the store open, on AWS the operator's own
//! process opens the store.

mod status;

use serde::{Deserialize, Serialize};
use waitroom::ports::{
    LineLength, Plans, PortError, PortResult, RoomAdmin, RoomReader, StatusBoard, ThrottleStore,
};
use waitroom::{Epoch, Message, Rate, Room, Stretch};

pub use status::{Alarm, AlarmState, Status, WindowCount};

/// What an operator needs of a room's store.
pub trait OperatorStore: RoomReader + StatusBoard + LineLength + Plans + ThrottleStore + RoomAdmin {}

impl<S: RoomReader + StatusBoard + LineLength + Plans + ThrottleStore + RoomAdmin> OperatorStore for S {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command")]
pub enum Order {
    Status,
    SetRate {
        rate: Rate,
    },
    Message {
        text: Message,
    },
    Stretch {
        factor: Stretch,
    },
    Pause,
    On,
    Off,
    /// Empty the line and begin this epoch.
    Reset {
        epoch: Epoch,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reply")]
pub enum Reply {
    Status(Box<Status>),
    Reset { lost_places: u64, before: Epoch, after: Epoch },
    Changed { before: Box<Room>, after: Box<Room> },
    Failed { error: String },
}

impl From<PortError> for Reply {
    fn from(error: PortError) -> Self {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Self::Failed { error: format!("{error}{}", cause.unwrap_or_default()) }
    }
}

/// Does what the operator says. A room is on, paused or off, and each of these orders leads from any to its own.
pub async fn obey(store: &impl OperatorStore, command: Order) -> PortResult<Reply> {
    let (before, after) = match command {
        Order::Status => return Status::of(store).await.map(Box::new).map(Reply::Status),
        Order::Reset { epoch } => {
            let before = store.room().await?.epoch;
            let lost_places = store.begin_anew(epoch).await?;
            return Ok(Reply::Reset { lost_places, before, after: epoch });
        }
        Order::SetRate { rate } => {
            store.change("set the rate", move |room| room.settings.rate = rate).await?
        }
        Order::Message { text } => {
            store.change("set the message", move |room| room.settings.message.clone_from(&text)).await?
        }
        Order::Stretch { factor } => {
            store.change("stretch the polls", move |room| room.stretch = factor).await?
        }
        Order::Pause => store.change("pause", |room| (room.open, room.paused) = (true, true)).await?,
        Order::On => {
            store.change("turn the room on", |room| (room.open, room.paused) = (true, false)).await?
        }
        Order::Off => store.change("turn the room off", |room| room.open = false).await?,
    };
    Ok(Reply::Changed { before: Box::new(Room::clone(&before)), after: Box::new(Room::clone(&after)) })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_executor::block_on;
    use serde_json::json;
    use waitroom::ports::{Fault, PlanRecord, ThrottleMemory};
    use waitroom::{LineProgress, LineStatus, Plan, Settings, Timestamp};

    use super::*;

    /// A store in memory, where 7 wait.
    struct Memory(Mutex<Room>);

    impl RoomReader for Memory {
        async fn room(&self) -> PortResult<Arc<Room>> {
            Ok(Arc::new(self.0.lock().unwrap().clone()))
        }
    }

    impl StatusBoard for Memory {
        async fn served(&self) -> PortResult<u64> {
            Ok(4100)
        }

        async fn progress(&self) -> PortResult<LineProgress> {
            Ok(LineProgress { served: 4100, released: 4090 })
        }

        async fn publish(&self, _: LineStatus) -> PortResult<()> {
            unreachable!("an operator only looks")
        }
    }

    impl LineLength for Memory {
        async fn waiting(&self) -> PortResult<u64> {
            Ok(7)
        }
    }

    impl Plans for Memory {
        async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
            let window =
                waitroom::Window { start: Timestamp::from_millis(0), end: Timestamp::from_millis(60_000) };
            let plan = Plan { number: 12, window, rate: Rate::MIN, quota: 300 };
            Ok(vec![PlanRecord { plan, released: 31 }])
        }

        async fn write(&self, _: Plan) -> PortResult<bool> {
            unreachable!("an operator only looks")
        }
    }

    impl ThrottleStore for Memory {
        async fn recall(&self) -> PortResult<ThrottleMemory> {
            Ok(ThrottleMemory::default())
        }

        async fn remember(&self, _: ThrottleMemory) -> PortResult<bool> {
            unreachable!("an operator only looks")
        }

        async fn hold(&self, _: Option<Rate>) -> PortResult<()> {
            unreachable!("an operator only looks")
        }
    }

    impl RoomAdmin for Memory {
        async fn change(
            &self,
            _: &'static str,
            change: impl Fn(&mut Room) + Send + 'static,
        ) -> PortResult<(Arc<Room>, Arc<Room>)> {
            let mut room = self.0.lock().unwrap();
            let before = Arc::new(room.clone());
            change(&mut room);
            Ok((before, Arc::new(room.clone())))
        }

        async fn begin_anew(&self, epoch: Epoch) -> PortResult<u64> {
            self.0.lock().unwrap().epoch = epoch;
            Ok(7)
        }
    }

    fn memory() -> Memory {
        let settings = Settings::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example".parse().unwrap(),
            Rate::new(300).unwrap(),
        );
        let url = "https://room.example".parse().unwrap();
        Memory(Mutex::new(Room::new(settings, url, "ab12".parse().unwrap())))
    }

    #[test]
    fn a_room_is_on_paused_or_off_and_each_order_leads_to_its_own() {
        let memory = memory();
        for first in [Order::On, Order::Pause, Order::Off] {
            for (then, expected) in [
                (Order::On, (true, Some(false))),
                (Order::Pause, (true, Some(true))),
                (Order::Off, (false, None)),
            ] {
                block_on(obey(&memory, first.clone())).unwrap();
                block_on(obey(&memory, then.clone())).unwrap();
                let room = memory.0.lock().unwrap();
                let paused = room.open.then_some(room.paused);
                assert_eq!((room.open, paused), expected, "{first:?}, then {then:?}");
            }
        }
    }

    #[test]
    fn what_was_decided_is_told_as_it_was_and_as_it_is() {
        let memory = memory();
        let rate = Rate::new(600).unwrap();
        let Reply::Changed { before, after } = block_on(obey(&memory, Order::SetRate { rate })).unwrap()
        else {
            panic!("a change")
        };
        assert_eq!((before.settings.rate.get(), after.settings.rate.get()), (300, 600));
        let text: Message = "Soon".parse().unwrap();
        block_on(obey(&memory, Order::Message { text: text.clone() })).unwrap();
        block_on(obey(&memory, Order::Stretch { factor: Stretch::MAX })).unwrap();
        let epoch = "cd34".parse().unwrap();
        let reset = block_on(obey(&memory, Order::Reset { epoch })).unwrap();
        let before = "ab12".parse().unwrap();
        assert_eq!(reset, Reply::Reset { lost_places: 7, before, after: epoch });
        let room = memory.0.lock().unwrap();
        assert_eq!((&room.settings.message, room.stretch, room.epoch), (&text, Stretch::MAX, epoch));
    }

    #[test]
    fn a_status_is_the_same_json_wherever_the_room_is() {
        let Reply::Status(status) = block_on(obey(&memory(), Order::Status)).unwrap() else {
            panic!("a status")
        };
        let expected = json!({ "served": 4100, "waiting": 7, "rate": 300, "slow": false });
        let told = serde_json::to_value(&status).unwrap();
        assert_eq!((&told["line"], &told["released"]), (&expected, &json!(4090)));
        assert_eq!(told["windows"], json!([{ "number": 12, "released": 31, "planned": 300 }]));
        for there_is_none_on_one_machine in ["dead_letters", "alarms"] {
            assert_eq!(told.get(there_is_none_on_one_machine), None);
        }
        assert_eq!(serde_json::from_value::<Status>(told).unwrap(), *status);
    }

    #[test]
    fn a_failure_is_told_with_its_cause() {
        let error = PortError::new("set the rate", Fault::Busy, "the disk is full");
        let expected = Reply::Failed { error: "could not set the rate: the disk is full".into() };
        assert_eq!(Reply::from(error), expected);
    }
}
