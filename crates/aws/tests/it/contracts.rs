use aws::Store;
use contract::Fixture;
use waitroom::Room;

use crate::room::{TestRoom, run};

impl Fixture for TestRoom {
    type Store = Store;

    async fn new() -> Self {
        Self::new().await
    }

    async fn with_stray_message(body: &str) -> Self {
        let test = Self::new().await;
        test.send_to_line(body).await;
        test
    }

    fn store(&self) -> &Store {
        &self.store
    }

    async fn change_room(&self, change: impl FnOnce(&mut Room) + Send + 'static) {
        // Nobody else changes this room, so once is enough.
        let change = std::sync::Mutex::new(Some(change));
        let once = |room: &mut Room| change.lock().unwrap().take().expect("no second round")(room);
        self.store.change_room("change the room", once).await.unwrap();
    }

    async fn wait_for_redelivery(&self) {
        tokio::time::sleep(Self::OUT_OF_SIGHT).await;
    }
}

contract::port_contracts!(TestRoom, run);
