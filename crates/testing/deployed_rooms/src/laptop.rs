use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use emulators::{LocalEmu, boto3, workspace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::operator_policies::operator_policies;
use crate::sam::architecture;
use crate::stage::SHOP;

/// Queries and changes the emulated AWS account directly, with all permissions.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/account.py");

/// The timeout of one run of `beekeeper`. Waiting for the schedule alone may take two minutes.
const PATIENCE: Duration = Duration::from_mins(6);

/// A computer with `beekeeper` and a folder of configuration files.
#[derive(Debug)]
pub struct Laptop {
    beekeeper: PathBuf,
    folder: TempDir,
}

impl Laptop {
    /// A computer with this program and no configuration files.
    pub fn new(beekeeper: PathBuf) -> Result<Self> {
        Ok(Self { beekeeper, folder: tempfile::tempdir()? })
    }

    /// Writes the configuration file of a room.
    pub fn configure(&self, room: &str, settings: &str) -> Result<()> {
        let folder = self.folder.path().join("beekeeper");
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join(room).with_extension("toml"), settings)?)
    }

    /// `beekeeper` with these arguments, and no environment but this folder.
    pub fn beekeeper(&self, arguments: &[&str]) -> Command {
        let mut beekeeper = Command::new(&self.beekeeper);
        beekeeper.args(arguments).env_clear().stdin(Stdio::null());
        beekeeper.env("HOME", self.folder.path()).env("XDG_CONFIG_HOME", self.folder.path());
        // This machine may be an EC2 instance. Its own credentials must not be used.
        beekeeper.env("AWS_EC2_METADATA_DISABLED", "true");
        beekeeper
    }
}

