//! `beekeeper guard`: answers a web server that asks whether a request may reach the shop.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clock::SystemClock;
use guard::{
    Bypass, Guard, GuardData, GuardRules, GuardTimes, HttpRoom, LiveSessions, Reporter, RoomKeys,
    RoomSilence, SecretHeader, WhenUnreachable,
};
use pass::{ReportKey, SessionRules};
use rooms::data;
use serde_json::json;
use server::connections::{AccessLog, Limits, serve};
use server::{ForwardAuth, GuardMetrics, GuardMonitor, TrustedProxies};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use waitroom::ports::Clock;

use crate::arguments::GuardArguments;
use crate::ending::advice;
use crate::error_output;
use crate::exit::{Exit, Failure, may_not_use_files};
use crate::printer::{note, say, say_farewell};
use crate::runtime::{asked_to_stop, block_on_all_cores, listen_at, listen_for_monitoring};

/// What a guard is started with, besides its port.
struct GuardStart<'a> {
    arguments: &'a GuardArguments,
    directory: &'a Path,
    /// Those whom it let in before have a session.
    is_again: bool,
    reporter: Option<Arc<Reporter>>,
    json: bool,
}

pub(crate) fn run(arguments: &GuardArguments, json: bool) -> Result<()> {
    block_on_all_cores(open(arguments, json))
}

async fn open(arguments: &GuardArguments, json: bool) -> Result<()> {
    let asked_to_stop = asked_to_stop()?;
    let report_key = report_key(arguments)?;
    let door = listen_at(arguments.listen, "--listen").await?;
    let monitor = listen_for_monitoring(arguments.metrics).await;
    let rules = rules(arguments)?;
    let directory = directory(arguments)?;
    let keys = keys(arguments, &rules)?;
    let is_again = GuardData::is_in(&directory);
    if !is_again {
        // It may have been started with the wrong words.
        ask(arguments, &rules, &keys).await?;
    }
    let opened = GuardData::open(&directory, SystemClock.now().as_secs());
    let GuardData { key, sessions, name, lock } =
        opened.map_err(|error| with_owner(error.into(), &directory))?;
    let room = || HttpRoom::new(&rules).context("the guard cannot report to the room");
    let reporter = report_key.map(|key| anyhow::Ok(Reporter::new(room()?, &key, name)?)).transpose()?;
    let (listeners, reporter) = ((door, monitor), reporter.map(Arc::new));
    let start = GuardStart { arguments, directory: &directory, is_again, reporter, json };
    if let Some(shared) = crate::aws::shared_sessions(&arguments.shared).await? {
        serve_until(asked_to_stop, Guard::new(rules, key, shared, keys), listeners, start).await?;
    } else {
        serve_until(asked_to_stop, Guard::new(rules, key, sessions, keys), listeners, start).await?;
    }
    drop(lock);
    if !json {
        say_farewell("\nstopped; the sessions are kept".to_owned());
    }
    Ok(())
}

/// Answers the web server until the guard is asked to stop.
async fn serve_until(
    asked_to_stop: impl Future<Output = ()>,
    guard: Guard<impl LiveSessions + 'static, HttpRoom>,
    (door, monitor): (TcpListener, Option<TcpListener>),
    GuardStart { arguments, directory, is_again, reporter, json }: GuardStart<'_>,
) -> Result<()> {
    /// Those who have a session wait meanwhile.
    const REPORTS_WITHIN: Duration = Duration::from_secs(1);
    let guard = Arc::new(guard);
    if let Some(reporter) = &reporter {
        // Now, so that the first visitor's session lasts as long as the room says. A later answer still counts.
        let (reporter, counted) = (reporter.clone(), guard.clone());
        let first = tokio::spawn(async move { reporter.report(&counted).await });
        let _ = timeout(REPORTS_WITHIN, first).await;
    }
    let monitored_at = monitor.as_ref().map(TcpListener::local_addr).transpose()?;
    let address = door.local_addr()?;
    let metrics_url = monitored_at.map(|at| format!("http://{at}/metrics"));
    let listens = format!("http://{address}");

    let metrics = Arc::new(GuardMetrics::default());
    let (end, ended) = watch::channel(());
    let until_the_end = || {
        let mut ended = ended.clone();
        async move { drop(ended.changed().await) }
    };
    let proxies = TrustedProxies::new(arguments.trust_proxy.clone());
    let service = Arc::new(ForwardAuth::new(guard.clone(), proxies, metrics.clone()));
    let door = tokio::spawn(serve(door, service, Limits::of_guard(), AccessLog::Off, until_the_end()));
    let monitor = monitor.map(|listener| {
        let (site, limits) =
            (GuardMonitor::new(guard.clone(), metrics, reporter.clone()), Limits::of_monitoring());
        let site = Arc::new(site);
        tokio::spawn(serve(listener, site, limits, AccessLog::Off, until_the_end()))
    });
    let reports = reporter.as_ref().map(|reporter| {
        let (reporter, counted) = (reporter.clone(), guard.clone());
        tokio::spawn(async move { reporter.watch(&counted).await })
    });
    if is_again && let Err(error) = ask(arguments, guard.rules(), guard.keys()).await {
        note(&format!("warning: {error:#}; no new visitor can enter until that is mended"));
        if let Some(hint) = advice(&error) {
            note(&format!("hint: {hint}"));
        }
    }
    let greeting = if json {
        greeting_for_scripts(&guard, &listens, directory, metrics_url.as_deref())
    } else {
        greeting(&guard, reporter.is_some(), &listens, directory, metrics_url.as_deref())
    };
    error_output::print_beside();
    // The guard works even if standard output is closed.
    let _ = say(&greeting);
    let watched = guard.clone();
    let watch = tokio::spawn(async move { watched.watch_room().await });

    asked_to_stop.await;
    end.send_replace(());
    door.await?;
    if let Some(monitor) = monitor {
        monitor.await?;
    }
    watch.abort();
    if let Some(reports) = reports {
        reports.abort();
    }
    Ok(())
}

