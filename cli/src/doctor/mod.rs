//! The checks of `beekeeper doctor`: is this room ready for its crowd?
//!
//! Each check looks at one thing, says what it found, and what to do. Checks run at the same time, each for a limited time, and
//! are shown in a fixed order. A check that fails does not stop the others.

mod certificates;
pub(crate) mod check;
pub(crate) mod examined;
mod line;
mod machine;
mod pages;
mod report;
mod running;
mod shop;

pub(crate) use check::DoctorCheck;
pub(crate) use examined::Examined;
pub(crate) use report::DoctorReport;
pub(crate) use running::RunningCheck;

/// What everybody outside sees of a room, deployed or not, and what the room says of itself.
pub(crate) fn of_room(examined: &Examined) -> Vec<RunningCheck<'_>> {
    vec![
        RunningCheck::new("room", async { line::check(examined) }),
        RunningCheck::new("page", pages::check(examined)),
        RunningCheck::new("certificate", certificates::check(examined)),
        RunningCheck::new("shop", shop::check(examined)),
        RunningCheck::new("way-around", shop::ways_around(examined)),
        RunningCheck::new("machine", machine::check(examined)),
    ]
}
