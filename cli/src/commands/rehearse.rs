//! `beekeeper rehearse`: sends real visitors over HTTP to a room of this operator, and reports what they saw.
//!
//! The operator's order marks the room. Every poll shows the mark, and without it the visitors send nothing. Whatever ends
//! the rehearsal, the room is reset then, which removes the mark and the visitors' places. If that is not possible, the mark
//! stays, and the room refuses `on` until it is reset.

use std::fs::{self, File};
use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use config::{AddressLimit, Architecture, RoomConfig};
use control::{OperatedRoom, Order, Status};
use document::words::{self, time};
use rand::rngs::SysRng;
use simulation::Arrivals;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use waitroom::{Epoch, Rate, RehearsalMark};

use crate::arguments::Rehearse;
use crate::ask;
use crate::config_folder::ConfigFolder;
use crate::exit::{Exit, Failure};
use crate::printer::{LiveLine, note, note_above, readable_width, say};
use crate::rehearse::{
    CrowdEnd, CrowdPlan, RehearsalFacts, RehearsalReport, RehearsalTarget, RoomNotes, VisitorCrowd, send,
};
use crate::room::RoomHandle;
use crate::runtime::{asked_to_stop, block_on};

pub(crate) fn run(rehearse: &Rehearse, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let arrivals = arrivals(rehearse)?;
        let target = RehearsalTarget::find(rehearse).await?;
        let status = target.found.room.status().await?;
        let times = arrivals.times(rehearse.seed);
        refuse_limits(&target.found.room)?;
        announce(rehearse, &target, &status, &times, yes)?;
        // A page that cannot be written is found before the visitors come. An earlier report stays until there is a new one.
        let new_page = rehearse.html.as_ref().filter(|file| !file.exists());
        if let Some(file) = &rehearse.html {
            File::options().append(true).create(true).open(file).with_context(|| unwritten(file))?;
        }
        let ended = Box::pin(rehearsed(rehearse, &target, times, &arrivals)).await;
        if let (Err(_), Some(empty)) = (&ended, new_page) {
            drop(fs::remove_file(empty));
        }
        let (report, reset) = ended?;
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

/// All visitors come from one address, and a firewall may limit or challenge it.
fn refuse_limits(room: &OperatedRoom) -> Result<()> {
    if !room.transport.is_far() {
        return Ok(());
    }
    let folder = ConfigFolder::of_this_user()?;
    let limits = limits_of_an_address(&folder.load(&room.name)?);
    if limits.is_empty() {
        return Ok(());
    }
    let limited = format!(
        "the firewall of {} limits or challenges one address ({}), and all visitors of a rehearsal come from one",
        room.name,
        limits.join(", ")
    );
    let advice = format!(
        "remove these settings from {} and deploy for the rehearsal; afterwards add them again",
        folder.path(&room.name).display()
    );
    Err(Failure::new(Exit::Failed, limited).advising(advice).into())
}

/// The settings by which the firewall refuses the visitors.
fn limits_of_an_address(config: &RoomConfig) -> Vec<&'static str> {
    let limits = [
        ("door_requests_per_address", config.door_requests_per_address.is_some_and(AddressLimit::is_limited)),
        ("requests_per_address", config.requests_per_address.is_some_and(AddressLimit::is_limited)),
        // 0 challenges every browser.
        ("door_challenge_above", config.door_challenge_above.is_some()),
    ];
    limits.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
}

/// Says what will happen, and asks.
fn announce(
    rehearse: &Rehearse,
    target: &RehearsalTarget,
    status: &Status,
    times: &[u32],
    yes: bool,
) -> Result<()> {
    let rate = status.room.rate();
    let expected = ExpectedVisits::of(times, rate);
    note(&format!(
        "{} visitors come to {}, {}; at {rate} a minute this takes about {}",
        words::count(times.len() as u64),
        target.url,
        rehearse.arrivals,
        time(expected.takes.as_secs())
    ));
    if expected.takes > rehearse.at_most {
        note(&format!(
            "It ends after {} at the latest, when some of them still wait: give it more with --at-most, or raise the rate.",
            time(rehearse.at_most.as_secs())
        ));
    }
    let end = "it ends in a reset: whoever was admitted before has to wait again";
    let consequence = if target.found.room.transport.is_far() {
        let (costs, wait) = costs(&target.found.room, times.len() as u64, expected.average_wait)?;
        format!(
            "this costs about ${costs:.2} (computed from list prices, for an average wait of {wait:.0} min), and {end}"
        )
    } else if status.joined > 0 {
        format!("{} joined since the last reset, and {end}", words::count(status.joined))
    } else {
        return Ok(());
    };
    if yes {
        note(&format!("{consequence}."));
        return Ok(());
    }
    ask::confirm(&consequence, "Rehearse?")
}

