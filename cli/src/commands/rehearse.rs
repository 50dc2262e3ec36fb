//! `beekeeper rehearse`: sends real visitors over HTTP to a room of this operator, and reports what they saw.
//!
//! The operator's order marks the room. Every poll shows the mark, and without it the visitors send nothing. Whatever ends
//! the rehearsal, the room is reset then, which removes the mark and the visitors' places. If that is not possible, the mark
//! stays, and the room refuses `on` until it is reset.

use std::fs;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use operator::{Order, Reply, Status};
use rand::rngs::SysRng;
use simulation::Arrivals;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use url::Url;
use waitroom::{Epoch, RehearsalMark};

use crate::arguments::{Rehearse, RehearsedRoom};
use crate::ask;
use crate::config_folder::ConfigFolder;
use crate::data;
use crate::exit::{Exit, Failure};
use crate::plot::thousands;
use crate::printer::{LiveLine, note, say};
use crate::rehearse::{
    CrowdEnd, CrowdPlan, RehearsalFacts, RehearsalReport, VisitorCrowd, WindowNotes, html, send, text,
};
use crate::room::RoomHandle;
use crate::runtime::{asked_to_stop, block_on};
use crate::wording::time;

const WIDTH: u16 = 90;

/// Where the visitors go.
struct RehearsalTarget {
    room: RoomHandle,
    url: Url,
    /// The host to ask for, if it is not the one in the URL.
    host: Option<String>,
}

pub(crate) fn run(rehearse: &Rehearse, json: bool) -> Result<()> {
    block_on(async {
        let arrivals = arrivals(rehearse)?;
        let target = target(rehearse).await?;
        let status = target.room.status().await?;
        let times = arrivals.times(rehearse.seed);
        refuse_limits(&target.room)?;
        announce(rehearse, &target, &status, &times)?;
        // A page that cannot be written is found before the visitors come.
        if let Some(file) = &rehearse.html {
            fs::write(file, "").with_context(|| format!("could not write {}", file.display()))?;
        }
        let (report, reset) = Box::pin(rehearsed(rehearse, &target, times, &arrivals)).await?;
        let shown = show(rehearse, &report, json);
        // What is left in the room matters more than what the report found.
        reset.and(shown)
    })
}

/// Without a number of visitors, as many come as were counted.
fn arrivals(rehearse: &Rehearse) -> Result<Arrivals> {
    let counted = rehearse.arrivals.counted();
    let visitors = rehearse.visitors.map(u64::from).or(counted).unwrap_or(Rehearse::USUAL_VISITORS.into());
    if visitors > Rehearse::MOST_VISITORS.into() {
        let most = Rehearse::MOST_VISITORS;
        let too_many = format!("the file counts {visitors} visitors, and a rehearsal sends at most {most}");
        let advice = format!("send fewer, who come in the same shape: --visitors {most}");
        return Err(Failure::new(Exit::Usage, too_many).advising(advice).into());
    }
    Ok(Arrivals::new(rehearse.arrivals.clone(), Some(visitors))?)
}

/// Finds the room. It has to be one of this operator.
async fn target(rehearse: &Rehearse) -> Result<RehearsalTarget> {
    if let Some(RehearsedRoom::Url(url)) = &rehearse.room {
        let room = room_at(url).await?;
        return Ok(at_address(room, base(url)));
    }
    let Some(which) = rehearse.which() else { unreachable!("a URL was handled above") };
    let room = RoomHandle::find(&which).await?;
    let mut url = room.status().await?.room.url.as_url().clone();
    // The room's URL may be that of a web server in front of it. The room itself is what is rehearsed.
    if let Some(port) = room.port().await {
        url = Url::parse(&format!("http://127.0.0.1:{port}/"))?;
    }
    Ok(at_address(room, base(&url)))
}

/// Where visitors ask for this URL of the room. An emulator of AWS answers at another one.
fn at_address(room: RoomHandle, url: Url) -> RehearsalTarget {
    #[cfg(feature = "aws")]
    if let Some(deployed) = room.on_aws() {
        let probe::WebAddress { url, host } = deployed.address(url);
        return RehearsalTarget { room, url, host };
    }
    RehearsalTarget { room, url, host: None }
}

