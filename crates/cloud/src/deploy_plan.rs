//! What is looked at before anything is made: whose account it is, what it bears, how the shop does, what there will be,
//! and what that costs. It changes nothing.

use std::collections::BTreeMap;

use crate::template::Stack;
use clock::SystemClock;
use probe::HttpProbe;
use serde::Serialize;
use waitroom::throttle_rules::{Baseline, Sample};
use waitroom::{Epoch, Rate, Room, Settings, WebUrl};

use crate::bundle::misread;
use crate::cost::{Costs, Shape, estimate, polls_near_the_front};
use crate::error::code;
use crate::stack::{Next, Stacks, next_step};
use crate::{Account, Architecture, Bundle, CloudError, RoomConfig, bundle};

/// Whether to worry if the shop takes longer than this, in seconds.
const SLOW_SHOP: f64 = 2.0;
/// The page asks at most every five minutes.
const LONGEST_PAUSE: f64 = 300.0;
/// How long the door works for one visitor, in seconds.
const AT_THE_DOOR: f64 = 0.03;
/// People whom one slice of a plan lets in a minute.
const SLICE: u32 = 1000;

/// What a deployment would do, and what to know before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeployPlan {
    pub room: String,
    pub account: String,
    /// Whose credentials these are.
    pub whose: String,
    pub region: String,
    pub architecture: Architecture,
    pub purpose: DeployAction,
    /// How many resources of each kind there will be.
    pub makes: BTreeMap<String, usize>,
    pub quotas: Vec<Quota>,
    pub bears: Capacity,
    pub shop: ShopCheck,
    pub costs: Costs,
    /// What speaks against it, each with what to do.
    pub concerns: Vec<Concern>,
}

/// What becomes of the stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeployAction {
    Make,
    Change,
    /// What is left of a stack that cannot be made whole goes, with its line, and a new one is made.
    Replace {
        status: String,
    },
    /// An earlier run is under way, or was left half done: first this is dealt with.
    GoOn {
        status: String,
    },
}

/// One of the account's limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quota {
    pub name: &'static str,
    /// None if it could not be read; `unread` says why.
    pub value: Option<f64>,
    pub unread: Option<String>,
}

/// What the account's limits allow, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Capacity {
    /// How many can wait at once.
    pub waiting: Option<u64>,
    /// How many can join in a second.
    pub joins_a_second: Option<u64>,
    /// How many may enter a minute.
    pub rate: Option<u64>,
}

/// How the shop answered twenty requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShopCheck {
    pub url: String,
    /// Seconds, on average. None if it is in no state to be measured.
    pub mean: Option<f64>,
    pub answered: usize,
    pub failed: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Concern {
    pub text: String,
    pub advice: String,
}

/// Functions at work besides: the trigger, the throttle, and the setup now and then.
const OTHERS: f64 = 3.0;
/// Fewer functions than this are no door.
const AT_LEAST_AT_THE_DOOR: f64 = 2.0;

/// Service Quotas' own codes.
const CONCURRENCY: (&str, &str, &str) = ("lambda", "L-B99A9384", "Lambda: functions at work at once");
const REQUESTS: (&str, &str, &str) = ("apigateway", "L-8A5B8E43", "API Gateway: requests a second");

impl Account {
    /// Looks at everything that a deployment depends on. An error if it is out of the question.
    pub async fn plan(&self, wanted: &RoomConfig, carried: &Bundle) -> Result<DeployPlan, CloudError> {
        let architecture = carried.choose(wanted.architecture)?;
        let stacks = Stacks::of(self, &wanted.room);
        let standing = stacks.standing().await?;
        // Whose bucket it is, if there is one.
        crate::artefacts::Artefacts::of(self, &wanted.room).exists().await?;
        let purpose = match (&standing, next_step(standing.as_ref().map(|standing| &standing.status))) {
            (None, _) | (_, Next::Create) => DeployAction::Make,
            (_, Next::Update) => DeployAction::Change,
            (Some(standing), Next::Remove) => DeployAction::Replace { status: standing.status.to_string() },
            (Some(standing), _) => DeployAction::GoOn { status: standing.status.to_string() },
        };
        let (concurrency, requests, sample) =
            futures_util::join!(self.quota(CONCURRENCY), self.quota(REQUESTS), measured(wanted));
        let bears = bears(wanted, concurrency.value, requests.value);
        let shop = ShopCheck {
            url: wanted.health.as_ref().unwrap_or(&wanted.shop).to_string(),
            mean: Baseline::of(&sample).map(|baseline| baseline.mean),
            answered: sample.answered.len(),
            failed: sample.failed,
        };
        let stack = bundle::stack(&wanted.parameters(architecture))?;
        let shape = Shape {
            architecture,
            rate: wanted.rate.get(),
            throttle: wanted.throttle,
            alarms: wanted.alarm_email.is_some(),
            firewall: wanted.requests_per_address.is_some_and(|limit| limit > 0),
        };
        Ok(DeployPlan {
            room: wanted.room.to_string(),
            account: self.id.clone(),
            whose: self.arn.clone(),
            region: self.region.clone(),
            architecture,
            purpose,
            makes: makes(&stack)?,
            concerns: concerns(wanted, &bears, &shop),
            quotas: vec![concurrency, requests],
            bears,
            shop,
            costs: estimate(shape),
        })
    }

