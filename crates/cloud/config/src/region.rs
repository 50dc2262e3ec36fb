//! The regions of AWS.

use std::fmt;
use std::str::FromStr;

use crate::nearest::distance;

use RegionKind::{AlwaysOn, OptIn, OptInWithoutUrls};

/// The code of a region, like `eu-central-1`. It may be newer than those that are known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be written like eu-central-1")]
pub struct RegionError;

/// A text that names no region, or more than one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionNameError {
    #[error("must be a code like eu-central-1, or a place like Frankfurt")]
    Unknown,
    #[error("fits several regions: {}", .0.join(", "))]
    Several(Vec<String>),
    #[error("is unknown; did you mean {0}?")]
    Misspelt(&'static str),
}

/// How open a region is to an account.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegionKind {
    AlwaysOn,
    /// An account has to enable it before it can use it:
    /// <https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-regions.html>.
    OptIn,
    /// The same, and Lambda gives no function a URL there, which CloudFront would ask: those that
    /// <https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html> names, read on 2026-11-26.
    OptInWithoutUrls,
}

/// The regions that are open to every account, and where they are. All of them have functions on arm64.
const KNOWN_REGIONS: [(&str, &str, RegionKind); 34] = [
    ("af-south-1", "Cape Town", OptIn),
    ("ap-east-1", "Hong Kong", OptIn),
    ("ap-east-2", "Taipei", OptInWithoutUrls),
    ("ap-northeast-1", "Tokyo", AlwaysOn),
    ("ap-northeast-2", "Seoul", AlwaysOn),
    ("ap-northeast-3", "Osaka", AlwaysOn),
    ("ap-south-1", "Mumbai", AlwaysOn),
    ("ap-south-2", "Hyderabad", OptInWithoutUrls),
    ("ap-southeast-1", "Singapore", AlwaysOn),
    ("ap-southeast-2", "Sydney", AlwaysOn),
    ("ap-southeast-3", "Jakarta", OptIn),
    ("ap-southeast-4", "Melbourne", OptInWithoutUrls),
    ("ap-southeast-5", "Malaysia", OptInWithoutUrls),
    ("ap-southeast-6", "New Zealand", OptInWithoutUrls),
    ("ap-southeast-7", "Thailand", OptInWithoutUrls),
    ("ca-central-1", "Canada, Central", AlwaysOn),
    ("ca-west-1", "Calgary", OptInWithoutUrls),
    ("eu-central-1", "Frankfurt", AlwaysOn),
    ("eu-central-2", "Zurich", OptInWithoutUrls),
    ("eu-north-1", "Stockholm", AlwaysOn),
    ("eu-south-1", "Milan", OptIn),
    ("eu-south-2", "Spain", OptInWithoutUrls),
    ("eu-west-1", "Ireland", AlwaysOn),
    ("eu-west-2", "London", AlwaysOn),
    ("eu-west-3", "Paris", AlwaysOn),
    ("il-central-1", "Tel Aviv", OptInWithoutUrls),
    ("me-central-1", "United Arab Emirates", OptInWithoutUrls),
    ("me-south-1", "Bahrain", OptIn),
    ("mx-central-1", "Mexico, Central", OptIn),
    ("sa-east-1", "São Paulo", AlwaysOn),
    ("us-east-1", "North Virginia", AlwaysOn),
    ("us-east-2", "Ohio", AlwaysOn),
    ("us-west-1", "North California", AlwaysOn),
    ("us-west-2", "Oregon", AlwaysOn),
];

/// The row of this region, if it's in the list.
fn known(code: &str) -> Option<&'static (&'static str, &'static str, RegionKind)> {
    KNOWN_REGIONS.iter().find(|(known, ..)| *known == code)
}

impl RegionKind {
    pub(crate) fn of(code: &str) -> Option<Self> {
        known(code).map(|(.., kind)| *kind)
    }
}

impl Region {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The region that a person names: by its code, or by a part of code or place that only one region has.
    pub fn named(text: &str) -> Result<Self, RegionNameError> {
        if let Ok(region) = text.parse::<Self>() {
            return region.meant().map_or(Ok(region), |meant| Err(RegionNameError::Misspelt(meant)));
        }
        match &*Self::like(text) {
            [only] => only.parse().map_err(|_| RegionNameError::Unknown),
            several @ [_, ..] if several.len() < 10 => {
                let codes = several.iter().filter_map(|line| line.split_whitespace().next());
                Err(RegionNameError::Several(codes.map(ToOwned::to_owned).collect()))
            }
            _ => Err(RegionNameError::Unknown),
        }
    }

