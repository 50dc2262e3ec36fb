use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::crowd::{Crowd, CrowdEnd};
use crate::visitor::HttpVisit;

/// Sends all visitors, until all are done or something ends it. Then nothing more is sent.
pub(crate) async fn send(
    crowd: &Arc<Crowd>,
    at_most: Duration,
    interrupted: impl Future<Output = ()>,
) -> CrowdEnd {
    let begun = Instant::now();
    let mut visitors = JoinSet::new();
    for (index, at) in crowd.plan.times.iter().enumerate() {
        let (crowd, at) = (crowd.clone(), begun + Duration::from_millis((*at).into()));
        visitors.spawn(async move {
            sleep_until(at).await;
            {
                let mut notes = crowd.notes();
                notes.latest_start = notes.latest_start.max(at.elapsed());
                notes.visits[index].has_come = true;
            }
            HttpVisit::new(&crowd, index).visit().await;
        });
    }
    let all_done = async { while visitors.join_next().await.is_some() {} };
    let end = tokio::select! {
        () = all_done => CrowdEnd::AllDone,
        () = sleep_until(begun + at_most) => CrowdEnd::TimeOver,
        () = interrupted => CrowdEnd::Interrupted,
        () = crowd.mark_lost() => CrowdEnd::MarkLost,
    };
    crowd.stop();
    visitors.shutdown().await;
    end
}
