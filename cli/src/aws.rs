//! What the commands on rooms in AWS have in common.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Result, bail};
use cloud::{Architecture, Bundle, Event, Kind, Package, Resource, Trouble};
use waitroom::RoomId;

use crate::printer::{LiveLine, say};

/// A question was answered no, or could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("nothing was changed")]
pub(crate) struct Refused;

/// Ctrl-C, or a signal that means the same.
#[derive(Debug, thiserror::Error)]
#[error("interrupted. What was begun goes on in AWS; attach to it with: beekeeper {command} {room}")]
pub(crate) struct Interrupted {
    command: &'static str,
    room: RoomId,
}

pub(crate) fn run_async(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

/// Lets somebody stop watching. What AWS was told to do it does all the same.
pub(crate) async fn interruptible(
    command: &'static str,
    room: &RoomId,
    work: impl Future<Output = Result<()>>,
) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        done = work => done,
        _ = interrupt.recv() => bail!(Interrupted { command, room: room.clone() }),
        _ = terminate.recv() => bail!(Interrupted { command, room: room.clone() }),
    }
}

/// The packages that this was built with.
pub(crate) fn bundle() -> Bundle {
    Bundle::new(bundle::PACKAGES.iter().filter_map(|package| {
        Some(Package {
            architecture: Architecture::named(package.architecture)?,
            function: package.function.to_owned(),
            zip: package.zip.into(),
        })
    }))
}

/// Asks on a terminal. Where there is none, nobody can answer.
pub(crate) fn asked(question: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(
            anyhow::Error::new(Refused).context("this asks first, and there is nobody to ask; say --yes")
        );
    }
    eprint!("{question} [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Shows events as they come: as JSON, as lines, or on a terminal as lines above one that tells what is under way.
pub(crate) struct Progress {
    json: bool,
    began: Instant,
    line: LiveLine,
    under_way: Mutex<Vec<String>>,
}

impl Progress {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, began: Instant::now(), line: LiveLine::new(), under_way: Mutex::default() }
    }

    pub(crate) fn show(&self, event: &Event) {
        // Whoever reads our output may stop reading it; the work goes on.
        if self.json {
            drop(serde_json::to_string(event).map(|line| say(&line)));
            return;
        }
        let mut under_way = self.under_way.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match event {
            Event::Step { text, .. } => {
                under_way.clear();
                self.print(text);
            }
            Event::Resource(resource) if resource.is_stack() => {}
            Event::Resource(resource) => {
                under_way.retain(|name| *name != resource.name);
                if resource.is_under_way() {
                    under_way.push(resource.name.clone());
                } else {
                    self.print(&line(resource));
                }
            }
            Event::Warning { text, advice } => {
                self.print(&format!("warning: {text}"));
                if let Some(advice) = advice {
                    self.print(&format!("  {advice}"));
                }
            }
        }
        if !under_way.is_empty() {
            let seconds = self.began.elapsed().as_secs();
            self.line.show(&format!("{}:{:02}  {}", seconds / 60, seconds % 60, under_way.join(", ")));
        }
    }

    fn print(&self, line: &str) {
        self.line.show("");
        eprintln!("{line}");
    }
}

/// `  Line                 AWS::SQS::Queue  create complete`
fn line(resource: &Resource) -> String {
    let status = resource.status.to_lowercase().replace('_', " ");
    let reason = resource.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    format!("  {:<28} {:<34} {status}{reason}", resource.name, resource.kind)
}

/// What the process ends with.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<Refused>() {
        return 6;
    }
    if error.is::<Interrupted>() {
        return 5;
    }
    match error.downcast_ref::<Trouble>().map(Trouble::kind) {
        Some(Kind::Absent) => 3,
        Some(Kind::Credentials | Kind::Expired | Kind::Denied | Kind::Region) => 4,
        Some(Kind::Interrupted) => 5,
        _ => 1,
    }
}
