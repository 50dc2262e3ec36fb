//! What somebody asks to simulate, and the scenario that it means for a configured room or without one.

use std::time::Duration;

use aws_model::{AccountLimit, AccountLimits, Firewall, ModelledRoom};
use config::{Architecture, EdgeSetting, Region, RoomConfig};
use document::Refusal;
use page::Page;
use waitroom::{ActiveLimit, Lifetimes, Mode, Oversubscription, Rate};

use crate::answer::{ScenarioInputs, VisitInputs};
use crate::guard::ShopVisits;
use crate::orders::{SimulatedOrder, TimedOrder};
use crate::scenario::{AwsAccount, Scenario};
use crate::search::SimulationSearch;
use crate::shop::ShopLoad;
use crate::{ArrivalShape, Arrivals, EarlyVisitors};

const DEFAULT_REGION: &str = "us-east-1";

/// What is said of a scenario. What is left out is as in the configured room, or as usual. docs/simulate.md explains each.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct ScenarioRequest {
    /// On one machine, instead of AWS.
    pub here: bool,
    pub visitors: Option<u32>,
    pub arrivals: Option<ArrivalShape>,
    pub rate: Option<Rate>,
    pub mode: Option<Mode>,
    pub oversubscribe: Option<Oversubscription>,
    pub active_visitors: Option<u32>,
    pub stay: Option<Duration>,
    pub idle: Option<Duration>,
    pub session: Option<Duration>,
    /// Of a hundred, as all parts of the crowd here.
    pub shop_ends: Option<f64>,
    pub no_guard: bool,
    pub opens_after: Option<Duration>,
    pub early: Option<f64>,
    pub orders: Vec<TimedOrder>,
    pub region: Option<Region>,
    /// `CloudFront` in front, on AWS.
    pub edge: bool,
    pub give_up: Option<f64>,
    pub never_enter: Option<f64>,
    pub shop_answers_in: Option<Duration>,
    pub shop_bears: Option<Rate>,
    pub disorder: Option<u64>,
    pub count_lag: Option<Duration>,
    /// The last one of a name counts.
    pub limits: Vec<(AccountLimit, f64)>,
    pub new_account: bool,
    pub seed: Option<u64>,
}

impl ScenarioRequest {
    /// Whether something is said that counts on AWS only.
    pub fn is_about_aws(&self) -> bool {
        self.region.is_some() || self.edge || self.new_account || !self.limits.is_empty()
    }

    pub(crate) fn scenario(
        &self,
        search: Option<SimulationSearch>,
        config: Option<&RoomConfig>,
        page: Option<&Page>,
    ) -> Result<Scenario, Refusal> {
        let searches_rate = matches!(search, Some(SimulationSearch::Rate { .. }));
        let contradiction = self.contradiction(searches_rate).or_else(|| self.contradiction_of_edge(config));
        if let Some((problem, advice)) = contradiction {
            return Err(Refusal::new(problem, advice));
        }
        let given = self.rate.or(config.map(|config| config.rate));
        // The search begins elsewhere anyway.
        let rate = given.or(searches_rate.then_some(Rate::MIN)).ok_or_else(|| {
            let advice =
                "give it, like --rate 3k, name a configured room, or search it with --find rate --within 2h";
            Refusal::new("how many visitors may enter a minute is not known", advice)
        })?;
        let account = (!self.here).then(|| self.account(rate, config, page));
        let mut scenario = Scenario::new(self.arrivals()?, rate, account);
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        // A room that observes would have no line. What it would be as a line is what there is to know.
        let configured = config.and_then(|config| config.mode).filter(|mode| *mode != Mode::Observe);
        scenario.mode = self.mode.or(configured).unwrap_or_default();
        scenario.oversubscribe = self.oversubscribe.or(config.and_then(RoomConfig::oversubscription));
        scenario.visits = self.visits(config, scenario.mode)?;
        scenario.opens_after = self.opens_after;
        scenario.orders.clone_from(&self.orders);
        scenario.habits.give_up = self.give_up.unwrap_or_default() / 100.0;
        scenario.habits.never_enter = self.never_enter.unwrap_or_default() / 100.0;
        scenario.line.disorder = self.disorder.unwrap_or(scenario.line.disorder);
        scenario.line.count_lag = self.count_lag.unwrap_or(scenario.line.count_lag);
        let shop = self.shop_answers_in.zip(self.shop_bears);
        scenario.shop = shop.map(|(answers_in, bears)| ShopLoad { answers_in, bears: bears.get() });
        Ok(scenario)
    }