/// The room of this operator that has this URL.
async fn room_at(url: &Url) -> Result<RoomHandle> {
    for name in data::running() {
        let room = RoomHandle::here(name)?;
        if let Ok(status) = room.status().await {
            let port =
                room.port().await.and_then(|port| Url::parse(&format!("http://127.0.0.1:{port}/")).ok());
            if is_same(url, status.room.url.as_url()) || port.is_some_and(|port| is_same(url, &port)) {
                return Ok(room);
            }
        }
    }
    let folder = ConfigFolder::of_this_user()?;
    for name in folder.names()? {
        let Some(config) = folder.find(&name).ok().flatten().filter(|config| config.account.is_some()) else {
            continue;
        };
        if let Ok(room) = Box::pin(RoomHandle::deployed(&config)).await
            && room.status().await.is_ok_and(|status| is_same(url, status.room.url.as_url()))
        {
            return Ok(room);
        }
    }
    let unknown = format!("{url} is not the URL of a room of yours, so nothing was sent there");
    let advice = "name the room instead, or start it; `beekeeper list` shows your rooms. A room with a directory of its own: \
                  beekeeper rehearse --local --data DIR";
    Err(Failure::new(Exit::Missing, unknown).advising(advice).into())
}

/// Whether both are the URL of the same room.
fn is_same(one: &Url, other: &Url) -> bool {
    let named = |url: &Url| {
        let host = url.host_str().unwrap_or_default().replace("localhost", "127.0.0.1");
        (url.scheme().to_owned(), host, url.port_or_known_default(), base(url).path().to_owned())
    };
    named(one) == named(other)
}

/// The URL below which the routes are, also from the URL that visitors get.
fn base(url: &Url) -> Url {
    let mut base = url.clone();
    base.set_query(None);
    base.set_fragment(None);
    let path = url.path().trim_end_matches('/');
    base.set_path(&format!("{}/", path.strip_suffix("/beekeeper").unwrap_or(path)));
    base
}

/// All visitors come from one address, which a limit for each address refuses.
fn refuse_limits(room: &RoomHandle) -> Result<()> {
    if !room.is_far() {
        return Ok(());
    }
    let folder = ConfigFolder::of_this_user()?;
    let config = folder.load(&room.name)?;
    let limits = [
        ("door_requests_per_address", config.door_requests_per_address.is_some()),
        ("requests_per_address", config.requests_per_address.is_some()),
        ("door_challenge_above", config.door_challenge_above.is_some()),
    ];
    let set: Vec<_> = limits.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
    if set.is_empty() {
        return Ok(());
    }
    let limited = format!(
        "the firewall of {} limits one address ({}), and all visitors of a rehearsal come from one",
        room.name,
        set.join(", ")
    );
    let advice = format!(
        "set them to 0 in {} and deploy for the rehearsal; afterwards set them again",
        folder.path(&room.name).display()
    );
    Err(Failure::new(Exit::Failed, limited).advising(advice).into())
}

