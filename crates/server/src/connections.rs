//! Accepts connections and limits each client, so that slow and greedy clients do not harm the others.

use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use control::RunningRoom;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tracing::{Instrument, Span};

use crate::slots::{Slot, Slots};
use routes::HttpResponse;

/// Something that answers requests. Only a guard's report has a body that is read. The sender is who opened the connection: a client or a proxy.
pub trait HttpService: Send + Sync + 'static {
    fn answer(
        &self,
        request: &mut Request<Incoming>,
        sender: IpAddr,
    ) -> impl Future<Output = HttpResponse> + Send;

    /// The span of the request's log lines.
    fn span(&self, request: &Request<Incoming>) -> Span {
        // By default, info is not logged. Then the span is not created and costs nothing.
        tracing::info_span!("request", id = request_id(), method = %request.method(), path = request.uri().path())
    }
}

/// Numbers the requests of this process, so that the log lines of one can be told from those of another.
pub(crate) fn request_id() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Limits on connections and clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once. A further one takes the place of the one that has been silent for longest.
    pub connections: usize,
    /// How long a client may take to send the head of a request, or be idle between two requests.
    pub patience: Duration,
    /// How long after its last request a client may take to read the answers.
    pub reading: Duration,
    /// The largest head of a request, in bytes.
    pub head: usize,
    /// How long open requests may take to finish at shutdown.
    pub farewell: Duration,
}

impl Limits {
    /// Descriptors that the process needs for other purposes.
    const OWN_DESCRIPTORS: u64 = 100;

    /// The default, or less if the system lets this process open fewer files. Raises the process's own limit
    /// as far as the system allows.
    pub fn of_this_process() -> Self {
        let usual = Self::default();
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        if setrlimit(Resource::Nofile, limit).is_err() {
            // macOS has no maximum, and refuses a limit without a number.
            limit.current = Some(usual.connections as u64 + Self::OWN_DESCRIPTORS);
            // If this is refused too, the old limit stays in force. It is read again below.
            let _ = setrlimit(Resource::Nofile, limit);
        }
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let connections =
            usize::try_from(descriptors.saturating_sub(Self::OWN_DESCRIPTORS)).unwrap_or(usize::MAX);
        Self { connections: connections.clamp(1, usual.connections), ..usual }
    }

    /// A guard gets what the web server let through, 32 KiB in nginx, and the URL and the session once more, in headers of its own. Whose
    /// head is too large here never enters.
    pub fn of_guard() -> Self {
        Self { head: 64 << 10, ..Self::of_this_process() }
    }

    /// The operator's monitoring needs few connections, and must not take those of visitors.
    pub fn of_monitoring() -> Self {
        Self { connections: 16, ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: RunningRoom::USUAL_CONNECTIONS,
            patience: Duration::from_secs(10),
            reading: Duration::from_mins(1),
            // nginx lets 32 KiB through and adds a few lines: a browser may send the room all cookies of the shop's domain.
            head: 40 << 10,
            farewell: Duration::from_secs(10),
        }
    }
}

/// Whether each request is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLog {
    On,
    Off,
}

/// Serves until `shutdown` resolves, then waits for open requests to finish.
pub async fn serve<S: HttpService>(
    listener: TcpListener,
    service: Arc<S>,
    limits: Limits,
    access_log: AccessLog,
    shutdown: impl Future<Output = ()>,
) {
    let slots = Slots::new(limits.connections);
    let graceful = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            () = &mut shutdown => break,
        };
        let (stream, sender, slot) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // The usual cause: no file descriptor is free until another connection closes.
                tracing::warn!(error = &error as &dyn std::error::Error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (service, slot) = (service.clone(), Arc::new(slot));
        let handler = service_fn({
            let slot = slot.clone();
            move |request| answer(service.clone(), slot.clone(), request, sender, access_log)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.patience)
            .max_buf_size(limits.head)
            // Answers are small: to copy head and body into one buffer costs less than to write two.
            .writev(false)
            .serve_connection(TokioIo::new(stream), handler);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            tokio::select! {
                // First, so that an answer that can be sent is sent.
                biased;
                // An error means that the client closed the connection or did not send HTTP. hyper has already answered it.
                _ = connection => {}
                () = slot.until_lost(limits.reading) => {}
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(limits.farewell, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time");
    }
}

async fn accept(listener: &TcpListener, slots: &Arc<Slots>) -> io::Result<(TcpStream, IpAddr, Slot)> {
    let (stream, sender) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, sender.ip(), slots.take().await))
}

async fn answer<S: HttpService>(
    service: Arc<S>,
    slot: Arc<Slot>,
    mut request: Request<Incoming>,
    sender: IpAddr,
    access_log: AccessLog,
) -> Result<HttpResponse, std::convert::Infallible> {
    slot.begin_answer();
    let begun = Instant::now();
    let span = service.span(&request);
    let mut answer = service.answer(&mut request, sender).instrument(span).await;
    if slot.fall_silent() {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if access_log == AccessLog::On {
        log(&request, answer.status(), begun.elapsed());
    }
    Ok(answer)
}

/// One line a request, without query and cookies: they may hold personal data.
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
