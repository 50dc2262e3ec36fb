//! The plays: what needs the functions as packages, a deployed room, and minutes of the real clock.

use anyhow::Result;

use crate::{WITH_AWS, cargo, dist, run};

/// Not beside other tests, nor while something compiles: the plays measure how soon an order is in force.
pub(crate) fn play() -> Result<()> {
    dist::to_try()?;
    // With the whole workspace, as the other tests are built, and for the same reason.
    let mut plays = cargo();
    plays.args(["test", "--locked", "--workspace", "--features", WITH_AWS, "--test", "deployed"]);
    run(plays.args(["--", "--ignored", "--nocapture"]))
}
