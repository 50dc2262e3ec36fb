use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::server::{self, EmulatorServer};
use crate::shipped::replace;
use crate::{debian, install, port, workspace};

const GET_NGINX: &str = "nginx is needed: on Debian and Ubuntu `sudo apt-get install nginx`, or only `apt-get update` as root, \
                         and the test unpacks the package itself";

const PATIENCE: Duration = Duration::from_secs(20);

/// nginx with a configuration that we ship.
#[derive(Debug)]
pub struct Nginx {
    http: u16,
    https: u16,
    server: EmulatorServer,
}

impl Nginx {
    /// Starts nginx with a configuration that is shipped for a machine of its own. What depends on the machine is replaced:
    /// ports, the certificate, and where nginx writes. `changes` are texts of the configuration, each with its replacement.
    pub fn with_shipped(configuration: &str, host: &str, changes: &[(&str, &str)]) -> Result<Self> {
        let folder = server::folder("nginx")?;
        certify(host, folder.path())?;
        let ports = [port::free()?, port::free()?];
        ensure!(ports[0] != ports[1], "drew the port {} twice; run the test again", ports[0]);
        let mut configuration = adapted(configuration, host, folder.path(), ports)?;
        for (shipped, here) in changes {
            replace(&mut configuration, shipped, here)?;
        }
        Self::start(folder, &configuration, ports)
    }

    /// Starts nginx with a configuration that somebody else has. It is told the folder and two free ports, and writes
    /// `etc/nginx.conf` in that folder; what nginx writes itself lies beside `etc`.
    pub fn of_operator(write: impl FnOnce(&Path, [u16; 2])) -> Result<Self> {
        let folder = server::folder("nginx")?;
        let ports = [port::free()?, port::free()?];
        ensure!(ports[0] != ports[1], "drew the port {} twice; run the test again", ports[0]);
        write(folder.path(), ports);
        let conf = folder.path().join("etc/nginx.conf");
        Self::start_with(folder, &conf, ports)
    }

    /// Starts nginx with docs/guard/nginx.conf, for a guard on this port. The shop is a server of nginx itself, with these
    /// directives. Its host is `shop.example`.
    pub fn in_front_of_shop(guard: u16, shop: &str, changes: &[(&str, &str)]) -> Result<Self> {
        let path = workspace::root().join("docs/guard/nginx.conf");
        let shipped =
            fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        let address = format!("127.0.0.1:{}", port::free()?);
        let here = [
            ("127.0.0.1:8090", &*format!("127.0.0.1:{guard}")),
            ("127.0.0.1:3000", &address),
            ("/run/beekeeper-guard", "guard-cache"),
            // Last, because its port may begin like one that is replaced.
            ("http {\n", &format!("http {{\n    server {{ listen {address}; {shop} }}\n")),
        ];
        Self::with_shipped(&shipped, "shop.example", &[&here, changes].concat())
    }

    /// Starts nginx with this configuration, which listens on these ports.
    pub(crate) fn start(folder: TempDir, configuration: &str, ports: [u16; 2]) -> Result<Self> {
        let file = folder.path().join("nginx.conf");
        fs::write(&file, configuration).with_context(|| format!("could not write {}", file.display()))?;
        Self::start_with(folder, &file, ports)
    }

    fn start_with(folder: TempDir, file: &Path, [http, https]: [u16; 2]) -> Result<Self> {
        let mut nginx = server::watched(Self::program()?);
        nginx.arg("-p").arg(folder.path()).arg("-c").arg(file).args(["-g", "daemon off;"]);
        let listens =
            || [http, https].iter().all(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_ok());
        let server =
            EmulatorServer::start(&mut nginx, folder, PATIENCE, listens).context("could not start nginx")?;
        Ok(Self { http, https, server })
    }

    /// nginx of this machine, or one from Debian's package.
    pub fn program() -> Result<PathBuf> {
        debian::program("nginx", "usr/sbin/nginx", GET_NGINX)
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

/// The configuration with the ports and the folder of this run, which do not need root.
fn adapted(shipped: &str, host: &str, folder: &Path, [http, https]: [u16; 2]) -> Result<String> {
    let at = |name: &str| folder.join(name).display().to_string();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("    {what}_temp_path {};\n", at(what)))
        .concat();
    // Not every machine has IPv6.
    let lines = shipped.lines().filter(|line| !line.trim_start().starts_with("listen [::]:"));
    let mut configuration: String = lines.flat_map(|line| [line, "\n"]).collect();
    for (shipped, here) in [
        ("user www-data;", "user root;".to_owned()),
        ("/run/nginx.pid", at("nginx.pid")),
        ("/var/log/nginx/error.log", at("error.log")),
        ("/var/log/nginx/access.log", at("access.log")),
        ("http {\n", format!("http {{\n{temporary}")),
        ("listen 80;", format!("listen 127.0.0.1:{http};")),
        ("listen 443 ssl http2", format!("listen 127.0.0.1:{https} ssl http2")),
        (&*format!("/etc/letsencrypt/live/{host}/fullchain.pem"), at("certificate.pem")),
        (&*format!("/etc/letsencrypt/live/{host}/privkey.pem"), at("key.pem")),
    ] {
        replace(&mut configuration, shipped, &here)?;
    }
    Ok(configuration)
}

/// Writes a certificate of this host, and its key, into the folder: `certificate.pem` and `key.pem`.
pub fn certify(host: &str, folder: &Path) -> Result<()> {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    openssl.args(["-days", "2", "-subj", &format!("/CN={host}"), "-addext"]);
    openssl.arg(format!("subjectAltName=DNS:{host}"));
    // rustls takes no certificate of an authority for that of a server.
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(folder.join("key.pem")).arg("-out").arg(folder.join("certificate.pem"));
    install::run(&mut openssl, "on Debian: apt-get install openssl")
}
