//! The checks of `beekeeper doctor`: is this room ready for its crowd?
//!
//! Each check looks at one thing, says what it found, and what to do. Checks run at the same time, each for a limited time, and
//! are shown in a fixed order. A check that fails does not stop the others.

#[cfg(feature = "aws")]
mod account;
mod certificates;
mod check;
#[cfg(feature = "aws")]
mod cookies;
mod examined;
mod line;
mod machine;
mod pages;
mod shop;
#[cfg(feature = "aws")]
mod watch;

use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;

#[cfg(feature = "aws")]
pub(crate) use account::{credentials, forecast, no_credentials, stack};
pub(crate) use check::{CheckResult, DoctorCheck};
pub(crate) use examined::Examined;

/// No check takes longer. Twenty requests to a shop that does not answer, four at a time, take 25 seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// Checks that are running, or will be.
pub(crate) struct RunningCheck<'a> {
    pub(crate) name: &'static str,
    work: Pin<Box<dyn Future<Output = Vec<DoctorCheck>> + 'a>>,
}

impl<'a> RunningCheck<'a> {
    pub(crate) fn new(name: &'static str, work: impl Future<Output = Vec<DoctorCheck>> + 'a) -> Self {
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

/// What everybody outside sees of a room, deployed or not, and what the room says of itself.
pub(crate) fn of_room(examined: &Examined) -> Vec<RunningCheck<'_>> {
    let mut checks = vec![
        RunningCheck::new("room", async { line::check(examined) }),
        RunningCheck::new("page", pages::check(examined)),
        RunningCheck::new("certificate", certificates::check(examined)),
        RunningCheck::new("shop", shop::check(examined)),
        RunningCheck::new("way-around", shop::ways_around(examined)),
    ];
    #[cfg(feature = "aws")]
    {
        checks.push(RunningCheck::new("cookies", cookies::check(examined)));
        checks.push(RunningCheck::new("alarms", watch::check(examined)));
    }
    checks.push(RunningCheck::new("machine", machine::check(examined)));
    checks
}

/// Runs all checks. `begins` is told which check is waited for, `ends` what each found, in the order of the list.
pub(crate) async fn run(
    checks: Vec<RunningCheck<'_>>,
    begins: impl Fn(&str),
    mut ends: impl FnMut(DoctorCheck),
) {
    let names: Vec<_> = checks.iter().map(|check| check.name).collect();
    let mut running: FuturesOrdered<_> = checks.into_iter().map(RunningCheck::finish).collect();
    for name in names {
        begins(name);
        running.next().await.into_iter().flatten().for_each(&mut ends);
    }
}
