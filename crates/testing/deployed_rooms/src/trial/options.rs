//! What to try, and what that costs.

use std::env;
use std::fmt::Write as _;
use std::path::PathBuf;

use aws_model::{EventCosts, Firewall, ModelledRoom, StandingCosts};
use serde::Deserialize;
use waitroom::Rate;

use crate::stage::SHOP;

/// What to try, and with what. `cargo xtask try-aws --help` explains what is said there.
#[derive(Clone, Debug, Deserialize)]
pub struct TrialOptions {
    pub room: String,
    pub region: String,
    pub visitors: u32,
    pub email: String,
    pub domain: Option<String>,
    pub certificate: Option<String>,
    /// Only where the account has API Gateway's role for logs: without it, AWS refuses the whole deployment.
    #[serde(default)]
    pub access_log: bool,
    /// The `beekeeper` to try, with functions inside.
    pub beekeeper: PathBuf,
    pub architecture: String,
    /// The folder of the transcript.
    pub folder: PathBuf,
    /// An emulator in place of AWS.
    #[serde(default = "emulator")]
    pub endpoint: Option<String>,
}

/// The SDK, too, reads the endpoint from there.
fn emulator() -> Option<String> {
    env::var("AWS_ENDPOINT_URL").ok()
}

/// How many visitors a minute the tried room releases.
pub(super) const RATE: u32 = 600;

/// The trial takes about this long. What AWS charges by the month, it charges for this time.
const HOURS: f64 = 2.0;
const HOURS_A_MONTH: f64 = 730.0;

impl TrialOptions {
    /// The configuration file of the room, with these settings in addition.
    pub(super) fn settings(&self, more: &str) -> String {
        let Self { region, architecture, .. } = self;
        format!(
            "title = \"Trial\"\nregion = {region:?}\nshop = {SHOP:?}\nrate = {RATE}\n\
             architecture = {architecture:?}\n{more}"
        )
    }

    /// What the trial costs in dollars, by the model. Requests of the steps that are not a crowd count as visitors.
    fn dollars(&self) -> f64 {
        // RATE is in bounds.
        let rate = Rate::new(RATE).unwrap_or(Rate::MAX);
        let firewall = Firewall { door_limit: true, ..Firewall::default() };
        let room = ModelledRoom { alarms: true, firewall, throttle: true, ..ModelledRoom::new(rate) };
        let visitors = EventCosts::of(&room, u64::from(self.visitors) + 2000, 5.0).dollars;
        let standing = StandingCosts::of(&room);
        let month = standing.month + standing.options.iter().map(|option| option.dollars).sum::<f64>();
        visitors + month * HOURS / HOURS_A_MONTH
    }

    /// What the trial does and costs, in words.
    pub(super) fn plan(&self, account: &str, caller: &str) -> String {
        let Self { room, region, visitors, email, .. } = self;
        let mut plan = format!(
            "This tries the room {room} in account {account}, region {region}, as {caller}.\n\
             It creates a role with the permissions of docs/operator-policy.md, deploys the room, lets {visitors} visitors \
             through,\nturns its options on and off, makes its alarms ring, tries another behind CloudFront, and removes everything. That takes about an hour and a half.\n\
             AWS charges about ${:.2} for it, by the numbers of crates/cloud/model/aws.toml.\n\
             {email} gets a mail with a link to confirm, and mails of alarms.\n\
             Should it be stopped in between, the same command with --only-remove removes what is left.\n",
            self.dollars().max(0.01),
        );
        if let Some(domain) = &self.domain {
            let _ =
                writeln!(plan, "The room gets the domain {domain} for a while; no DNS record is changed.");
        }
        plan
    }
}
