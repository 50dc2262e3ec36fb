use std::path::PathBuf;

use clap::Args;
use waitroom::{Rate, RoomId, Title, WebUrl};

use crate::region::Region;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper init                                           asks for everything
  beekeeper init spring-sale                               asks again; what is there is the default
  beekeeper init spring-sale --rate 500                    changes one answer, and asks nothing
  beekeeper init spring-sale --title \"Seal's Spring Sale\" --region eu-central-1 \\
      --shop https://shop.example/sale --rate 300 --no-throttle
                                                           no questions, no terminal

The answers lie in beekeeper/NAME.toml in your configuration directory; what else can be set is explained there.")]
pub(crate) struct Init {
    /// The room's short name, part of its cookie and of every command
    pub(crate) name: Option<RoomId>,
    /// What visitors read as the room's name
    #[arg(long)]
    pub(crate) title: Option<Title>,
    /// Where on AWS it is to be, like eu-central-1
    #[arg(long)]
    pub(crate) region: Option<Region>,
    /// Where the admitted are sent
    #[arg(long, value_name = "URL")]
    pub(crate) shop: Option<WebUrl>,
    /// How many may enter a minute, from 1 to 270000
    #[arg(long)]
    pub(crate) rate: Option<Rate>,
    /// Let fewer enter while the shop is slower than usual or fails
    #[arg(long, overrides_with = "no_throttle")]
    pub(crate) throttle: bool,
    /// Let in as many as were wanted, however the shop fares
    #[arg(long, overrides_with = "throttle")]
    pub(crate) no_throttle: bool,
    /// What the throttle asks instead of the shop's own URL
    #[arg(long, value_name = "URL")]
    pub(crate) health: Option<WebUrl>,
    /// A folder with your colour and logo, or a whole page of your own; see docs/page.md
    #[arg(long, value_name = "DIR")]
    pub(crate) page: Option<PathBuf>,
    /// Which profile of your AWS configuration the room belongs to
    #[arg(long, value_name = "PROFILE")]
    pub(crate) aws_profile: Option<String>,
    /// Keep the shop's URL even if nobody answers there
    #[arg(long)]
    pub(crate) yes: bool,
}

impl Init {
    pub(crate) fn throttles(&self) -> Option<bool> {
        match (self.throttle, self.no_throttle) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    pub(crate) fn answers_something(&self) -> bool {
        self.title.is_some()
            || self.region.is_some()
            || self.shop.is_some()
            || self.rate.is_some()
            || self.throttles().is_some()
            || self.health.is_some()
            || self.page.is_some()
            || self.aws_profile.is_some()
    }
}
