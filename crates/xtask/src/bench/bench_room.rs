use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::bench_server::BenchServer;
use crate::process::run;

/// Starts a room on this machine. Its URL is without a path, and by address.
pub(super) fn start_room(program: &Path, data: &Path) -> Result<(BenchServer, String)> {
    start_room_with(program, data, &["--rate", "60"])
}

pub(super) fn start_room_with(program: &Path, data: &Path, flags: &[&str]) -> Result<(BenchServer, String)> {
    // With a shop of its own, so that it has no demonstration visitors. Nobody gets as far as there.
    let arguments = [&["local", "--port", "0", "--shop", "http://localhost:9"], flags].concat();
    let (room, door) = BenchServer::beekeeper(program, &arguments, data, "waiting room")?;
    Ok((room, door.trim_end_matches("/beekeeper").replace("localhost", "127.0.0.1")))
}

/// Gives an order to the room with this data.
pub(super) fn order(program: &Path, data: &Path, order: &[&str]) -> Result<()> {
    let mut beekeeper = Command::new(program);
    run(beekeeper.args(order).args(["--local", "--data"]).arg(data).stdout(Stdio::null()))
}
