//! The course of a rehearsal: the room is marked, visitors come, and the room is reset.

use std::future::pending;
use std::time::{Duration, Instant};

use control::{ControlError, OperatedRoom, Order};
use rand::rngs::SysRng;
use simulation::Arrivals;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use url::Url;
use waitroom::{Epoch, RehearsalMark, Room};

use crate::crowd::{Crowd, CrowdPlan};
use crate::notes::{CrowdProgress, RoomNotes};
use crate::sending::send;
use crate::{RehearsalError, RehearsalFacts, RehearsalReport};

/// What is rehearsed, and how.
#[derive(Debug)]
pub struct Rehearsal {
    pub room: OperatedRoom,
    /// How a command names it.
    pub as_typed: String,
    /// Under which its routes are.
    pub url: Url,
    /// The host to ask for, if it is not the one in the URL.
    pub host: Option<String>,
    pub arrivals: Arrivals,
    pub seed: u64,
    /// Whether the visitors follow to the shop.
    pub enters_shop: bool,
    pub at_most: Duration,
}

/// What to tell a person meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum RehearsalEvent<'a> {
    /// The order to mark the room failed, and so did the reset: only its answer may have been lost.
    MayBeMarked,
    /// Every second.
    Visits { second: u64, progress: CrowdProgress },
    /// Nobody sends anything any more.
    VisitsEnded,
    /// What was found. It is told before the reset, which may take long, or fail.
    Found(&'a RehearsalReport),
    /// SQS takes a minute to empty the line.
    ResetsSlowly,
}

/// What is left of a rehearsal that had visitors.
#[derive(Debug)]
pub struct EndedRehearsal {
    pub report: RehearsalReport,
    /// Whether the room is reset. What is left in it matters more than what the report found.
    pub reset: Result<(), RehearsalError>,
}

impl Rehearsal {
    /// Marks the room, sends the visitors and resets the room, whatever happened.
    pub async fn run(
        &self,
        interrupted: &Notify,
        tell: &dyn Fn(RehearsalEvent<'_>),
    ) -> Result<EndedRehearsal, RehearsalError> {
        let mark = RehearsalMark::random(&mut SysRng)?;
        let marked = match self.room.change(Order::Rehearse { mark }).await {
            Ok(changed) => changed.after,
            Err(error) => {
                if self.end(mark, tell).await.is_err() {
                    tell(RehearsalEvent::MayBeMarked);
                }
                return Err(error.into());
            }
        };
        let visited = self.visited(&marked, mark, interrupted, tell).await;
        if let Ok(report) = &visited {
            tell(RehearsalEvent::Found(report));
        }
        let reset = self.end(mark, tell).await;
        match visited {
            Ok(report) => Ok(EndedRehearsal { report, reset }),
            Err(error) => Err(reset.err().unwrap_or(error)),
        }
    }

    async fn visited(
        &self,
        marked: &Room,
        mark: RehearsalMark,
        interrupted: &Notify,
        tell: &dyn Fn(RehearsalEvent<'_>),
    ) -> Result<RehearsalReport, RehearsalError> {
        let room = &self.room;
        let crowd = Crowd::new(self.plan(marked, mark), room.transport.now())?;
        let mut notes = RoomNotes::default();
        notes.note(&room.status().await?, room.transport.now());
        tokio::select! {
            found = crowd.find_mark() => found?,
            () = interrupted.notified() => return Err(RehearsalError::Interrupted),
        }
        let (began, clock) = (crowd.now(), Instant::now());
        let end = {
            let visits = send(&crowd, self.at_most, interrupted.notified());
            tokio::select! {
                end = visits => end,
                () = self.watch(&crowd, &mut notes, tell) => pending().await,
            }
        };
        let seconds = clock.elapsed().as_secs_f64();
        tell(RehearsalEvent::VisitsEnded);
        self.look_until_counted(&crowd, &mut notes).await;
        let facts = RehearsalFacts {
            room: room.name.to_string(),
            url: self.url.to_string(),
            is_here: !room.transport.is_far(),
            rate: marked.settings.rate.get(),
            visitors: self.arrivals.visitors().into(),
            arrivals: self.arrivals.shape().told(self.arrivals.visitors().into()),
            seed: self.seed,
            enters_shop: self.enters_shop,
            began,
            seconds,
            end,
        };
        let report = RehearsalReport::of(facts, &crowd.notes(), &notes);
        Ok(report)
    }

    fn plan(&self, marked: &Room, mark: RehearsalMark) -> CrowdPlan {
        CrowdPlan {
            room: self.url.clone(),
            host: self.host.clone(),
            mark: Some(mark),
            times: self.arrivals.times(self.seed),
            seed: self.seed,
            enters_shop: self.enters_shop,
            issuer: marked.issuer(),
            name: marked.settings.room.clone(),
            admission: marked.settings.lifetimes.admission,
        }
    }

    /// Tells the progress, and notes what the room counts. Does not end.
    async fn watch(&self, crowd: &Crowd, notes: &mut RoomNotes, tell: &dyn Fn(RehearsalEvent<'_>)) {
        let room = &self.room;
        let mut every = interval(Duration::from_secs(1));
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Each look at a room on AWS reads its items and its queue.
        let look_every = if room.transport.is_far() { 10 } else { 1 };
        for second in 0_u64.. {
            every.tick().await;
            if second % look_every == 0
                && let Ok(status) = room.status().await
            {
                notes.note(&status, room.transport.now());
            }
            tell(RehearsalEvent::Visits { second, progress: crowd.progress() });
        }
    }

    /// Notes the room until it has counted everybody whom the visitors saw admitted: it counts some seconds late.
    async fn look_until_counted(&self, crowd: &Crowd, notes: &mut RoomNotes) {
        const SECONDS: u32 = 10;
        let admitted = crowd.notes().admitted();
        for _ in 0..SECONDS {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let Ok(status) = self.room.status().await else { return };
            notes.note(&status, self.room.transport.now());
            if notes.counted().is_none_or(|counted| counted.released >= admitted) {
                return;
            }
        }
    }

    /// Resets the room, unless somebody else has.
    async fn end(
        &self,
        mark: RehearsalMark,
        tell: &dyn Fn(RehearsalEvent<'_>),
    ) -> Result<(), RehearsalError> {
        let left = |cause: ControlError| RehearsalError::Left {
            room: self.room.name.clone(),
            as_typed: self.as_typed.clone(),
            cause,
        };
        let status = self.room.status().await.map_err(left)?;
        if status.room.rehearsal != Some(mark) {
            return Ok(());
        }
        let epoch = Epoch::random(&mut SysRng)?;
        if self.room.transport.is_far() {
            tell(RehearsalEvent::ResetsSlowly);
        }
        self.room.execute(Order::Reset { epoch }).await.map_err(left)?;
        Ok(())
    }
}