/// Runs a command of `beekeeper` that must succeed. Returns the last line of its output, parsed as JSON.
pub(crate) fn done(beekeeper: &mut Command) -> Result<Value> {
    let output = beekeeper.output().with_context(|| format!("could not start {beekeeper:?}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let arguments: Vec<_> = beekeeper.get_args().collect();
    ensure!(output.status.success(), "{arguments:?}: {}\n{said}\n{complaint}", output.status);
    Ok(serde_json::from_str(said.lines().last().unwrap_or_default())?)
}

/// An operator with exactly the permissions that docs/operator-policy.md lists, in an account of LocalEmu.
#[derive(Debug)]
pub struct Operator {
    aws: &'static LocalEmu,
    laptop: Laptop,
    name: String,
    keys: Option<(String, String)>,
}

impl Operator {
    pub fn new(aws: &'static LocalEmu, name: &str) -> Result<Self> {
        let [policy, optional] = operator_policies();
        let keys = asked(aws, &["user", name, &policy.to_string_lossy(), &optional.to_string_lossy()])?;
        let keys = Some(serde_json::from_str(&keys)?);
        Ok(Self { aws, laptop: Laptop::new(binary())?, name: name.to_owned(), keys })
    }

    /// Writes the room's configuration file.
    pub fn profile(&self, room: &str, title: &str) -> Result<()> {
        self.profile_in("us-east-1", room, title)
    }

    /// The same for a room in this region.
    pub fn profile_in(&self, region: &str, room: &str, title: &str) -> Result<()> {
        let profile = format!(
            "title = {title:?}\nregion = {region:?}\nshop = {SHOP:?}\nrate = 60\nthrottle = false\n\
             architecture = \"{}\"\n",
            architecture()
        );
        self.laptop.configure(room, &profile)
    }

    /// Adds an AWS profile to the room's configuration file. The profile assumes a role with the same permissions.
    /// From then on there are no other credentials.
    pub fn enter_by_role(&mut self, room: &str) -> Result<()> {
        let role = asked(self.aws, &["role", &self.name])?;
        let (id, secret) = self.keys.take().context("there are keys")?;
        let aws = self.laptop.folder.path().join(".aws");
        fs::create_dir(&aws)?;
        let keys = format!("[keys]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n");
        fs::write(aws.join("credentials"), keys)?;
        let config = format!("[profile events]\nrole_arn = {}\nsource_profile = keys\n", role.trim());
        fs::write(aws.join("config"), config)?;
        self.configure_more(room, "aws_profile = \"events\"\n")
    }

    /// Adds settings to the room's configuration file.
    pub fn configure_more(&self, room: &str, settings: &str) -> Result<()> {
        let file = self.laptop.folder.path().join("beekeeper").join(room).with_extension("toml");
        let said = fs::read_to_string(&file)?;
        Ok(fs::write(file, said + settings)?)
    }

    /// Removes the user's policies. From then on every call is denied.
    pub fn take_policy(&self) -> Result<()> {
        asked(self.aws, &["forbid", &self.name]).map(drop)
    }

    /// Denies the user one action.
    pub fn deny(&self, action: &str) -> Result<()> {
        asked(self.aws, &["deny", &self.name, action]).map(drop)
    }

    /// Removes the keys. From then on there are no credentials.
    pub fn forget_keys(&mut self) {
        self.keys = None;
    }

    fn beekeeper(&self, arguments: &[&str]) -> Command {
        let mut beekeeper = self.laptop.beekeeper(arguments);
        beekeeper.env("AWS_ENDPOINT_URL", self.aws.endpoint());
        if let Some((id, secret)) = &self.keys {
            beekeeper.env("AWS_ACCESS_KEY_ID", id).env("AWS_SECRET_ACCESS_KEY", secret);
        }
        beekeeper
    }

    /// Runs a command and waits until it ends.
    pub fn run(&self, arguments: &[&str]) -> Result<Output> {
        let output = self.beekeeper(arguments).output();
        output
            .with_context(|| format!("could not start {}; run cargo xtask test deployed", binary().display()))
    }

    /// Runs a command that must succeed without credentials and without AWS. Returns the last line, parsed as JSON.
    pub fn done_offline(&self, arguments: &[&str]) -> Result<Value> {
        done(&mut self.laptop.beekeeper(arguments))
    }

    /// Runs a command that must succeed. Returns the last line of its output, parsed as JSON.
    pub fn done(&self, arguments: &[&str]) -> Result<Value> {
        done(&mut self.beekeeper(arguments))
    }

    /// Runs a command until it prints a line that contains `at`, then sends it the signal `by`. Returns the exit
    /// code, or `None` if the signal killed it.
    pub fn stopped(&self, arguments: &[&str], at: &str, by: Signal) -> Result<Option<i32>> {
        let mut child = self.beekeeper(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut all = String::new();
        for line in BufReader::new(child.stdout.take().context("it has an output")?).lines() {
            let line = line?;
            if line.contains(at) {
                kill_process(Pid::from_child(&child), by)?;
                return Ok(ended(&mut child)?.code());
            }
            all += &(line + "\n");
        }
        let output = child.wait_with_output()?;
        bail!("{arguments:?} did not come to {at}: {all}{}", String::from_utf8_lossy(&output.stderr))
    }

    /// Starts a command that runs until it is ended, and waits until it prints a line that contains `at`. Returns what it
    /// printed until then.
    pub fn started(&self, arguments: &[&str], at: &str) -> Result<(Running, String)> {
        let mut child = self.beekeeper(arguments).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().context("it has an output")?);
        let (running, mut all) = (Running(child), String::new());
        for line in output.lines() {
            all += &(line? + "\n");
            if all.contains(at) {
                return Ok((running, all));
            }
        }
        bail!("{arguments:?} did not come to {at}: {all}")
    }

    /// Lists everything that exists in the account.
    pub fn listing(&self) -> Result<String> {
        asked(self.aws, &["list"])
    }
}

/// A command that runs. Dropping this ends it.
#[derive(Debug)]
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn ended(child: &mut Child) -> Result<std::process::ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            bail!("it did not stop");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The command-line tool, built with the function packages inside.
fn binary() -> PathBuf {
    workspace::target().join("debug/beekeeper")
}

fn asked(aws: &LocalEmu, arguments: &[&str]) -> Result<String> {
    let output = boto3()?.arg(Path::new(SCRIPT)).args(arguments).envs(aws.environment()).output()?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
