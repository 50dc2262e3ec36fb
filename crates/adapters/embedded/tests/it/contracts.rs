use std::time::Duration;

use embedded::EmbeddedStore;
use futures_executor::block_on;
use port_contracts::Fixture;
use redb::TableDefinition;
use waitroom::ports::Delivery;
use waitroom::{Room, Timestamp};

use crate::support::TestStore;

impl Fixture for TestStore {
    type Store = EmbeddedStore;

    const HIDDEN_FOR: Duration = Delivery::HIDDEN_FOR;

    async fn new() -> Self {
        Self::new()
    }

    async fn with_stray_message(body: &str) -> Self {
        Self::new().tampered(|database| {
            let transaction = database.begin_write().unwrap();
            let line = TableDefinition::<u64, &[u8]>::new("line");
            transaction.open_table(line).unwrap().insert(0, body.as_bytes()).unwrap();
            transaction.commit().unwrap();
        })
    }

    fn store(&self) -> &EmbeddedStore {
        &self.store
    }

    async fn change_room(&self, change: impl FnOnce(&mut Room) + Send + 'static) {
        self.store.change_room("change the room", None, change).await.unwrap();
    }

    fn now(&self) -> Timestamp {
        self.time.now()
    }

    async fn wait_until(&self, at: Timestamp) {
        self.time.pass(at.since(self.time.now()));
    }
}

port_contracts::port_contracts!(TestStore, block_on);