fn rules(arguments: &GuardArguments) -> Result<GuardRules> {
    let secret = arguments.bypass_header.as_deref().map(secret_header).transpose()?;
    let bypass = Bypass {
        paths: arguments.bypass_path.clone(),
        methods: arguments.bypass_method.clone(),
        secret,
        networks: arguments.bypass_network.clone(),
    };
    let times = GuardTimes { pass: arguments.pass_age, idle: arguments.idle, session: arguments.session };
    let unreachable =
        arguments.open_after.map_or(WhenUnreachable::Closed, |after| WhenUnreachable::Open { after });
    Ok(GuardRules {
        https: !arguments.http,
        times,
        one_session: arguments.one_session,
        binds: arguments.bind,
        bypass,
        unreachable,
        ..GuardRules::new(&arguments.room.to_string(), arguments.name.as_str())
    })
}

fn secret_header(file: &Path) -> Result<SecretHeader> {
    let text = fs::read_to_string(file)
        .with_context(|| format!("could not read the secret header in {}", file.display()))?;
    text.parse().with_context(|| format!("there is no secret header in {}", file.display()))
}

/// The key for reports, if the guard sends any.
fn report_key(arguments: &GuardArguments) -> Result<Option<ReportKey>> {
    let Some(file) = &arguments.report_key else { return Ok(None) };
    let refused = |problem: &str, advice: &str| Failure::new(Exit::Usage, problem).advising(advice);
    if crate::aws::shares_sessions(&arguments.shared) {
        let problem = "--report-key doesn't go with --sessions-table: each of those guards knows a part of the sessions only, so the \
                       room would count wrong";
        let advice =
            "run one guard, with its sessions in --data, or the room without a limit of active visitors";
        return Err(refused(problem, advice).into());
    }
    if arguments.keys.is_some() {
        let problem = "--report-key doesn't go with --keys: with the keys in a file, the guard never asks the room, so it can't report \
                       to it either";
        return Err(refused(problem, "leave --keys out; the guard then gets the keys from the room").into());
    }
    let key = fs::read_to_string(file).map_err(anyhow::Error::new);
    let key = key.and_then(|text| text.parse::<ReportKey>().map_err(anyhow::Error::new));
    key.map(Some).map_err(|error| {
        let problem = format!("could not use the report key in {}: {error}", file.display());
        let advice = format!(
            "on the machine of the room's operator, this writes it: beekeeper keys guard {} > FILE",
            arguments.name
        );
        Failure::new(Exit::Failed, problem).advising(advice).into()
    })
}

fn directory(arguments: &GuardArguments) -> Result<PathBuf> {
    match &arguments.data {
        Some(directory) => Ok(directory.clone()),
        None => Ok(data::directory(None, &arguments.name)?.join("guard")),
    }
}

/// Somebody who once started the guard as root left files that the service may not open.
fn with_owner(error: anyhow::Error, directory: &Path) -> anyhow::Error {
    if !may_not_use_files(&error) {
        return error;
    }
    let directory = directory.display();
    let advice = format!(
        "it belongs to another user than the guard, perhaps to root; give it back: sudo chown --recursive --reference={directory} \
         {directory}"
    );
    Failure::new(Exit::Failed, format!("{error:#}")).advising(advice).into()
}

