use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use aws::{AwsStore, RoomResources, tuned};
use aws_config::{Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use aws_sdk_sqs::types::QueueAttributeName;
use clock::SystemClock;
use emulators::LocalEmu;
use http_contract::{Client, Order};
use tokio::runtime::Runtime;
use waitroom::ports::{Clock, Fault, PlanRecord, Plans, PortResult, StatusBoard};
use waitroom::{Author, Timestamp};

use crate::sam;

/// The shop of every room.
const SHOP: &str = "https://shop.example/sale";

/// For how long a failed call is retried.
const PATIENCE: Duration = Duration::from_secs(30);

/// A deployed room.
#[derive(Debug)]
pub struct SamRoom {
    pub aws: &'static LocalEmu,
    pub outputs: BTreeMap<String, String>,
    name: String,
    rate: String,
    config: SdkConfig,
    store: AwsStore,
    runtime: Runtime,
}

impl SamRoom {
    /// Deploys a room with this name, so that `beekeeper` finds it.
    pub fn deploy(name: &str, rate: u32) -> Result<Self> {
        let aws = LocalEmu::shared()?;
        let rate = rate.to_string();
        let outputs = sam::deploy(aws, &stack(name), sam::built()?, &parameters(name, &rate, "Seal's Sale"))?;
        let output = |name: &str| outputs.get(name).cloned().with_context(|| format!("no output {name}"));
        let places = RoomResources {
            ledger_table: output("LedgerTable")?,
            line_url: output("LineUrl")?,
            dead_letters_url: output("DeadLettersUrl")?,
        };
        let config = operator(aws);
        let store = AwsStore::new(&config, places).with_trigger(&config, output("TriggerFunction")?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { aws, outputs, name: name.to_owned(), rate, config, store, runtime })
    }

    /// Deploys the room again, with another template or title.
    pub fn deploy_again(&self, template: &std::path::Path, title: &str) -> Result<()> {
        sam::deploy(self.aws, &stack(&self.name), template, &parameters(&self.name, &self.rate, title))
            .map(drop)
    }

    pub fn output(&self, name: &str) -> Result<&str> {
        self.outputs.get(name).map(String::as_str).with_context(|| format!("no output {name}"))
    }

    pub fn client(&self) -> Client {
        Client::new(&http_contract::RoomUnderTest::base(self), &self.name)
    }

    pub fn store(&self) -> &AwsStore {
        &self.store
    }

    /// Calls a port. Retries if the machine was too busy to answer in time, so the call must be safe to repeat.
    pub fn ask<T, F: Future<Output = PortResult<T>>>(&self, port: impl Fn() -> F) -> Result<T> {
        let begun = Instant::now();
        loop {
            match self.wait(port()) {
                Ok(answer) => return Ok(answer),
                Err(error) if error.fault == Fault::Broken || begun.elapsed() > PATIENCE => bail!(error),
                Err(_) => {}
            }
        }
    }

    fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// How many visitors the room counts as released.
    pub fn released(&self) -> Result<u64> {
        Ok(self.ask(|| self.store.progress())?.released)
    }

    /// The latest plans, newest first.
    pub fn plans(&self) -> Result<Vec<PlanRecord>> {
        self.ask(|| self.store.recent())
    }

    pub fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// The role that a function runs with.
    pub fn role(&self, output: &str) -> Result<String> {
        let lambda = aws_sdk_lambda::Client::new(&self.config);
        let get = lambda.get_function_configuration().function_name(self.output(output)?);
        self.wait(get.send())?.role.with_context(|| format!("{output} has no role"))
    }

    /// Invokes a function in addition to its schedule, and does not wait for it.
    pub fn invoke(&self, output: &str) -> Result<()> {
        let lambda = aws_sdk_lambda::Client::new(&self.config);
        let invoke =
            lambda.invoke().function_name(self.output(output)?).invocation_type(InvocationType::Event);
        self.wait(invoke.payload(Blob::new("{}")).send())?;
        Ok(())
    }

    /// Lets no call of a function through, as when the account runs as many functions as it may.
    pub fn stop(&self, output: &str) -> Result<()> {
        let lambda = aws_sdk_lambda::Client::new(&self.config);
        let put = lambda.put_function_concurrency().function_name(self.output(output)?);
        self.wait(put.reserved_concurrent_executions(0).send())?;
        Ok(())
    }

    /// Kills a function's running processes, and returns how many there were.
    pub fn kill(&self, output: &str) -> Result<usize> {
        self.aws.kill_function(self.output(output)?)
    }

    /// The log of a function.
    pub fn log(&self, output: &str) -> Result<String> {
        self.aws.function_log(self.output(output)?)
    }

    /// How many messages a queue holds, visible or not.
    pub fn messages(&self, output: &str) -> Result<u64> {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        ];
        let sqs = aws_sdk_sqs::Client::new(&self.config);
        let get = sqs.get_queue_attributes().queue_url(self.output(output)?);
        let attributes = self.wait(get.set_attribute_names(Some(names.to_vec())).send())?.attributes;
        attributes.unwrap_or_default().values().map(|count| Ok(count.parse::<u64>()?)).sum()
    }
}

impl http_contract::RoomUnderTest for SamRoom {
    fn base(&self) -> String {
        // https://<api>.execute-api.….amazonaws.com/prod
        let url = self.outputs.get("StageUrl").map(String::as_str).unwrap_or_default();
        let api = url.trim_start_matches("https://").split('.').next().unwrap_or_default();
        self.aws.stage(api, "prod")
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn shop(&self) -> String {
        SHOP.into()
    }

    fn order(&self, order: Order) {
        let executed = self.ask(|| {
            operator::execute(&self.store, order.clone(), Author::new("operator"), SystemClock.now())
        });
        executed.unwrap_or_else(|error| panic!("{order:?}: {error:#}"));
    }

    fn minute(&self) -> Duration {
        Duration::from_mins(1)
    }

    /// API Gateway limits headers to 10,240 bytes in total, not their number.
    fn counts_headers(&self) -> bool {
        false
    }
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

/// Repeats `ask` until it returns true, and returns how long that took.
pub fn until(what: &str, patience: Duration, mut ask: impl FnMut() -> Result<bool>) -> Result<Duration> {
    let begun = Instant::now();
    while !ask().with_context(|| format!("while waiting until {what}"))? {
        ensure!(begun.elapsed() < patience, "not within {} s: {what}", patience.as_secs());
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(begun.elapsed())
}
