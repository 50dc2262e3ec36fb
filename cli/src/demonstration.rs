//! The demonstration: the shop of a room that has none of its own, and the visitors who wait ahead of whoever tries it.

use anyhow::{Context, Result};
use clock::SystemClock;
use embedded::EmbeddedStore;
use rehearsal::DemoCrowd;
use server::{DemoDoor, DemoShop, HostedRoom};
use tokio::net::TcpListener;
use waitroom::Room;
use waitroom::ports::Clock;

/// A demonstration that is ready to be opened.
#[derive(Debug)]
pub(crate) struct Demonstration {
    listener: TcpListener,
    shop: DemoShop,
    crowd: Option<DemoCrowd>,
}

impl Demonstration {
    /// Of this room, which is the one in the store.
    pub(crate) fn new(door: DemoDoor, visitors: u32, store: &EmbeddedStore, room: &Room) -> Result<Self> {
        let shop = DemoShop::new(store.clone(), room)
            .context("could not create the key of the demonstration shop's guard")?;
        // Who has visitors has no public URL, so the room listens at its URL.
        let crowd = (visitors > 0)
            .then(|| DemoCrowd::new(room, room.url.as_url().clone(), visitors, SystemClock.now()))
            .transpose()
            .context("could not send visitors to the demonstration; without them: --visitors 0")?;
        Ok(Self { listener: door.listener, shop, crowd })
    }

    pub(crate) fn open_in(self, host: &mut HostedRoom) {
        host.open_demo_shop(self.listener, self.shop);
        if let Some(crowd) = self.crowd {
            host.keep_running(crowd.keep_waiting());
        }
    }
}
