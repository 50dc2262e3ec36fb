use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Runs a script in Node.js with the functions of `site/line.js`, whose path is `process.argv[1]`. `input` is its standard input.
/// Returns what it prints.
pub fn with_line_js(script: &str, input: &str) -> Result<String> {
    let mut node = Command::new("node")
        .args(["--input-type=module", "--eval", script])
        .arg(workspace::root().join("site/line.js"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("could not start node: this test needs Node.js 20 or newer")?;
    node.stdin.take().context("node has an input")?.write_all(input.as_bytes())?;
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "node failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