/// Says what will happen, and asks.
#[expect(clippy::cast_precision_loss, reason = "at most 100,000 visitors")]
fn announce(rehearse: &Rehearse, target: &RehearsalTarget, status: &Status, times: &[u32]) -> Result<()> {
    let rate = status.room.rate().get();
    let coming = times.last().map_or(0, |last| u64::from(*last) / 1000);
    let releasing = times.len() as u64 * 60 / u64::from(rate);
    let takes = coming.max(releasing) + 60;
    let visitors = thousands(times.len() as f64);
    let shape = &rehearse.arrivals;
    note(&format!(
        "{visitors} visitors come to {}, {shape}; at {rate} a minute this takes about {}",
        target.url,
        time(takes)
    ));
    if takes > rehearse.at_most.as_secs() {
        note(&format!(
            "It ends after {} at the latest, when some of them still wait: give it more with --at-most, or raise the rate.",
            time(rehearse.at_most.as_secs())
        ));
    }
    if rehearse.yes {
        return Ok(());
    }
    let end = "it ends in a reset: whoever was admitted before has to wait again";
    if target.room.is_far() {
        let wait = (releasing / 120).max(1);
        let costs = costs(&target.room, times.len() as u64, wait)?;
        return ask::confirm(
            &format!(
                "this costs about ${costs:.2} (computed from list prices, for an average wait of {wait} min), and {end}"
            ),
            "Rehearse?",
        );
    }
    if status.joined > 0 {
        return ask::confirm(
            &format!("{} visitors have joined {}, and {end}", status.joined, target.room.name),
            "Rehearse?",
        );
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "some minutes")]
fn costs(room: &RoomHandle, visitors: u64, wait_minutes: u64) -> Result<f64> {
    let config = ConfigFolder::of_this_user()?.load(&room.name)?;
    let architecture = config.architecture.unwrap_or(config::Architecture::Arm64);
    let modelled = aws_model::ModelledRoom::of(&config, architecture, 0);
    Ok(aws_model::EventCosts::of(&modelled, visitors, wait_minutes as f64).dollars)
}

/// Marks the room, sends the visitors and resets the room, whatever happened.
async fn rehearsed(
    rehearse: &Rehearse,
    target: &RehearsalTarget,
    times: Vec<u32>,
    arrivals: &Arrivals,
) -> Result<(RehearsalReport, Result<()>)> {
    let RehearsalTarget { room, url, host } = target;
    let mark = RehearsalMark::random(&mut SysRng).context("could not get random numbers from the system")?;
    // From here on, Ctrl-C ends the rehearsal and not the process.
    let interrupted = Arc::new(Notify::new());
    watch_for_interrupts(room, &interrupted)?;
    let Reply::Changed { after, .. } = room.send(Order::Rehearse { mark }).await? else {
        return Err(room.unexpected());
    };
    let plan = CrowdPlan {
        room: url.clone(),
        host: host.clone(),
        mark,
        times,
        seed: rehearse.seed,
        enters_shop: rehearse.enter_shop,
        issuer: after.issuer(),
        name: after.settings.room.clone(),
        admission: after.settings.lifetimes.admission,
    };
    let (began, clock) = (room.now(), Instant::now());
    let visited = async {
        let crowd = VisitorCrowd::new(plan)?;
        crowd.find_mark().await?;
        let mut windows = WindowNotes::default();
        let end = {
            let visits = send(&crowd, rehearse.at_most, interrupted.notified());
            tokio::select! {
                end = visits => end,
                () = watch(room, &crowd, &mut windows) => pending().await,
            }
        };
        // The room counts a release a moment later than the visitor sees it.
        tokio::time::sleep(Duration::from_secs(2)).await;
        if let Ok(status) = room.status().await {
            windows.note(&status);
        }
        anyhow::Ok((crowd, windows, end))
    }
    .await;
    let reset = end(room, mark).await;
    let (crowd, windows, end) = match visited {
        Ok(visited) => visited,
        Err(error) => {
            // What is left in the room matters more than why no visitor was sent.
            reset?;
            return Err(error);
        }
    };
    let facts = RehearsalFacts {
        room: room.name.to_string(),
        url: url.to_string(),
        is_here: !room.is_far(),
        rate: after.settings.rate.get(),
        visitors: arrivals.visitors() as usize,
        arrivals: arrivals.shape().to_string(),
        seed: rehearse.seed,
        began,
        seconds: clock.elapsed().as_secs_f64(),
        end,
    };
    let report = RehearsalReport::of(facts, &crowd.notes(), &windows);
    Ok((report, reset))
}

