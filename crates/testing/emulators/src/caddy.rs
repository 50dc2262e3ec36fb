use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::server::{self, EmulatorServer};
use crate::shipped::replace;
use crate::{debian, port};

const GET_CADDY: &str = "Caddy is needed: on Debian and Ubuntu `sudo apt-get install caddy`, or only `apt-get update` as root, \
                         and the test unpacks the package itself";

const PATIENCE: Duration = Duration::from_secs(20);

/// Caddy with a configuration that we ship.
#[derive(Debug)]
pub struct Caddy {
    port: u16,
    server: EmulatorServer,
}

impl Caddy {
    /// Starts Caddy with a configuration that is shipped for this host, and that has a block of options. It answers by HTTP on a port of this machine.
    /// `changes` are texts of the configuration, each with its replacement.
    pub fn with_shipped(configuration: &str, host: &str, changes: &[(&str, &str)]) -> Result<Self> {
        let (folder, port) = (server::folder("caddy")?, port::free()?);
        let mut configuration = configuration.to_owned();
        replace(&mut configuration, "\n{\n", "\n{\n\tadmin off\n\tauto_https off\n")?;
        let (site, here) = (format!("{host} {{\n"), format!("http://127.0.0.1:{port} {{\n"));
        for (shipped, here) in [(&*site, &*here)].iter().chain(changes) {
            replace(&mut configuration, shipped, here)?;
        }
        let file = folder.path().join("Caddyfile");
        fs::write(&file, configuration).with_context(|| format!("could not write {}", file.display()))?;
        let mut caddy = server::watched(program()?);
        caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(&file).env("HOME", folder.path());
        let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let server =
            EmulatorServer::start(&mut caddy, folder, PATIENCE, listens).context("could not start Caddy")?;
        Ok(Self { port, server })
    }

    /// Whether Caddy takes this file, in an environment with these variables. The error has what it says.
    pub fn accepts(file: &Path, environment: &[(&str, &str)]) -> Result<()> {
        let mut caddy = Command::new(program()?);
        caddy.args(["validate", "--adapter", "caddyfile", "--config"]).arg(file);
        let output = caddy.envs(environment.iter().copied()).output().context(GET_CADDY)?;
        let said = String::from_utf8_lossy(&output.stderr);
        // It only warns of a file that is written in another way than it would.
        ensure!(output.status.success() && !said.contains("not formatted"), "{}: {said}", file.display());
        Ok(())
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What Caddy wrote.
    pub fn log(&self) -> Result<String> {
        let path = self.server.log();
        fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))
    }
}

/// Caddy of this machine, or one from Debian's package.
fn program() -> Result<PathBuf> {
    debian::program("caddy", "usr/bin/caddy", GET_CADDY)
}
