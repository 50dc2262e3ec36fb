use std::path::PathBuf;

use clap::{Args, ValueHint};
use config::{ProfileName, Region};
use waitroom::{Rate, RoomId, Title, WebUrl};

use super::{Removable, Throttling, examples};

const RATE: &str = if cfg!(feature = "aws") {
    "Visitors who may enter a minute, from 1 to 270000. An AWS account may bear less: docs/crowd.md"
} else {
    "Visitors who may enter a minute, from 1 to 270000"
};

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper init                                           ask for everything
  beekeeper init spring-sale                               ask again, with the present answers as defaults
  beekeeper init spring-sale --rate 500                    change one answer, without questions
  beekeeper init spring-sale --shop URL --yes              keep a URL that shows no page yet
  beekeeper init spring-sale --title \"Seal's Spring Sale\" --region eu-central-1 \\
      --shop https://shop.example/sale --rate 300 --no-throttle
                                                           configure a room without questions

The answers are written to beekeeper/NAME.toml in your configuration directory, usually ~/.config. That file explains
all other settings."))]
pub(crate) struct Init {
    /// Short name of the room, used in commands and in its cookie
    pub(crate) name: Option<RoomId>,
    /// Title that visitors see
    #[arg(long)]
    pub(crate) title: Option<Title>,
    /// AWS region, like eu-central-1 or Frankfurt
    #[arg(long, value_parser = Region::named, hide = cfg!(not(feature = "aws")))]
    pub(crate) region: Option<Region>,
    /// URL of the shop, where admitted visitors are sent
    #[arg(long, value_name = "URL")]
    pub(crate) shop: Option<WebUrl>,
    #[arg(long, help = RATE)]
    pub(crate) rate: Option<Rate>,
    #[command(flatten)]
    pub(crate) throttling: Throttling,
    /// URL that the throttle measures, which needs no pass; '' removes it [default: the shop's URL]
    #[arg(long, value_name = "URL")]
    pub(crate) health: Option<Removable<WebUrl>>,
    /// Folder with your colour and logo, or with your own page: docs/page.md; '' for the built-in page
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) page: Option<Removable<PathBuf>>,
    /// Profile of your AWS configuration to use for this room; '' for the usual one
    #[arg(long, value_name = "PROFILE", hide = cfg!(not(feature = "aws")))]
    pub(crate) aws_profile: Option<Removable<ProfileName>>,
}

impl Init {
    pub(crate) fn answers_something(&self) -> bool {
        self.title.is_some()
            || self.region.is_some()
            || self.shop.is_some()
            || self.rate.is_some()
            || self.throttling.wanted().is_some()
            || self.health.is_some()
            || self.page.is_some()
            || self.aws_profile.is_some()
    }
}
