//! Commands that take AWS minutes: their packages, what they show meanwhile, and Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use cloud::{Bundle, CloudError, CloudErrorKind, DeployEvent, FunctionPackage, Resource};
use config::Architecture;
use tokio::task::JoinHandle;
use waitroom::RoomId;

use crate::ending;
use crate::exit::{Exit, Failure};
use crate::printer::{LiveLine, note_above, say};
use crate::runtime::asked_to_stop;

/// Stops waiting for AWS on Ctrl-C. AWS completes the request that it was sent.
pub(crate) async fn interruptible(
    command: &'static str,
    room: &RoomId,
    begun: &AtomicBool,
    work: impl Future<Output = Result<()>>,
) -> Result<()> {
    let asked_to_stop = asked_to_stop()?;
    let stopped = tokio::select! {
        done = work => done,
        () = asked_to_stop => Err(Failure::interrupted().into()),
    };
    stopped.map_err(|error| if begun.load(Ordering::Relaxed) { midway(error, command, room) } else { error })
}

/// The error of a command that has begun to change the room, if AWS goes on without it.
fn midway(error: anyhow::Error, command: &str, room: &RoomId) -> anyhow::Error {
    let again = format!("to follow it, run again: beekeeper {command} {room}");
    if ending::exit(&error) == Exit::Interrupted {
        return Failure::new(Exit::Interrupted, "interrupted; AWS continues").advising(again).into();
    }
    let is_expired = |cause: &CloudError| cause.kind() == CloudErrorKind::ExpiredCredentials;
    if !error.chain().any(|cause| cause.downcast_ref().is_some_and(is_expired)) {
        return error;
    }
    let sign_in = ending::advice(&error).unwrap_or_default();
    let advice = format!("{sign_in}. AWS goes on with what it has begun; {again}");
    Failure::new(ending::exit(&error), format!("{error:#}")).advising(advice).into()
}

/// The function packages in this program: architecture and zip. Only `cargo xtask dist` includes them: see `build.rs`.
const PACKAGES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/packages.rs"));

/// Those that this program has functions for.
pub(crate) fn architectures() -> Vec<&'static str> {
    let mut names: Vec<_> = PACKAGES.iter().map(|(architecture, ..)| *architecture).collect();
    names.dedup();
    names
}

pub(crate) fn bundle() -> Bundle {
    Bundle::new(PACKAGES.iter().filter_map(|&(architecture, zip)| {
        Some(FunctionPackage { architecture: Architecture::named(architecture)?, zip: zip.into() })
    }))
}

/// Shows events as they happen, as JSON or as lines. On a terminal, the last line shows what is in progress and for how
/// long; it is updated every second.
pub(crate) struct ProgressDisplay {
    json: bool,
    shown: Arc<Shown>,
    clock: Option<JoinHandle<()>>,
}

struct Shown {
    began: Instant,
    line: LiveLine,
    step: Mutex<String>,
    under_way: Mutex<Vec<String>>,
}

impl ProgressDisplay {
    pub(crate) fn new(json: bool) -> Self {
        let (step, under_way) = (Mutex::default(), Mutex::default());
        let shown = Arc::new(Shown { began: Instant::now(), line: LiveLine::new(), step, under_way });
        let clock = (!json).then(|| {
            let shown = Arc::clone(&shown);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    shown.tick();
                }
            })
        });
        Self { json, shown, clock }
    }

    pub(crate) fn show(&self, event: &DeployEvent) {
        // An error here means that the output was closed. The deployment continues.
        if self.json {
            drop(serde_json::to_string(event).map(|line| say(&line)));
            return;
        }
        self.shown.show(event);
        self.shown.tick();
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        if let Some(clock) = &self.clock {
            clock.abort();
        }
        self.shown.line.show("");
    }
}

impl Shown {
    fn show(&self, event: &DeployEvent) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            DeployEvent::Step { text, .. } => {
                under_way.clear();
                note_above(text);
                self.step.lock().unwrap_or_else(PoisonError::into_inner).clone_from(text);
            }
            DeployEvent::Resource(resource) if resource.is_stack() => {}
            DeployEvent::Resource(resource) => {
                under_way.retain(|name| *name != resource.name);
                if resource.is_under_way() {
                    under_way.push(resource.name.clone());
                } else {
                    note_above(&line(resource));
                }
            }
            DeployEvent::Warning { text, advice } => {
                note_above(&format!("warning: {text}"));
                if let Some(advice) = advice {
                    note_above(&format!("  {advice}"));
                }
            }
        }
    }

    fn tick(&self) {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        let what = if under_way.is_empty() { step.clone() } else { under_way.join(", ") };
        let seconds = self.began.elapsed().as_secs();
        // Short enough for a narrow terminal.
        let what: String = what.chars().take(70).collect();
        self.line.show(&format!("{}:{:02}  {what}", seconds / 60, seconds % 60));
    }
}

/// `  Line                 AWS::SQS::Queue  create complete`
fn line(resource: &Resource) -> String {
    let status = resource.status.to_lowercase().replace('_', " ");
    let reason = resource.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    format!("  {:<28} {:<34} {status}{reason}", resource.name, resource.kind)
}

#[cfg(test)]
mod tests {
    use waitroom::ports::{Fault, PortError};

    use super::*;

    /// What a command is told that stopped so, before and after it had begun.
    async fn told(error: fn() -> anyhow::Error) -> [(Exit, String); 2] {
        let room = "sale".parse().unwrap();
        let mut told = Vec::new();
        for begun in [false, true] {
            let work = async { Err(error()) };
            let error = interruptible("deploy", &room, &AtomicBool::new(begun), work).await.unwrap_err();
            told.push((ending::exit(&error), ending::advice(&error).unwrap_or_default()));
        }
        told.try_into().unwrap()
    }

    fn failed(why: &str) -> anyhow::Error {
        CloudError::from_port("read the room", PortError::new("read it", Fault::Broken, why)).into()
    }

    #[tokio::test]
    async fn whoever_is_stopped_midway_reads_that_aws_goes_on() {
        let again = "AWS goes on with what it has begun; to follow it, run again: beekeeper deploy sale";
        let [before, after] = told(|| failed("ExpiredToken: it is expired")).await;
        assert_eq!(before, (Exit::Denied, "sign in to AWS again".to_owned()));
        assert_eq!(after, (Exit::Denied, format!("sign in to AWS again. {again}")));
        let [before, after] = told(|| failed("AccessDenied: no")).await;
        assert_eq!(before, after, "what AWS refuses does not go on");
        let [_, interrupted] = told(|| Failure::interrupted().into()).await;
        assert_eq!(interrupted.1, "to follow it, run again: beekeeper deploy sale");
    }
}
