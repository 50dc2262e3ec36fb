//! What an operator should know before a deployment, or after an order.

use std::fmt::Write as _;

use aws_model::{AccountLimit, AccountLimits, Bound, Capacity, ModelledRoom, Outlook, Reservation};
use config::{Architecture, RoomConfig};
use document::words::{about, count, time};
use page::Page;
use serde::Serialize;
use waitroom::Rate;

use crate::DeployedRoom;
use crate::limits::{LimitReading, taken};

/// An account that may run fewer functions at the same time than this gets a warning, whatever the rate.
const FEW_FUNCTIONS: f64 = 100.0;
/// Somebody may gain from taking places in front of so many people.
const WORTH_LIMITING: u64 = 10_000;

/// A problem, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanWarning {
    pub text: String,
    pub advice: String,
}

impl PlanWarning {
    fn new(text: String, advice: impl Into<String>) -> Self {
        Self { text, advice: advice.into() }
    }
}

/// What the account's limits do not allow.
pub(crate) fn of_limits(
    limits: &AccountLimits,
    capacity: &Capacity,
    room: &ModelledRoom,
) -> Vec<PlanWarning> {
    let few = (limits.concurrency < FEW_FUNCTIONS).then(|| {
        let (functions, joins) = (limits.concurrency, about(capacity.joins_per_second.most));
        let kept_up = about(capacity.kept_up.most);
        let mut text = format!(
            "this account may run only {functions} functions at the same time, as many new accounts: about {joins} \
             people can join a second, and about {kept_up} a minute can come and go"
        );
        let mut advice = AccountLimit::advice_for_few_functions();
        if room.edge.answers() {
            let _ = write!(
                text,
                "; and behind an edge polls need functions too, so no more than about {} people can wait",
                about(capacity.waiting.most)
            );
            advice += "; until you have them, leave out edge";
        }
        PlanWarning::new(text, advice)
    });
    few.into_iter().chain(of_rate(capacity, room.rate)).collect()
}

/// That nobody knows how many functions the account may run. The default that the plan computes with may be a hundred times
/// too much.
pub(crate) fn of_unread(limits: &[LimitReading]) -> Option<PlanWarning> {
    let is_unread =
        |reading: &&LimitReading| reading.limit == AccountLimit::Concurrency && reading.value.is_none();
    limits.iter().find(is_unread).map(|reading| {
        PlanWarning::new(
            format!(
                "AWS did not say how many functions this account may run at the same time; the plan computes with {}, but \
                 many new accounts may run only 10",
                reading.taken
            ),
            format!(
                "allow lambda:GetAccountSettings, or look it up: Service Quotas, {} ({})",
                reading.limit.in_service_quotas(),
                reading.limit.code()
            ),
        )
    })
}

/// That the account cannot keep this rate up.
fn of_rate(capacity: &Capacity, rate: Rate) -> Option<PlanWarning> {
    let Bound { most, limit } = capacity.kept_up;
    (u64::from(rate.get()) > most).then(|| {
        PlanWarning::new(
            format!(
                "the rate is {} a minute, but in this account only about {} visitors a minute can come and go; the limit \
                 is {}",
                count(rate.get().into()),
                about(most),
                limit.name()
            ),
            limit.advice(),
        )
    })
}

/// What does not fit a crowd that is expected.
pub(crate) fn of_crowd(outlook: &Outlook, rate: Rate) -> Vec<PlanWarning> {
    let people = count(outlook.visitors);
    let joins = outlook.joins_per_second;
    let joining = outlook.joins_slowly().then(|| {
        let text = match outlook.joined_after {
            Some(seconds) => format!(
                "if {people} people come at once, it takes at least {} until all have joined; the limit is {}, and \
                 browsers that are refused try again by themselves",
                time(seconds),
                joins.limit.name()
            ),
            None => format!("not all of {people} people can join; the limit is {}", joins.limit.name()),
        };
        PlanWarning::new(text, joins.limit.advice())
    });
    let waiting = outlook.is_too_large().then(|| {
        let Bound { most, limit } = outlook.waiting;
        let text = format!(
            "only about {} people can wait at the same time, and {people} are expected; the limit is {}",
            about(most),
            limit.name()
        );
        PlanWarning::new(text, limit.advice())
    });
    let long = outlook.waits_long().then(|| {
        let wait = time(outlook.last_waits_minutes * 60);
        PlanWarning::new(
            format!("at {} a minute, the last of {people} people waits {wait}", count(rate.get().into())),
            "raise the rate if the shop can serve more, and tell people how long it takes",
        )
    });
    [joining, waiting, long].into_iter().flatten().collect()
}

