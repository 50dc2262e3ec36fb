//! What the visitors of a rehearsal share: the plan, the connections, the notes, and whether they may go on.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use page::PollText;
use page::cookies::CookieJar;
use parking_lot::{Mutex, MutexGuard};
use pass::{Jwks, Verifier};
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use url::Url;
use waitroom::{RehearsalMark, RoomId, Timestamp, WebUrl};

use crate::RehearsalError;
use crate::notes::{CrowdProgress, VisitNote, VisitNotes};
use crate::wire::{VisitFault, VisitorWire};

/// What the visitors are to do.
#[derive(Clone, Debug)]
pub(crate) struct CrowdPlan {
    /// The room's URL, under which its routes are.
    pub(crate) room: Url,
    /// The host to ask for, if it is not the one in the URL.
    pub(crate) host: Option<String>,
    /// What every poll has to show. `None` of a demonstration, which no rehearsal may disturb.
    pub(crate) mark: Option<RehearsalMark>,
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
pub enum CrowdEnd {
    AllDone,
    TimeOver,
    Interrupted,
    /// An answer did not show the mark of this rehearsal: somebody reset the room, or it is another one.
    MarkLost,
}

#[derive(Debug)]
pub(crate) struct Crowd {
    pub(crate) plan: CrowdPlan,
    pub(crate) wire: Arc<VisitorWire>,
    notes: Mutex<VisitNotes>,
    /// An instant by the room's clock, and the same one by the clock of this machine.
    instant: (Timestamp, Instant),
    verifier: OnceLock<Verifier>,
    is_stopped: AtomicBool,
    mark_lost: Notify,
}

impl Crowd {
    const MARK_SEEN_WITHIN: Duration = Duration::from_secs(15);
    /// On AWS there are sixteen copies of what polls show, and a read may be a moment old. After this time every poll shows
    /// the mark.
    const COPIES_AGREE_WITHIN: Duration = Duration::from_secs(1);

    /// `now` is the time by the room's clock.
    pub(crate) fn new(plan: CrowdPlan, now: Timestamp) -> Result<Arc<Self>, RehearsalError> {
        let wire = VisitorWire::new(plan.room.clone(), plan.host.clone());
        let wire = wire.map_err(RehearsalError::Certificates)?;
        Ok(Self::over(Arc::new(wire), plan, now))
    }

    /// A crowd that shares these connections with others.
    pub(crate) fn over(wire: Arc<VisitorWire>, plan: CrowdPlan, now: Timestamp) -> Arc<Self> {
        let visits = vec![VisitNote::default(); plan.times.len()];
        let notes = Mutex::new(VisitNotes { visits, ..VisitNotes::default() });
        let crowd = Self {
            plan,
            wire,
            notes,
            instant: (now, Instant::now()),
            verifier: OnceLock::new(),
            is_stopped: AtomicBool::new(false),
            mark_lost: Notify::new(),
        };
        Arc::new(crowd)
    }

    /// Waits until the room shows its mark, before anybody is sent there.
    pub(crate) async fn find_mark(&self) -> Result<(), RehearsalError> {
        let url = self.polling();
        let mut problem = "no answer".to_owned();
        let asked = async {
            while let Err(found) = self.ask_for_mark(&url).await {
                problem = found;
                sleep(Duration::from_millis(500)).await;
            }
        };
        let found = timeout(Self::MARK_SEEN_WITHIN, asked).await;
        if found.is_err() {
            return Err(RehearsalError::NoMark { url, problem });
        }
        sleep(Self::COPIES_AGREE_WITHIN).await;
        let keys = self.find_keys().await.map_err(RehearsalError::NoKeys)?;
        let CrowdPlan { issuer, name, .. } = &self.plan;
        drop(self.verifier.set(Verifier { issuer: issuer.clone(), audience: name.to_string(), keys }));
        Ok(())
    }

    /// Otherwise what was found instead of the mark.
    async fn ask_for_mark(&self, url: &Url) -> Result<(), String> {
        let answer = self.wire.get(url, &mut CookieJar::default()).await;
        let answer = answer.map_err(|fault| fault.to_string())?;
        if answer.status != 200 {
            return Err(VisitFault::Status(answer.status).to_string());
        }
        let polled = serde_json::from_slice::<PollText>(&answer.body);
        match polled.map_err(|_| VisitFault::Unreadable.to_string())?.rehearsal {
            mark if mark == self.plan.mark => Ok(()),
            Some(_) => Err("it shows another mark".into()),
            None => Err("it shows no mark".into()),
        }
    }

    async fn find_keys(&self) -> Result<Jwks, Box<dyn Error + Send + Sync>> {
        let url = self.below(".well-known/jwks.json");
        let answer = self.wire.get(&url, &mut CookieJar::default()).await;
        let answer = answer.map_err(|fault| format!("{url}: {fault}"))?;
        serde_json::from_slice(&answer.body).map_err(|error| format!("{url}: {error}").into())
    }

    /// The number in a pass, if the pass is one of this room.
    pub(crate) fn ticket_of_pass(&self, shop: &Url) -> Option<u64> {
        let (_, pass) = shop.query_pairs().find(|(name, _)| name == WebUrl::PASS_PARAMETER)?;
        let claims = self.verifier.get()?.verify(&pass, self.now().as_secs()).ok()?;
        claims.queue_position
    }

    /// The time by the room's clock, so that a wrong clock of this machine changes no wait.
    pub(crate) fn now(&self) -> Timestamp {
        let (by_room, here) = self.instant;
        by_room + here.elapsed()
    }

    pub(crate) fn progress(&self) -> CrowdProgress {
        self.notes().progress()
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, VisitNotes> {
        self.notes.lock()
    }

    pub(crate) fn door(&self) -> Url {
        self.below("beekeeper")
    }

    /// The door for somebody who is sent to this URL, if it is the room's own: as it is asked here, or as it signs itself. Visitors
    /// keep to the first, for which they have their cookies.
    pub(crate) fn own_door(&self, url: &Url) -> Option<Url> {
        let (mut door, mut asked) = (self.door(), url.clone());
        asked.set_query(None);
        asked.set_fragment(None);
        let is_own = asked == door || asked.as_str() == format!("{}/beekeeper", self.plan.issuer);
        door.set_query(url.query());
        is_own.then_some(door)
    }

    pub(crate) fn polling(&self) -> Url {
        self.below("polling")
    }

    pub(crate) fn status(&self) -> Url {
        self.below("status")
    }

    fn below(&self, name: &str) -> Url {
        let mut url = self.plan.room.clone();
        url.set_path(&format!("{}/{name}", self.plan.room.path().trim_end_matches('/')));
        url
    }

    /// Stops everybody if an answer does not show the mark. Does not return then.
    pub(crate) async fn check_mark(&self, shown: Option<RehearsalMark>) {
        if shown != self.plan.mark {
            self.stop();
            self.mark_lost.notify_one();
        }
        self.hold_if_stopped().await;
    }

    /// Nobody sends anything from now on.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Resolves when an answer did not show the mark.
    pub(crate) async fn mark_lost(&self) {
        self.mark_lost.notified().await;
    }

    /// Returns at once, or never after the crowd was stopped.
    pub(crate) async fn hold_if_stopped(&self) {
        if self.is_stopped.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}
