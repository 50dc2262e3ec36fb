//! Is a room ready for its crowd? The checks of `beekeeper doctor`, for whoever asks.
//!
//! Each [`DoctorCheck`] looks at one thing, says what it found, and what to do. Checks run at the same time, each for a limited
//! time, and end in a fixed order ([`run`]). A check that fails does not stop the others. What only one kind of room has is
//! checked by whoever knows it: `cloud` adds the checks of an account on AWS.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that finds something else fails"))]

mod active;
mod certificates;
mod check;
mod examined;
mod journey;
mod line;
mod machine;
mod pages;
mod report;
mod running;
mod shop;
mod way_around;

pub use check::{CheckResult, DoctorCheck};
pub use examined::{Examined, FoundRoom, GuardHere};
pub use journey::{Journey, needs_health, needs_host};
pub use report::DoctorReport;
pub use running::{RunningCheck, run};
pub use shop::{judge as judge_shop, out_of_reach};

/// What everybody outside sees of a room, deployed or not, and what the room says of itself.
pub fn of_room(examined: &Examined) -> Vec<RunningCheck<'_>> {
    vec![
        RunningCheck::new("room", async { line::check(examined) }),
        RunningCheck::new("active", async { active::check(examined) }),
        RunningCheck::new("page", pages::check(examined)),
        RunningCheck::new("certificate", certificates::check(examined)),
        RunningCheck::new("shop", shop::check(examined)),
        RunningCheck::new("way-around", way_around::check(examined)),
        RunningCheck::new("machine", machine::check(examined)),
    ]
}
