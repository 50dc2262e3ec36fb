//! Checks run at the same time, each for a limited time, and are shown in a fixed order.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;

use crate::DoctorCheck;

/// No check takes longer. Twenty requests to a shop that does not answer, four at a time, take 25 seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// Checks that are running, or will be.
pub struct RunningCheck<'a> {
    name: &'static str,
    work: Pin<Box<dyn Future<Output = Vec<DoctorCheck>> + 'a>>,
}

impl fmt::Debug for RunningCheck<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunningCheck").field(&self.name).finish()
    }
}

impl<'a> RunningCheck<'a> {
    pub fn new(name: &'static str, work: impl Future<Output = Vec<DoctorCheck>> + 'a) -> Self {
        Self { name, work: Box::pin(work) }
    }

    async fn finish(self) -> Vec<DoctorCheck> {
        tokio::time::timeout(PATIENCE, self.work).await.unwrap_or_else(|_| {
            let late = format!("it took longer than {} seconds", PATIENCE.as_secs());
            vec![DoctorCheck::problem(
                self.name,
                late,
                "run the command again; if this stays, check the network",
            )]
        })
    }
}

/// Runs all checks. `begins` is told which check is waited for, `ends` what each found, in the order of the list.
pub async fn run(checks: Vec<RunningCheck<'_>>, begins: impl Fn(&str), mut ends: impl FnMut(DoctorCheck)) {
    let names: Vec<_> = checks.iter().map(|check| check.name).collect();
    let mut running: FuturesOrdered<_> = checks.into_iter().map(RunningCheck::finish).collect();
    for name in names {
        begins(name);
        running.next().await.into_iter().flatten().for_each(&mut ends);
    }
}
