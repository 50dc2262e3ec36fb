//! Where on AWS a room can be.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The code of a region, like `eu-central-1`. It may be younger than this list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Region(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a region is written like eu-central-1")]
pub(crate) struct RegionError;

/// The regions that anybody can have, and where they are. All of them have functions on arm64.
pub(crate) const KNOWN: [(&str, &str); 34] = [
    ("af-south-1", "Cape Town"),
    ("ap-east-1", "Hong Kong"),
    ("ap-east-2", "Taipei"),
    ("ap-northeast-1", "Tokyo"),
    ("ap-northeast-2", "Seoul"),
    ("ap-northeast-3", "Osaka"),
    ("ap-south-1", "Mumbai"),
    ("ap-south-2", "Hyderabad"),
    ("ap-southeast-1", "Singapore"),
    ("ap-southeast-2", "Sydney"),
    ("ap-southeast-3", "Jakarta"),
    ("ap-southeast-4", "Melbourne"),
    ("ap-southeast-5", "Malaysia"),
    ("ap-southeast-6", "New Zealand"),
    ("ap-southeast-7", "Thailand"),
    ("ca-central-1", "Canada, Central"),
    ("ca-west-1", "Calgary"),
    ("eu-central-1", "Frankfurt"),
    ("eu-central-2", "Zurich"),
    ("eu-north-1", "Stockholm"),
    ("eu-south-1", "Milan"),
    ("eu-south-2", "Spain"),
    ("eu-west-1", "Ireland"),
    ("eu-west-2", "London"),
    ("eu-west-3", "Paris"),
    ("il-central-1", "Tel Aviv"),
    ("me-central-1", "United Arab Emirates"),
    ("me-south-1", "Bahrain"),
    ("mx-central-1", "Mexico, Central"),
    ("sa-east-1", "São Paulo"),
    ("us-east-1", "North Virginia"),
    ("us-east-2", "Ohio"),
    ("us-west-1", "North California"),
    ("us-west-2", "Oregon"),
];

impl Region {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Where it is; nothing for a region that this beekeeper has not heard of.
    pub(crate) fn place(&self) -> Option<&'static str> {
        KNOWN.iter().find_map(|(code, place)| (*code == self.0).then_some(*place))
    }

    /// Says so if the region is not on the list.
    pub(crate) fn warning(&self) -> Option<String> {
        let unknown = self.place().is_none();
        unknown.then(|| format!("{self} is no region that this beekeeper knows; is it spelled right?"))
    }
}

impl FromStr for Region {
    type Err = RegionError;

    /// Takes the code, and what the list shows beside it.
    fn from_str(text: &str) -> Result<Self, RegionError> {
        let code = text.split_whitespace().next().unwrap_or_default();
        let is_place = |rest: &str| {
            rest.is_empty() || KNOWN.iter().any(|(known, place)| *known == code && *place == rest)
        };
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
    fn every_region_of_the_list_is_one() {
        for (code, place) in KNOWN {
            let shown: Region = format!("{code}  {place}").parse().unwrap();
            assert_eq!((shown.as_str(), shown.place(), shown.warning()), (code, Some(place), None));
        }
        assert!(KNOWN.is_sorted());
    }

    #[test]
    fn one_that_looks_like_a_region_is_taken_with_a_warning() {
        for younger in ["eu-east-9", "us-gov-west-1", "us-isob-east-1"] {
            let region: Region = younger.parse().unwrap();
            assert!(region.warning().unwrap().starts_with(younger));
        }
        for wrong in
            ["", "Frankfurt", "eu-central", "eu central 1", "eu-central-1 Paris", "EU-central-1", "1-1"]
        {
            assert_eq!(wrong.parse::<Region>(), Err(RegionError), "{wrong}");
        }
    }
}
