//! The plan of a deployment: what would be created, what the account's limits allow, whether the shop responds, and what
//! the room costs. It changes nothing.

use std::collections::BTreeMap;

use clock::SystemClock;
use config::{AddressLimit, Architecture, DomainName, RoomConfig};
use probe::HttpProbe;
use serde::Serialize;
use throttle::Measurement;
use waitroom::throttle_rules::Baseline;
use waitroom::{Epoch, Rate, Room, WebUrl};

use crate::artefacts::ArtefactBucket;
use crate::aws_errors::code;
use crate::bundle::unreadable;
use crate::cost::{CostInputs, Costs, estimate, polls_near_the_front};
use crate::stack::{NextStep, RoomStack, next_step};
use crate::template::Stack;
use crate::{Account, Bundle, CloudError, CloudErrorKind, bundle};

/// A shop that takes longer than this gets a warning, in seconds.
const SLOW_SHOP: f64 = 2.0;
/// The longest pause between two polls of a page, in seconds.
const MAX_POLL_PAUSE: f64 = 300.0;
/// How long the producer works on one request, in seconds.
const PRODUCER_SECONDS: f64 = 0.03;
/// How many visitors one slice releases in a minute.
const SLICE_VISITORS: u32 = 1000;
/// Functions that run beside producers and consumers: trigger, throttle, and sometimes setup.
const OTHER_FUNCTIONS: f64 = 3.0;
/// How many producers a room needs at least.
const MIN_PRODUCERS: f64 = 2.0;

/// Limits in Service Quotas: service, code and name.
const CONCURRENCY: (&str, &str, &str) = ("lambda", "L-B99A9384", "Lambda: concurrent executions");
const REQUESTS: (&str, &str, &str) = ("apigateway", "L-8A5B8E43", "API Gateway: requests per second");

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
    /// How many resources of each type the stack will have.
    pub resources: BTreeMap<String, usize>,
    pub limits: Vec<AccountLimit>,
    pub capacity: Capacity,
    pub shop: ShopCheck,
    pub costs: Costs,
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

/// One of the account's limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccountLimit {
    pub name: &'static str,
    /// `None` if it could not be read.
    pub value: Option<f64>,
    /// Why it could not be read.
    pub error: Option<String>,
}

/// What the account's limits allow. `None` where a limit is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Capacity {
    /// How many visitors can wait at the same time.
    pub waiting: Option<u64>,
    /// How many visitors can join per second.
    pub joins_per_second: Option<u64>,
    /// How many visitors can enter per minute.
    pub rate: Option<u64>,
}

/// How the shop responded to 20 requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShopCheck {
    pub url: String,
    /// The mean response time in seconds. `None` if too many requests failed.
    pub mean: Option<f64>,
    pub answered: usize,
    pub failed: usize,
    /// Requests that the shop refused because they had no pass, as it should.
    pub refused: usize,
}

/// A problem to know about before deploying, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanWarning {
    pub text: String,
    pub advice: String,
}

impl Account {
    /// Plans a deployment. An error if it cannot work.
    pub async fn plan(&self, config: &RoomConfig, bundle: &Bundle) -> Result<DeployPlan, CloudError> {
        let architecture = bundle.choose(config.architecture)?;
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
        let (concurrency, requests, measurement) =
            futures_util::join!(self.limit(CONCURRENCY), self.limit(REQUESTS), measure_shop(config));
        let Measurement { sample, refused } = measurement?;
        let capacity = capacity(config, concurrency.value, requests.value);
        let shop = ShopCheck {
            url: config.health.as_ref().unwrap_or(&config.shop).to_string(),
            mean: Baseline::of(&sample).map(|baseline| baseline.mean),
            answered: sample.answered.len(),
            failed: sample.failed,
            refused,
        };
        let costs = estimate(CostInputs {
            architecture,
            rate: config.rate.get(),
            throttle: config.throttle,
            alarms: config.alarm_email.is_some(),
            firewall: config.requests_per_address.is_some_and(AddressLimit::is_limited),
        });
        Ok(DeployPlan {
            room: config.room.to_string(),
            account: self.id.clone(),
            caller: self.arn.clone(),
            region: self.region.clone(),
            architecture,
            action,
            resources: count_resources(&bundle::stack(&bundle::parameters(config, architecture))?)?,
            warnings: warnings(config, &capacity, &shop),
            limits: vec![concurrency, requests],
            capacity,
            shop,
            costs,
        })
    }

