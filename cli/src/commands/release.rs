//! `beekeeper release`: lets so many more in within a minute. Asks first if that is much, or against the throttle. Says afterwards
//! if the AWS account cannot keep that minute up.

use anyhow::Result;
use control::Order;

use super::change;
use crate::arguments::ReleaseMore;
use crate::runtime::block_on;

pub(crate) fn run(release: &ReleaseMore, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let found = change::find(&release.which).await?;
        let order = Order::Release { visitors: release.visitors };
        let changed = change::confirmed(&found.room, json, yes, order).await?;
        if let Some(rate) = changed.after.valve().rate() {
            crate::aws::warn_of_rate(&found, &release.which, rate).await;
        }
        Ok(())
    })
}
