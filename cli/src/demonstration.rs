//! The demonstration: the shop of a room that has none of its own, and the visitors who wait ahead of whoever tries it.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use clock::SystemClock;
use embedded::EmbeddedStore;
use rehearsal::DemoCrowd;
use server::{DemoShop, HostedRoom};
use tokio::net::TcpListener;
use url::Host;
use waitroom::ports::Clock;
use waitroom::{Room, WebUrl};

use crate::arguments::Local;

/// The path of the demonstration shop.
const PATH: &str = "/demo-shop";

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

/// Where the demonstration shop listens.
#[derive(Debug)]
pub(crate) struct DemoDoor {
    pub(crate) listener: TcpListener,
    pub(crate) url: WebUrl,
    /// The port that it would have had, if something else listens there.
    pub(crate) taken: Option<u16>,
}

impl DemoDoor {
    /// The port after the room's. Any free one if that is taken, or if the room itself took any.
    pub(crate) async fn open(arguments: &Local, room: SocketAddr) -> Result<Self> {
        let usual = SocketAddr::new(room.ip(), usual_port(room));
        let any = SocketAddr::new(room.ip(), 0);
        let wanted = if arguments.address().port() == 0 { any } else { usual };
        let (listener, taken) = match TcpListener::bind(wanted).await {
            Ok(listener) => (Ok(listener), None),
            Err(_) => (TcpListener::bind(any).await, Some(usual.port())),
        };
        let listener = listener
            .with_context(|| format!("could not listen on {} for the demonstration shop", room.ip()))?;
        let url = url_at(listener.local_addr()?, PATH)?;
        Ok(Self { listener, url, taken })
    }

    /// Where the shop of this room is, unless that port is taken.
    pub(crate) fn usual_url(room: SocketAddr) -> Result<WebUrl> {
        url_at(SocketAddr::new(room.ip(), usual_port(room)), PATH)
    }
}

fn usual_port(room: SocketAddr) -> u16 {
    room.port().checked_add(1).unwrap_or(room.port() - 1)
}

/// Recognizes the demonstration shop by its path, because its port may be another one at every start. It is at the room's own address.
pub(crate) fn is_demonstration(shop: &WebUrl) -> bool {
    let url = shop.as_url();
    let has_name = matches!(url.host(), Some(Host::Domain(name)) if name != "localhost");
    url.scheme() == "http" && !has_name && url.path() == PATH
}

/// The URL at which a browser finds what listens here.
pub(crate) fn url_at(address: SocketAddr, path: &str) -> Result<WebUrl> {
    let is_local = address.ip() == Ipv4Addr::LOCALHOST || address.ip().is_unspecified();
    let host = if is_local { format!("localhost:{}", address.port()) } else { address.to_string() };
    Ok(format!("http://{host}{path}").parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shop_is_beside_the_room() {
        let shop = |room: &str| DemoDoor::usual_url(room.parse().unwrap()).unwrap().to_string();
        assert_eq!(shop("127.0.0.1:8080"), "http://localhost:8081/demo-shop");
        assert_eq!(shop("0.0.0.0:65535"), "http://localhost:65534/demo-shop");
        assert_eq!(shop("127.0.0.2:80"), "http://127.0.0.2:81/demo-shop");
        let is_demonstration = |shop: &str| is_demonstration(&shop.parse().unwrap());
        assert!(is_demonstration("http://localhost:8081/demo-shop"));
        assert!(is_demonstration("http://127.0.0.2:81/demo-shop"));
        assert!(!is_demonstration("http://shop.example/demo-shop"));
        assert!(!is_demonstration("http://localhost:8081/sale"));
    }
}
