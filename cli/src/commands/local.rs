//! `beekeeper local`: runs a waiting room in this process.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clock::SystemClock;
use control::wording::{limited, rate, refusals, waits};
use control::{SocketRoom, Status};
use doctor::{Journey, needs_health, needs_host};
use document::words;
use embedded::EmbeddedStore;
use probe::HttpProbe;
use rooms::{PATIENCE, data};
use serde_json::json;
use server::connections::{AccessLog, Limits};
use server::socket::{OrderSocket, RoomStart};
use server::{
    AnswerMetrics, App, AppOptions, HostedRoom, JoinLimit, PlacesPerMinute, Preview, TrustedProxies,
    schedule, url_at,
};
use tokio::net::TcpListener;
use tokio::time::timeout;
use waitroom::ports::{Clock, ThrottleStore};
use waitroom::{Room, RoomId, RoomState, Scheme, Timestamp};

use crate::arguments::Local;
use crate::demonstration::Demonstration;
use crate::error_output;
use crate::exit::{Exit, Failure};
use crate::local_greeting::LocalGreeting;
use crate::local_settings::LocalSettings;
use crate::local_start::{LocalStart, note_unwritten, refuse_second};
use crate::printer::{LiveLine, note_above, say, say_farewell};
use crate::room::RoomHandle;
use crate::runtime::{asked_to_stop, block_on_all_cores, listen_for_monitoring};

pub(crate) fn run(arguments: &Local, json: bool) -> Result<()> {
    block_on_all_cores(open(arguments, json))
}

async fn open(arguments: &Local, json: bool) -> Result<()> {
    let asked_to_stop = asked_to_stop()?;
    refuse_second(arguments).await?;
    let door = listen(arguments.address()).await?;
    let listens = door.local_addr()?;
    let url = arguments.url.clone().map_or_else(|| url_at(listens, ""), Ok)?;
    let monitor = listen_for_monitoring(arguments.metrics).await;

    let start = LocalStart::open(arguments, url, listens).await?;
    let demo_greeting = start.demo_greeting(arguments);
    let as_typed = arguments.as_typed(&start.room.settings.room);
    let [other_rate, other_mode] = start.kept_orders(arguments, &as_typed);
    let notes = [
        other_rate,
        other_mode,
        start.left_rehearsal(&as_typed),
        open_to_all(arguments, listens),
        demo_greeting.and_then(|demonstration| demonstration.left_line(&as_typed)),
    ];
    let LocalStart { directory, store, room, is_new, mut local, demo_door, demo_visitors, path, .. } = start;
    let warnings = mem::take(&mut local.warnings);
    let throttle = local.config.throttle;
    let metrics = Arc::new(AnswerMetrics::default());
    let app = app(arguments, &store, &room, local, monitor.is_some().then(|| metrics.clone()));
    let app = Arc::new(app);
    app.warm_up().await.context("could not create the keys that sign passes")?;
    let limits = Limits::of_this_process();
    let join_limit = arguments.join_limit.map(PlacesPerMinute::get);
    let connections = limits.connections;
    let started = RoomStart { listens, connections, join_limit, throttle, demo_visitors };
    let orders = OrderSocket::bind(&directory, started).with_context(|| {
        format!("could not create the control socket {}", SocketRoom::socket(&directory).display())
    })?;

    let monitored_at = monitor.as_ref().map(TcpListener::local_addr).transpose()?;
    let demonstration =
        demo_door.map(|door| Demonstration::new(door, demo_visitors, &store, &room)).transpose()?;
    let greeting = LocalGreeting {
        room: &room,
        as_typed: &as_typed,
        is_new,
        directory: &directory,
        configured_in: path.as_deref(),
        shows_preview: shows_preview(arguments),
        monitored_at,
        demonstration: demo_greeting,
    };
    error_output::print_beside();
    // The room runs even if standard output is closed.
    let _ = say(&if json { greeting.for_scripts() } else { greeting.text() });
    for text in warnings.into_iter().chain(notes.into_iter().flatten()) {
        note_above(&text);
    }
    let log = if arguments.access_log { AccessLog::On } else { AccessLog::Off };
    let mut host =
        HostedRoom::open(store.clone(), arguments.minute, app.clone(), (door, limits, log), orders);
    host.keep_running(keep_up(app));
    match demonstration {
        Some(demonstration) => demonstration.open_in(&mut host),
        None => host.keep_running(visit_shop(room.clone(), throttle)),
    }
    if let Some(listener) = monitor {
        host.open_monitor(listener, metrics);
    }
    watch_shop(&mut host, store, &room, throttle, arguments.minute).await?;
    asked_to_stop.await;
    let waiting = host.close().await?;
    farewell(waiting, &directory, json);
    Ok(())
}