/// That a room which is created was deployed before, perhaps somewhere else. `destroy` takes the account out of the configuration.
pub(crate) fn of_region(config: &RoomConfig, region: &str) -> Option<PlanWarning> {
    config.account.as_ref().map(|account| {
        let room = &config.room;
        PlanWarning::new(
            format!(
                "the configuration of {room} says that it's deployed in account {account}, but nothing of it is in {region}; if its \
                 region was changed, the room goes on where it was, and this makes a second one"
            ),
            "if so, set `region` in the configuration back to the one where it is; otherwise go on",
        )
    })
}

/// That one machine can take any number of places. A crowd below [`WORTH_LIMITING`] is not warned.
pub(crate) fn of_door(outlook: &Outlook, room: &ModelledRoom) -> Option<PlanWarning> {
    let is_open = !room.firewall.door_limit && !room.firewall.address_limit;
    (is_open && outlook.visitors >= WORTH_LIMITING).then(|| {
        PlanWarning::new(
            "nothing limits how many places one machine takes; a script that joins 500 times a second for ten minutes puts \
             300,000 places in front of everybody who comes later"
                .into(),
            format!(
                "set door_requests_per_address = {}, for about 6 dollars a month and 60 cents for each million requests: docs/abuse.md",
                door_limit(outlook.visitors)
            ),
        )
    })
}

/// As docs/abuse.md computes it: one in fifty shares an address, and each sends two requests and may reload.
fn door_limit(visitors: u64) -> u64 {
    (visitors.div_ceil(50) * 4).next_multiple_of(100)
}

impl DeployedRoom {
    /// Whether the room needs more consumers for this rate than the deployment reserved, so that AWS would start too few.
    pub fn warning_of_reservation(&self, config: &RoomConfig, rate: Rate) -> Option<PlanWarning> {
        let Reservation { consumers, .. } = self.reserved;
        let most = config.most_at(rate);
        let needed = Reservation::for_rate(most).consumers;
        let more = if most == rate {
            String::new()
        } else {
            format!(", and up to {} while some don't come,", count(most.get().into()))
        };
        (consumers > 0 && needed > consumers).then(|| PlanWarning {
            text: format!(
                "AWS starts no more than the {consumers} consumers that were reserved for this room, enough for {} a minute; \
                 {} a minute{more} needs {needed}",
                count(self.reserved.largest_rate().into()),
                count(rate.get().into()),
            ),
            advice: format!("reserve more, which keeps the line: beekeeper deploy {}", self.room),
        })
    }

    /// Whether the account can keep up a rate that the room was just given. `page` is the operator's own, if the room has one.
    /// AWS is only asked about rates that a new account with the lowest limits does not bear.
    pub async fn warning_of_rate(
        &self,
        config: &RoomConfig,
        page: Option<&Page>,
        rate: Rate,
    ) -> Option<PlanWarning> {
        let architecture = config.architecture.unwrap_or(Architecture::Arm64);
        let reserved_consumers = self.reserved.consumers;
        let room = ModelledRoom { rate, reserved_consumers, ..ModelledRoom::of(config, architecture, page) };
        let lowest = AccountLimits::of_new_account(aws_model::NEWER_REGION);
        of_rate(&Capacity::of(&lowest, &room, 0), rate)?;
        let readings = self.account.read_limits(&self.account.function_limits().await).await;
        of_rate(&Capacity::of(&taken(&readings, &self.account.region), &room, 0), rate)
    }
}

#[cfg(test)]
mod tests {
    use aws_model::Firewall;

    use super::*;
    use crate::fixture::room_config;

    fn rate(per_minute: u32) -> Rate {
        Rate::new(per_minute).unwrap()
    }

    fn texts(warnings: Vec<PlanWarning>) -> Vec<String> {
        warnings.into_iter().map(|PlanWarning { text, advice }| format!("{text} | {advice}")).collect()
    }

    fn of_account(limits: &AccountLimits, per_minute: u32) -> Vec<String> {
        of_room(limits, &ModelledRoom::new(rate(per_minute)))
    }

    fn of_room(limits: &AccountLimits, room: &ModelledRoom) -> Vec<String> {
        texts(of_limits(limits, &Capacity::of(limits, room, Capacity::USUAL_CROWD), room))
    }

    #[test]
    fn a_room_that_was_deployed_before_is_not_made_again_in_silence() {
        let mut config = room_config("sale");
        assert_eq!(of_region(&config, "eu-west-1"), None);
        config.account = Some("012345678901".parse().unwrap());
        let warned = of_region(&config, "eu-west-1").unwrap();
        assert!(warned.text.contains("deployed in account 012345678901, but nothing of it is in eu-west-1"));
    }