    /// What the account was given, or else what every account is given.
    async fn quota(&self, (service, quota, name): (&'static str, &'static str, &'static str)) -> Quota {
        let quotas = aws_sdk_servicequotas::Client::new(&self.config);
        let given = quotas.get_service_quota().service_code(service).quota_code(quota).send().await;
        let given = match given {
            Err(error) if code(&error) == "NoSuchResourceException" => {
                let usual = quotas.get_aws_default_service_quota().service_code(service).quota_code(quota);
                usual.send().await.map(|usual| usual.quota).map_err(|error| self.adviser.trouble("", error))
            }
            given => given.map(|given| given.quota).map_err(|error| self.adviser.trouble("", error)),
        };
        match given {
            Ok(quota) => Quota { name, value: quota.and_then(|quota| quota.value), unread: None },
            Err(trouble) => {
                let source = std::error::Error::source(&trouble).map(ToString::to_string);
                Quota { name, value: None, unread: source }
            }
        }
    }
}

/// As the throttle measures it.
async fn measured(wanted: &RoomConfig) -> Sample {
    let Ok(probe) = HttpProbe::new() else { return Sample::default() };
    let settings = Settings {
        room: wanted.room.clone(),
        title: wanted.title.clone(),
        shop: wanted.shop.clone(),
        health: wanted.health.clone(),
        rate: wanted.rate,
        message: waitroom::Message::default(),
        lifetimes: waitroom::Lifetimes::default(),
    };
    // A shop that sends people into the room fails; only of a domain of one's own it is known before that it is that.
    let domain = wanted.domain.as_ref().map_or("waiting-room.invalid", |domain| &domain.name);
    let (Ok(epoch), Ok(url)) = ("none".parse::<Epoch>(), format!("https://{domain}").parse::<WebUrl>())
    else {
        return Sample::default();
    };
    let room = Room::new(settings, url, epoch);
    throttle::measure(&probe, &SystemClock, &room).await
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "quotas are small and positive")]
fn bears(wanted: &RoomConfig, concurrency: Option<f64>, requests: Option<f64>) -> Capacity {
    let rate = wanted.rate.get();
    // A plan's slices begin while those of the one before are still at work, for half a minute.
    let slices = f64::from(rate.div_ceil(SLICE)) * 1.5;
    let door = concurrency.map(|all| ((all - slices - OTHERS).max(0.0) / AT_THE_DOOR) as u64);
    // Everybody comes to the door twice.
    let spare = requests.map(|all| all - polls_near_the_front(rate) - f64::from(rate) / 60.0 * 2.0);
    Capacity {
        waiting: spare.map(|spare| (20.0 * f64::from(rate) + spare.max(0.0) * LONGEST_PAUSE) as u64),
        joins_a_second: match (door, requests) {
            (Some(door), Some(requests)) => Some(door.min(requests as u64)),
            (door, requests) => door.or(requests.map(|requests| requests as u64)),
        },
        rate: concurrency
            .map(|all| ((all - OTHERS - AT_LEAST_AT_THE_DOOR).max(0.0) / 1.5) as u64 * u64::from(SLICE))
            .map(|most| most.min(u64::from(Rate::MAX.get()))),
    }
}

fn concerns(wanted: &RoomConfig, bears: &Capacity, shop: &ShopCheck) -> Vec<Concern> {
    let mut concerns = Vec::new();
    let rate = u64::from(wanted.rate.get());
    if let Some(most) = bears.rate.filter(|&most| most < rate) {
        concerns.push(Concern {
            text: format!("{rate} a minute need more functions at once than the account may run: it bears about {most} a minute"),
            advice: "ask for more in the AWS console: Service Quotas, AWS Lambda, Concurrent executions".into(),
        });
    }
    if let Some(most) = bears.joins_a_second.filter(|&most| most < 100) {
        concerns.push(Concern {
            text: format!("only about {most} people can join in a second; the others are asked to wait a moment and try again by themselves"),
            advice: "ask for more in the AWS console: Service Quotas, AWS Lambda, Concurrent executions".into(),
        });
    }
    if shop.mean.is_none() {
        let (failed, all) = (shop.failed, shop.failed + shop.answered);
        concerns.push(Concern {
            text: format!("{} failed {failed} of {all} requests", shop.url),
            advice: "is the address right, and is the shop up? Visitors would be sent there".into(),
        });
    } else if let Some(mean) = shop.mean.filter(|&mean| mean > SLOW_SHOP) {
        concerns.push(Concern {
            text: format!("{} takes {mean:.1} s to answer although nobody comes yet", shop.url),
            advice: "the throttle compares later answers with this; deploy when the shop is well".into(),
        });
    }
    concerns
}

/// The template's resources, with those that its short forms stand for.
fn makes(stack: &Stack) -> Result<BTreeMap<String, usize>, CloudError> {
    let mut makes = BTreeMap::new();
    let mut count = |kind: &str| *makes.entry(kind.to_owned()).or_default() += 1;
    for (name, kind) in stack.resources().map_err(|error| misread(&error))? {
        match kind.as_str() {
            "AWS::Serverless::Function" => {
                count("AWS::Lambda::Function");
                let properties = stack.properties(&name).map_err(|error| misread(&error))?;
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
    Ok(makes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_account_bears_little_and_not_nothing() {
        let shop = "https://shop.example".parse().unwrap();
        let wanted = |rate| {
            let rate = Rate::new(rate).unwrap();
            RoomConfig::new("sale".parse().unwrap(), "Sale".parse().unwrap(), shop, rate)
        };
        let wanted = wanted(300);
        let few = bears(&wanted, Some(10.0), Some(10_000.0));
        assert_eq!((few.rate, few.joins_a_second), (Some(3000), Some(183)), "{few:?}");
        let usual = bears(&wanted, Some(1000.0), Some(10_000.0));
        assert!(usual.rate >= Some(270_000) && usual.waiting >= Some(1_000_000), "{usual:?}");
        assert_eq!(bears(&wanted, None, None), Capacity::default());
    }
}
