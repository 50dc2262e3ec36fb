//! The contract suites, once with Amazon's own DynamoDB and once with LocalEmu's.

use std::sync::Mutex;

use aws::AwsStore;
use aws_sdk_dynamodb::types::AttributeValue;
use port_contracts::Fixture;
use waitroom::Room;
use waitroom::ports::RoomReader;

use crate::room::{TestRoom, run};

struct Strict(TestRoom);

impl Fixture for Strict {
    type Store = AwsStore;

    async fn new() -> Self {
        Self(TestRoom::new().await)
    }

    async fn with_stray_message(body: &str) -> Self {
        let fixture = <Self as Fixture>::new().await;
        fixture.0.send_to_line(body).await;
        fixture
    }

    fn store(&self) -> &AwsStore {
        &self.0.store
    }

    /// Only what the contract changes, by hand: a change by the operator is more writes than DynamoDB Local takes
    /// at once.
    async fn change_room(&self, change: impl FnOnce(&mut Room) + Send + 'static) {
        let mut room = Room::clone(&*self.0.another_store().room().await.unwrap());
        change(&mut room);
        let mut item = self.0.item("room").await.unwrap();
        item.insert("state".into(), AttributeValue::S(room.state.to_string()));
        item.insert("version".into(), AttributeValue::N((room.version + 1).to_string()));
        self.0.put(item).await;
    }

    async fn wait_for_redelivery(&self) {
        tokio::time::sleep(TestRoom::OUT_OF_SIGHT).await;
    }
}

struct OnLocalEmu(TestRoom);

impl Fixture for OnLocalEmu {
    type Store = AwsStore;

    async fn new() -> Self {
        Self(TestRoom::on_localemu().await)
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
        // Nobody else changes this room, so once is enough.
        let change = Mutex::new(Some(change));
        let once = |room: &mut Room| change.lock().unwrap().take().expect("no second round")(room);
        self.0.store.change_room("change the room", once).await.unwrap();
    }

    async fn wait_for_redelivery(&self) {
        tokio::time::sleep(TestRoom::OUT_OF_SIGHT).await;
    }
}

mod strict {
    port_contracts::port_contracts!(
        #[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
        super::Strict,
        super::run
    );
}

mod on_localemu {
    port_contracts::port_contracts!(
        #[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
        super::OnLocalEmu,
        super::run
    );
}
