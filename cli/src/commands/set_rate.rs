//! `beekeeper set-rate`: asks first if the rate looks like a typo. Says afterwards if the AWS account cannot keep it up.

use anyhow::Result;
use control::Order;

use super::change;
use crate::arguments::SetRate;
use crate::runtime::block_on;

pub(crate) fn run(set_rate: &SetRate, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let found = change::find(&set_rate.which).await?;
        change::confirmed(&found.room, json, yes, Order::SetRate { rate: set_rate.rate }).await?;
        crate::aws::warn_of_rate(&found, &set_rate.which, set_rate.rate).await;
        Ok(())
    })
}
