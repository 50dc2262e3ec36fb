use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::server::{self, EmulatorServer};
use crate::{Venv, client, http, port};

/// Starting takes seconds, and much longer on a machine that compiles at the same time.
const PATIENCE: Duration = Duration::from_secs(90);

/// LocalEmu and all its dependencies, each at one version.
const REQUIREMENTS: &str = include_str!("../python/localemu.txt");

/// The plugins that run functions and correct LocalEmu, and the metadata by which LocalEmu finds them.
const PLUGINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python");

/// How a [`LocalEmu`] behaves.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether roles may do only what their policies allow. The access key `test` may do everything either way.
    pub enforce_iam: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { enforce_iam: true }
    }
}

/// AWS in one region, on this machine.
#[derive(Debug)]
pub struct LocalEmu {
    port: u16,
    server: EmulatorServer,
    turn: Mutex<()>,
}

impl LocalEmu {
    /// One LocalEmu for all tests of this process, with IAM enforced. Tests share it, so their resources need
    /// different names.
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<LocalEmu, String>> = OnceLock::new();
        let start = || Self::start(Options::default()).map_err(|error| format!("{error:#}"));
        SHARED.get_or_init(start).as_ref().map_err(|error| anyhow!("{error}"))
    }

    /// Starts a LocalEmu without any resources. Now and then its own server never listens and it gives up after a minute, so
    /// there is a second attempt.
    pub fn start(options: Options) -> Result<Self> {
        Self::attempt(options).or_else(|_| Self::attempt(options))
    }

    fn attempt(options: Options) -> Result<Self> {
        let venv = installed()?;
        let folder = server::folder("localemu")?;
        let path = folder.path();
        fs::create_dir(functions_in(path))?;
        // Else LocalEmu puts a region into its own environment for each deployment, and takes it away from another at the same time.
        fs::create_dir(path.join(".aws"))?;
        fs::write(path.join(".aws/config"), "[default]\nregion = us-east-1\n")?;
        let port = port::free()?;
        // A function that is a Python script must find this Python, which has boto3.
        let inherited = env::var_os("PATH").unwrap_or_default();
        let programs = env::join_paths([venv.bin()].into_iter().chain(env::split_paths(&inherited)))?;
        let settings: [(&str, OsString); 17] = [
            ("PATH", programs),
            ("PYTHONPATH", PLUGINS.into()),
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
            ("HOME", path.into()),
            ("TMPDIR", path.into()),
            ("FILESYSTEM_ROOT", path.join("fs").into()),
            ("LOCALEMU_VOLUME_DIR", path.join("volume").into()),
            // The default server ignores the address and listens on all of them.
            ("GATEWAY_SERVER", "hypercorn".into()),
            ("GATEWAY_LISTEN", format!("127.0.0.1:{port}").into()),
            ("DNS_ADDRESS", "0".into()),
            ("SKIP_SSL_CERT_DOWNLOAD", "1".into()),
            ("DISABLE_EVENTS", "1".into()),
            ("IAM_ENFORCEMENT", if options.enforce_iam { "1" } else { "0" }.into()),
            ("ROOT_ACCESS_KEYS", client::ACCESS_KEY.into()),
            ("LAMBDA_RUNTIME_EXECUTOR", "host".into()),
            ("TESTBED_FUNCTIONS", functions_in(path).into()),
            ("TESTBED_THROTTLED", throttled_in(path).into()),
        ];
        let mut python = server::watched(venv.python());
        // Clears the developer's own AWS settings and proxies.
        python.args(["-m", "localemu.runtime.main"]).current_dir(path).env_clear().envs(settings);
        let is_ready = || http::get(port, "/_localemu/health") == Some(200);
        let server = EmulatorServer::start(&mut python, folder, PATIENCE, is_ready)
            .context("could not start LocalEmu")?;
        Ok(Self { port, server, turn: Mutex::default() })
    }

    /// An address, not a name, so that the SDKs put the name of a bucket into the path.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// For what must be done one after the other in one account. It ends when the guard is dropped.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The environment that makes an AWS SDK, the AWS CLI or the SAM CLI use this emulator, with an access key that
    /// has all permissions.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        client::environment(self.endpoint())
    }

    /// Where it serves the stage of a REST API that has this URL on AWS.
    pub fn stage(&self, url: &str) -> String {
        stage_at(&self.endpoint(), url)
    }

    /// Kills every process of this function and returns how many there were.
    pub fn kill_function(&self, function: &str) -> Result<usize> {
        let mut killed = 0;
        let Ok(processes) = fs::read_dir(functions_in(self.server.folder()).join(function).join("processes"))
        else {
            return Ok(killed);
        };
        for process in processes {
            let name = process?.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            let pid = number.with_context(|| format!("{} is no process", name.display()))?;
            match kill_process(pid, Signal::KILL) {
                Ok(()) => killed += 1,
                // It has ended already.
                Err(Errno::SRCH) => {}
                Err(error) => bail!("could not kill a process of {function}: {error}"),
            }
        }
        Ok(killed)
    }

    /// From now on this table, or every table, refuses writes of items whose key begins with this prefix.
    pub fn throttle_writes(&self, table: Option<&str>, prefix: &str) -> Result<Throttled> {
        let throttled = Throttled { switch: throttled_in(self.server.folder()) };
        fs::write(throttled.refused(), "")?;
        let new = throttled.switch.with_extension("new");
        fs::write(&new, format!("{}\n{prefix}", table.unwrap_or_default()))?;
        fs::rename(new, &throttled.switch)?;
        Ok(throttled)
    }

    /// The distributions that stacks made, and what they refer to, with their properties.
    pub fn distributions(&self) -> Result<Value> {
        http::get_json(self.port, "/_testbed/distributions")
    }

    /// The path of LocalEmu's own log.
    pub fn log(&self) -> PathBuf {
        self.server.log()
    }

    /// The standard output and error of the function with this name, environment after environment.
    pub fn function_log(&self, function: &str) -> Result<String> {
        let folder = functions_in(self.server.folder()).join(function);
        let Ok(logs) = fs::read_dir(&folder) else { return Ok(String::new()) };
        let mut logs = logs.map(|log| Ok(log?.path())).collect::<Result<Vec<_>>>()?;
        logs.retain(|file| file.extension().is_some_and(|extension| extension == "log"));
        logs.sort_by_key(|log| log.metadata().and_then(|metadata| metadata.created()).ok());
        logs.iter().map(|log| Ok(fs::read_to_string(log)?)).collect()
    }
}

