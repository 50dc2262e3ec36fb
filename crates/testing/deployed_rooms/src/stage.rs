use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use aws::{AwsStore, RoomResources, tuned};
use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use aws_sdk_sqs::types::QueueAttributeName;
use clock::SystemClock;
use emulators::stage_at;
use http_contract::{Client, Order};
use tokio::runtime::Runtime;
use waitroom::ports::{Clock, Fault, PlanRecord, Plans, PortResult, StatusBoard};
use waitroom::{Author, Timestamp};

/// The shop of every room.
pub(crate) const SHOP: &str = "https://shop.example/sale";

/// For how long a failed call is retried.
const PATIENCE: Duration = Duration::from_secs(30);
const MINUTE: Duration = Duration::from_mins(1);

/// A deployed room, on AWS or on an emulator: what its visitors ask over HTTP, and its ledger, line and functions.
#[derive(Debug)]
pub struct Stage {
    name: String,
    base: String,
    outputs: BTreeMap<String, String>,
    /// For what a test itself asks, which is never asked twice. Only the store has a function's timeouts.
    patient: SdkConfig,
    store: AwsStore,
    runtime: Runtime,
}

impl Stage {
    /// A room by the outputs of its stack. `config` may do everything with its resources. If it has an endpoint, that is a
    /// LocalEmu.
    pub fn new(name: &str, outputs: BTreeMap<String, String>, config: SdkConfig) -> Result<Self> {
        let output = |name: &str| outputs.get(name).cloned().with_context(|| format!("no output {name}"));
        let resources = RoomResources {
            ledger_table: output("LedgerTable")?,
            line_url: output("LineUrl")?,
            dead_letters_url: output("DeadLettersUrl")?,
        };
        let store = AwsStore::new(&config, resources).with_trigger(&config, output("TriggerFunction")?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let url = output("StageUrl")?;
        let base = config.endpoint_url().map_or_else(|| url.clone(), |endpoint| stage_at(endpoint, &url));
        let timeouts = TimeoutConfig::builder().connect_timeout(MINUTE).operation_attempt_timeout(MINUTE);
        let patient = config.into_builder().timeout_config(timeouts.build()).build();
        Ok(Self { name: name.to_owned(), base, outputs, patient, store, runtime })
    }

    pub fn output(&self, name: &str) -> Result<&str> {
        self.outputs.get(name).map(String::as_str).with_context(|| format!("no output {name}"))
    }

    pub fn client(&self) -> Client {
        Client::new(&self.base, &self.name).asking_again()
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
        let lambda = aws_sdk_lambda::Client::new(&self.patient);
        let get = lambda.get_function_configuration().function_name(self.output(output)?);
        self.wait(get.send())?.role.with_context(|| format!("{output} has no role"))
    }

    /// Invokes a function in addition to its schedule, and does not wait for it.
    pub fn invoke(&self, output: &str) -> Result<()> {
        self.invoke_with(output, "{}".into())
    }

    /// The same, with an event of the caller's.
    pub fn invoke_with(&self, output: &str, event: String) -> Result<()> {
        let lambda = aws_sdk_lambda::Client::new(&self.patient);
        let invoke =
            lambda.invoke().function_name(self.output(output)?).invocation_type(InvocationType::Event);
        self.wait(invoke.payload(Blob::new(event)).send())?;
        Ok(())
    }

    /// How many executions are reserved for a function.
    pub fn reserved(&self, output: &str) -> Result<Option<i32>> {
        let lambda = aws_sdk_lambda::Client::new(&self.patient);
        let get = lambda.get_function_concurrency().function_name(self.output(output)?);
        Ok(self.wait(get.send())?.reserved_concurrent_executions)
    }

    /// Reserves so many executions for a function, which are also its most. With 0, no call gets through, as when the
    /// account runs as many functions as it may.
    pub fn reserve(&self, output: &str, executions: Option<i32>) -> Result<()> {
        let lambda = aws_sdk_lambda::Client::new(&self.patient);
        let function = self.output(output)?;
        if let Some(executions) = executions {
            let put = lambda.put_function_concurrency().function_name(function);
            self.wait(put.reserved_concurrent_executions(executions).send())?;
        } else {
            self.wait(lambda.delete_function_concurrency().function_name(function).send())?;
        }
        Ok(())
    }

    /// Puts a message into a queue.
    pub fn send(&self, output: &str, message: &str) -> Result<()> {
        let sqs = aws_sdk_sqs::Client::new(&self.patient);
        self.wait(sqs.send_message().queue_url(self.output(output)?).message_body(message).send())?;
        Ok(())
    }

    /// How many messages a queue holds, visible or not.
    pub fn messages(&self, output: &str) -> Result<u64> {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        ];
        let sqs = aws_sdk_sqs::Client::new(&self.patient);
        let get = sqs.get_queue_attributes().queue_url(self.output(output)?);
        let attributes = self.wait(get.set_attribute_names(Some(names.to_vec())).send())?.attributes;
        attributes.unwrap_or_default().values().map(|count| Ok(count.parse::<u64>()?)).sum()
    }
}

impl http_contract::RoomUnderTest for Stage {
    fn base(&self) -> String {
        self.base.clone()
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn shop(&self) -> String {
        SHOP.into()
    }

    fn order(&self, order: Order) {
        let executed = self
            .ask(|| control::execute(&self.store, order.clone(), Author::new("operator"), SystemClock.now()));
        executed.unwrap_or_else(|error| panic!("{order:?}: {error:#}"));
    }

    fn minute(&self) -> Duration {
        MINUTE
    }

    fn status_of_another_method(&self) -> u16 {
        if self.outputs.contains_key("Edge") { 403 } else { 405 }
    }

    /// API Gateway limits headers to 10,240 bytes in total, not their number.
    fn counts_headers(&self) -> bool {
        false
    }
}

/// The configuration of clients of AWS, or of the emulator at this endpoint.
pub(crate) fn sdk_config(region: &str, credentials: Credentials, endpoint: Option<String>) -> SdkConfig {
    let mut config = SdkConfig::builder()
        .region(Region::new(region.to_owned()))
        .credentials_provider(SharedCredentialsProvider::new(credentials));
    config.set_endpoint_url(endpoint);
    tuned(config.build())
}

/// How often is asked whether something has happened. The emulator takes long to answer, and other tests ask it too.
const PAUSE: Duration = Duration::from_millis(200);

/// Repeats `ask` until it returns true, and returns how long that took.
pub fn until(what: &str, patience: Duration, mut ask: impl FnMut() -> Result<bool>) -> Result<Duration> {
    let begun = Instant::now();
    while !ask().with_context(|| format!("while waiting until {what}"))? {
        ensure!(begun.elapsed() < patience, "not within {} s: {what}", patience.as_secs());
        std::thread::sleep(PAUSE);
    }
    Ok(begun.elapsed())
}
