use std::env;
use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::server::{self, EmulatorServer};
use crate::{install, port, workspace};

const GET_NGINX: &str = "nginx is needed: on Debian and Ubuntu `sudo apt-get install nginx`, or only `apt-get update` as root, \
                         and the test unpacks the package itself";

const PATIENCE: Duration = Duration::from_secs(20);

/// nginx with a configuration of the test.
#[derive(Debug)]
pub struct Nginx {
    http: u16,
    https: u16,
    server: EmulatorServer,
}

impl Nginx {
    /// Starts nginx. `configuration` gets the folder for everything that nginx writes, and two free ports, for http and https.
    pub fn start(configuration: impl FnOnce(&Path, [u16; 2]) -> String) -> Result<Self> {
        let program = program()?;
        let folder = server::folder("nginx")?;
        let [http, https] = [port::free()?, port::free()?];
        ensure!(http != https, "drew the port {http} twice; run the test again");
        let file = folder.path().join("nginx.conf");
        fs::write(&file, configuration(folder.path(), [http, https]))
            .with_context(|| format!("could not write {}", file.display()))?;
        let mut nginx = server::watched(program);
        nginx.arg("-p").arg(folder.path()).arg("-c").arg(&file).args(["-g", "daemon off;"]);
        let listens =
            || [http, https].iter().all(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_ok());
        let server =
            EmulatorServer::start(&mut nginx, folder, PATIENCE, listens).context("could not start nginx")?;
        Ok(Self { http, https, server })
    }

    pub fn http_port(&self) -> u16 {
        self.http
    }

    pub fn https_port(&self) -> u16 {
        self.https
    }

    /// What nginx wrote.
    pub fn folder(&self) -> &Path {
        self.server.folder()
    }
}

/// nginx of this machine, or one from Debian's package, unpacked into the folder of tools. That needs no root.
fn program() -> Result<PathBuf> {
    let search = env::var_os("PATH").unwrap_or_default();
    // The paths of users often lack /usr/sbin.
    let folders =
        env::split_paths(&search).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    if let Some(found) = folders.map(|folder| folder.join("nginx")).find(|program| program.is_file()) {
        return Ok(found);
    }
    let tool = workspace::tools().join("nginx");
    let program = |tool: &Path| tool.join("usr/sbin/nginx");
    install::once(
        &tool,
        "nginx of this release of Debian or Ubuntu",
        |tool| program(tool).is_file(),
        unpack,
    )?;
    Ok(program(&tool))
}

fn unpack(tool: &Path) -> Result<()> {
    let mut download = Command::new("apt-get");
    install::run(download.args(["download", "nginx"]).current_dir(tool), GET_NGINX)?;
    let package = fs::read_dir(tool)?.flatten().map(|entry| entry.path());
    let package = package.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb"));
    let package = package.with_context(|| format!("apt-get left no package in {}", tool.display()))?;
    install::run(Command::new("dpkg-deb").arg("--extract").arg(package).arg(tool), GET_NGINX)
}
