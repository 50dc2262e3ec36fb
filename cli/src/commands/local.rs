//! `beekeeper local`: runs a waiting room in this process.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clock::SystemClock;
use embedded::EmbeddedStore;
use page::Design;
use probe::HttpProbe;
use rand::rngs::SysRng;
use serde_json::json;
use server::connections::{AccessLog, Limits, serve};
use server::control::{self, Control};
use server::{AnswerMetrics, App, DemoShop, JoinLimit, Monitor, Preview, TrustedProxies, schedule};
use tokio::net::TcpListener;
use tokio::sync::watch;
use waitroom::ports::{Clock, RoomReader, ThrottleStore};
use waitroom::{Epoch, Rate, Room, Scheme, Settings, Title, WebUrl};

use crate::arguments::{Local, Removable};
use crate::data;
use crate::exit::{Exit, Failure};
use crate::printer::{LiveLine, note_above, say};
use crate::reach::{Journey, needs_health};
use crate::wording::rate;

/// The path of the demonstration shop.
const DEMO_SHOP: &str = "/demo-shop";

pub(crate) fn run(arguments: &Local, json: bool) -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(open(arguments, json))
}

async fn open(arguments: &Local, json: bool) -> Result<()> {
    let asked_to_stop = asked_to_stop()?;
    let directory = data::directory(arguments.data.as_ref(), &arguments.name)?;
    let design = arguments.page.as_deref().map_or_else(|| Ok(Design::default()), Design::read)?;
    let door = listen(arguments.port).await?;
    let url = arguments.url.clone().map_or_else(|| address(&door, ""), Ok)?;
    let monitor = listen_for_monitoring(arguments.metrics).await?;
    let demonstration = listen(0).await?;
    let demo_shop = address(&demonstration, DEMO_SHOP)?;

    let port = door.local_addr()?.port();
    let first = first_room(arguments, demo_shop.clone(), url.clone())?;
    refuse_own_door(&first, port)?;
    let store = EmbeddedStore::open(&directory, first, || SystemClock.now())?;
    take_over(&store, arguments, demo_shop.clone(), url.clone(), port).await?;
    let demonstration = (store.room().await?.settings.shop == demo_shop).then_some(demonstration);
    let scheme = if url.as_url().scheme() == "https" { Scheme::Https } else { Scheme::PlainLocalhost };
    let page = design.page(&store.room().await?.settings.title);
    let mut app = App::new(store.clone(), scheme, &page);
    // There is no preview at a public URL, because visitors could mistake it for the room.
    let shows_preview = arguments.url.is_none();
    if shows_preview {
        app = app.with_preview(Preview(arguments.page.clone()));
    }
    if let Some(places) = arguments.join_limit {
        let proxies = TrustedProxies::new(arguments.trust_proxy.clone());
        app = app.with_join_limit(JoinLimit::new(places, proxies));
    }
    let metrics = Arc::new(AnswerMetrics::default());
    if monitor.is_some() {
        app = app.with_metrics(metrics.clone());
    }
    let app = Arc::new(app);
    app.warm_up().await.context("could not create the keys that sign passes")?;
    let control = Control::bind(&directory).with_context(|| {
        format!("could not create the control socket {}", control::socket(&directory).display())
    })?;

    let room = store.room().await?;
    let monitored_at = monitor.as_ref().map(TcpListener::local_addr).transpose()?;
    let greeting = if json {
        greeting_for_scripts(&room, &directory, monitored_at)
    } else {
        greeting(&room, &url, &directory, shows_preview, monitored_at)
    };
    // The room runs even if standard output is closed.
    let _ = say(&greeting);
    let access_log = if arguments.access_log { AccessLog::On } else { AccessLog::Off };
    let (end, ended) = watch::channel(());
    let until_the_end = || {
        let mut ended = ended.clone();
        async move { drop(ended.changed().await) }
    };
    let doors = tokio::spawn(serve(door, app, Limits::of_this_process(), access_log, until_the_end()));
    let shop = demonstration.map(|listener| {
        let site = Arc::new(DemoShop::new(store.clone()));
        tokio::spawn(serve(listener, site, Limits::default(), AccessLog::Off, until_the_end()))
    });
    let monitor = monitor.map(|listener| {
        let (site, limits) = (Arc::new(Monitor::new(store.clone(), metrics)), Limits::of_monitoring());
        tokio::spawn(serve(listener, site, limits, AccessLog::Off, until_the_end()))
    });
    let mut background = vec![
        tokio::spawn(schedule::run(store.clone(), arguments.minute)),
        tokio::spawn(keep_up(store.clone())),
        tokio::spawn({
            let store = store.clone();
            async move { control.serve(store).await }
        }),
    ];

    if room.settings.shop != demo_shop {
        background.push(tokio::spawn(visit_shop(room, arguments.throttle)));
    }
    if arguments.throttle {
        let probe = HttpProbe::new()
            .context("could not read the CA certificates of this machine, which --throttle needs")?;
        background.push(tokio::spawn(schedule::run_throttle(store.clone(), probe, arguments.minute)));
    } else {
        // Without a throttle, nothing would end the limit that an earlier run set.
        store.hold(None).await?;
    }

    asked_to_stop.await;
    end.send_replace(());
    doors.await?;
    for site in [shop, monitor].into_iter().flatten() {
        site.await?;
    }
    for task in &background {
        task.abort();
    }
    for task in background {
        drop(task.await);
    }
    let waiting = store.status().waiting;
    tokio::task::spawn_blocking(move || store.close()).await?;
    if json {
        let _ = say(&json!({ "waiting": waiting, "kept_in": directory }).to_string());
        return Ok(());
    }
    let _ = say(&format!(
        "\nstopped. {waiting} waiting; every place is kept in {}. To continue, run the same command",
        directory.display()
    ));
    Ok(())
}

