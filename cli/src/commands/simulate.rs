//! `beekeeper simulate`: how long a crowd would wait, what would break first, and what it would cost.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use aws_model::{AccountLimit, AccountLimits, ModelledRoom};
use config::{Architecture, Region, RoomConfig};
use document::words;
use rooms::{ConfigFolder, custom_page};
use simulation::{
    ArrivalShape, Arrivals, AwsAccount, EarlyVisitors, RoomHost, Scenario, ScenarioInputs, ShopLoad,
    ShopVisits, SimulatedOrder, Simulation, SimulationAnswer, SimulationProgress, TimedOrder, VisitInputs,
    quotas_to_raise, rate_for,
};
use tracing::subscriber::{NoSubscriber, with_default};
use waitroom::{ActiveLimit, Lifetimes, Mode, Oversubscription, Rate};

use crate::arguments::KNOWS_AWS;
use crate::arguments::{ScenarioFlags, SimulateEvent, Sought};
use crate::exit::{Exit, Failure};
use crate::printer::{LiveLine, note, readable_width, say};
use crate::runtime::{asked_to_stop, block_on};
use crate::scenario_file;

const DEFAULT_REGION: &str = "us-east-1";
/// Ten million visitors call so often that a terminal would be busy.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn run(simulate: &SimulateEvent, json: bool) -> Result<()> {
    let config = match &simulate.name {
        Some(name) => Some(ConfigFolder::of_this_user()?.load(name)?),
        None => None,
    };
    let flags = match &simulate.scenario {
        Some(file) => simulate.flags.clone().or(scenario_file::read(file)?),
        None => simulate.flags.clone(),
    };
    let scenario = scenario(simulate, &flags, config.as_ref())?;
    if let Some(warning) = flags.region.as_ref().and_then(Region::warning) {
        note(&format!("warning: {warning}"));
    }
    if scenario.shop.is_some()
        && let Some(config) = config.as_ref().filter(|config| !config.throttle)
    {
        let room = &config.room;
        note(&format!(
            "warning: this is with the throttle, and {room} has none: beekeeper init {room} --throttle"
        ));
    }
    let inputs = inputs(simulate, &flags, config.as_ref(), &scenario);
    let (find, within) = (simulate.find, simulate.within.map(|within| within.as_secs_f64()));
    let answer = block_on(async {
        let stop = asked_to_stop()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let asked = stopped.clone();
        // What the simulated handlers log is of no room, and of no day.
        let unheard = NoSubscriber::default();
        let work = tokio::task::spawn_blocking(move || {
            with_default(unheard, || simulated(scenario, inputs, find, within, json, &asked))
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
    let text = if json { serde_json::to_string(&answer)? } else { answer.document().text(readable_width()) };
    say(&text)?;
    written
}

fn write_page(file: &Path, answer: &SimulationAnswer) -> Result<()> {
    fs::write(file, answer.document().html())
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
    json: bool,
    stopped: &AtomicBool,
) -> Result<SimulationAnswer> {
    let live = (!json).then(LiveLine::new);
    let mut shown = Instant::now();
    let mut watch = |progress: SimulationProgress| {
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
    };
    let ended = || if stopped.load(Ordering::Relaxed) { Err(Failure::interrupted()) } else { Ok(()) };
    let mut found_rate = None;
    if let (Some(Sought::Rate), Some(within)) = (find, within) {
        let found = rate_for(&scenario, within, &mut watch);
        ended()?;
        let rate = found.ok_or_else(|| {
            Failure::new(Exit::Failed, "at no rate is the last visitor released in this time").advising(
                "give more time with --within, fewer visitors, or a larger limit of active visitors if there is one: the last one \
                 may come only after it",
            )
        })?;
        scenario = scenario.at_rate(rate);
        inputs.rate = rate.get();
        found_rate = Some(rate.get());
    }
    let quotas = if find == Some(Sought::Quota) { quotas_to_raise(&scenario, &mut watch) } else { None };
    ended()?;
    let event = Simulation::run(&scenario, watch);
    ended()?;
    Ok(SimulationAnswer { scenario: inputs, event, found_rate, quotas })
}

fn scenario(
    simulate: &SimulateEvent,
    flags: &ScenarioFlags,
    config: Option<&RoomConfig>,
) -> Result<Scenario> {
    if let Some((problem, advice)) = flags.mistake() {
        return Err(contradiction(problem, advice).into());
    }
    let shape = flags.arrivals.clone().unwrap_or(ArrivalShape::Spike);
    let arrivals = Arrivals::new(shape, flags.visitors.map(u64::from))
        .map_err(|error| contradiction(&error.to_string(), "give their number, like --visitors 50k"))?;
    let early = flags.early.zip(flags.opens_after);
    let arrivals = match early {
        Some((percent, before)) => arrivals.with_early(EarlyVisitors { share: percent / 100.0, before }),
        None => arrivals,
    };
    refuse_contradictions(simulate, flags)?;
    let given = flags.rate.or(config.map(|config| config.rate));
    // The search begins elsewhere anyway.
    let any = (simulate.find == Some(Sought::Rate)).then_some(Rate::MIN);
    let rate = given.or(any).ok_or_else(|| {
        let advice =
            "give it, like --rate 3k, name a configured room, or search it with --find rate --within 2h";
        contradiction("how many visitors may enter a minute is not known", advice)
    })?;
    let host = if flags.is_here() { RoomHost::Machine } else { account(flags, config, rate)? };
    let mut scenario = Scenario::new(arrivals, rate, host);
    scenario.seed = flags.seed.unwrap_or(scenario.seed);
    // A room that observes would have no line. What it would be as a line is what there is to know.
    let configured = config.and_then(|config| config.mode).filter(|mode| *mode != Mode::Observe);
    scenario.mode = flags.mode.or(configured).unwrap_or_default();
    scenario.oversubscribe = flags.oversubscribe.or(config.and_then(RoomConfig::oversubscription));
    scenario.visits = visits(flags, config, &scenario)?;
    scenario.opens_after = flags.opens_after;
    scenario.orders.clone_from(&flags.order);
    scenario.habits.give_up = flags.give_up.unwrap_or_default() / 100.0;
    scenario.habits.never_enter = flags.never_enter.unwrap_or_default() / 100.0;
    scenario.line.disorder = flags.disorder.unwrap_or(scenario.line.disorder);
    scenario.line.count_lag = flags.count_lag.unwrap_or(scenario.line.count_lag);
    let shop = flags.shop_answers_in.zip(flags.shop_bears);
    scenario.shop = shop.map(|(answers_in, bears)| ShopLoad { answers_in, bears: bears.get() });
    Ok(scenario)
}

/// How the shop is used, if the room limits how many are there at once.
fn visits(
    flags: &ScenarioFlags,
    config: Option<&RoomConfig>,
    scenario: &Scenario,
) -> Result<Option<ShopVisits>, Failure> {
    let configured = config.and_then(RoomConfig::active_limit);
    let Some(visitors) = flags.active_visitors.or(configured.map(|limit| limit.visitors)) else {
        return if flags.is_about_stays() {
            let advice = "say how many may be there at once, like --active-visitors 2k";
            Err(contradiction(
                "how long visitors stay in the shop counts only in a room that limits them",
                advice,
            ))
        } else {
            Ok(None)
        };
    };
    let goes_straight = |order: &TimedOrder| matches!(order.order, SimulatedOrder::Mode(Mode::Overflow));
    if scenario.mode == Mode::Overflow || flags.order.iter().any(goes_straight) {
        return Err(contradiction(
            "active visitors are counted as they leave the line, so newcomers can't go straight in",
            "leave --active-visitors out, or simulate with --mode line",
        ));
    }
    let limit = ActiveLimit {
        visitors,
        idle: flags.idle.or(configured.map(|limit| limit.idle)).unwrap_or(ActiveLimit::DEFAULT_IDLE),
        session: flags
            .session
            .or(configured.map(|limit| limit.session))
            .unwrap_or(ActiveLimit::DEFAULT_SESSION),
    };
    if limit.idle > limit.session {
        return Err(contradiction(
            "a session can't last for longer after a visitor's stay than at most",
            "give a shorter --idle, or a longer --session",
        ));
    }
    let lifetimes = config.map_or_else(Lifetimes::default, |config| config.settings().lifetimes);
    Ok(Some(ShopVisits {
        limit,
        admission: lifetimes.admission,
        stay: flags.stay.unwrap_or(ShopVisits::STAY),
        ended: flags.shop_ends.unwrap_or_default() / 100.0,
        is_reported: !flags.no_guard,
    }))
}

/// What is searched, and what is said of the rate and the mode, may contradict each other.
fn refuse_contradictions(simulate: &SimulateEvent, flags: &ScenarioFlags) -> Result<(), Failure> {
    let sets_rate = |order: &TimedOrder| matches!(order.order, SimulatedOrder::SetRate(_));
    let lets_all_pass = |order: &TimedOrder| matches!(order.order, SimulatedOrder::Mode(Mode::Observe));
    match simulate.find {
        Some(Sought::Quota) if flags.is_here() => {
            let without = if KNOWS_AWS { "leave --local out, or " } else { "" };
            let advice = &format!("{without}use --find rate");
            return Err(contradiction("one machine has no limits of an account", advice));
        }
        Some(Sought::Quota) if simulate.within.is_some() => {
            let advice = "leave --within out, or use --find rate";
            return Err(contradiction("--within belongs to --find rate", advice));
        }
        Some(Sought::Rate) if simulate.flags.rate.is_some() => {
            let advice = "leave --rate out, or leave --find rate out";
            return Err(contradiction("--find rate searches the rate, so --rate has no meaning", advice));
        }
        Some(Sought::Rate) if flags.order.iter().any(sets_rate) => {
            let advice = "leave the orders that set the rate out, or leave --find rate out";
            return Err(contradiction("--find rate searches one rate, and an order sets another", advice));
        }
        _ if flags.mode == Some(Mode::Observe) || flags.order.iter().any(lets_all_pass) => {
            let advice = "simulate the line, with --mode line, or --mode overflow";
            return Err(contradiction(
                "in a room that observes nobody waits, so there is nothing to simulate",
                advice,
            ));
        }
        _ => {}
    }
    Ok(())
}

fn contradiction(problem: &str, advice: &str) -> Failure {
    Failure::new(Exit::Usage, problem).advising(advice)
}

fn account(flags: &ScenarioFlags, config: Option<&RoomConfig>, rate: Rate) -> Result<RoomHost> {
    let region = region(flags, config);
    let mut limits = if flags.new_account {
        AccountLimits::of_new_account(&region)
    } else {
        AccountLimits::default_in(&region)
    };
    for (limit, value) in &flags.limit {
        limits.set(*limit, *value);
    }
    let mut room = match config {
        None => ModelledRoom::new(rate),
        Some(config) => {
            let architecture = config.architecture.unwrap_or(Architecture::Arm64);
            ModelledRoom::of(config, architecture, custom_page(config)?.as_ref())
        }
    };
    room.rate = rate;
    // The throttle of a shop that becomes slow is a function too.
    room.throttle |= flags.shop_bears.is_some();
    room.counts_turnout |= flags.oversubscribe.is_some();
    Ok(RoomHost::Aws(Box::new(AwsAccount::new(limits, room))))
}

fn region(flags: &ScenarioFlags, config: Option<&RoomConfig>) -> String {
    let region = flags.region.as_ref().or(config.and_then(|config| config.region.as_ref()));
    region.map_or_else(|| DEFAULT_REGION.to_owned(), ToString::to_string)
}

fn inputs(
    simulate: &SimulateEvent,
    flags: &ScenarioFlags,
    config: Option<&RoomConfig>,
    scenario: &Scenario,
) -> ScenarioInputs {
    let limits = scenario.aws().map(|account| {
        let named = |limit: AccountLimit| (limit.short_name(), account.limits.get(limit));
        AccountLimit::ALL.map(named).into()
    });
    ScenarioInputs {
        room: simulate.name.as_ref().map(ToString::to_string),
        host: if flags.is_here() { "machine" } else { "aws" },
        region: (!flags.is_here()).then(|| region(flags, config)),
        visitors: scenario.arrivals.visitors(),
        arrivals: scenario.arrivals.shape().told(scenario.arrivals.visitors().into()),
        rate: scenario.rate.get(),
        mode: Some(scenario.mode).filter(|mode| *mode != Mode::default()),
        oversubscribe_percent: scenario.oversubscribe.map(Oversubscription::get),
        visits: scenario.visits.map(|visits| VisitInputs {
            active_visitors: visits.limit.visitors,
            stay_seconds: visits.stay.as_secs_f64(),
            shop_ends_percent: flags.shop_ends.unwrap_or_default(),
            idle_seconds: visits.limit.idle.as_secs_f64(),
            session_seconds: visits.limit.session.as_secs_f64(),
            no_guard: flags.no_guard,
        }),
        opens_after_seconds: flags.opens_after.map(|after| after.as_secs_f64()),
        early_percent: flags.early,
        orders: flags.order.iter().map(ToString::to_string).collect(),
        give_up_percent: flags.give_up.unwrap_or_default(),
        never_enter_percent: flags.never_enter.unwrap_or_default(),
        shop_answers_in_millis: flags.shop_answers_in.map(|time| time.as_millis()),
        shop_bears: flags.shop_bears.map(Rate::get),
        disorder: scenario.line.disorder,
        count_lag_seconds: scenario.line.count_lag.as_secs_f64(),
        account: limits.unwrap_or_default(),
        seed: scenario.seed,
        within_seconds: simulate.within.map(|within| within.as_secs()),
    }
}
