//! `beekeeper simulate`: how long a crowd would wait, what would break first, and what it would cost.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use aws_model::{AccountLimit, AccountLimits, ModelledRoom};
use config::{Architecture, Region, RoomConfig};
use simulation::{
    Arrivals, AwsAccount, RoomHost, Scenario, ShopLoad, Simulation, SimulationProgress, quotas_to_raise,
    rate_for,
};
use tracing::subscriber::{NoSubscriber, with_default};
use waitroom::Rate;

use crate::arguments::{SimulateEvent, Sought};
use crate::config_folder::ConfigFolder;
use crate::custom_page::custom_page;
use crate::exit::{Exit, Failure};
use crate::plot::{number, readable_width};
use crate::printer::{LiveLine, note, say};
use crate::runtime::{asked_to_stop, block_on};
use crate::simulate::{ScenarioInputs, SimulationAnswer};
use crate::wording::time;

const DEFAULT_REGION: &str = "us-east-1";

pub(crate) fn run(simulate: &SimulateEvent, json: bool) -> Result<()> {
    let config = match &simulate.name {
        Some(name) => Some(ConfigFolder::of_this_user()?.load(name)?),
        None => None,
    };
    let scenario = scenario(simulate, config.as_ref())?;
    if let Some(warning) = simulate.region.as_ref().and_then(Region::warning) {
        note(&format!("warning: {warning}"));
    }
    let inputs = inputs(simulate, config.as_ref(), &scenario);
    let (find, within) = (simulate.find, simulate.within.map(|within| within.as_secs_f64()));
    let answer = block_on(async {
        let stop = asked_to_stop()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let asked = stopped.clone();
        // What the simulated handlers log is of no room, and of no day.
        let unheard = NoSubscriber::default();
        let work = tokio::task::spawn_blocking(move || {
            with_default(unheard, || simulated(scenario, inputs, find, within, &asked))
        });
        tokio::pin!(work);
        tokio::select! {
            answer = &mut work => answer?,
            () = stop => {
                stopped.store(true, Ordering::Relaxed);
                // It ends within a simulated minute, and what it has found so far is no answer.
                drop(work.await?);
                Err(Failure::interrupted().into())
            }
        }
    })?;
    // The answer may have taken minutes, so it is also printed if the page cannot be written.
    let written = simulate.html.as_deref().map_or(Ok(()), |file| write_page(file, &answer));
    let text = if json { serde_json::to_string(&answer)? } else { answer.text(readable_width()) };
    say(&text)?;
    written
}

fn write_page(file: &Path, answer: &SimulationAnswer) -> Result<()> {
    fs::write(file, answer.html())
        .with_context(|| format!("could not write the page to {}", file.display()))?;
    note(&format!("wrote {}", file.display()));
    Ok(())
}

/// Runs the scenario, and before it the search that --find asks for.
fn simulated(
    mut scenario: Scenario,
    mut inputs: ScenarioInputs,
    find: Option<Sought>,
    within: Option<f64>,
    stopped: &AtomicBool,
) -> Result<SimulationAnswer> {
    let live = LiveLine::new();
    let watch = |progress: SimulationProgress| {
        live.show_facts(&format!(
            "{} simulated, {} of {} released",
            time(progress.time.as_secs()),
            number(progress.released),
            number(progress.visitors)
        ));
        !stopped.load(Ordering::Relaxed)
    };
    let ended = || if stopped.load(Ordering::Relaxed) { Err(Failure::interrupted()) } else { Ok(()) };
    let mut found_rate = None;
    if let (Some(Sought::Rate), Some(within)) = (find, within) {
        let found = rate_for(&scenario, within, watch);
        ended()?;
        let rate = found.ok_or_else(|| {
            Failure::new(Exit::Failed, "at no rate is the last visitor released in this time").advising(
                "give more time with --within, or fewer visitors: the last one may come only after it",
            )
        })?;
        scenario = scenario.at_rate(rate);
        inputs.rate = rate.get();
        found_rate = Some(rate.get());
    }
    let quotas = if find == Some(Sought::Quota) { quotas_to_raise(&scenario, watch) } else { None };
    ended()?;
    let event = Simulation::run(&scenario, watch);
    ended()?;
    Ok(SimulationAnswer { scenario: inputs, event, found_rate, quotas })
}

