//! `beekeeper rehearse`: sends real visitors over HTTP to a room of this operator, and reports what they saw.
//!
//! The operator's order marks the room. Every poll shows the mark, and without it the visitors send nothing. Whatever ends
//! the rehearsal, the room is reset then, which removes the mark and the visitors' places. If that is not possible, the mark
//! stays, and the room refuses `on` until it is reset.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::future::pending;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rehearsal::{
    CrowdEnd, CrowdProgress, EndedRehearsal, PlannedRehearsal, Rehearsal, RehearsalError, RehearsalEvent,
    RehearsalReport, refuse_demo_visitors, refuse_limits_of_an_address,
};
use rooms::ConfigFolder;
use simulation::Arrivals;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::arguments::Rehearse;
use crate::ask;
use crate::exit::{Exit, Failure};
use crate::printer::{LiveLine, note, note_above, readable_width, say, write_file};
use crate::rehearsal_target::RehearsalTarget;
use crate::runtime::{asked_to_stop, block_on};

pub(crate) fn run(rehearse: &Rehearse, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let arrivals = arrivals(rehearse)?;
        let target = RehearsalTarget::find(rehearse).await?;
        let status = target.found.room.status().await?;
        let room = &target.found.room;
        let config = if room.transport.is_far() {
            let folder = ConfigFolder::of_this_user()?;
            let config = folder.load(&room.name)?;
            refuse_limits_of_an_address(&config, &folder.path(&room.name))?;
            Some(config)
        } else {
            None
        };
        if let Some(here) = target.found.on_this_machine() {
            refuse_demo_visitors(&room.name, here).await?;
        }
        let Rehearse { seed, at_most, enter_shop, .. } = *rehearse;
        let planned =
            PlannedRehearsal::of(&arrivals, seed, at_most, enter_shop, &target.url, &status, config.as_ref());
        announce(&planned, yes)?;
        // A page that cannot be written is found before the visitors come. An earlier report stays until there is a new one.
        let new_page = rehearse.html.as_ref().filter(|file| !file.exists());
        if let Some(file) = &rehearse.html {
            File::options()
                .append(true)
                .create(true)
                .open(file)
                .with_context(|| format!("could not write the report to {}", file.display()))?;
        }
        let ended = Box::pin(rehearsed(rehearse, target, arrivals, json)).await;
        if let (Err(_), Some(empty)) = (&ended, new_page) {
            drop(fs::remove_file(empty));
        }
        ended?
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

/// Says what will happen, and asks.
fn announce(planned: &PlannedRehearsal, yes: bool) -> Result<()> {
    planned.told.iter().for_each(|told| note(told));
    let Some(consequence) = &planned.consequence else { return Ok(()) };
    if yes {
        note(&format!("{consequence}."));
        return Ok(());
    }
    ask::confirm(consequence, "Rehearse?")
}

/// Rehearses the room, and shows the report. Once there is one, the result within says what went wrong: the reset, a promise, or
/// showing it.
async fn rehearsed(
    rehearse: &Rehearse,
    target: RehearsalTarget,
    arrivals: Arrivals,
    json: bool,
) -> Result<Result<()>> {
    let RehearsalTarget { found, url, host } = target;
    // From here on, Ctrl-C ends the rehearsal and not the process.
    let interrupted = Arc::new(Notify::new());
    watch_for_interrupts(&found.as_typed, &interrupted)?;
    let rehearsal = Rehearsal {
        room: found.room,
        as_typed: found.as_typed,
        url,
        host,
        arrivals,
        seed: rehearse.seed,
        enters_shop: rehearse.enter_shop,
        at_most: rehearse.at_most,
    };
    let (progress, showing) = (RefCell::new(ProgressLine::default()), Cell::default());
    let tell = |event: RehearsalEvent<'_>| {
        if let RehearsalEvent::Found(report) = event {
            let (report, page) = (report.clone(), rehearse.html.clone());
            // Whoever reads the output slowly holds up no reset.
            showing.set(Some(spawn_blocking(move || show(&report, page.as_deref(), json))));
        }
        progress.borrow_mut().show(event, &rehearsal.as_typed);
    };
    let EndedRehearsal { report, reset } = rehearsal.run(&interrupted, &tell).await.map_err(failure)?;
    let shown = match showing.take() {
        Some(showing) => showing.await.unwrap_or_else(|error| Err(error.into())),
        None => Ok(()),
    };
    Ok(reset.map_err(failure).and_then(|()| verdict(&report)).and(shown))
}

/// The error with its exit code and advice.
fn failure(error: RehearsalError) -> anyhow::Error {
    match error {
        RehearsalError::Room(error) => error.into(),
        RehearsalError::NoMark { .. } => {
            let advice = "if the room answers at another URL, rehearse it by that URL";
            Failure::new(Exit::Failed, error.to_string()).advising(advice).into()
        }
        RehearsalError::Interrupted => Failure::new(Exit::Interrupted, error.to_string()).into(),
        _ => error.into(),
    }
}

/// How the visitors do: every second on a terminal, and otherwise every ten seconds if it has changed.
#[derive(Default)]
struct ProgressLine {
    line: Option<LiveLine>,
    told: Option<CrowdProgress>,
}

impl ProgressLine {
    fn show(&mut self, event: RehearsalEvent<'_>, as_typed: &str) {
        match event {
            RehearsalEvent::Visits { second, progress } => {
                let line = self.line.get_or_insert_with(LiveLine::new);
                if line.is_shown() {
                    line.show_facts(&progress.to_string());
                } else if second % 10 == 0 && self.told != Some(progress) {
                    note(&progress.to_string());
                    self.told = Some(progress);
                }
            }
            RehearsalEvent::VisitsEnded => self.line = None,
            RehearsalEvent::Found(_) => {}
            RehearsalEvent::ResetsSlowly => note("resetting the room; SQS takes a minute to empty the line"),
            RehearsalEvent::MayBeMarked => note(&format!(
                "the room may be in its rehearsal now: `beekeeper status {as_typed}` tells, and `beekeeper reset {as_typed}` \
                 ends it"
            )),
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
        note_above("stopping: you get the report so far, and the room is reset; Ctrl-C again leaves at once");
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

fn show(report: &RehearsalReport, page: Option<&Path>, json: bool) -> Result<()> {
    let written = match page {
        Some(file) => write_file(file, "the report", &report.document().html()),
        None => Ok(()),
    };
    say(&if json { serde_json::to_string(report)? } else { report.document().text(readable_width()) })?;
    written
}

fn verdict(report: &RehearsalReport) -> Result<()> {
    if report.facts.end == CrowdEnd::Interrupted {
        let interrupted =
            "the rehearsal was interrupted; the room is reset, and the report is about the time until then";
        return Err(Failure::new(Exit::Interrupted, interrupted).into());
    }
    if report.passed {
        return Ok(());
    }
    let failed = format!("the rehearsal of {} failed: {}", report.facts.room, report.broken());
    Err(Failure::new(Exit::Failed, failed).into())
}
