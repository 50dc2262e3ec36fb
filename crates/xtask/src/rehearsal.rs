//! The plays: what needs the functions as packages, a deployed room, and minutes of the real clock.

use anyhow::Result;

use crate::package::Package;
use crate::{cargo, run};

/// Not beside other tests, nor while something compiles: the plays measure how soon an order is in force.
pub(crate) fn play() -> Result<()> {
    Package::to_try()?.make()?;
    // With the whole workspace, as the other tests are built: alone it would have other features, and all that it
    // depends on would be compiled once more.
    let plays = ["test", "--locked", "--workspace", "--test", "rehearsal", "--", "--ignored", "--nocapture"];
    run(cargo().args(plays))
}