fn scenario(simulate: &SimulateEvent, config: Option<&RoomConfig>) -> Result<Scenario> {
    let visitors = simulate.visitors.map(u64::from);
    let arrivals = Arrivals::new(simulate.arrivals.clone(), visitors).map_err(|error| {
        Failure::new(Exit::Usage, error.to_string()).advising("give their number, like --visitors 50k")
    })?;
    if simulate.find == Some(Sought::Quota) && simulate.local {
        let local = Failure::new(Exit::Usage, "one machine has no limits of an account");
        return Err(local.advising("leave --local out, or use --find rate").into());
    }
    if simulate.find == Some(Sought::Quota) && simulate.within.is_some() {
        let both = Failure::new(Exit::Usage, "--within belongs to --find rate");
        return Err(both.advising("leave --within out, or use --find rate").into());
    }
    if simulate.find == Some(Sought::Rate) && simulate.rate.is_some() {
        let both = Failure::new(Exit::Usage, "--find rate searches the rate, so --rate has no meaning");
        return Err(both.advising("leave --rate out, or leave --find rate out").into());
    }
    let given = simulate.rate.or(config.map(|config| config.rate));
    // The search begins elsewhere anyway.
    let any = (simulate.find == Some(Sought::Rate)).then_some(Rate::MIN);
    let rate = given.or(any).ok_or_else(|| {
        Failure::new(Exit::Usage, "how many visitors may enter a minute is not known").advising(
            "give it, like --rate 3k, name a configured room, or search it with --find rate --within 2h",
        )
    })?;
    let host = if simulate.local { RoomHost::Machine } else { account(simulate, config, rate)? };
    let mut scenario = Scenario::new(arrivals, rate, host);
    scenario.seed = simulate.seed;
    scenario.habits.give_up = simulate.give_up / 100.0;
    scenario.habits.never_enter = simulate.never_enter / 100.0;
    scenario.line.disorder = simulate.disorder.unwrap_or(scenario.line.disorder);
    scenario.line.count_lag = simulate.count_lag.unwrap_or(scenario.line.count_lag);
    let shop = simulate.shop_answers_in.zip(simulate.shop_bears);
    scenario.shop = shop.map(|(answers_in, bears)| ShopLoad { answers_in, bears: bears.get() });
    Ok(scenario)
}

fn account(simulate: &SimulateEvent, config: Option<&RoomConfig>, rate: Rate) -> Result<RoomHost> {
    let region = region(simulate, config);
    let mut limits = if simulate.new_account {
        AccountLimits::of_new_account(&region)
    } else {
        AccountLimits::default_in(&region)
    };
    for (limit, value) in &simulate.limit {
        limits.set(*limit, *value);
    }
    let mut room = match config {
        None => ModelledRoom::new(rate),
        Some(config) => {
            let files = custom_page(config)?.map_or(0, |page| page.files().count().saturating_sub(1));
            let architecture = config.architecture.unwrap_or(Architecture::Arm64);
            ModelledRoom::of(config, architecture, u32::try_from(files).unwrap_or(u32::MAX))
        }
    };
    room.rate = rate;
    // The throttle of a shop that becomes slow is a function too.
    room.throttle |= simulate.shop_bears.is_some();
    Ok(RoomHost::Aws(Box::new(AwsAccount::new(limits, room))))
}

fn region(simulate: &SimulateEvent, config: Option<&RoomConfig>) -> String {
    let region = simulate.region.as_ref().or(config.map(|config| &config.region));
    region.map_or_else(|| DEFAULT_REGION.to_owned(), ToString::to_string)
}

fn inputs(simulate: &SimulateEvent, config: Option<&RoomConfig>, scenario: &Scenario) -> ScenarioInputs {
    let limits = scenario.aws().map(|account| {
        let named = |limit: AccountLimit| (limit.short_name(), account.limits.get(limit));
        AccountLimit::ALL.map(named).into()
    });
    ScenarioInputs {
        room: simulate.name.as_ref().map(ToString::to_string),
        host: if simulate.local { "machine" } else { "aws" },
        region: (!simulate.local).then(|| region(simulate, config)),
        visitors: scenario.arrivals.visitors(),
        arrivals: scenario.arrivals.shape().to_string(),
        rate: scenario.rate.get(),
        give_up_percent: simulate.give_up,
        never_enter_percent: simulate.never_enter,
        shop_answers_in_millis: simulate.shop_answers_in.map(|time| time.as_millis()),
        shop_bears: simulate.shop_bears.map(Rate::get),
        disorder: scenario.line.disorder,
        count_lag_seconds: scenario.line.count_lag.as_secs_f64(),
        account: limits.unwrap_or_default(),
        seed: simulate.seed,
        within_seconds: simulate.within.map(|within| within.as_secs()),
    }
}
