use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::program::{self, Program};
use crate::server::{self, EmulatorServer};
use crate::{debian, install, port, workspace};

const PATIENCE: Duration = Duration::from_secs(30);

const PHP: Program = Program { variable: "PHP", names: &["php"], package: "php-cli" };

/// A program in another language that listens on a port of this machine.
#[derive(Debug)]
pub struct ScriptServer {
    port: u16,
    server: EmulatorServer,
}

impl ScriptServer {
    /// Starts the program, and waits until it listens. `configure` adds its arguments and its environment. It gets the port
    /// on which the program has to listen at 127.0.0.1.
    pub fn start(name: &str, program: &Path, configure: impl FnOnce(&mut Command, u16)) -> Result<Self> {
        let (folder, port) = (server::folder(name)?, port::free()?);
        let mut command = server::watched(program);
        command.current_dir(folder.path());
        configure(&mut command, port);
        let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let server = EmulatorServer::start(&mut command, folder, PATIENCE, listens)
            .with_context(|| format!("could not start {name}"))?;
        Ok(Self { port, server })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where the program runs.
    pub fn folder(&self) -> &Path {
        self.server.folder()
    }
}

/// PHP of this machine. Root gets Debian's package installed.
pub fn php() -> Result<PathBuf> {
    install::refuse_without_tools("PHP")?;
    let found = program::installed(&[PHP], "the connector for PHP is tested with it")?;
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// The sources of firebase/php-jwt, which Packagist has. Debian has them too, in the package of a program that uses them, and
/// that package is unpacked here.
pub fn php_jwt() -> Result<PathBuf> {
    const GET: &str = "firebase/php-jwt is needed: on Debian and Ubuntu `apt-get update` as root, and the test unpacks the package \
                       zoneminder itself, which has it";
    let tool = workspace::tools().join("php-jwt");
    let sources = |tool: &Path| tool.join("usr/share/zoneminder/www/vendor/firebase/php-jwt/src");
    install::once(
        &tool,
        "php-jwt of zoneminder of this release of Debian or Ubuntu",
        |tool| sources(tool).join("JWT.php").is_file(),
        |tool| debian::unpack("zoneminder", tool, GET),
    )?;
    Ok(sources(&tool))
}
