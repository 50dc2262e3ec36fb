use std::path::Path;

use anyhow::Result;
use aws_sdk_dynamodb::config::Credentials;
use emulators::LocalEmu;

use crate::stage::{SHOP, sdk_config};
use crate::{Stage, sam};

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
        Self::deploy_to(LocalEmu::shared()?, name, rate)
    }

    /// The same, in an account that not all tests share.
    pub fn deploy_to(aws: &'static LocalEmu, name: &str, rate: u32) -> Result<Self> {
        Self::deploy_with(aws, name, rate, &[])
    }

    /// The same, with these parameters besides.
    pub fn deploy_with(
        aws: &'static LocalEmu,
        name: &str,
        rate: u32,
        besides: &[(&str, &str)],
    ) -> Result<Self> {
        let rate = rate.to_string();
        let parameters = [&parameters(name, &rate, "Seal's Sale")[..], besides].concat();
        let outputs = sam::deploy(aws, &stack(name), sam::built()?, &parameters)?;
        // These credentials may do everything.
        let credentials = Credentials::new("test", "test", None, None, "rehearsal");
        let stage = Stage::new(name, outputs, sdk_config("us-east-1", credentials, Some(aws.endpoint())))?;
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

fn stack(room: &str) -> String {
    format!("beekeeper-{room}")
}

fn parameters<'a>(name: &'a str, rate: &'a str, title: &'a str) -> [(&'static str, &'a str); 4] {
    [("Room", name), ("Title", title), ("Shop", SHOP), ("Rate", rate)]
}
