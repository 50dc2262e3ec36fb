use std::time::Duration;

use futures_executor::block_on;
use memory::MemoryLedger;
use port_contracts::Fixture;
use waitroom::ports::Delivery;
use waitroom::{Room, Timestamp};

use crate::fixture::MemoryRoom;

impl Fixture for MemoryRoom {
    type Store = MemoryLedger;

    const HIDDEN_FOR: Duration = Delivery::HIDDEN_FOR;

    async fn new() -> Self {
        Self::new()
    }

    async fn with_stray_message(body: &str) -> Self {
        let room = Self::new();
        room.line.put_stray(body);
        room
    }

    fn store(&self) -> &MemoryLedger {
        &self.ledger
    }

    async fn change_room(&self, change: impl FnOnce(&mut Room) + Send + 'static) {
        self.ledger.change_room(change);
    }

    fn now(&self) -> Timestamp {
        self.now()
    }

    async fn wait_until(&self, at: Timestamp) {
        self.pass(at.since(self.now()));
    }
}

port_contracts::port_contracts!(MemoryRoom, block_on);
