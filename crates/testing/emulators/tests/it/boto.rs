use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::Value;

/// Calls AWS through boto3, so that the emulators are also tested with a client that is not ours.
pub(crate) struct Boto {
    python: Child,
    calls: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Boto {
    pub(crate) fn new(environment: [(&'static str, String); 4]) -> Self {
        let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/boto.py");
        let mut python = emulators::boto3()
            .unwrap()
            .envs(environment)
            .arg(driver)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (calls, answers) = (python.stdin.take().unwrap(), python.stdout.take().unwrap());
        Self { python, calls, answers: BufReader::new(answers) }
    }

    /// The response of AWS, or the code of its error.
    pub(crate) fn call(
        &mut self,
        service: &str,
        operation: &str,
        parameters: Value,
    ) -> Result<Value, String> {
        let call = Value::Array(vec![service.into(), operation.into(), parameters]);
        writeln!(self.calls, "{call}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        match &answer["error"] {
            Value::String(code) => Err(code.clone()),
            _ => Ok(answer["answer"].take()),
        }
    }
}

impl Drop for Boto {
    fn drop(&mut self) {
        let _ = self.python.kill();
        let _ = self.python.wait();
    }
}
