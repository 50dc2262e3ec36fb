use std::future::Future;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::net::TcpListener;

/// Runs a command that waits for a room or for AWS.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}

/// Listens on the address that this flag gave.
pub(crate) async fn listen_at(address: SocketAddr, flag: &str) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener
        .with_context(|| format!("could not listen on {address}; choose another address or port with {flag}"))
}

pub(crate) async fn listen_for_monitoring(address: Option<SocketAddr>) -> Result<Option<TcpListener>> {
    match address {
        Some(address) => listen_at(address, "--metrics").await.map(Some),
        None => Ok(None),
    }
}

/// Starts to listen at once, so that an early Ctrl-C also stops the command cleanly.
pub(crate) fn asked_to_stop() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
