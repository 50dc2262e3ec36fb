use std::fs;
use std::future::{Future, pending};
use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::printer::note;

/// Runs a command that waits for a room or for AWS.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    run(Builder::new_current_thread(), command)
}

/// Runs a command that has much to do at once.
pub(crate) fn block_on_all_cores(command: impl Future<Output = Result<()>>) -> Result<()> {
    run(Builder::new_multi_thread(), command)
}

fn run<T>(mut runtime: Builder, command: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime.enable_all().build()?;
    let done = runtime.block_on(command);
    // A thread that asks for the addresses of a host cannot be stopped. Dropping the runtime would wait for it.
    runtime.shutdown_background();
    done
}

/// Listens on the address that this flag gave.
pub(crate) async fn listen_at(address: SocketAddr, flag: &str) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener
        .with_context(|| format!("could not listen on {address}; choose another address or port with {flag}"))
}

/// Visitors come without it too. So what starts again in a sale starts, although another program has taken the port.
pub(crate) async fn listen_for_monitoring(address: Option<SocketAddr>) -> Option<TcpListener> {
    match listen_at(address?, "--metrics").await {
        Ok(listener) => Some(listener),
        Err(error) => {
            note(&format!("warning: nothing answers your monitoring: {error:#}"));
            None
        }
    }
}

/// Starts to listen at once, so that an early Ctrl-C also stops the command cleanly. A lost connection stops it too, unless it was
/// started to outlive that.
pub(crate) fn asked_to_stop() -> Result<impl Future<Output = ()>> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
    let hung_up = async move {
        match &mut hangup {
            Some(hangup) => drop(hangup.recv().await),
            None => pending().await,
        }
    };
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = hung_up => {}
        }
    })
}

/// Whether `nohup` or the like started this process. Where that can't be known, nothing is changed about the signal.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|ignored| u64::from_str_radix(ignored.trim(), 16).ok());
    ignored.is_none_or(|ignored| ignored & 1 << (SignalKind::hangup().as_raw_value() - 1) > 0)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn a_command_that_is_done_waits_for_no_thread() {
        let (end, ended) = mpsc::channel::<()>();
        let (tell, told) = oneshot::channel();
        let start = Instant::now();
        let done = block_on(async move {
            let thread = tokio::task::spawn_blocking(move || {
                tell.send(()).unwrap();
                let _ = ended.recv_timeout(Duration::from_secs(20));
            });
            told.await?;
            drop(thread);
            Ok(7)
        });
        assert_eq!(done.unwrap(), 7);
        assert!(start.elapsed() < Duration::from_secs(10));
        drop(end);
    }
}
