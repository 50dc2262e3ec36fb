use std::fmt;
use std::str::FromStr;

use crate::region::RegionKind;
use crate::setting::{parsed, parsed_texts};
use crate::{Allowed, ConfigValue, SettingValue};

/// Whether visitors reach the room through CloudFront.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeSetting {
    #[default]
    No,
    /// CloudFront and the API both answer, while the room's domain leads from one to the other.
    Moving,
    /// CloudFront alone.
    Yes,
}

impl EdgeSetting {
    /// Where CloudFront looks for certificates, and AWS lists what it has.
    pub const REGION: &str = "us-east-1";

    const ALL: [Self; 3] = [Self::No, Self::Moving, Self::Yes];
    const NAMES: [&str; 3] = ["no", "moving", "yes"];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edge| edge.as_str() == name)
    }

    pub const fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether CloudFront answers.
    pub fn answers(self) -> bool {
        self != Self::No
    }

    /// Whether API Gateway answers.
    pub fn has_api(self) -> bool {
        self != Self::Yes
    }

    /// Whether Lambda gives functions a URL there, which CloudFront asks.
    pub fn is_in(region: &str) -> bool {
        RegionKind::of(region) != Some(RegionKind::OptInWithoutUrls)
            && !["cn-", "us-gov-"].iter().any(|prefix| region.starts_with(prefix))
    }
}

impl fmt::Display for EdgeSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EdgeSetting {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::named(name).ok_or_else(|| "must be \"no\", \"moving\" or \"yes\"".into())
    }
}

parsed_texts! {
    EdgeSetting: Allowed::OneText(&Self::NAMES), |edge| edge.as_str();
}
