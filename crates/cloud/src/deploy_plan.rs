//! The plan of a deployment: what would be created, what the account's limits allow, whether the shop responds, and what
//! the room costs. It changes nothing.

use std::collections::BTreeMap;

use aws_model::{
    Capacity, CostLine, EventCosts, EventWork, ModelledRoom, NEW_TABLE, Outlook, StandingCosts, WAIT_MINUTES,
    facts, warm_costs,
};
use config::{Architecture, RoomConfig};
use page::Page;
use serde::Serialize;
use waitroom::Mode;

use crate::artefacts::ArtefactBucket;
use crate::bundle::unreadable;
use crate::forecast::Forecast;
use crate::limits::LimitReading;
use crate::reservation::ReservationPlan;
use crate::setting_change::SettingChange;
use crate::shop_check::ShopCheck;
use crate::stack::{NextStep, RoomStack, StackState, next_step};
use crate::template::EdgeFirewall;
use crate::url_change::warning_of_domain;
use crate::warm_capacity::asked_for;
use crate::warnings::{self, PlanWarning};
use crate::{Account, Bundle, CloudError, bundle};

/// What a deployment would do, and what to know before it starts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeployPlan {
    pub room: String,
    pub account: String,
    /// The ARN of the user or role that the credentials belong to.
    pub caller: String,
    pub region: String,
    pub architecture: Architecture,
    pub action: DeployAction,
    /// The settings that change in a stack which is kept.
    pub settings: Vec<SettingChange>,
    /// How many resources of each type the room will have.
    pub resources: BTreeMap<String, usize>,
    pub limits: Vec<LimitReading>,
    pub reserved: ReservationPlan,
    pub capacity: Capacity,
    pub shop: ShopCheck,
    pub costs: Costs,
    /// What the crowd can expect that the operator expects, if they said how large it is.
    pub outlook: Option<Outlook>,
    pub warnings: Vec<PlanWarning>,
}

/// What happens to the stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeployAction {
    Create,
    Update,
    /// The existing stack is beyond repair. It is deleted, with its line, and a new one is created.
    Replace {
        status: String,
    },
    /// An operation on the stack is running or has stopped halfway. It is finished first.
    Resume {
        status: String,
    },
}

/// What the room costs, in dollars: an estimate from the list prices of us-east-1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// A month in which the room is on without visitors.
    pub idle_month: f64,
    /// A month in which the room is off or paused: as much, because the trigger runs every minute whatever the room's state is.
    pub off_month: f64,
    /// What this room's options cost on top in a month: alarms, throttle, firewall.
    pub options: Vec<CostLine>,
    /// What the room's warm capacity costs once.
    pub warm_once: f64,
    /// 100,000 visitors who wait `wait_minutes` each.
    pub per_100_000: f64,
    /// The same if a fifth of them reload, and a fifth open a second tab.
    pub per_100_000_with_reloads: f64,
    /// Behind an edge: `per_100_000` without what `CloudFront`'s free tier takes off, if the account uses it for nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_100_000_after_free_tier: Option<f64>,
    /// 100,000 visitors who go straight in, in a room where newcomers may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_100_000_straight: Option<f64>,
    pub wait_minutes: u32,
    /// How often each of them polls.
    pub polls_per_visitor: u32,
    /// Behind an edge: how many of these polls it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polls_answered_by_edge: Option<u32>,
    /// The parts of `per_100_000`, by service.
    pub parts: Vec<(&'static str, f64)>,
    /// When the prices were looked up.
    pub prices_of: &'static str,
}