/// Writes are refused until this is dropped.
#[derive(Debug)]
pub struct Throttled {
    switch: PathBuf,
}

impl Throttled {
    /// How many writes were refused.
    pub fn count(&self) -> u64 {
        fs::metadata(self.refused()).map_or(0, |file| file.len())
    }

    fn refused(&self) -> PathBuf {
        self.switch.with_extension("refused")
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.switch);
    }
}

/// A Python with boto3: LocalEmu's. Set the environment of the emulator that it has to use.
pub fn boto3() -> Result<Command> {
    Ok(Command::new(installed()?.python()))
}

/// Where the LocalEmu at this endpoint serves the stage of a REST API that has this URL on AWS. Neither ends with a slash.
pub fn stage_at(endpoint: &str, url: &str) -> String {
    // https://<api>.execute-api.….amazonaws.com/<stage>
    let rest = url.trim_start_matches("https://");
    let (api, stage) =
        (rest.split('.').next().unwrap_or_default(), rest.rsplit('/').next().unwrap_or_default());
    format!("{endpoint}/_aws/execute-api/{api}/{stage}")
}

/// The Python environment in which LocalEmu runs.
fn installed() -> Result<Venv> {
    let requirements: Vec<&str> = REQUIREMENTS.lines().filter(|line| !line.starts_with('#')).collect();
    Venv::with("localemu", &requirements)
}

/// The folder that has one folder for each function, with one log for each environment of the function.
fn functions_in(folder: &Path) -> PathBuf {
    folder.join("functions")
}

/// This file exists while writes are refused.
fn throttled_in(folder: &Path) -> PathBuf {
    folder.join("throttled")
}
