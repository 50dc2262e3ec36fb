//! What the visitors of a rehearsal share: the plan, the connections, the notes, and whether they may go on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clock::SystemClock;
use pass::Verifier;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::timeout;
use url::Url;
use waitroom::ports::Clock;
use waitroom::{RehearsalMark, RoomId, WebUrl};

use super::cookies::VisitorCookies;
use super::notes::{CrowdProgress, VisitNote, VisitNotes};
use super::polled::PolledLine;
use super::wire::{VisitFault, VisitorWire};

/// What the visitors are to do.
#[derive(Clone, Debug)]
pub(crate) struct CrowdPlan {
    /// The room's URL, under which its routes are.
    pub(crate) room: Url,
    /// The host to ask for, if it is not the one in the URL.
    pub(crate) host: Option<String>,
    pub(crate) mark: RehearsalMark,
    /// When each visitor comes, in milliseconds since the beginning.
    pub(crate) times: Vec<u32>,
    pub(crate) seed: u64,
    pub(crate) enters_shop: bool,
    /// What passes of the room say: its issuer and its name.
    pub(crate) issuer: String,
    pub(crate) name: RoomId,
    /// How long an admission lasts. An admission's end minus this is its beginning.
    pub(crate) admission: Duration,
}

/// Why a crowd's visits ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CrowdEnd {
    AllDone,
    TimeOver,
    Interrupted,
    /// An answer did not show the mark of this rehearsal: somebody reset the room, or it is another one.
    MarkLost,
}

#[derive(Debug)]
pub(crate) struct VisitorCrowd {
    pub(super) plan: CrowdPlan,
    pub(super) wire: VisitorWire,
    notes: Mutex<VisitNotes>,
    verifier: OnceLock<Verifier>,
    is_stopped: AtomicBool,
    mark_lost: Notify,
}

impl VisitorCrowd {
    /// On AWS, polls may read a copy of the status that is a moment old.
    const MARK_SEEN_WITHIN: Duration = Duration::from_secs(15);

    pub(crate) fn new(plan: CrowdPlan) -> Result<Arc<Self>> {
        let wire = VisitorWire::new(plan.room.clone(), plan.host.clone())
            .context("could not read the trusted certificates of this machine")?;
        let visits = vec![VisitNote::default(); plan.times.len()];
        let notes = Mutex::new(VisitNotes { visits, ..VisitNotes::default() });
        let crowd = Self {
            plan,
            wire,
            notes,
            verifier: OnceLock::new(),
            is_stopped: AtomicBool::new(false),
            mark_lost: Notify::new(),
        };
        Ok(Arc::new(crowd))
    }

    /// Asks the room once for its mark, before anybody is sent there.
    pub(crate) async fn find_mark(&self) -> Result<()> {
        let url = self.polling();
        let asked = async {
            loop {
                let answer = self.wire.get(&url, &mut VisitorCookies::default()).await;
                let polled =
                    answer.ok().and_then(|answer| serde_json::from_slice::<PolledLine>(&answer.body).ok());
                if polled.is_some_and(|polled| polled.rehearsal == Some(self.plan.mark)) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        if timeout(Self::MARK_SEEN_WITHIN, asked).await.is_err() {
            bail!(
                "{url} does not show the mark that was written into the room, so no visitor was sent there"
            );
        }
        self.find_keys().await.context("could not read the keys with which the room signs passes")
    }

    async fn find_keys(&self) -> Result<()> {
        let url = self.below(".well-known/jwks.json");
        let answer = self.wire.get(&url, &mut VisitorCookies::default()).await;
        let answer = answer.map_err(|fault| anyhow!("{url}: {fault}"))?;
        let keys = serde_json::from_slice(&answer.body).with_context(|| url.to_string())?;
        let CrowdPlan { issuer, name, .. } = &self.plan;
        let verifier = Verifier { issuer: issuer.clone(), audience: name.to_string(), keys };
        drop(self.verifier.set(verifier));
        Ok(())
    }

    /// The number in a pass, if the pass is one of this room.
    pub(super) fn ticket_of_pass(&self, shop: &Url) -> Option<u64> {
        let (_, pass) = shop.query_pairs().find(|(name, _)| name == WebUrl::PASS_PARAMETER)?;
        let claims = self.verifier.get()?.verify(&pass, SystemClock.now().as_secs()).ok()?;
        claims.queue_position
    }

    pub(crate) fn progress(&self) -> CrowdProgress {
        self.notes().progress()
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, VisitNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn door(&self) -> Url {
        self.below("beekeeper")
    }

    pub(super) fn polling(&self) -> Url {
        self.below("polling")
    }

    fn below(&self, name: &str) -> Url {
        let mut url = self.plan.room.clone();
        url.set_path(&format!("{}/{name}", self.plan.room.path().trim_end_matches('/')));
        url
    }

    /// Stops everybody if an answer does not show the mark. Does not return then.
    pub(super) async fn check_mark(&self, shown: Option<RehearsalMark>) -> Result<(), VisitFault> {
        if shown == Some(self.plan.mark) {
            return Ok(());
        }
        self.stop();
        self.mark_lost.notify_one();
        self.wait_for_leave().await;
        Err(VisitFault::NoMark)
    }

    /// Nobody sends anything from now on.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Resolves when an answer did not show the mark.
    pub(super) async fn mark_lost(&self) {
        self.mark_lost.notified().await;
    }

    /// Returns at once, or never after the crowd was stopped.
    pub(super) async fn wait_for_leave(&self) {
        if self.is_stopped.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}
