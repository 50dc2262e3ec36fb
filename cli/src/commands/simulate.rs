//! `beekeeper simulate`: how long a crowd would wait, what would break first, and what it would cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use document::words;
use rooms::{ConfigFolder, custom_page};
use simulation::{ScenarioRequest, SimulationPlan, SimulationProgress, SimulationSearch};
use tracing::subscriber::{NoSubscriber, with_default};

use crate::arguments::{KNOWS_AWS, SimulateEvent, Sought};
use crate::exit::{Exit, Failure};
use crate::printer::{LiveLine, note, readable_width, say, write_file};
use crate::runtime::{asked_to_stop, block_on};

/// Ten million visitors call so often that a terminal would be busy.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn run(simulate: &SimulateEvent, json: bool) -> Result<()> {
    let config = match &simulate.name {
        Some(name) => Some(ConfigFolder::of_this_user()?.load(name)?),
        None => None,
    };
    let mut request = simulate.flags.clone().request();
    // A `beekeeper` without AWS simulates a room on AWS for whoever says something about it.
    request.here |= !KNOWS_AWS && !request.is_about_aws();
    let search = search(simulate, &request)?;
    let page = match &config {
        Some(config) if !request.here => custom_page(config)?,
        _ => None,
    };
    let plan = SimulationPlan::of(&request, search, config.as_ref(), page.as_ref())
        .map_err(|refusal| Failure::of(Exit::Usage, refusal))?;
    plan.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    let answer = block_on(async {
        let stop = asked_to_stop()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let mut watch = watch(json, stopped.clone());
        // What the simulated handlers log is of no room, and of no day.
        let unheard = NoSubscriber::default();
        let work = tokio::task::spawn_blocking(move || with_default(unheard, || plan.run(&mut watch)));
        tokio::pin!(work);
        tokio::select! {
            answer = &mut work => Ok(answer??),
            () = stop => {
                stopped.store(true, Ordering::Relaxed);
                // It ends within a simulated minute, and what it has found so far is no answer.
                drop(work.await?);
                Ok(None)
            }
        }
    })?;
    let answer = answer.ok_or_else(Failure::interrupted)?;
    // The answer may have taken minutes, so it is also printed if the page cannot be written.
    let written = match &simulate.html {
        Some(file) => write_file(file, "the page", &answer.document().html()),
        None => Ok(()),
    };
    let text = if json { serde_json::to_string(&answer)? } else { answer.document().text(readable_width()) };
    say(&text)?;
    written
}

/// Shows how far a simulation is, unless the output is for scripts. Returns false once it is stopped.
fn watch(json: bool, stopped: Arc<AtomicBool>) -> impl FnMut(SimulationProgress) -> bool {
    let live = (!json).then(LiveLine::new);
    let mut shown = Instant::now();
    move |progress| {
        if let Some(live) = live.as_ref().filter(|_| shown.elapsed() >= SHOWN_EVERY) {
            shown = Instant::now();
            live.show_facts(&format!(
                "{} simulated, {} of {} released",
                words::time(progress.time.as_secs()),
                words::count(progress.released),
                words::count(progress.visitors)
            ));
        }
        !stopped.load(Ordering::Relaxed)
    }
}

/// What --find asks for. A file may say the rate all the same: it is for whoever doesn't search it.
fn search(simulate: &SimulateEvent, request: &ScenarioRequest) -> Result<Option<SimulationSearch>, Failure> {
    let contradiction = |problem, advice: &str| Err(Failure::new(Exit::Usage, problem).advising(advice));
    let is_rate_typed = simulate.flags.rate.is_some() && simulate.from_file.place_of("rate").is_none();
    match (simulate.find, simulate.within) {
        (Some(Sought::Quota), _) if request.here => {
            let without = if KNOWS_AWS { "leave --local out, or " } else { "" };
            contradiction("one machine has no limits of an account", &format!("{without}use --find rate"))
        }
        (Some(Sought::Quota), Some(_)) => {
            contradiction("--within belongs to --find rate", "leave --within out, or use --find rate")
        }
        (Some(Sought::Quota), None) => Ok(Some(SimulationSearch::Quota)),
        (Some(Sought::Rate), Some(_)) if is_rate_typed => contradiction(
            "--find rate searches the rate, so --rate has no meaning",
            "leave --rate out, or leave --find rate out",
        ),
        (Some(Sought::Rate), Some(within)) => Ok(Some(SimulationSearch::Rate { within })),
        // clap requires --within with --find rate, and nothing else.
        (Some(Sought::Rate), None) | (None, _) => Ok(None),
    }
}
