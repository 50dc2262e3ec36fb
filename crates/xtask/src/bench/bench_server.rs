use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::load::WORKERS;

/// A server under load. Dropping this ends it.
pub(super) struct BenchServer(pub(super) Child);

impl BenchServer {
    /// Starts a server of `beekeeper`, with this directory for its data. The line that begins with `says` has its URL.
    pub(super) fn beekeeper(
        program: &Path,
        arguments: &[&str],
        data: &Path,
        says: &str,
    ) -> Result<(Self, String)> {
        let mut process = Command::new(program)
            .args(arguments)
            .arg("--data")
            .arg(data)
            .env("TOKIO_WORKER_THREADS", WORKERS)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("could not start {}", program.display()))?;
        let output = BufReader::new(process.stdout.take().context("a server has an output")?);
        let server = Self(process);
        for line in output.lines() {
            if let Some(url) = line?.trim().strip_prefix(says) {
                return Ok((server, url.trim().to_owned()));
            }
        }
        bail!("beekeeper {} did not say where it is", arguments.join(" "))
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // Ended by a signal that it can handle: nginx's workers end only if their master shuts down cleanly.
        let pid = self.0.id().to_string();
        drop(Command::new("kill").args(["-TERM", &pid]).status());
        drop(self.0.wait());
    }
}