/// Lets the throttle run, if the room has one.
async fn watch_shop(
    host: &mut HostedRoom,
    store: EmbeddedStore,
    room: &Room,
    throttle: bool,
    minute: Duration,
) -> Result<()> {
    if throttle {
        let probe = HttpProbe::new().context("the throttle cannot ask the shop")?;
        host.keep_running(schedule::run_throttle(store, probe, minute));
    } else if room.throttled.is_some() {
        // Without a throttle, nothing would end the limit that an earlier run set.
        if let Err(error) = store.hold(None).await {
            note_unwritten(error, "it keeps the throttle's limit");
        }
    }
    Ok(())
}

fn farewell(waiting: u64, directory: &Path, json: bool) {
    let text = if json {
        json!({ "waiting": waiting, "kept_in": directory }).to_string()
    } else {
        format!(
            "\nstopped. {waiting} waiting; every place is kept in {}. To continue, run the same command",
            directory.display()
        )
    };
    say_farewell(text);
}

fn app(
    arguments: &Local,
    store: &EmbeddedStore,
    room: &Room,
    local: LocalSettings,
    metrics: Option<Arc<AnswerMetrics>>,
) -> App {
    let scheme = if room.url.as_url().scheme() == "https" { Scheme::Https } else { Scheme::PlainLocalhost };
    let limit = |places| JoinLimit::new(places, TrustedProxies::new(arguments.trust_proxy.clone()));
    let options = AppOptions {
        minute: arguments.minute,
        preview: shows_preview(arguments).then_some(Preview(local.page)),
        join_limit: arguments.join_limit.map(limit),
        metrics,
    };
    App::new(store.clone(), scheme, &local.design.page(&room.settings.title), options)
}

/// There is no preview at a public URL, because visitors could mistake it for the room.
fn shows_preview(arguments: &Local) -> bool {
    arguments.url.is_none()
}

/// Says that others than a web server on this machine reach the room, without https.
fn open_to_all(arguments: &Local, listens: SocketAddr) -> Option<String> {
    (arguments.url.is_none() && !listens.ip().is_loopback()).then(|| {
        format!(
            "warning: whoever reaches {listens} can join, by http and without a domain. For an event, put a web server with https \
             before the room and name its URL with --url: docs/hosting.md"
        )
    })
}

async fn listen(address: SocketAddr) -> Result<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) => {
            let (why, advice) = if error.kind() == io::ErrorKind::AddrNotAvailable {
                let everywhere = format!("to listen on all that it has: --listen 0.0.0.0:{}", address.port());
                (format!("this machine has no address {}", address.ip()), everywhere)
            } else {
                let room = room_at(address).await.map(|room| format!("the room {room} runs there"));
                let other = "choose another port with --listen, or any free one with --listen 0";
                (room.unwrap_or_else(|| error.to_string()), other.to_owned())
            };
            Err(Failure::new(Exit::Failed, format!("could not listen on {address}: {why}"))
                .advising(advice)
                .into())
        }
    }
}

/// The room of this user that has the port of this address.
async fn room_at(address: SocketAddr) -> Option<RoomId> {
    for name in data::running() {
        let found = RoomHandle::here(name).ok()?;
        let found_at = timeout(PATIENCE, found.listens()).await.ok().flatten();
        if found_at.is_some_and(|found_at| found_at.port() == address.port()) {
            return Some(found.room.name);
        }
    }
    None
}

/// Asks the shop once, and says what a visitor without a pass sees there. The room is open meanwhile: a shop that does
/// not answer must not delay the return of a room with people in line.
async fn visit_shop(room: Arc<Room>, throttles: bool) {
    let shop = &room.settings.shop;
    let probe = match HttpProbe::new() {
        Ok(probe) => probe,
        Err(error) => {
            note_above(&format!("warning: could not ask {shop}: {error}"));
            return;
        }
    };
    let journey = Journey::to(shop.as_url(), &probe, |url| room.is_entered_by(url)).await;
    note_above(&journey.to_string());
    if !journey.arrives() {
        note_above(&format!("warning: visitors would see no page at {shop}"));
    }
    if let Some(host) = journey.leads_on_to() {
        note_above(&format!("warning: {}", needs_host(host)));
    }
    if throttles && room.settings.health.is_none() && journey.is_protected() {
        note_above(&format!("warning: {}", needs_health(shop)));
    }
}

/// Shows the state of the room on one line, and updates it every second. A room without a terminal computes none.
async fn keep_up(app: Arc<App>) {
    let line = LiveLine::new();
    while line.is_shown() {
        if let Ok(status) = app.status().await {
            let alarming = refusals(&status).unwrap_or_default();
            line.show_facts_after(&alarming, &live_facts(&status, SystemClock.now()));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn live_facts(status: &Status, now: Timestamp) -> String {
    let Status { joined, released, line, .. } = status;
    let counts = format!("{joined} joined, {} waiting, {released} released", line.waiting);
    let rate = format!("rate {}", rate(status));
    let opens = status.room.opens.map(|opens| format!("opens {}", words::ahead(opens, now)));
    let state = Some(status.room.state).filter(|state| *state != RoomState::On).map(|it| it.to_string());
    opens
        .or(state)
        .into_iter()
        .chain([counts, rate])
        .chain(waits(status))
        .chain(limited(status))
        .collect::<Vec<_>>()
        .join(", ")
}
