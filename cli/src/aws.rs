//! What the commands on rooms in AWS have in common.

use std::sync::Mutex;
use std::time::Instant;

use anyhow::Result;
use cloud::{Architecture, Bundle, Event, Package, Resource};
use waitroom::RoomId;

use crate::exit::{Exit, Failure};
use crate::printer::{LiveLine, say};

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
        done = work => return done,
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let interrupted = Failure::new(Exit::Interrupted, "interrupted; what was begun goes on in AWS");
    Err(interrupted.advising(format!("attach to it with: beekeeper {command} {room}")).into())
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
