//! Visitors of a demonstration, so that whoever comes to look at the room has somebody ahead.

use std::sync::Arc;
use std::time::Duration;

use page::cookies::CookieJar;
use page::{PollText, Polled};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use url::Url;
use waitroom::{Room, Timestamp};

use crate::RehearsalError;
use crate::crowd::{Crowd, CrowdPlan};
use crate::notes::CrowdProgress;
use crate::visitor::HttpVisit;

/// Sees to it that so many people always wait: for each whom the room lets in, another visitor joins. Each is a browser with the
/// waiting page, and to the room a visitor like any other.
#[derive(Debug)]
pub struct DemoCrowd {
    /// Of nobody: what the crowds of its visitors, each of one, have in common.
    shared: Arc<Crowd>,
    visitors: u64,
}

impl DemoCrowd {
    const LOOKS_EVERY: Duration = Duration::from_millis(500);

    /// `at` is where the room is asked. `now` is the time by its clock.
    pub fn new(room: &Room, at: Url, visitors: u32, now: Timestamp) -> Result<Self, RehearsalError> {
        let plan = CrowdPlan {
            room: at,
            host: None,
            mark: None,
            times: Vec::new(),
            seed: 0,
            enters_shop: false,
            issuer: room.issuer(),
            name: room.settings.room.clone(),
            admission: room.settings.lifetimes.admission,
        };
        Ok(Self { shared: Crowd::new(plan, now)?, visitors: visitors.into() })
    }

    /// Does not end. If it is dropped, so are its visitors, and their places stay.
    pub async fn keep_waiting(self) {
        let (mut visits, mut joining, mut seed) = (JoinSet::new(), Vec::new(), 0);
        let mut looks = interval(Self::LOOKS_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            while visits.try_join_next().is_some() {}
            // Before the room is asked how many wait: whoever joins meanwhile is counted twice rather than never.
            joining.retain(|crowd: &Arc<Crowd>| is_joining(crowd.progress()));
            let Some(waiting) = self.waiting().await else { continue };
            for _ in waiting + joining.len() as u64..self.visitors {
                seed += 1;
                let crowd = self.crowd_of_one(seed);
                joining.push(crowd.clone());
                visits.spawn(visit(crowd));
            }
        }
    }

    /// How many wait. None if nobody can join now, or should: the room does not answer, is off, or is rehearsed.
    async fn waiting(&self) -> Option<u64> {
        let answer = self.shared.wire.get(&self.shared.polling(), &mut CookieJar::default()).await.ok()?;
        let text: PollText = serde_json::from_slice(&answer.body).ok().filter(|_| answer.status == 200)?;
        let can_join = matches!(text.polled(self.shared.now()), Some(Polled::Join { .. }));
        text.line.filter(|_| can_join && text.rehearsal.is_none()).map(|line| line.waiting)
    }

    fn crowd_of_one(&self, seed: u64) -> Arc<Crowd> {
        let plan = CrowdPlan { seed, times: vec![0], ..self.shared.plan.clone() };
        Crowd::over(self.shared.wire.clone(), plan, self.shared.now())
    }
}

/// Until the visitor enters, loses the place in a reset, or a rehearsal begins.
async fn visit(crowd: Arc<Crowd>) {
    tokio::select! {
        () = HttpVisit::new(&crowd, 0).visit() => {}
        () = crowd.mark_lost() => {}
    }
}

/// Whether the visitor has no answer of the door yet that puts them in line, or sends them on.
fn is_joining(CrowdProgress { waiting, entered, lost, .. }: CrowdProgress) -> bool {
    waiting + entered + lost == 0
}
