//! Where the demonstration shop is: beside the room, at the next port.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;
use url::Host;
use waitroom::{WebUrl, WebUrlError};

/// The path of the demonstration shop.
const PATH: &str = "/demo-shop";

/// Where the demonstration shop listens.
#[derive(Debug)]
pub struct DemoDoor {
    pub listener: TcpListener,
    pub url: WebUrl,
    /// The port that it would have had, if something else listens there.
    pub taken: Option<u16>,
}

impl DemoDoor {
    /// Beside the room that listens here. Any free port if the next one is taken, or if the room itself took any.
    pub async fn open(room: SocketAddr, takes_any: bool) -> io::Result<Self> {
        let usual = SocketAddr::new(room.ip(), usual_port(room));
        let any = SocketAddr::new(room.ip(), 0);
        let (listener, taken) = match TcpListener::bind(if takes_any { any } else { usual }).await {
            Ok(listener) => (listener, None),
            Err(_) => (TcpListener::bind(any).await?, Some(usual.port())),
        };
        let url = url_at(listener.local_addr()?, PATH).map_err(io::Error::other)?;
        Ok(Self { listener, url, taken })
    }

    /// Where the shop of this room is, unless that port is taken.
    pub fn usual_url(room: SocketAddr) -> Result<WebUrl, WebUrlError> {
        url_at(SocketAddr::new(room.ip(), usual_port(room)), PATH)
    }

    /// Recognizes the demonstration shop by its path, because its port may be another one at every start. It is at the room's own
    /// address.
    pub fn is_at(shop: &WebUrl) -> bool {
        let url = shop.as_url();
        let has_name = matches!(url.host(), Some(Host::Domain(name)) if name != "localhost");
        url.scheme() == "http" && !has_name && url.path() == PATH
    }
}

fn usual_port(room: SocketAddr) -> u16 {
    room.port().checked_add(1).unwrap_or(room.port() - 1)
}

/// The URL at which a browser finds what listens here.
pub fn url_at(address: SocketAddr, path: &str) -> Result<WebUrl, WebUrlError> {
    let is_local = address.ip() == Ipv4Addr::LOCALHOST || address.ip().is_unspecified();
    let host = if is_local { format!("localhost:{}", address.port()) } else { address.to_string() };
    format!("http://{host}{path}").parse()
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
        let is_demonstration = |shop: &str| DemoDoor::is_at(&shop.parse().unwrap());
        assert!(is_demonstration("http://localhost:8081/demo-shop"));
        assert!(is_demonstration("http://127.0.0.2:81/demo-shop"));
        assert!(!is_demonstration("http://shop.example/demo-shop"));
        assert!(!is_demonstration("http://localhost:8081/sale"));
    }
}