async fn listen(port: u16) -> Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).await.with_context(|| {
        format!("could not listen on 127.0.0.1:{port}; choose another port with --port, or any free one with --port 0")
    })
}

async fn listen_for_monitoring(address: Option<SocketAddr>) -> Result<Option<TcpListener>> {
    let Some(address) = address else { return Ok(None) };
    let listener = TcpListener::bind(address).await;
    listener.map(Some).with_context(|| {
        format!("could not listen on {address}; choose another address or port with --metrics")
    })
}

fn address(listener: &TcpListener, path: &str) -> Result<WebUrl> {
    Ok(format!("http://localhost:{}{path}", listener.local_addr()?.port()).parse()?)
}

/// Recognizes the demonstration shop by its path, because it gets a new port at every start.
fn is_demonstration(shop: &WebUrl) -> bool {
    let url = shop.as_url();
    url.host_str() == Some("localhost") && url.path() == DEMO_SHOP
}

fn first_room(arguments: &Local, demo_shop: WebUrl, url: WebUrl) -> Result<Room> {
    let default_title: Title = "The demonstration room".parse()?;
    let mut settings = Settings::new(
        arguments.name.clone(),
        arguments.title.clone().unwrap_or(default_title),
        arguments.shop.clone().unwrap_or(demo_shop),
        arguments.rate.map_or_else(|| Rate::new(60), Ok)?,
    );
    settings.health = Removable::or_kept(arguments.health.as_ref(), None);
    let epoch = Epoch::random(&mut SysRng).context("could not get random numbers from the system")?;
    Ok(Room::new(settings, url, epoch))
}