/// What to expect if the visitors are released one after the other at the rate.
#[derive(Debug)]
struct ExpectedVisits {
    average_wait: Duration,
    /// From the first visitor until the last one has entered.
    takes: Duration,
}

impl ExpectedVisits {
    /// Until their page knows that it is their turn, and they have entered.
    const UNTIL_ENTERED: Duration = Duration::from_mins(1);

    /// `times` are when they come, in milliseconds.
    fn of(times: &[u32], rate: Rate) -> Self {
        let between = Duration::from_mins(1) / rate.get();
        let (mut next, mut waits) = (Duration::ZERO, Duration::ZERO);
        for at in times {
            let at = Duration::from_millis((*at).into());
            waits += next.saturating_sub(at);
            next = next.max(at) + between;
        }
        let visitors = u32::try_from(times.len()).unwrap_or(u32::MAX).max(1);
        Self { average_wait: waits / visitors, takes: next + Self::UNTIL_ENTERED }
    }
}

/// What the visitors cost in dollars, and for how many minutes of waiting.
fn costs(room: &OperatedRoom, visitors: u64, average_wait: Duration) -> Result<(f64, f64)> {
    let config = ConfigFolder::of_this_user()?.load(&room.name)?;
    let architecture = config.architecture.unwrap_or(Architecture::Arm64);
    let modelled = aws_model::ModelledRoom::of(&config, architecture, 0);
    let wait_minutes = (average_wait.as_secs_f64() / 60.0).ceil().max(1.0);
    Ok((aws_model::EventCosts::of(&modelled, visitors, wait_minutes).dollars, wait_minutes))
}