impl Account {
    /// Plans a deployment, for a crowd of so many people if that is known. An error if it cannot work.
    pub async fn plan(
        &self,
        config: &RoomConfig,
        page: Option<&Page>,
        bundle: &Bundle,
        expected: Option<u64>,
    ) -> Result<DeployPlan, CloudError> {
        let architecture = bundle.choose(config.architecture)?.architecture;
        let stack = RoomStack::new(self, &config.room);
        let found = stack.find().await?;
        // Fails if the bucket belongs to another account.
        ArtefactBucket::new(self, &config.room).exists().await?;
        let action = match (&found, next_step(found.as_ref().map(|found| &found.status))) {
            (None, _) | (_, NextStep::Create) => DeployAction::Create,
            (_, NextStep::Update) => DeployAction::Update,
            (Some(found), NextStep::Remove) => DeployAction::Replace { status: found.status.to_string() },
            (Some(found), _) => DeployAction::Resume { status: found.status.to_string() },
        };
        let existing = found.as_ref().filter(|_| matches!(action, DeployAction::Update));
        self.refuse_lost_visitors(existing, config).await?;
        let (forecast, shop, places) = futures_util::join!(
            self.forecast(config, architecture, page, existing, expected),
            ShopCheck::measure(config),
            self.check_places(config, existing),
        );
        places?;
        let (shop, of_shop) = shop?;
        let Forecast { limits, reserved, capacity, outlook, mut warnings, room, mode } = forecast;
        warnings.extend(of_shop);
        if action == DeployAction::Create {
            warnings.extend(warnings::of_region(config, &self.region));
        }
        warnings.extend(existing.and_then(|existing| warning_of_domain(existing, config)));
        let is_kept = matches!(action, DeployAction::Update | DeployAction::Resume { .. });
        let kept = found.as_ref().filter(|_| is_kept);
        let settings = kept.map(|kept| SettingChange::of(config, kept)).transpose()?;
        Ok(DeployPlan {
            room: config.room.to_string(),
            account: self.id.clone(),
            caller: self.arn.clone(),
            region: self.region.clone(),
            architecture,
            action,
            settings: settings.unwrap_or_default(),
            resources: count_resources(config, architecture)?,
            warnings,
            limits,
            reserved,
            capacity,
            shop,
            costs: Costs::of(&room, mode, existing.map_or(NEW_TABLE, asked_for)),
            outlook,
        })
    }

    /// An error if the room that is updated loses places between other cookies, which no deployment mends.
    async fn check_places(
        &self,
        config: &RoomConfig,
        existing: Option<&StackState>,
    ) -> Result<(), CloudError> {
        if existing.is_none() {
            return Ok(());
        }
        // A stack that lacks an output is no room that could be asked.
        let Ok(room) = self.room(&config.room).await else { return Ok(()) };
        room.must_find_places().await
    }
}

impl Costs {
    /// `warm` is what the table was given before.
    fn of(room: &ModelledRoom, mode: Mode, warm: [f64; 2]) -> Self {
        const VISITORS: u64 = 100_000;
        let straight =
            || EventWork::straight(room, VISITORS).costs(room).iter().map(|line| line.dollars).sum();
        let standing = StandingCosts::of(room);
        let event = EventCosts::of(room, VISITORS, WAIT_MINUTES.into());
        let in_cents = |line: &CostLine| CostLine { dollars: cents(line.dollars), ..*line };
        Self {
            idle_month: cents(standing.month),
            off_month: cents(standing.month),
            options: standing.options.iter().map(in_cents).collect(),
            warm_once: cents(warm_costs(room, warm)),
            per_100_000: cents(event.dollars),
            per_100_000_with_reloads: cents(event.dollars_with_reloads),
            per_100_000_after_free_tier: event.dollars_after_free_tier.map(cents),
            per_100_000_straight: (mode != Mode::Line).then(straight).map(cents),
            wait_minutes: WAIT_MINUTES,
            polls_per_visitor: event.polls + event.shared_polls,
            polls_answered_by_edge: room.edge.answers().then_some(event.shared_polls),
            parts: event.lines.iter().map(|line| (line.name, cents(line.dollars))).collect(),
            prices_of: &facts().date,
        }
    }
}