/// The first Ctrl-C stops the visitors. The second one leaves at once.
fn watch_for_interrupts(room: &RoomHandle, interrupted: &Arc<Notify>) -> Result<()> {
    let first = asked_to_stop()?;
    let (interrupted, room) = (interrupted.clone(), room.as_typed().to_owned());
    tokio::spawn(async move {
        first.await;
        // Before the note invites another one, so that it is not missed.
        let second = asked_to_stop();
        note("stopping: the room is reset, and the report so far follows; Ctrl-C again leaves at once");
        interrupted.notify_one();
        match second {
            Ok(second) => second.await,
            Err(_) => pending().await,
        }
        note(&format!(
            "left: the room is still marked, and refuses `on`; to end the rehearsal: beekeeper reset {room}"
        ));
        std::process::exit(Exit::Interrupted as i32);
    });
    Ok(())
}

/// Shows the progress, and notes the room's windows. Does not end.
async fn watch(room: &RoomHandle, crowd: &VisitorCrowd, windows: &mut WindowNotes) {
    let live = LiveLine::new();
    let mut every = interval(Duration::from_secs(1));
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Each look at a room on AWS reads its items and its queue.
    let look_every = if room.is_far() { 10 } else { 1 };
    let mut shown = None;
    for second in 0_u64.. {
        every.tick().await;
        if second % look_every == 0
            && let Ok(status) = room.status().await
        {
            windows.note(&status);
        }
        let progress = crowd.progress();
        let text = progress.to_string();
        if live.is_shown() {
            live.show_facts(&text);
        } else if second % 10 == 0 && shown != Some(progress) {
            note(&text);
            shown = Some(progress);
        }
    }
}

/// Resets the room, unless somebody else has.
async fn end(room: &RoomHandle, mark: RehearsalMark) -> Result<()> {
    let left = || {
        let left = format!(
            "the rehearsal of {} could not be ended: its mark and the visitors' places are left",
            room.name
        );
        Failure::new(Exit::Failed, left).advising(format!("end it with: beekeeper reset {}", room.as_typed()))
    };
    if room.status().await.with_context(left)?.room.rehearsal != Some(mark) {
        return Ok(());
    }
    let epoch = Epoch::random(&mut SysRng).context("could not get random numbers from the system")?;
    if room.is_far() {
        note("resetting the room; SQS takes a minute to empty the line");
    }
    room.send(Order::Reset { epoch }).await.with_context(left)?;
    Ok(())
}

fn show(rehearse: &Rehearse, report: &RehearsalReport, json: bool) -> Result<()> {
    if let Some(file) = &rehearse.html {
        fs::write(file, html(report)).with_context(|| format!("could not write {}", file.display()))?;
    }
    if json {
        say(&serde_json::to_string(report)?)?;
    } else {
        say(&text(report, WIDTH))?;
    }
    if let Some(file) = &rehearse.html {
        note(&format!("the report is also in {}", file.display()));
    }
    if report.facts.end == CrowdEnd::Interrupted {
        let interrupted =
            "the rehearsal was interrupted; the room is reset, and the report is about the time until then";
        return Err(Failure::new(Exit::Interrupted, interrupted).into());
    }
    if report.passed {
        return Ok(());
    }
    let broken: Vec<_> = report
        .checks
        .iter()
        .filter(|check| !check.is_kept)
        .map(|check| format!("{}: {}", check.name, check.found))
        .collect();
    Err(Failure::new(
        Exit::Failed,
        format!("the rehearsal of {} failed: {}", report.facts.room, broken.join("; ")),
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn a_room_is_found_by_each_of_its_urls() {
        let room = url("http://localhost:8080");
        for same in [
            "http://localhost:8080/",
            "http://127.0.0.1:8080/beekeeper",
            "http://localhost:8080/beekeeper?nonce=x",
        ] {
            assert!(is_same(&url(same), &room), "{same}");
        }
        let deployed = url("https://abc.example/prod");
        assert!(is_same(&url("https://abc.example/prod/beekeeper"), &deployed));
        for other in [
            "https://abc.example/",
            "http://abc.example/prod",
            "https://abd.example/prod",
            "https://abc.example:444/prod",
        ] {
            assert!(!is_same(&url(other), &deployed), "{other}");
        }
    }
}
