//! The room as its profile describes it, in the words of the template.

use std::collections::BTreeMap;
use std::fmt;

use page::Page;
use waitroom::{Rate, RoomId, Title, WebUrl};

/// What functions run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Architecture {
    /// Costs a fifth less than the other.
    #[serde(rename = "arm64")]
    Arm64,
    #[serde(rename = "x86_64")]
    X86,
}

impl Architecture {
    pub fn named(name: &str) -> Option<Self> {
        [Self::Arm64, Self::X86].into_iter().find(|architecture| architecture.name() == name)
    }

    /// As Lambda calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86 => "x86_64",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A domain of the operator's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    pub name: String,
    /// The ARN of its certificate, in the room's region.
    pub certificate: String,
}

/// A room to be deployed. What is `None` is as the template has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomConfig {
    pub room: RoomId,
    pub title: Title,
    pub shop: WebUrl,
    pub health: Option<WebUrl>,
    pub rate: Rate,
    pub claim_minutes: Option<u32>,
    pub pass_minutes: Option<u32>,
    pub throttle: bool,
    pub domain: Option<Domain>,
    pub requests_per_second: Option<u32>,
    pub request_burst: Option<u32>,
    pub requests_per_address: Option<u32>,
    pub warm_reads: Option<u32>,
    pub warm_writes: Option<u32>,
    pub architecture: Option<Architecture>,
    pub alarm_email: Option<String>,
    pub log_days: Option<u32>,
    pub access_log: bool,
    /// A page of the operator's own.
    pub page: Option<Page>,
}

impl RoomConfig {
    /// A room of which no more is said than must be.
    pub fn new(room: RoomId, title: Title, shop: WebUrl, rate: Rate) -> Self {
        Self {
            room,
            title,
            shop,
            health: None,
            rate,
            claim_minutes: None,
            pass_minutes: None,
            throttle: false,
            domain: None,
            requests_per_second: None,
            request_burst: None,
            requests_per_address: None,
            warm_reads: None,
            warm_writes: None,
            architecture: None,
            alarm_email: None,
            log_days: None,
            access_log: false,
            page: None,
        }
    }

    /// Every parameter of the template that is not as the template has it, and the architecture.
    pub fn parameters(&self, architecture: Architecture) -> BTreeMap<&'static str, String> {
        let yes_or_no = |is: bool| if is { "yes" } else { "no" }.to_owned();
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        let all = [
            ("Room", Some(self.room.to_string())),
            ("Title", Some(self.title.to_string())),
            ("Shop", Some(self.shop.to_string())),
            ("Health", self.health.as_ref().map(ToString::to_string)),
            ("Rate", Some(self.rate.to_string())),
            ("AdmissionMinutes", number(self.claim_minutes)),
            ("PassMinutes", number(self.pass_minutes)),
            ("Throttling", Some(yes_or_no(self.throttle))),
            ("DomainName", self.domain.as_ref().map(|domain| domain.name.clone())),
            ("CertificateArn", self.domain.as_ref().map(|domain| domain.certificate.clone())),
            ("RequestsPerSecond", number(self.requests_per_second)),
            ("RequestBurst", number(self.request_burst)),
            ("RequestsPerAddress", number(self.requests_per_address)),
            ("WarmReads", number(self.warm_reads)),
            ("WarmWrites", number(self.warm_writes)),
            ("Architecture", Some(architecture.to_string())),
            ("AlarmEmail", self.alarm_email.clone()),
            ("LogDays", number(self.log_days)),
            ("AccessLog", Some(yes_or_no(self.access_log))),
            ("Page", Some(if self.page.is_some() { "custom" } else { "built-in" }.to_owned())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::template::{TEMPLATE, parse};

    use super::*;

    #[test]
    fn every_parameter_of_the_template_can_be_wanted_and_nothing_else() {
        let rate = Rate::new(300).unwrap();
        let mut wanted = RoomConfig::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example".parse().unwrap(),
            rate,
        );
        let template = parse(TEMPLATE).unwrap();
        let mut declared = template["Parameters"].as_object().unwrap().clone();
        assert!(declared.remove("PageVersion").is_some(), "what is carried, not what is wanted");
        let needed = declared.iter().filter(|(_, parameter)| parameter.get("Default").is_none());
        let said = |wanted: &RoomConfig| -> BTreeSet<String> {
            wanted.parameters(Architecture::Arm64).into_keys().map(ToOwned::to_owned).collect()
        };
        assert!(needed.map(|(name, _)| name.clone()).collect::<BTreeSet<_>>().is_subset(&said(&wanted)));

        let some = Some(1);
        (wanted.health, wanted.alarm_email) = (Some(wanted.shop.clone()), Some("a@b.example".into()));
        wanted.domain = Some(Domain { name: "queue.example".into(), certificate: "arn".into() });
        (wanted.claim_minutes, wanted.pass_minutes, wanted.log_days) = (some, some, some);
        (wanted.requests_per_second, wanted.request_burst, wanted.requests_per_address) = (some, some, some);
        (wanted.warm_reads, wanted.warm_writes) = (some, some);
        assert_eq!(said(&wanted), declared.keys().cloned().collect());
    }
}
