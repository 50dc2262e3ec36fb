//! Accepting connections, and keeping slow and greedy clients from harming the others.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::{HttpResponse, HttpService};

/// What one client may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once. Further ones wait in the kernel's queue until one is free.
    pub connections: usize,
    /// How long a client may take to send a request's head, or stay silent between two.
    pub patience: Duration,
    /// The size of a request's head in bytes.
    pub head: usize,
    /// How long requests that are under way may take to finish at shutdown.
    pub farewell: Duration,
}

impl Limits {
    /// Descriptors that the process needs for itself.
    const OWN_DESCRIPTORS: u64 = 100;

    /// As many connections as by default, or as many as this process may have open: its own limit is
    /// raised as far as the system lets it.
    pub fn of_this_process() -> Self {
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // Refused, the old limit holds, and is read again below.
        let _ = setrlimit(Resource::Nofile, limit);
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let connections =
            usize::try_from(descriptors.saturating_sub(Self::OWN_DESCRIPTORS)).unwrap_or(usize::MAX);
        let usual = Self::default();
        Self { connections: connections.clamp(1, usual.connections), ..usual }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            patience: Duration::from_secs(10),
            head: 16 << 10,
            farewell: Duration::from_secs(10),
        }
    }
}

/// Whether each request is worth a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLog {
    On,
    Off,
}

/// Serves the site until `shutdown` resolves, then lets the requests under way finish.
pub async fn serve<S: HttpService>(
    listener: TcpListener,
    site: Arc<S>,
    limits: Limits,
    access_log: AccessLog,
    shutdown: impl Future<Output = ()>,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            () = &mut shutdown => break,
        };
        let (stream, slot) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, mostly: others have to go before more can come.
                tracing::warn!(error = &error as &dyn std::error::Error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let site = site.clone();
        let service = service_fn(move |request| answer(site.clone(), request, access_log));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.patience)
            .max_buf_size(limits.head)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that went away, or sent what is not HTTP: hyper has answered what can be answered.
            drop(connection.await);
            drop(slot);
        });
    }
    drop(listener);
    if tokio::time::timeout(limits.farewell, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time");
    }
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, Option<tokio::sync::OwnedSemaphorePermit>)> {
    // The semaphore is never closed; without a slot the connection would only be uncounted.
    let slot = slots.clone().acquire_owned().await.ok();
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, slot))
}

async fn answer<S: HttpService>(
    site: Arc<S>,
    request: Request<Incoming>,
    access_log: AccessLog,
) -> Result<HttpResponse, std::convert::Infallible> {
    let begun = Instant::now();
    let answer = site.answer(&request).await;
    if access_log == AccessLog::On {
        log(&request, answer.status(), begun.elapsed());
    }
    Ok(answer)
}

/// One line a request. No query and no cookie: they may hold what is nobody's business.
fn log(request: &Request<Incoming>, status: StatusCode, took: Duration) {
    tracing::info!(
        target: "access",
        "{} {} {} {:.1} ms",
        request.method(),
        request.uri().path(),
        status.as_u16(),
        took.as_secs_f64() * 1000.0
    );
}
