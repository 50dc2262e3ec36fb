//! Apache Velocity 1.7 in one Java process, which all tests of this process share.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use crate::MappingTemplate;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/java/Render.java");

/// The values that API Gateway gives to a mapping template.
#[derive(Clone, Debug, Default)]
pub struct TemplateRequest {
    pub headers: Vec<(String, String)>,
    pub query: Vec<(String, String)>,
    /// The stage's variables.
    pub stage: Vec<(String, String)>,
    pub domain: String,
    /// Parts of the path that the route names.
    pub parameters: Vec<(String, String)>,
    /// The path of the request, with the stage.
    pub path: String,
    /// The request's ID. API Gateway gives it one, and a client can give it another. Without one there is no variable.
    pub id: Option<String>,
    /// The time of the request, in milliseconds.
    pub now: u64,
    /// In a request template the body of the visitor's request, in a response template that of the table's response.
    pub body: String,
}

/// The output of a mapping template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    /// The status that the template sets, if it overrides it. `headers` are the headers that it overrides.
    pub status: Option<u16>,
    pub headers: BTreeMap<String, String>,
}

impl Rendered {
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.text).with_context(|| format!("not JSON: {}", self.text))
    }
}

/// The template engine.
#[derive(Debug)]
pub struct Velocity(Mutex<JavaProcess>);

#[derive(Debug)]
struct JavaProcess {
    // The process ends when its standard input is closed, which happens at the latest when this process ends.
    _java: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Velocity {
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Velocity, String>> = OnceLock::new();
        let start = || Self::start().map_err(|error| format!("{error:#}"));
        SHARED.get_or_init(start).as_ref().map_err(|error| anyhow!("{error}"))
    }

    fn start() -> Result<Self> {
        let mut java = Command::new("java");
        java.arg("-cp").arg(emulators::velocity()?).arg(PROGRAM).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut java =
            java.spawn().context("could not start java; Java 17 or newer is needed on the PATH")?;
        let input = java.stdin.take().context("java has an input")?;
        let output = BufReader::new(java.stdout.take().context("java has an output")?);
        Ok(Self(Mutex::new(JavaProcess { _java: java, input, output })))
    }

    pub fn render(&self, template: &MappingTemplate, request: &TemplateRequest) -> Result<Rendered> {
        let line = json!({
            "template": template.0,
            "headers": object(&request.headers),
            "query": object(&request.query),
            "stage": object(&request.stage),
            "domain": request.domain,
            "parameters": object(&request.parameters),
            "path": request.path,
            "id": request.id,
            "now": request.now,
            "body": request.body,
        });
        let mut answer = String::new();
        {
            let mut process = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            writeln!(process.input, "{line}").context("java has ended")?;
            process.input.flush()?;
            process.output.read_line(&mut answer)?;
        }
        let answer: Value =
            serde_json::from_str(&answer).with_context(|| format!("java answered {answer}"))?;
        if let Some(error) = answer.get("error") {
            bail!("could not render: {error}");
        }
        let headers = answer["headers"].as_object().into_iter().flatten();
        Ok(Rendered {
            text: answer["text"].as_str().context("a text")?.to_owned(),
            status: answer["status"].as_u64().and_then(|status| status.try_into().ok()),
            headers: headers
                .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
                .collect(),
        })
    }
}

fn object(pairs: &[(String, String)]) -> Value {
    pairs.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
}
