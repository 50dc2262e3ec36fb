//! Runs the ports' contracts, once with DynamoDB Local and once with LocalEmu's DynamoDB.

use std::sync::Mutex;
use std::time::Duration;

use aws::AwsStore;
use aws_sdk_dynamodb::types::AttributeValue;
use port_contracts::Fixture;
use waitroom::ports::RoomReader;
use waitroom::{Room, Timestamp};

use crate::room::{TestRoom, run};

/// A room on LocalEmu, or on DynamoDB Local.
struct OnEmulator<const LOCALEMU: bool>(TestRoom);

impl<const LOCALEMU: bool> Fixture for OnEmulator<LOCALEMU> {
    type Store = AwsStore;

    const HIDDEN_FOR: Duration = TestRoom::HIDDEN_FOR;

    async fn new() -> Self {
        Self(if LOCALEMU { TestRoom::on_localemu().await } else { TestRoom::new().await })
    }

    async fn with_stray_message(body: &str) -> Self {
        let fixture = <Self as Fixture>::new().await;
        fixture.0.send_to_line(body).await;
        fixture
    }

    fn store(&self) -> &AwsStore {
        &self.0.store
    }

    async fn change_room(&self, change: impl FnOnce(&mut Room) + Send + 'static) {
        if LOCALEMU {
            // Nothing else changes this room, so the closure is called once.
            let change = Mutex::new(Some(change));
            let once = |room: &mut Room| change.lock().unwrap().take().expect("called once")(room);
            self.0.store.change_room("change the room", once).await.unwrap();
            return;
        }
        // Only what the contract changes, because DynamoDB Local does not accept as many writes in one transaction as a
        // change by the operator has.
        let mut room = Room::clone(&*self.0.another_store().room().await.unwrap());
        change(&mut room);
        let mut item = self.0.item("room").await.unwrap();
        item.insert("state".into(), AttributeValue::S(room.state.to_string()));
        let time = |at: Timestamp| AttributeValue::N(at.as_millis().to_string());
        let text = |text: &dyn ToString| AttributeValue::S(text.to_string());
        // DynamoDB Local takes no empty text, and a room without a notice has none either.
        let notice = Some(&room.notice.text).filter(|text| !text.as_str().is_empty());
        for (name, value) in [
            ("opens", room.opens.map(time)),
            ("closes", room.closes.map(time)),
            ("ends", room.ends.map(time)),
            ("then_off", room.then_off.then_some(AttributeValue::Bool(true))),
            ("stock", room.stock.map(|stock| text(&stock))),
            ("oversubscribe", room.settings.oversubscribe.map(|most| AttributeValue::N(most.to_string()))),
            ("notice", notice.map(|notice| text(notice))),
            ("link", room.notice.link.as_ref().map(|link| text(link))),
            ("rehearsal", room.rehearsal.map(|mark| text(&mark))),
            ("epoch_began", room.epoch_began.map(time)),
        ] {
            match value {
                Some(value) => item.insert(name.into(), value),
                None => item.remove(name),
            };
        }
        item.insert("epoch".into(), AttributeValue::S(room.epoch.to_string()));
        item.insert("version".into(), AttributeValue::N((room.version + 1).to_string()));
        self.0.put(item).await;
    }

    fn now(&self) -> Timestamp {
        self.0.store.now()
    }

    async fn wait_until(&self, at: Timestamp) {
        while self.now() < at {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

mod on_dynamodb_local {
    port_contracts::port_contracts!(
        @few_writes #[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
        super::OnEmulator<false>,
        super::run
    );
}

mod on_localemu {
    port_contracts::port_contracts!(
        #[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
        super::OnEmulator<true>,
        super::run
    );
}