    /// What does not go together, and what to do.
    fn contradiction(&self, searches_rate: bool) -> Option<(&'static str, &'static str)> {
        let has_order =
            |is_such: fn(&SimulatedOrder) -> bool| self.orders.iter().any(|it| is_such(&it.order));
        if self.here && self.edge {
            Some((
                "the edge of a simulation is CloudFront, and one machine has none",
                "leave out --local or --edge; docs/edge.md says what a CDN spares one machine",
            ))
        } else if self.here && self.is_about_aws() {
            Some(("one machine has neither a region nor limits of an account", "leave them out, or local"))
        } else if self.shop_answers_in.is_some() != self.shop_bears.is_some() {
            Some((
                "how fast a shop answers and how many it bears belong together",
                "give both: --shop-answers-in 200ms --shop-bears 600",
            ))
        } else if self.early.is_some() && self.opens_after.is_none() {
            Some((
                "nobody can come before the opening of a room that is open",
                "say when it opens, like --opens-after 30m, or leave --early out",
            ))
        } else if TimedOrder::end_paused(&self.orders) {
            Some(("after the last pause nobody would enter", "add when it goes on, like --order \"25m on\""))
        } else if searches_rate && has_order(|order| matches!(order, SimulatedOrder::SetRate(_))) {
            Some((
                "--find rate searches one rate, and an order sets another",
                "leave the orders that set the rate out, or leave --find rate out",
            ))
        } else if self.mode == Some(Mode::Observe)
            || has_order(|order| matches!(order, SimulatedOrder::Mode(Mode::Observe)))
        {
            Some((
                "in a room that observes nobody waits, so there is nothing to simulate",
                "simulate the line, with --mode line, or --mode overflow",
            ))
        } else {
            None
        }
    }

    /// What does not go together with an edge.
    fn contradiction_of_edge(&self, config: Option<&RoomConfig>) -> Option<(&'static str, &'static str)> {
        let is_configured = config.is_some_and(|config| config.edge().answers());
        if self.here || !(self.edge || is_configured) {
            return None;
        }
        let limits_api = |config: &RoomConfig| {
            let room = ModelledRoom::of(config, Architecture::Arm64, None);
            room.requests_per_second.is_some() || room.firewall != Firewall::default()
        };
        if self.limits.iter().any(|(limit, _)| limit.is_of_api()) {
            Some((
                "behind an edge nobody asks API Gateway, so its limits don't count",
                "leave out --limit api-requests and api-burst, or the edge",
            ))
        } else if !EdgeSetting::is_in(&self.region(config)) {
            Some((
                "Lambda gives functions no URL in this region, so CloudFront could ask none",
                "choose another one with --region, or leave out the edge",
            ))
        } else if !is_configured && config.is_some_and(limits_api) {
            Some((
                "the configured room limits requests at its API, and behind an edge nobody asks that",
                "leave out --edge or the room's name",
            ))
        } else {
            None
        }
    }

    fn arrivals(&self) -> Result<Arrivals, Refusal> {
        let shape = self.arrivals.clone().unwrap_or(ArrivalShape::Spike);
        let arrivals = Arrivals::new(shape, self.visitors.map(u64::from))
            .map_err(|error| Refusal::new(error.to_string(), "give their number, like --visitors 50k"))?;
        Ok(match self.early.zip(self.opens_after) {
            Some((percent, before)) => arrivals.with_early(EarlyVisitors { share: percent / 100.0, before }),
            None => arrivals,
        })
    }

