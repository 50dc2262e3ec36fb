use clap::Args;
use config::{EdgeSetting, ProfileName, Region};
use waitroom::RoomId;

use super::which::KNOWS_AWS;
use super::{Removable, SettingFlags, examples};

#[derive(Clone, Debug, Args)]
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
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
    /// AWS region, like eu-central-1 or Frankfurt
    #[arg(long, value_parser = Region::named, hide = !KNOWS_AWS)]
    pub(crate) region: Option<Region>,
    /// Profile of your AWS configuration to use for this room; '' for the usual one
    #[arg(long, value_name = "PROFILE", hide = !KNOWS_AWS)]
    pub(crate) aws_profile: Option<Removable<ProfileName>>,
    /// `yes` puts CloudFront in front of the room, `moving` while its domain moves there: docs/edge.md
    #[arg(long, hide = !KNOWS_AWS)]
    pub(crate) edge: Option<EdgeSetting>,
}

impl Init {
    pub(crate) fn answers_something(&self) -> bool {
        let Self { name: _, settings, region, aws_profile, edge } = self;
        *settings != SettingFlags::default() || region.is_some() || aws_profile.is_some() || edge.is_some()
    }
}
