//! The checks of `beekeeper doctor` that need the account.

pub(super) mod account;
mod cookies;
mod watch;

use page::Page;

use crate::doctor::{Examined, RunningCheck};

/// What only AWS knows of a room that is deployed.
pub(super) fn checks(examined: &Examined) -> Vec<RunningCheck<'_>> {
    vec![
        RunningCheck::new("cookies", cookies::check(examined)),
        RunningCheck::new("alarms", watch::check(examined)),
    ]
}

/// Why a deployment would refuse this page.
pub(super) fn refused_page(page: &Page) -> Option<anyhow::Error> {
    cloud::check_page(page).err().map(Into::into)
}