/// The keys in the file, or those that the room will give.
fn keys(arguments: &GuardArguments, rules: &GuardRules) -> Result<RoomKeys<HttpRoom>> {
    let Some(file) = &arguments.keys else {
        let room = HttpRoom::new(rules).context("the guard cannot ask the room")?;
        return Ok(RoomKeys::of_room(rules, room));
    };
    let named = || file.display();
    let text = fs::read_to_string(file).with_context(|| format!("could not read the keys in {}", named()))?;
    let keys = serde_json::from_str(&text).with_context(|| {
        format!("{} does not have the keys of a room, as its /.well-known/jwks.json has them", named())
    })?;
    Ok(RoomKeys::given(rules, keys))
}

/// Fetches the room's keys, unless they are in a file. If the room does not answer, the guard has none and goes on asking. An error if
/// something else answers, or another room.
async fn ask(arguments: &GuardArguments, rules: &GuardRules, keys: &RoomKeys<HttpRoom>) -> Result<()> {
    if arguments.keys.is_some() {
        return Ok(());
    }
    let room = HttpRoom::new(rules).context("the guard cannot ask the room")?;
    let discovery = room.discovery().await.ok();
    let Err(silence) = keys.refresh(SystemClock.now().as_secs()).await else {
        if discovery.and_then(|discovery| discovery.room).is_none() {
            let GuardRules { room, name, .. } = rules;
            note(&format!("warning: the room at {room} does not say its name; make sure that it is {name}"));
        }
        return Ok(());
    };
    let advice = match &silence {
        RoomSilence::OtherUrl { found, .. } => format!("start the guard with --room {found}"),
        RoomSilence::OtherRoom { url, found, .. } => {
            format!("start the guard with that name: beekeeper guard {found} --room {url}")
        }
        RoomSilence::NotKeys { .. }
        | RoomSilence::NothingThere { .. }
        | RoomSilence::Status { status: 404, .. } => {
            return Err(anyhow::Error::new(silence).context("could not fetch the room's keys; check --room"));
        }
        _ => {
            let error = anyhow::Error::new(silence);
            note(&format!("warning: {error:#}; no new visitor can enter until the room answers"));
            return Ok(());
        }
    };
    Err(Failure::new(Exit::Failed, silence.to_string()).advising(advice).into())
}

fn greeting<S: LiveSessions>(
    guard: &Guard<S, HttpRoom>,
    reports: bool,
    listens: &str,
    directory: &Path,
    metrics: Option<&str>,
) -> String {
    let rules = guard.rules();
    let how = match guard.keys().count() {
        0 => format!("runs, but lets nobody new in until the room answers at {}", rules.room),
        _ => "is ready".into(),
    };
    let mut lines = vec![
        format!("The guard of {} {how}\n", rules.name),
        format!("  nginx           {listens}{}", ForwardAuth::<S, HttpRoom>::AUTH_REQUEST),
        format!("  Traefik, Caddy  {listens}{}", ForwardAuth::<S, HttpRoom>::FORWARD_AUTH),
        format!("  waiting room    {}/beekeeper", rules.room),
        format!("  its keys        {}", guard.keys().count()),
    ];
    lines.extend(metrics.map(|url| format!("  metrics         {url}")));
    lines.push(format!("  kept in         {}\n", directory.display()));
    if let WhenUnreachable::Open { after } = rules.unreachable {
        let after = humantime::format_duration(after);
        lines.push(format!("Everybody enters when the room has not answered for {after}."));
    }
    if reports {
        lines.push(format!(
            "Every {} s it tells the room how many visitors are in the shop.",
            SessionRules::REPORTED_EVERY
        ));
    }
    lines.push("Ctrl-C stops it; the sessions are kept.".into());
    lines.join("\n")
}

fn greeting_for_scripts<S: LiveSessions>(
    guard: &Guard<S, HttpRoom>,
    listens: &str,
    directory: &Path,
    metrics: Option<&str>,
) -> String {
    let rules = guard.rules();
    let mut greeting = json!({
        "listens": listens, "name": rules.name, "room": rules.room, "keys": guard.keys().count(), "kept_in": directory,
    });
    if let Some(url) = metrics {
        greeting["metrics"] = url.into();
    }
    greeting.to_string()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn files_of_another_user_are_told_with_the_way_to_give_them_back() {
        let told = |kind: io::ErrorKind| {
            let error = anyhow::Error::new(io::Error::from(kind))
                .context("could not open the sessions in /data/sessions");
            with_owner(error, Path::new("/data"))
        };
        let denied = told(io::ErrorKind::PermissionDenied);
        let failure = denied.downcast_ref::<Failure>().unwrap();
        assert_eq!(failure.to_string(), "could not open the sessions in /data/sessions: permission denied");
        assert!(
            failure.advice.as_ref().unwrap().contains("chown --recursive --reference=/data /data"),
            "{failure:?}"
        );
        assert!(told(io::ErrorKind::StorageFull).downcast_ref::<Failure>().is_none());
    }
}