/// Marks the room, sends the visitors and resets the room, whatever happened.
async fn rehearsed(
    rehearse: &Rehearse,
    target: &RehearsalTarget,
    times: Vec<u32>,
    arrivals: &Arrivals,
) -> Result<(RehearsalReport, Result<()>)> {
    let RehearsalTarget { found, url, host } = target;
    let room = &found.room;
    let mark = RehearsalMark::random(&mut SysRng).context("could not get random numbers from the system")?;
    // From here on, Ctrl-C ends the rehearsal and not the process.
    let interrupted = Arc::new(Notify::new());
    watch_for_interrupts(&found.as_typed, &interrupted)?;
    let after = match room.change(Order::Rehearse { mark }).await {
        Ok(changed) => changed.after,
        Err(error) => {
            // Perhaps the room is marked, and only its answer was lost.
            if end(found, mark).await.is_err() {
                note(&format!(
                    "the room may be in its rehearsal now: `beekeeper status {0}` tells, and `beekeeper reset {0}` ends it",
                    found.as_typed
                ));
            }
            return Err(error.into());
        }
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
    let visited = async {
        let crowd = VisitorCrowd::new(plan, room.transport.now())?;
        let mut notes = RoomNotes::default();
        notes.note(&room.status().await?, room.transport.now());
        tokio::select! {
            found = crowd.find_mark() => found?,
            () = interrupted.notified() => {
                let unsent = "the rehearsal was interrupted before a visitor was sent; the room is reset";
                return Err(anyhow::Error::from(Failure::new(Exit::Interrupted, unsent)));
            }
        }
        let (began, clock) = (crowd.now(), Instant::now());
        let end = {
            let visits = send(&crowd, rehearse.at_most, interrupted.notified());
            tokio::select! {
                end = visits => end,
                () = watch(room, &crowd, &mut notes) => pending().await,
            }
        };
        let seconds = clock.elapsed().as_secs_f64();
        look_until_counted(room, &crowd, &mut notes).await;
        let facts = RehearsalFacts {
            room: room.name.to_string(),
            url: url.to_string(),
            is_here: !room.transport.is_far(),
            rate: after.settings.rate.get(),
            visitors: arrivals.visitors() as usize,
            arrivals: arrivals.shape().to_string(),
            seed: rehearse.seed,
            enters_shop: rehearse.enter_shop,
            began,
            seconds,
            end,
        };
        let report = RehearsalReport::of(facts, &crowd.notes(), &notes);
        anyhow::Ok(report)
    }
    .await;
    let reset = end(found, mark).await;
    match visited {
        Ok(report) => Ok((report, reset)),
        Err(error) => {
            // What is left in the room matters more than why no visitor was sent.
            reset?;
            Err(error)
        }
    }
}

/// The first Ctrl-C stops the visitors. The second one leaves at once.
fn watch_for_interrupts(as_typed: &str, interrupted: &Arc<Notify>) -> Result<()> {
    let first = asked_to_stop()?;
    let (interrupted, room) = (interrupted.clone(), as_typed.to_owned());
    tokio::spawn(async move {
        first.await;
        // Before the note invites another one, so that it is not missed.
        let second = asked_to_stop();
        note_above("stopping: the room is reset, and the report so far follows; Ctrl-C again leaves at once");
        interrupted.notify_one();
        match second {
            Ok(second) => second.await,
            Err(_) => pending().await,
        }
        note_above(&format!(
            "left: the room may still be marked; `beekeeper status {room}` tells, and `beekeeper reset {room}` ends it"
        ));
        std::process::exit(Exit::Interrupted as i32);
    });
    Ok(())
}

/// Shows the progress, and notes what the room counts. Does not end.
async fn watch(room: &OperatedRoom, crowd: &VisitorCrowd, notes: &mut RoomNotes) {
    let live = LiveLine::new();
    let mut every = interval(Duration::from_secs(1));
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Each look at a room on AWS reads its items and its queue.
    let look_every = if room.transport.is_far() { 10 } else { 1 };
    let mut shown = None;
    for second in 0_u64.. {
        every.tick().await;
        if second % look_every == 0
            && let Ok(status) = room.status().await
        {
            notes.note(&status, room.transport.now());
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

/// Notes the room until it has counted everybody whom the visitors saw admitted: it counts some seconds late.
async fn look_until_counted(room: &OperatedRoom, crowd: &VisitorCrowd, notes: &mut RoomNotes) {
    const SECONDS: u32 = 10;
    let admitted = crowd.notes().admitted();
    for _ in 0..SECONDS {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let Ok(status) = room.status().await else { return };
        notes.note(&status, room.transport.now());
        if notes.counted().is_none_or(|counted| counted.released >= admitted) {
            return;
        }
    }
}

/// Resets the room, unless somebody else has.
async fn end(found: &RoomHandle, mark: RehearsalMark) -> Result<()> {
    let room = &found.room;
    let left = || {
        format!(
            "the room {} is still in its rehearsal: the mark and the visitors' places are left, and it refuses `on` until \
             `beekeeper reset {}`",
            room.name, found.as_typed
        )
    };
    if room.status().await.with_context(left)?.room.rehearsal != Some(mark) {
        return Ok(());
    }
    let epoch = Epoch::random(&mut SysRng).context("could not get random numbers from the system")?;
    if room.transport.is_far() {
        note("resetting the room; SQS takes a minute to empty the line");
    }
    room.execute(Order::Reset { epoch }).await.with_context(left)?;
    Ok(())
}

fn show(rehearse: &Rehearse, report: &RehearsalReport, json: bool) -> Result<()> {
    let written = match &rehearse.html {
        Some(file) => fs::write(file, report.document().html()).with_context(|| unwritten(file)),
        None => Ok(()),
    };
    say(&if json { serde_json::to_string(report)? } else { report.document().text(readable_width()) })?;
    written?;
    if let Some(file) = &rehearse.html {
        note(&format!("wrote {}", file.display()));
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

fn unwritten(file: &Path) -> String {
    format!("could not write the report to {}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_file;

    #[test]
    fn what_limits_or_challenges_one_address_is_named() {
        let limits = |more: &str| {
            let file = format!(
                "title = 'Sale'\nregion = 'eu-central-1'\nshop = 'https://shop.example'\nrate = 300\n{more}\n"
            );
            limits_of_an_address(&config_file::read(&"sale".parse().unwrap(), &file).unwrap())
        };
        assert!(limits("").is_empty());
        assert!(limits("door_requests_per_address = 0\nrequests_per_address = 0").is_empty());
        assert_eq!(limits("requests_per_address = 5000"), ["requests_per_address"]);
        assert_eq!(
            limits("door_requests_per_address = 5000\ndoor_challenge_above = 0"),
            ["door_requests_per_address", "door_challenge_above"]
        );
    }

    #[test]
    fn visitors_wait_only_if_more_come_than_are_released() {
        let expected = |times: &[u32]| ExpectedVisits::of(times, Rate::new(60).unwrap());
        let at_once = expected(&[0; 61]);
        assert_eq!(at_once.average_wait, Duration::from_secs(30));
        assert_eq!(at_once.takes, Duration::from_secs(61) + ExpectedVisits::UNTIL_ENTERED);
        let slowly = expected(&[0, 10_000, 20_000]);
        assert_eq!(slowly.average_wait, Duration::ZERO);
        assert_eq!(slowly.takes, Duration::from_secs(21) + ExpectedVisits::UNTIL_ENTERED);
    }
}