    /// The account's own limit, or AWS's default if the account has none.
    async fn limit(
        &self,
        (service, quota_code, name): (&'static str, &'static str, &'static str),
    ) -> AccountLimit {
        let quotas = aws_sdk_servicequotas::Client::new(&self.config);
        let own = quotas.get_service_quota().service_code(service).quota_code(quota_code).send().await;
        let quota = match own {
            Err(error) if code(&error) == "NoSuchResourceException" => {
                let get = quotas.get_aws_default_service_quota().service_code(service).quota_code(quota_code);
                let default = get.send().await.map_err(|error| self.errors.call_failed("", error));
                default.map(|answer| answer.quota)
            }
            own => own.map(|answer| answer.quota).map_err(|error| self.errors.call_failed("", error)),
        };
        let value = quota.map(|quota| quota.and_then(|quota| quota.value));
        match value {
            Ok(Some(value)) => AccountLimit { name, value: Some(value), error: None },
            Ok(None) => {
                AccountLimit { name, value: None, error: Some("AWS answered without a value".into()) }
            }
            Err(error) => AccountLimit { name, value: None, error: Some(error.reason()) },
        }
    }
}

/// Measures the shop as the throttle does.
async fn measure_shop(config: &RoomConfig) -> Result<Measurement, CloudError> {
    let failed = |reason: String| {
        let attempt = format!("prepare to measure the shop {}", config.shop);
        CloudError::new(CloudErrorKind::Other, attempt, reason)
    };
    let probe = HttpProbe::new().map_err(|error| failed(error.to_string()))?;
    // A response that redirects to the room counts as refused. Before the first deployment only a custom domain is
    // known. Without one, this uses a URL that no shop redirects to.
    let domain = config.domain.as_ref().map_or("waiting-room.invalid", DomainName::as_str);
    let url: WebUrl = format!("https://{domain}")
        .parse()
        .map_err(|error| failed(format!("the domain {domain} is not valid: {error}")))?;
    // Measuring does not use the epoch.
    let epoch: Epoch = "none".parse().map_err(|error| failed(format!("{error}")))?;
    Ok(throttle::measure(&probe, &SystemClock, &Room::new(config.settings(), url, epoch)).await)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limits are small and positive")]
fn capacity(config: &RoomConfig, concurrency: Option<f64>, requests: Option<f64>) -> Capacity {
    let rate = config.rate.get();
    // Consumers start while those of the previous window still run, for half a minute.
    let consumers = f64::from(rate.div_ceil(SLICE_VISITORS)) * 1.5;
    let producers = concurrency.map(|all| (all - consumers - OTHER_FUNCTIONS).max(0.0));
    let joins = producers.map(|producers| (producers / PRODUCER_SECONDS) as u64);
    // Every visitor comes to the door twice.
    let polls = requests.map(|all| all - polls_near_the_front(rate) - f64::from(rate) / 60.0 * 2.0);
    Capacity {
        waiting: polls.map(|polls| (20.0 * f64::from(rate) + polls.max(0.0) * MAX_POLL_PAUSE) as u64),
        joins_per_second: match (joins, requests) {
            (Some(joins), Some(requests)) => Some(joins.min(requests as u64)),
            (joins, requests) => joins.or(requests.map(|requests| requests as u64)),
        },
        rate: concurrency
            .map(|all| ((all - OTHER_FUNCTIONS - MIN_PRODUCERS).max(0.0) / 1.5) as u64)
            .map(|slices| (slices * u64::from(SLICE_VISITORS)).min(u64::from(Rate::MAX.get()))),
    }
}

fn warnings(config: &RoomConfig, capacity: &Capacity, shop: &ShopCheck) -> Vec<PlanWarning> {
    let mut warnings = Vec::new();
    let mut warn =
        |text: String, advice: &str| warnings.push(PlanWarning { text, advice: advice.to_owned() });
    let more_concurrency =
        "request a higher limit in the AWS console: Service Quotas, AWS Lambda, Concurrent executions";
    let rate = u64::from(config.rate.get());
    if let Some(most) = capacity.rate.filter(|&most| most < rate) {
        warn(
            format!(
                "the account's limit of concurrent functions allows about {most} visitors a minute, but the rate is {rate}"
            ),
            more_concurrency,
        );
    }
    if let Some(most) = capacity.joins_per_second.filter(|&most| most < 100) {
        warn(
            format!(
                "only about {most} visitors can join per second; the others have to wait, and their browsers retry"
            ),
            more_concurrency,
        );
    }
    if config.shop.is_on_this_machine() {
        warn(
            format!("{} is on this machine; the room's visitors cannot reach it", config.shop),
            "give the shop's public URL: beekeeper init NAME --shop URL",
        );
    }
    match shop.mean {
        None if shop.refused > shop.failed => {
            if config.throttle {
                warn(
                    format!(
                        "{} refuses visitors without a pass, as it should, so the throttle cannot measure it",
                        shop.url
                    ),
                    "give the throttle a URL that needs no pass: beekeeper init NAME --health URL",
                );
            }
        }
        None => {
            let (failed, all) = (shop.failed, shop.failed + shop.answered + shop.refused);
            warn(
                format!("{failed} of {all} requests to {} failed", shop.url),
                "check the address, and whether the shop is up: the room sends visitors there",
            );
        }
        Some(mean) if mean > SLOW_SHOP => warn(
            format!("{} takes {mean:.1} s to respond, and it has no crowd yet", shop.url),
            "deploy when the shop is fast: the throttle compares later response times with this one",
        ),
        Some(_) => {}
    }
    warnings
}

/// The resources of the template by type, including those that the SAM transform adds.
fn count_resources(stack: &Stack) -> Result<BTreeMap<String, usize>, CloudError> {
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
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(shop: &str) -> RoomConfig {
        RoomConfig::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "eu-central-1".parse().unwrap(),
            shop.parse().unwrap(),
            Rate::new(300).unwrap(),
        )
    }

    #[test]
    fn a_shop_is_warned_of_if_visitors_or_the_throttle_cannot_use_it() {
        let warned = |config: &RoomConfig, mean, failed, refused| {
            let url = config.shop.to_string();
            let shop = ShopCheck { url, mean, answered: 20 - failed - refused, failed, refused };
            let warnings = warnings(config, &Capacity::default(), &shop);
            warnings.into_iter().map(|warning| warning.text).collect::<Vec<_>>().join("; ")
        };
        let mut config = config("https://shop.example");
        assert_eq!(warned(&config, Some(0.1), 0, 0), "");
        assert_eq!(warned(&config, None, 0, 20), "", "protected as recommended");
        config.throttle = true;
        assert_eq!(
            warned(&config, None, 0, 20),
            "https://shop.example/ refuses visitors without a pass, as it should, so the throttle cannot measure it"
        );
        assert_eq!(warned(&config, None, 20, 0), "20 of 20 requests to https://shop.example/ failed");
        config.shop = "http://localhost:8080".parse().unwrap();
        assert_eq!(
            warned(&config, Some(0.1), 0, 0),
            "http://localhost:8080/ is on this machine; the room's visitors cannot reach it"
        );
    }

    #[test]
    fn a_new_account_has_a_small_capacity() {
        let config = config("https://shop.example");
        let new = capacity(&config, Some(10.0), Some(10_000.0));
        assert_eq!((new.rate, new.joins_per_second), (Some(3000), Some(183)), "{new:?}");
        let default = capacity(&config, Some(1000.0), Some(10_000.0));
        assert!(default.rate >= Some(270_000) && default.waiting >= Some(1_000_000), "{default:?}");
        assert_eq!(capacity(&config, None, None), Capacity::default());
    }
}
