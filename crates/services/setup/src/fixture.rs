use std::net::SocketAddr;

use crate::ShopServices;

/// Those that docs/hosting describes, where these listen.
pub(crate) fn services(room_listens: SocketAddr, guard_listens: SocketAddr) -> ShopServices {
    ShopServices {
        room: "spring-sale".parse().unwrap(),
        as_typed: "--data /var/lib/beekeeper".into(),
        shop_host: "shop.example".into(),
        room_host: "wait.example".into(),
        url: "https://wait.example".into(),
        ports: [None; 2],
        room_listens,
        guard_listens,
        guard_monitor: None,
        warnings: Vec::new(),
    }
}
