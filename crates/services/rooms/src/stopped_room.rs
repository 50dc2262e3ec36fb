//! A room on this machine that doesn't run, as its file tells.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use control::{Answer, Order, Reply, SocketRoom, Transport};
use embedded::{EmbeddedStore, OpenError};
use waitroom::ports::RoomReader;
use waitroom::{Author, RoomId, Timestamp};

/// While this exists, no room can start in its directory.
#[derive(Debug)]
pub struct StoppedRoom {
    pub name: RoomId,
    pub store: EmbeddedStore,
    /// When its room ran last, as far as its file tells.
    pub at: Timestamp,
    unreached: SocketRoom,
}

impl StoppedRoom {
    /// How long to wait for a room that just starts or stops: its file is taken, and nobody can be asked.
    const PATIENCE: Duration = Duration::from_secs(15);

    /// The room in this directory. `None` if it runs, or if there is none.
    pub async fn find(directory: &Path) -> Result<Option<Self>> {
        let begun = Instant::now();
        loop {
            if !SocketRoom::certainly_none_runs_in(directory) || !EmbeddedStore::is_in(directory) {
                return Ok(None);
            }
            match EmbeddedStore::look_at(&directory.join(EmbeddedStore::FILE)) {
                Ok((store, at)) => {
                    let name = store.room().await?.settings.room.clone();
                    let unreached = SocketRoom::new(directory).named(name.clone());
                    return Ok(Some(Self { name, store, at, unreached }));
                }
                Err(OpenError::InUse(_)) if begun.elapsed() < Self::PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Transport for StoppedRoom {
    /// Carries out an order that changes nothing. For any other, nobody is there.
    fn execute(&self, order: Order) -> Answer<'_, Reply> {
        Box::pin(async move {
            if !order.changes_nothing() {
                return self.unreached.execute(order).await;
            }
            let nobody = Author::new("nobody");
            let mut reply = control::execute(&self.store, order, nobody, self.at).await?;
            if let Reply::Status(status) = &mut reply {
                status.stopped_at = Some(self.at);
            }
            Ok(reply)
        })
    }
}