    /// The known regions whose code or place contains the text, each with its place.
    pub fn like(text: &str) -> Vec<String> {
        let text = text.trim().to_lowercase();
        let lines = KNOWN_REGIONS.iter().map(|(code, place, _)| format!("{code}  {place}"));
        lines.filter(|line| line.to_lowercase().contains(&text)).collect()
    }

    /// Where it is; none for a region that is not in the list.
    pub fn place(&self) -> Option<&'static str> {
        known(&self.0).map(|(_, place, _)| *place)
    }

    /// The known region of the same area and number whose direction is written almost like this. A new region has another number or
    /// area, or lies elsewhere.
    fn meant(&self) -> Option<&'static str> {
        fn parts(code: &str) -> Option<[&str; 3]> {
            let (area, rest) = code.split_once('-')?;
            let (direction, number) = rest.rsplit_once('-')?;
            Some([area, direction, number])
        }
        let [area, direction, number] = parts(&self.0).filter(|_| self.place().is_none())?;
        let is_meant = |known: &&str| {
            parts(known).is_some_and(|known| {
                known[0] == area && known[2] == number && distance(known[1], direction) == 1
            })
        };
        KNOWN_REGIONS.iter().map(|(code, ..)| *code).find(is_meant)
    }

    /// Whether an account has to enable the region of this code before it can use it, as far as is known.
    pub fn is_opt_in(code: &str) -> bool {
        RegionKind::of(code).is_some_and(|kind| kind != AlwaysOn)
    }

    /// A warning if the region is not in the list.
    pub fn warning(&self) -> Option<String> {
        let unknown = self.place().is_none();
        unknown.then(|| format!("unknown region {self}; check the spelling"))
    }
}

impl FromStr for Region {
    type Err = RegionError;

    /// Parses a code, alone or followed by the region's place as the list shows it.
    fn from_str(text: &str) -> Result<Self, RegionError> {
        let code = text.split_whitespace().next().unwrap_or_default();
        let is_place =
            |rest: &str| rest.is_empty() || known(code).is_some_and(|(_, place, _)| *place == rest);
        let rest = text.trim().strip_prefix(code).unwrap_or_default().trim();
        let mut parts = code.split('-').rev();
        let number = parts.next().is_some_and(|part| {
            !part.is_empty() && part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit())
        });
        let words: Vec<_> = parts.collect();
        let word = |part: &&str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_lowercase());
        let valid = number && (2..=4).contains(&words.len()) && words.iter().all(word) && is_place(rest);
        valid.then(|| Self(code.into())).ok_or(RegionError)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_region_of_the_list_can_be_parsed() {
        for (code, place, _) in KNOWN_REGIONS {
            let shown: Region = format!("{code}  {place}").parse().unwrap();
            assert_eq!((shown.as_str(), shown.place(), shown.warning()), (code, Some(place), None));
        }
        assert!(KNOWN_REGIONS.is_sorted_by_key(|(code, ..)| *code));
    }

    #[test]
    fn a_person_may_name_a_region_by_a_part_of_its_code_or_place() {
        assert_eq!(Region::like("frank"), ["eu-central-1  Frankfurt"]);
        assert_eq!(Region::like("").len(), KNOWN_REGIONS.len());
        for (named, code) in
            [("Frankfurt", "eu-central-1"), ("tel av", "il-central-1"), ("eu-east-9", "eu-east-9")]
        {
            assert_eq!(Region::named(named).unwrap().as_str(), code);
        }
        let several = Region::named("ca-").unwrap_err().to_string();
        assert_eq!(several, "fits several regions: ca-central-1, ca-west-1");
        for (typed, meant) in [("eu-centrall-1", "eu-central-1"), ("us-eas-2", "us-east-2")] {
            assert_eq!(Region::named(typed), Err(RegionNameError::Misspelt(meant)));
        }
        for newer in ["eu-central-3", "sa-west-1", "mx-north-1", "us-gov-east-1"] {
            assert_eq!(Region::named(newer).unwrap().as_str(), newer);
        }
        for wrong in ["Atlantis", "", "a"] {
            assert_eq!(Region::named(wrong), Err(RegionNameError::Unknown), "{wrong}");
        }
    }

    #[test]
    fn a_newer_region_is_accepted_with_a_warning() {
        for newer in ["eu-east-9", "us-gov-west-1", "us-isob-east-1"] {
            let region: Region = newer.parse().unwrap();
            assert!(region.warning().unwrap().contains(newer));
        }
        for wrong in
            ["", "Frankfurt", "eu-central", "eu central 1", "eu-central-1 Paris", "EU-central-1", "1-1"]
        {
            assert_eq!(wrong.parse::<Region>(), Err(RegionError), "{wrong}");
        }
    }
}
