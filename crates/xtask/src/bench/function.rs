//! Measures the producer as Lambda runs it. Its services answer at once, so only the producer's own work is measured.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use emulators::workspace::target;
use serde_json::{Value, json};

use super::stand_in::{KeptItems, StandIn};
use super::table::BenchTable;
use super::usage::{cpu, resident};
use crate::arch::Arch;
use crate::package::PROGRAM;
use crate::zig;

const STARTS: usize = 9;
const JOINS: u32 = 5000;

pub(super) fn producer(table: &mut BenchTable) -> Result<()> {
    let program = zig::build(Arch::of_this_machine()?, PROGRAM, &[])?;
    // The room's first producer creates its signing keys, so it is not measured.
    let first = RunningFunction::start(&program, furnished())?;
    let kept = first.services.kept();
    drop(first);
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let function = RunningFunction::start(&program, kept.clone())?;
        starts.push((function.started_within, cpu(function.process.id())?));
    }
    table.begin(&format!(
        "`cargo xtask bench producer`: the program that Lambda runs, with services on this machine that answer at once; \
         medians of {STARTS} starts, {JOINS} joins one after another"
    ));
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (until, used): (Vec<_>, Vec<_>) = starts.into_iter().unzip();
    table.row(
        "producer: start to the first 302",
        &format!("{:.1?}, {:.1?} of CPU", median(until), median(used)),
    );

    let function = RunningFunction::start(&program, kept)?;
    function.services.calls();
    let (begun, before) = (Instant::now(), cpu(function.process.id())?);
    for _ in 0..JOINS {
        function.join()?;
    }
    let (took, used) = (begun.elapsed(), cpu(function.process.id())?.saturating_sub(before));
    let calls = function.services.calls();
    let line = calls.get("SendMessage").copied().unwrap_or(0);
    let ledger = calls.values().sum::<u32>() - line;
    table.row("producer: a join", &format!("{:.1?} of CPU, {:.1?} in all", used / JOINS, took / JOINS));
    table.row("producer: resident memory", &resident(function.process.id())?);
    let (to_line, joins) = (f64::from(line) / f64::from(JOINS), JOINS / ledger.max(1));
    table.row("producer: calls a join", &format!("{to_line:.3} to the line, 1 in {joins} to the ledger"));
    ensure!(line == JOINS, "{line} calls to the line for {JOINS} joins: one each is right");
    ensure!(
        8 * ledger < JOINS,
        "{ledger} calls to the ledger for {JOINS} joins: fewer than one in eight is right"
    );
    Ok(())
}

/// A process of the function, with its own services. Dropping this ends the process.
struct RunningFunction {
    process: Child,
    services: StandIn,
    /// The time from the start of the process to its first answer.
    started_within: Duration,
}

impl Drop for RunningFunction {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl RunningFunction {
    /// Starts the function, and waits until it has answered its first request.
    fn start(program: &Path, kept: KeptItems) -> Result<Self> {
        let services = StandIn::start(kept)?;
        let endpoint = format!("http://{}", services.address);
        let environment = [
            ("AWS_LAMBDA_RUNTIME_API", services.address.as_str()),
            ("AWS_ENDPOINT_URL", &endpoint),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "bench"),
            ("AWS_SECRET_ACCESS_KEY", "bench"),
            ("_HANDLER", "producer"),
            ("AWS_LAMBDA_FUNCTION_NAME", "producer"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
            ("AWS_LAMBDA_LOG_STREAM_NAME", "bench"),
            ("AWS_LAMBDA_LOG_GROUP_NAME", "bench"),
            ("LEDGER_TABLE", "ledger"),
            ("LINE_URL", "https://sqs.example/line"),
            ("DEAD_LETTERS_URL", "https://sqs.example/dead"),
            ("ROOM_NAME", "sale"),
            ("KEY_SECRET", "arn:aws:secretsmanager:eu-central-1:012345678901:secret:sale"),
            ("TRIGGER_FUNCTION", "trigger"),
        ];
        let mut function = Command::new(program);
        // What it logs, for whoever has to find out why it does not answer.
        let log = target().join("bench/producer.log");
        fs::create_dir_all(target().join("bench"))?;
        function.env_clear().envs(environment).stdout(File::create(&log)?);
        let begun = Instant::now();
        let process = function.spawn().with_context(|| format!("could not start {}", program.display()))?;
        let mut function = Self { process, services, started_within: Duration::ZERO };
        function
            .join()
            .with_context(|| format!("the producer does not work; its log is {}", log.display()))?;
        function.started_within = begun.elapsed();
        Ok(function)
    }

    fn join(&self) -> Result<()> {
        let answer = self.services.ask(&newcomer())?;
        ensure!(answer["statusCode"] == 302, "the producer answered {answer}");
        Ok(())
    }
}

/// A newcomer's `GET /beekeeper`, as API Gateway sends it to the function.
fn newcomer() -> Value {
    json!({
        "resource": "/beekeeper", "path": "/beekeeper", "httpMethod": "GET", "body": null, "isBase64Encoded": false,
        "multiValueHeaders": { "Host": ["room.example"], "User-Agent": ["bench"], "Accept": ["text/html"] },
        "requestContext": { "httpMethod": "GET", "path": "/prod/beekeeper", "stage": "prod", "requestId": "1" },
    })
}

/// A ledger with a room that has no visitors.
fn furnished() -> KeptItems {
    let texts = |id: &str, texts: &[(&str, &str)]| {
        let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), json!({ "S": text })));
        let id = std::iter::once(("id".to_owned(), json!({ "S": id })));
        id.chain(texts).collect::<serde_json::Map<_, _>>()
    };
    let mut room = texts(
        "room",
        &[
            ("room", "sale"),
            ("title", "Sale"),
            ("shop", "https://shop.example"),
            ("url", "https://room.example"),
            ("message", ""),
            ("epoch", "ab12"),
            ("state", "on"),
        ],
    );
    let numbers = [
        ("rate", 300),
        ("admission_seconds", 3600),
        ("pass_seconds", 3600),
        ("stretch", 1),
        ("version", 0),
        ("format", 1),
    ];
    for (name, number) in numbers {
        room.insert(name.into(), json!({ "N": number.to_string() }));
    }
    KeptItems::with(Value::Object(room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs the function program: cargo xtask test"]
    fn the_producer_lets_visitors_join_with_the_stand_in_services() {
        let function = RunningFunction::start(&target().join("debug").join(PROGRAM), furnished()).unwrap();
        function.services.calls();
        function.join().unwrap();
        assert_eq!(function.services.calls().get("SendMessage"), Some(&1));
    }
}