    /// How the shop is used, if the room limits how many are there at once.
    fn visits(&self, config: Option<&RoomConfig>, mode: Mode) -> Result<Option<ShopVisits>, Refusal> {
        let configured = config.and_then(RoomConfig::active_limit);
        let Some(visitors) = self.active_visitors.or(configured.map(|limit| limit.visitors)) else {
            let is_about_stays = self.stay.or(self.idle).or(self.session).is_some();
            if !is_about_stays && self.shop_ends.is_none() && !self.no_guard {
                return Ok(None);
            }
            return Err(Refusal::new(
                "how long visitors stay in the shop counts only in a room that limits them",
                "say how many may be there at once, like --active-visitors 2k",
            ));
        };
        let goes_straight = |it: &TimedOrder| matches!(it.order, SimulatedOrder::Mode(Mode::Overflow));
        if mode == Mode::Overflow || self.orders.iter().any(goes_straight) {
            return Err(Refusal::new(
                "active visitors are counted as they leave the line, so newcomers can't go straight in",
                "leave --active-visitors out, or simulate with --mode line",
            ));
        }
        let idle = self.idle.or(configured.map(|limit| limit.idle)).unwrap_or(ActiveLimit::DEFAULT_IDLE);
        let session = self.session.or(configured.map(|limit| limit.session));
        let session = session.unwrap_or(ActiveLimit::DEFAULT_SESSION);
        if idle > session {
            return Err(Refusal::new(
                "a session can't last for longer after a visitor's stay than at most",
                "give a shorter --idle, or a longer --session",
            ));
        }
        let lifetimes = config.map_or_else(Lifetimes::default, |config| config.settings().lifetimes);
        Ok(Some(ShopVisits {
            limit: ActiveLimit { visitors, idle, session },
            admission: lifetimes.admission,
            stay: self.stay.unwrap_or(ShopVisits::STAY),
            ended: self.shop_ends.unwrap_or_default() / 100.0,
            is_reported: !self.no_guard,
        }))
    }

    fn account(&self, rate: Rate, config: Option<&RoomConfig>, page: Option<&Page>) -> AwsAccount {
        let region = self.region(config);
        let mut limits = if self.new_account {
            AccountLimits::of_new_account(&region)
        } else {
            AccountLimits::default_in(&region)
        };
        for (limit, value) in &self.limits {
            limits.set(*limit, *value);
        }
        let mut room = config.map_or_else(
            || ModelledRoom::new(rate),
            |config| ModelledRoom::of(config, config.architecture.unwrap_or(Architecture::Arm64), page),
        );
        room.rate = rate;
        // The throttle of a shop that becomes slow is a function too.
        room.throttle |= self.shop_bears.is_some();
        if self.edge {
            room = room.behind_edge();
        }
        room.oversubscription = self.oversubscribe.or(room.oversubscription);
        AwsAccount::new(limits, room)
    }

    fn region(&self, config: Option<&RoomConfig>) -> String {
        let region = self.region.as_ref().or(config.and_then(|config| config.region.as_ref()));
        region.map_or_else(|| DEFAULT_REGION.to_owned(), ToString::to_string)
    }

    /// What the answer says about the question.
    pub(crate) fn inputs(
        &self,
        scenario: &Scenario,
        search: Option<SimulationSearch>,
        config: Option<&RoomConfig>,
    ) -> ScenarioInputs {
        let limits = scenario.aws.as_ref().map(|account| {
            let named = |limit: AccountLimit| (limit.short_name(), account.limits.get(limit));
            AccountLimit::ALL.map(named).into()
        });
        ScenarioInputs {
            room: config.map(|config| config.room.to_string()),
            host: if self.here { "machine" } else { "aws" },
            region: (!self.here).then(|| self.region(config)),
            edge: scenario.has_edge(),
            visitors: scenario.arrivals.visitors(),
            arrivals: scenario.arrivals.shape().told(scenario.arrivals.visitors().into()),
            rate: scenario.rate.get(),
            mode: Some(scenario.mode).filter(|mode| *mode != Mode::default()),
            oversubscribe_percent: scenario.oversubscribe.map(Oversubscription::get),
            visits: scenario.visits.map(|visits| VisitInputs {
                active_visitors: visits.limit.visitors,
                stay_seconds: visits.stay.as_secs_f64(),
                shop_ends_percent: self.shop_ends.unwrap_or_default(),
                idle_seconds: visits.limit.idle.as_secs_f64(),
                session_seconds: visits.limit.session.as_secs_f64(),
                no_guard: self.no_guard,
            }),
            opens_after_seconds: self.opens_after.map(|after| after.as_secs_f64()),
            early_percent: self.early,
            orders: self.orders.iter().map(ToString::to_string).collect(),
            give_up_percent: self.give_up.unwrap_or_default(),
            never_enter_percent: self.never_enter.unwrap_or_default(),
            shop_answers_in_millis: self.shop_answers_in.map(|time| time.as_millis()),
            shop_bears: self.shop_bears.map(Rate::get),
            disorder: scenario.line.disorder,
            count_lag_seconds: scenario.line.count_lag.as_secs_f64(),
            account: limits.unwrap_or_default(),
            seed: scenario.seed,
            within_seconds: match search {
                Some(SimulationSearch::Rate { within }) => Some(within.as_secs()),
                Some(SimulationSearch::Quota) | None => None,
            },
        }
    }
}
