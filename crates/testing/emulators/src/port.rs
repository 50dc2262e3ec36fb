use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// This is below the ranges from which Linux and macOS take the ports of outgoing connections. A server needs
/// seconds until it listens. Until then, no client in a test may get its port.
const FIRST: u64 = 20_000;
const COUNT: u64 = 12_000;

/// A port on which no process listens. It is random, so that two test processes rarely get the same one.
pub fn free() -> Result<u16> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let drawn = || u16::try_from(FIRST + RandomState::new().build_hasher().finish() % COUNT).ok();
    (0..100).filter_map(|_| drawn()).find(is_free).context("a hundred ports were all taken")
}
