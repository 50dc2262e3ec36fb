use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use tempfile::TempDir;

use crate::ShopServices;
use crate::tree::NginxTree;

pub(crate) const GUARD: &str = "/etc/nginx/beekeeper-guard.conf";

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

/// The folder of an nginx with `nginx.conf`, which includes every file in `sites`.
pub(crate) struct Machine(pub(crate) TempDir);

impl Machine {
    pub(crate) fn with(shop: &str) -> Self {
        Self::of(&[("shop", shop)], "")
    }

    /// With these lines in the http block, before the sites.
    pub(crate) fn of(sites: &[(&str, &str)], http: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sites")).unwrap();
        for (name, text) in sites {
            fs::write(folder.path().join("sites").join(name), text).unwrap();
        }
        let main = format!("events {{}}\nhttp {{ {http} include sites/*; }}\n");
        fs::write(folder.path().join("nginx.conf"), main).unwrap();
        Self(folder)
    }

    pub(crate) fn tree(&self) -> NginxTree {
        NginxTree::read(&self.0.path().join("nginx.conf"), Path::new(GUARD)).unwrap()
    }
}
