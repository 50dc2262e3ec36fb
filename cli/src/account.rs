//! Where a profile meets the account: what each is called on the other side.

use cloud::{Access, Architecture, Domain, LogLine, RoomConfig};
use humantime::format_rfc3339_millis;
use page::{Design, DesignError};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use waitroom::RoomId;

use crate::profile::{More, Profile};

impl Profile {
    /// Who goes to AWS, and where.
    pub(crate) fn access(&self) -> Access {
        Access {
            region: self.region.to_string(),
            aws_profile: self.more.aws_profile.clone(),
            account: self.more.account.clone(),
        }
    }

    /// The stack that the room is to be.
    pub(crate) fn wanted(&self, name: &RoomId) -> Result<RoomConfig, DesignError> {
        let Self { title, region: _, shop, rate, throttle, more } = self;
        let More {
            health,
            claim_minutes,
            pass_minutes,
            page,
            aws_profile: _,
            account: _,
            architecture,
            domain,
            certificate,
            alarm_email,
            log_days,
            access_log,
            requests_per_second,
            request_burst,
            requests_per_address,
            warm_reads,
            warm_writes,
        } = more.clone();
        let mut wanted = RoomConfig::new(name.clone(), title.clone(), shop.clone(), *rate);
        wanted.health = health;
        (wanted.claim_minutes, wanted.pass_minutes) = (claim_minutes, pass_minutes);
        wanted.throttle = *throttle;
        wanted.domain = domain.zip(certificate).map(|(name, certificate)| Domain { name, certificate });
        (wanted.requests_per_second, wanted.request_burst) = (requests_per_second, request_burst);
        wanted.requests_per_address = requests_per_address;
        (wanted.warm_reads, wanted.warm_writes) = (warm_reads, warm_writes);
        wanted.architecture = architecture.as_deref().and_then(Architecture::named);
        (wanted.alarm_email, wanted.log_days) = (alarm_email, log_days);
        wanted.access_log = access_log.unwrap_or(false);
        if let Some(folder) = page {
            wanted.page = Some(Design::read(Path::new(&folder))?.page(title));
        }
        Ok(wanted)
    }
}

pub(crate) fn log_line(line: &LogLine, json: bool) -> String {
    if json {
        return json!({ "at": line.at, "function": line.function, "text": line.text }).to_string();
    }
    let at = UNIX_EPOCH + Duration::from_millis(line.at.as_millis());
    format!("{}  {:<9} {}", format_rfc3339_millis(at), line.function, line.text.trim_end())
}

#[cfg(test)]
mod tests {
    use waitroom::Timestamp;

    use super::*;

    #[test]
    fn a_line_of_the_log_says_when_and_who() {
        let line = LogLine {
            at: Timestamp::from_millis(1_774_000_000_123),
            function: "trigger".into(),
            text: "planned 300\n".into(),
        };
        assert_eq!(log_line(&line, false), "2026-03-20T09:46:40.123Z  trigger   planned 300");
        let told = r#"{"at":1774000000123,"function":"trigger","text":"planned 300\n"}"#;
        assert_eq!(log_line(&line, true), told);
    }

    #[test]
    fn a_profile_says_everything_that_a_stack_wants_to_know() {
        let profile = Profile::from_toml(
            "title = \"Sale\"\nregion = \"eu-central-1\"\nshop = \"https://shop.example\"\nrate = 300\nthrottle = true\n\
             claim_minutes = 30\narchitecture = \"x86_64\"\ndomain = \"queue.shop.example\"\n\
             certificate = \"arn:aws:acm:eu-central-1:012345678901:certificate/c\"\naccount = \"012345678901\"\nlog_days = 30",
        )
        .unwrap();
        assert_eq!(profile.access().account.as_deref(), Some("012345678901"));
        assert_eq!(profile.access().region, "eu-central-1");
        let wanted = profile.wanted(&"sale".parse().unwrap()).unwrap();
        assert_eq!((wanted.throttle, wanted.claim_minutes, wanted.log_days), (true, Some(30), Some(30)));
        assert_eq!(wanted.domain.unwrap().name, "queue.shop.example");
    }
}
