//! A simulation from the question to the answer.

use std::cell::Cell;

use config::{Region, RoomConfig};
use document::Refusal;
use page::Page;

use crate::answer::{ScenarioInputs, SimulationAnswer};
use crate::request::ScenarioRequest;
use crate::scenario::Scenario;
use crate::search::{SimulationSearch, quotas_to_raise, rate_for};
use crate::simulate::{Simulation, SimulationProgress};

/// A scenario that can be run, and what to find before.
#[derive(Clone, Debug)]
pub struct SimulationPlan {
    /// What is probably meant otherwise.
    pub warnings: Vec<String>,
    scenario: Scenario,
    inputs: ScenarioInputs,
    search: Option<SimulationSearch>,
}

impl SimulationPlan {
    /// Of the configured room and its own page, or of a room that nobody has configured.
    pub fn of(
        request: &ScenarioRequest,
        search: Option<SimulationSearch>,
        config: Option<&RoomConfig>,
        page: Option<&Page>,
    ) -> Result<Self, Refusal> {
        let scenario = request.scenario(search, config, page)?;
        let inputs = request.inputs(&scenario, search, config);
        let without_throttle = config.filter(|config| scenario.shop.is_some() && !config.throttle);
        let throttle = without_throttle.map(|RoomConfig { room, .. }| {
            format!("this is with the throttle, and {room} has none: beekeeper init {room} --throttle")
        });
        let warnings =
            request.region.as_ref().and_then(Region::warning).into_iter().chain(throttle).collect();
        Ok(Self { warnings, scenario, inputs, search })
    }

    /// Runs the search and the scenario. `watch` is called as of [`Simulation::run`]; `None` if it ended this by returning false.
    pub fn run(
        self,
        mut watch: impl FnMut(SimulationProgress) -> bool,
    ) -> Result<Option<SimulationAnswer>, Refusal> {
        let Self { mut scenario, mut inputs, search, .. } = self;
        let goes_on = Cell::new(true);
        let mut watch = |progress| {
            goes_on.set(watch(progress));
            goes_on.get()
        };
        let (mut found_rate, mut quotas) = (None, None);
        match search {
            None => {}
            Some(SimulationSearch::Rate { within }) => {
                let found = rate_for(&scenario, within.as_secs_f64(), &mut watch);
                if !goes_on.get() {
                    return Ok(None);
                }
                let rate = found.ok_or_else(|| {
                    Refusal::new(
                        "at no rate is the last visitor released in this time",
                        "give more time with --within, fewer visitors, or a larger limit of active visitors if there is one: the \
                         last one may come only after it",
                    )
                })?;
                scenario = scenario.at_rate(rate);
                inputs.rate = rate.get();
                found_rate = Some(rate.get());
            }
            Some(SimulationSearch::Quota) => {
                quotas = quotas_to_raise(&scenario, &mut watch);
                if quotas.is_none() {
                    return Ok(None);
                }
            }
        }
        let event = Simulation::run(&scenario, &mut watch);
        Ok(goes_on.get().then_some(SimulationAnswer { scenario: inputs, event, found_rate, quotas }))
    }
}
