//! What capacity and costs of a room depend on.

use config::{Architecture, EdgeSetting, RoomConfig, Whole};
use page::Page;
use waitroom::{Oversubscription, Rate};

use crate::facts::facts;
use crate::work::{self, FunctionTimes};

/// A room, as far as AWS's limits and prices are concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelledRoom {
    pub rate: Rate,
    pub architecture: Architecture,
    /// How many files the page has besides its document. The built-in page has none.
    pub further_files: u32,
    /// The room's own limit of requests a second, if it has one.
    pub requests_per_second: Option<f64>,
    /// The room's own limit of requests at the same moment, if it has one of requests a second.
    pub request_burst: Option<f64>,
    pub warm_reads: f64,
    pub warm_writes: f64,
    /// How many consumers have a reservation, so that no other function can use them.
    pub reserved_consumers: u32,
    /// By how much more it may let in, to make up for those who don't come.
    pub oversubscription: Option<Oversubscription>,
    pub throttle: bool,
    pub alarms: bool,
    pub firewall: Firewall,
    /// Whether visitors come through `CloudFront`. A room that moves is computed as if all did: its domain leads there, or will.
    pub edge: EdgeSetting,
    pub times: FunctionTimes,
}

/// The rules of a room's firewall. Without any, the room has no firewall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Firewall {
    pub address_limit: bool,
    pub door_limit: bool,
    pub door_challenge: bool,
}

impl Firewall {
    fn of(config: &RoomConfig) -> Self {
        let limits = config.address_limits();
        let has = |setting| limits.contains(&setting);
        Self {
            address_limit: has("requests_per_address"),
            door_limit: has("door_requests_per_address"),
            door_challenge: has("door_challenge_above"),
        }
    }

    pub(crate) fn rules(self) -> u32 {
        [self.address_limit, self.door_limit, self.door_challenge].map(u32::from).iter().sum()
    }
}

impl ModelledRoom {
    /// A room with this rate and AWS's defaults, without options.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            architecture: Architecture::Arm64,
            further_files: 0,
            requests_per_second: None,
            request_burst: None,
            warm_reads: facts().fixed.new_table_reads.value,
            warm_writes: facts().fixed.new_table_writes.value,
            reserved_consumers: 0,
            oversubscription: None,
            throttle: false,
            alarms: false,
            firewall: Firewall::default(),
            edge: EdgeSetting::No,
            times: FunctionTimes::default(),
        }
    }

    /// The room that this configuration describes, with functions of this architecture and this page of the operator's own.
    pub fn of(config: &RoomConfig, architecture: Architecture, page: Option<&Page>) -> Self {
        let further_files = page.map_or(0, |page| page.files().count().saturating_sub(1));
        let default = Self::new(config.rate);
        let requests = config.requests_per_second.map_or(0, Whole::get);
        // The template's default is AWS's.
        let burst = config.request_burst.map_or(facts().account.api_burst.value, |burst| burst.get().into());
        Self {
            rate: config.rate,
            architecture,
            further_files: u32::try_from(further_files).unwrap_or(u32::MAX),
            requests_per_second: (requests > 0).then(|| requests.into()),
            request_burst: (requests > 0).then_some(burst),
            warm_reads: config.warm_reads.map_or(default.warm_reads, |reads| reads.get().into()),
            warm_writes: config.warm_writes.map_or(default.warm_writes, |writes| writes.get().into()),
            reserved_consumers: 0,
            oversubscription: config.oversubscription(),
            throttle: config.throttle,
            alarms: config.alarm_email.is_some(),
            firewall: Firewall::of(config),
            edge: config.edge(),
            times: FunctionTimes::default(),
        }
    }

    /// The most that it may let in a minute.
    pub fn highest_rate(&self) -> Rate {
        self.oversubscription.map_or(self.rate, |most| most.above(self.rate))
    }

    /// The same behind an edge, and without an API.
    #[must_use]
    pub fn behind_edge(self) -> Self {
        Self { edge: EdgeSetting::Yes, ..self }
    }

    /// How many partitions the table has at least: each serves so much and no more. AWS does not say the number.
    pub fn partitions(&self) -> u32 {
        let fixed = &facts().fixed;
        let reads = self.warm_reads / fixed.key_reads.value;
        let writes = self.warm_writes / fixed.key_writes.value;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a million reads or writes at most, by some thousands"
        )]
        let partitions = reads.max(writes).max(1.0) as u32;
        partitions
    }

    /// How many functions nobody at the door can use at this rate, because consumers run in them, or because they are reserved
    /// for consumers.
    pub fn consumers_at(&self, rate: Rate) -> f64 {
        work::consumers(rate.get(), self.times).max(self.reserved_consumers.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use page::Design;

    use super::*;
    use crate::{AccountLimits, Capacity};

    const ELEMENTS: [&str; 6] = ["state", "hint", "when", "message", "enter", "check"];

    /// A page with an image.
    fn page_of_two_files() -> Page {
        let folder = tempfile::tempdir().unwrap();
        let elements = ELEMENTS.map(|name| format!("<p data-bk=\"{name}\"></p>")).concat();
        let html = format!("<html><head></head><body>{elements}<img src=\"bee.svg\"></body></html>");
        fs::write(folder.path().join("index.html"), html).unwrap();
        fs::write(folder.path().join("bee.svg"), "<svg/>").unwrap();
        Design::read(folder.path()).unwrap().page(&"Sale".parse().unwrap())
    }

    #[test]
    fn a_page_of_two_files_and_a_reservation_lower_the_rate_that_can_be_kept_up() {
        let config = RoomConfig::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example".parse().unwrap(),
            Rate::new(300).unwrap(),
        );
        let kept_up = |limits: &AccountLimits, page, consumers| {
            let room = ModelledRoom::of(&config, Architecture::Arm64, page);
            let room = ModelledRoom { reserved_consumers: consumers, ..room };
            Capacity::of(limits, &room, 0).kept_up.most
        };
        let mut limits = AccountLimits::default_in("us-east-1");
        let page = page_of_two_files();
        assert!(kept_up(&limits, Some(&page), 0) < kept_up(&limits, None, 0), "the image is a request");
        limits.concurrency = 112.0;
        assert!(kept_up(&limits, None, 60) < kept_up(&limits, None, 0), "the door cannot use the reserved");
    }
}