/// Applies the command line. Settings without a flag keep the values that the room had last.
async fn take_over(
    store: &EmbeddedStore,
    arguments: &Local,
    demo_shop: WebUrl,
    url: WebUrl,
    port: u16,
) -> Result<()> {
    let kept = store.room().await?;
    if kept.settings.room != arguments.name {
        bail!(
            "{} holds the room {}, not {}; run beekeeper local {}, or choose another --data directory",
            data::directory(arguments.data.as_ref(), &arguments.name)?.display(),
            kept.settings.room,
            arguments.name,
            kept.settings.room
        );
    }
    let mut settings = kept.settings.clone();
    settings.shop = match &arguments.shop {
        Some(shop) => shop.clone(),
        None if is_demonstration(&settings.shop) => demo_shop,
        None => settings.shop,
    };
    settings.health = Removable::or_kept(arguments.health.as_ref(), settings.health);
    settings.title = arguments.title.clone().unwrap_or(settings.title);
    settings.rate = arguments.rate.unwrap_or(settings.rate);
    let after = Room { settings, url, ..Room::clone(&kept) };
    refuse_own_door(&after, port)?;
    if after != *kept {
        let Room { settings, url, .. } = after;
        store
            .change_room("apply the command line", move |room| {
                (room.settings, room.url) = (settings, url);
            })
            .await?;
    }
    Ok(())
}

/// Refuses a shop that leads back into the room: to its door or its page, or to the port on which it listens.
fn refuse_own_door(room: &Room, port: u16) -> Result<(), Failure> {
    let shop = &room.settings.shop;
    let is_here = shop.is_on_this_machine() && shop.as_url().port_or_known_default() == Some(port);
    if !is_here && !room.is_entered_by(shop.as_url()) {
        return Ok(());
    }
    let circle = format!("the shop {shop} is this room: admitted visitors would be sent round in a circle");
    Err(Failure::new(Exit::Usage, circle).advising("give the URL of the shop itself with --shop URL"))
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
    if throttles && room.settings.health.is_none() && journey.is_protected() {
        note_above(&format!("warning: {}", needs_health(shop)));
    }
}

fn greeting(
    room: &Room,
    url: &WebUrl,
    directory: &Path,
    shows_preview: bool,
    monitored_at: Option<SocketAddr>,
) -> String {
    let url = url.to_string();
    let url = url.trim_end_matches('/');
    let preview = if shows_preview { format!("  the page       {url}/preview/\n") } else { String::new() };
    let metrics = monitored_at.map(|at| format!("  metrics        {}\n", metrics_url(at)));
    let metrics = metrics.unwrap_or_default();
    format!(
        "{} is open\n\n  waiting room   {url}/beekeeper\n{preview}  client check   {url}/client\n  shop           {}\n{metrics}  \
         kept in        {}\n\n{} visitors enter a minute. Ctrl-C stops it; every place is kept.",
        room.settings.title,
        room.settings.shop,
        directory.display(),
        room.settings.rate
    )
}

fn metrics_url(monitored_at: SocketAddr) -> String {
    format!("http://{monitored_at}/metrics")
}

fn greeting_for_scripts(room: &Room, directory: &Path, monitored_at: Option<SocketAddr>) -> String {
    let url = room.url.to_string();
    let url = url.trim_end_matches('/');
    let urls = (format!("{url}/beekeeper"), format!("{url}/client"));
    let mut greeting =
        json!({ "waiting_room": urls.0, "client_check": urls.1, "room": room, "kept_in": directory });
    if let Some(at) = monitored_at {
        greeting["metrics"] = metrics_url(at).into();
    }
    greeting.to_string()
}

/// Shows the state of the room on one line, and updates it every second.
async fn keep_up(store: EmbeddedStore) {
    let line = LiveLine::new();
    loop {
        if let Ok(status) = operator::Status::of(&store).await {
            let window = status.windows.first().map_or(0, |window| window.released);
            let joined = status.released + status.line.waiting;
            line.show_facts(&format!(
                "{joined} joined, {} waiting, served up to {}, {window} released in this window, rate {}",
                status.line.waiting,
                status.line.served,
                rate(&status)
            ));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Starts to listen at once, so that an early Ctrl-C also stops the room cleanly.
fn asked_to_stop() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