    #[test]
    fn an_account_with_ten_functions_is_always_warned() {
        let new = AccountLimits::of_new_account("us-east-1");
        for per_minute in [1, 60, 300] {
            let warned = of_account(&new, per_minute);
            assert_eq!(warned.len(), 1, "{warned:?}");
            assert!(
                warned[0].starts_with(
                    "this account may run only 10 functions at the same time, as many new accounts: about 5"
                ),
                "{warned:?}"
            );
            assert!(warned[0].ends_with(
                "ask AWS for 1,000 or more, which is free: Service Quotas, AWS Lambda, Concurrent executions (L-B99A9384)"
            ));
        }
        assert_eq!(of_account(&AccountLimits::default_in("us-east-1"), 300), [""; 0]);
    }

    #[test]
    fn an_account_with_ten_functions_is_warned_of_an_edge() {
        let room = ModelledRoom::new(rate(300)).behind_edge();
        let warned = of_room(&AccountLimits::of_new_account("us-east-1"), &room);
        assert_eq!(warned.len(), 1, "{warned:?}");
        let (text, advice) = warned[0].split_once(" | ").unwrap();
        let waiting = text.split_once("polls need functions too, so no more than about ").unwrap().1;
        let waiting: u64 =
            waiting.strip_suffix(" people can wait").unwrap().replace(',', "").parse().unwrap();
        assert!((1_000..50_000).contains(&waiting), "{text}");
        assert!(
            advice.starts_with("ask AWS for 1,000 or more") && advice.ends_with("leave out edge"),
            "{advice}"
        );
        assert_eq!(of_room(&AccountLimits::default_in("us-east-1"), &room), [""; 0]);
    }

    #[test]
    fn an_account_of_which_nothing_is_known_is_warned() {
        let warned = |limit, value| {
            let reading = LimitReading { limit, name: "", value, error: None, taken: 1000.0 };
            of_unread(&[reading]).map(|warning| warning.text)
        };
        assert_eq!(warned(AccountLimit::Concurrency, Some(1000.0)), None);
        assert_eq!(warned(AccountLimit::TableReads, None), None);
        let unread = warned(AccountLimit::Concurrency, None).unwrap();
        assert!(unread.ends_with("computes with 1000, but many new accounts may run only 10"), "{unread}");
    }

    #[test]
    fn a_rate_that_the_account_cannot_keep_up_is_named_with_the_limit() {
        let warned = of_account(&AccountLimits::default_in("us-east-1"), 270_000);
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(
            warned[0].starts_with("the rate is 270,000 a minute, but in this account only about "),
            "{warned:?}"
        );
        assert!(
            warned[0].contains("the limit is the sixteen copies of the status | set warm_reads"),
            "{warned:?}"
        );
    }

    #[test]
    fn a_crowd_is_warned_of_if_it_joins_slowly_or_waits_long() {
        let warned = |limits: &AccountLimits, per_minute, visitors| {
            texts(of_crowd(
                &Outlook::of(limits, &ModelledRoom::new(rate(per_minute)), visitors),
                rate(per_minute),
            ))
        };
        let usual = AccountLimits::default_in("us-east-1");
        assert_eq!(warned(&usual, 3000, 100_000), [""; 0]);
        let long = warned(&usual, 300, 150_000);
        assert_eq!(
            long,
            [
                "at 300 a minute, the last of 150,000 people waits 8 h 20 min | raise the rate if the shop can serve more, \
              and tell people how long it takes"
            ]
        );
        let slow = warned(&AccountLimits::of_new_account("us-east-1"), 300, 15_000);
        assert_eq!(
            slow,
            [
                "if 15,000 people come at once, it takes at least 5 min until all have joined; the limit is the \
              functions that may run at the same time, and browsers that are refused try again by themselves | ask AWS \
              for a higher limit, which is free: Service Quotas, AWS Lambda, Concurrent executions (L-B99A9384)"
            ]
        );
        let many = warned(&usual, 10_000, 5_000_000);
        assert!(many.iter().any(|text| text.starts_with("only about ")), "{many:?}");
    }

    #[test]
    fn a_large_crowd_is_warned_of_a_door_without_a_limit() {
        let usual = AccountLimits::default_in("us-east-1");
        let warned = |room: &ModelledRoom, visitors| of_door(&Outlook::of(&usual, room, visitors), room);
        let open = ModelledRoom::new(rate(3000));
        assert_eq!(warned(&open, 9_999), None);
        let advised = |visitors| warned(&open, visitors).unwrap().advice;
        assert!(advised(10_000).starts_with("set door_requests_per_address = 800, "), "{}", advised(10_000));
        let documented = include_str!("../../../docs/abuse.md");
        assert!(documented.contains("Say you expect 20,000,") && documented.contains("1,600 on AWS"));
        assert!(advised(20_000).starts_with("set door_requests_per_address = 1600, "), "{}", advised(20_000));
        let firewall = Firewall { door_limit: true, ..Firewall::default() };
        assert_eq!(warned(&ModelledRoom { firewall, ..open.clone() }, 10_000), None);
        assert!(warned(&open.behind_edge(), 10_000).is_some(), "an edge can have that limit too");
    }
}
