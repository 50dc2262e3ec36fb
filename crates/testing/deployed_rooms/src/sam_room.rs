use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use aws::tuned;
use aws_config::{Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use emulators::LocalEmu;

use crate::{Stage, sam};

/// The shop of every room.
const SHOP: &str = "https://shop.example/sale";

/// A room that `sam` deployed to LocalEmu.
#[derive(Debug)]
pub struct SamRoom {
    pub aws: &'static LocalEmu,
    pub stage: Stage,
    name: String,
    rate: String,
}

impl SamRoom {
    /// Deploys a room with this name, so that `beekeeper` finds it.
    pub fn deploy(name: &str, rate: u32) -> Result<Self> {
        let aws = LocalEmu::shared()?;
        let rate = rate.to_string();
        let outputs = sam::deploy(aws, &stack(name), sam::built()?, &parameters(name, &rate, "Seal's Sale"))?;
        let stage = Stage::new(name, base(aws, &outputs)?, SHOP, outputs, operator(aws))?;
        Ok(Self { aws, stage, name: name.to_owned(), rate })
    }

    /// Deploys the room again, with another template or title.
    pub fn deploy_again(&self, template: &Path, title: &str) -> Result<()> {
        sam::deploy(self.aws, &stack(&self.name), template, &parameters(&self.name, &self.rate, title))
            .map(drop)
    }

    /// Kills a function's running processes, and returns how many there were.
    pub fn kill(&self, output: &str) -> Result<usize> {
        self.aws.kill_function(self.stage.output(output)?)
    }

    /// The log of a function.
    pub fn log(&self, output: &str) -> Result<String> {
        self.aws.function_log(self.stage.output(output)?)
    }
}

/// Where LocalEmu serves the room's API: its own URL has another host.
fn base(aws: &LocalEmu, outputs: &BTreeMap<String, String>) -> Result<String> {
    // https://<api>.execute-api.….amazonaws.com/prod
    let url = outputs.get("StageUrl").context("no output StageUrl")?;
    let api = url.trim_start_matches("https://").split('.').next().unwrap_or_default();
    Ok(aws.stage(api, "prod"))
}

fn stack(room: &str) -> String {
    format!("beekeeper-{room}")
}

fn parameters<'a>(name: &'a str, rate: &'a str, title: &'a str) -> [(&'static str, &'a str); 4] {
    [("Room", name), ("Title", title), ("Shop", SHOP), ("Rate", rate)]
}

/// The configuration of a client with all permissions.
fn operator(aws: &LocalEmu) -> SdkConfig {
    let credentials = Credentials::new("test", "test", None, None, "rehearsal");
    let config = SdkConfig::builder()
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(aws.endpoint());
    tuned(config.build())
}
