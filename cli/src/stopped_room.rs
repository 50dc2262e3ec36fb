//! A room on this machine that doesn't run, as its file tells.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use control::{Order, Reply};
use embedded::{EmbeddedStore, OpenError};
use server::socket;
use waitroom::ports::RoomReader;
use waitroom::{Author, RoomId, Timestamp};

/// While this exists, no room can start in its directory.
#[derive(Debug)]
pub(crate) struct StoppedRoom {
    pub(crate) store: EmbeddedStore,
    /// When its file was written last.
    pub(crate) at: Timestamp,
}

impl StoppedRoom {
    /// How long to wait for a room that just starts or stops: its file is taken, and nobody can be asked.
    const PATIENCE: Duration = Duration::from_secs(15);

    /// The room in this directory. `None` if it runs, or if there is none.
    pub(crate) async fn find(directory: &Path) -> Result<Option<Self>> {
        let begun = Instant::now();
        loop {
            if !socket::is_closed(directory) || !EmbeddedStore::is_in(directory) {
                return Ok(None);
            }
            match EmbeddedStore::look_at(&directory.join(EmbeddedStore::FILE)) {
                Ok((store, at)) => return Ok(Some(Self { store, at })),
                Err(OpenError::InUse(_)) if begun.elapsed() < Self::PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(crate) async fn name(&self) -> Result<RoomId> {
        Ok(self.store.room().await?.settings.room.clone())
    }

    /// Carries out an order that changes nothing; `None` for any other.
    pub(crate) async fn answer(&self, order: Order) -> Result<Option<Reply>> {
        if !matches!(order, Order::Status | Order::History { .. } | Order::Minutes { .. } | Order::Keys) {
            return Ok(None);
        }
        let nobody = Author::new("nobody");
        let mut reply = control::execute(&self.store, order, nobody, self.at).await?;
        if let Reply::Status(status) = &mut reply {
            status.stopped_at = Some(self.at);
        }
        Ok(Some(reply))
    }
}