/// Rounded to cents.
fn cents(dollars: f64) -> f64 {
    (dollars * 100.0).round() / 100.0
}

/// The resources by type, including those that the SAM transform adds.
fn count_resources(
    config: &RoomConfig,
    architecture: Architecture,
) -> Result<BTreeMap<String, usize>, CloudError> {
    let stack = bundle::stack(&bundle::parameters(config, architecture))?;
    let mut counts = BTreeMap::new();
    let mut count = |kind: &str| *counts.entry(kind.to_owned()).or_default() += 1;
    for (name, kind) in stack.resources().map_err(|error| unreadable(&error))? {
        match kind.as_str() {
            "AWS::Serverless::Function" => {
                count("AWS::Lambda::Function");
                let properties = stack.properties(&name).map_err(|error| unreadable(&error))?;
                for _ in properties["Events"].as_object().into_iter().flatten() {
                    count("AWS::Events::Rule");
                    count("AWS::Lambda::Permission");
                }
                if properties.get("EventInvokeConfig").is_some() {
                    count("AWS::Lambda::EventInvokeConfig");
                }
            }
            "AWS::Serverless::Api" => {
                count("AWS::ApiGateway::RestApi");
                count("AWS::ApiGateway::Deployment");
                count("AWS::ApiGateway::Stage");
            }
            other => count(other),
        }
    }
    if config.has_edge_firewall() {
        count(EdgeFirewall::TYPE);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use config::{AddressLimit, ConfigValue, EdgeSetting, SettingValue};
    use waitroom::Rate;

    use super::*;
    use crate::fixture::room_config;

    /// How many metrics the alarms of the template watch.
    fn watched(config: &RoomConfig) -> usize {
        let stack = bundle::stack(&bundle::parameters(config, Architecture::Arm64)).unwrap();
        let alarms =
            stack.resources().unwrap().into_iter().filter(|(_, kind)| kind == "AWS::CloudWatch::Alarm");
        let metrics = |(name, _): (String, String)| {
            let properties = stack.properties(&name).unwrap();
            match properties["Metrics"].as_array() {
                Some(metrics) => metrics.iter().filter(|metric| metric.get("MetricStat").is_some()).count(),
                None => 1,
            }
        };
        alarms.map(metrics).sum()
    }

    #[test]
    fn whoever_goes_straight_in_costs_a_fraction_of_whoever_waits() {
        let of = |mode| Costs::of(&ModelledRoom::new(Rate::new(300).unwrap()), mode, NEW_TABLE);
        let costs = of(Mode::Overflow);
        assert!(costs.per_100_000_straight.is_some_and(|straight| straight < costs.per_100_000 / 5.0));
        assert_eq!(of(Mode::Line).per_100_000_straight, None);
    }

    #[test]
    fn alarms_cost_what_the_template_watches() {
        for (throttle, door_limit, edge) in [
            (false, false, EdgeSetting::No),
            (true, false, EdgeSetting::No),
            (false, true, EdgeSetting::No),
            (false, false, EdgeSetting::Yes),
            (true, true, EdgeSetting::Moving),
            (false, true, EdgeSetting::Yes),
        ] {
            let mut config = room_config("sale");
            config.alarm_email = Some("anna@shop.example".parse().unwrap());
            config.throttle = throttle;
            config.edge = Some(edge);
            config.door_requests_per_address =
                door_limit.then(|| AddressLimit::from_value(ConfigValue::Number(5000)).unwrap());
            let room = ModelledRoom::of(&config, Architecture::Arm64, None);
            let costs = Costs::of(&room, Mode::Line, NEW_TABLE);
            let cents = costs.options[0].dollars * 100.0;
            assert_eq!(costs.options[0].name, "alarms");
            assert_eq!(
                format!("{cents:.0}"),
                (10 * watched(&config)).to_string(),
                "ten cents for each metric"
            );
        }
    }
}
