use std::path::PathBuf;
use std::time::Duration;

use aws_model::AccountLimit;
use clap::{Args, ValueEnum, ValueHint};
use config::Region;
use simulation::{ArrivalShape, Arrivals, ScenarioRequest, TimedOrder};
use waitroom::{ActiveLimit, Mode, Oversubscription, Rate, RoomId};

use super::number::rate;
use super::which::KNOWS_AWS;
use super::{examples, number, rehearse, time};
use crate::flags_file::FileFlags;

const CONFIGURED: &str = if KNOWS_AWS {
    "Name of a configured room, whose rate, region and options are used"
} else {
    "Name of a configured room, whose rate is used"
};
const DISORDER: &str = if KNOWS_AWS {
    "How many places a visitor may be from their turn [default: 100 on AWS, 0 on one machine]"
} else {
    "How many places a visitor may be from their turn [default: 0]"
};
const COUNT_LAG: &str = if KNOWS_AWS {
    "How old the count of the line is [default: 1m on AWS, 0s on one machine]"
} else {
    "How old the count of the line is [default: 0s]"
};
const FIND: &str = if KNOWS_AWS {
    "Find the lowest rate that is enough, or the limits to raise"
} else {
    "Find the lowest rate that is enough"
};

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper simulate --visitors 100k --arrivals 10m --rate 3k   on AWS, with the limits of every account
  beekeeper simulate spring-sale --visitors 50k                 with a configured room's rate, region and options
  beekeeper simulate --local --visitors 20k --rate 600          on one machine
  beekeeper simulate --visitors 20k --rate 600 --active-visitors 2k --stay 15m   while at most so many are in the shop
  beekeeper simulate spring-sale --arrivals last-year.csv --html simulation.html
  beekeeper simulate --scenario sale.toml --rate 6k             what a file says, at another rate
  beekeeper simulate --visitors 50k --find rate --within 2h     the lowest rate that is enough
  beekeeper simulate --visitors 1m --rate 30k --find quota      the limits to raise before

Nothing is sent anywhere.
AWS is not asked either: limits are those that every account has, unless --limit says otherwise.
A limit that breaks is an answer, so the exit code is 0. The same flags give the same answer: docs/simulate.md"))]
pub(crate) struct SimulateEvent {
    #[arg(help = CONFIGURED, allow_negative_numbers = true)]
    pub(crate) name: Option<RoomId>,
    /// A TOML file of flags, like docs/examples/scenario.toml; what is given here too counts instead
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: Option<PathBuf>,
    /// The flags that are from the file.
    #[arg(skip)]
    pub(crate) from_file: FileFlags,
    #[command(flatten)]
    pub(crate) flags: ScenarioFlags,
    #[arg(long, value_name = "WHAT", help = FIND)]
    pub(crate) find: Option<Sought>,
    /// Within which time the last visitor has to be released, from 1m to 14d
    #[arg(long, value_name = "DURATION", value_parser = time::between("1m", "14d"), requires = "find", required_if_eq("find", "rate"))]
    pub(crate) within: Option<Duration>,
    /// Also write the answer as a page into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}

/// What is simulated, as flags or as the keys of a scenario file.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct ScenarioFlags {
    /// Simulate a room on one machine, instead of AWS
    #[arg(long, hide = !KNOWS_AWS)]
    pub(crate) local: bool,
    /// How many visitors come, up to 10m; 50k is 50000. A file of counts knows it by itself
    #[arg(long, value_name = "N", value_parser = visitors, allow_negative_numbers = true)]
    pub(crate) visitors: Option<u32>,
    /// How they come: spike (within a minute), email (over half an hour), a time like 10m (evenly), or a CSV file of counts [default: spike]
    #[arg(long, value_name = "SHAPE", value_parser = rehearse::shape)]
    pub(crate) arrivals: Option<ArrivalShape>,
    /// Visitors a minute, from 1 to 270000; 3k is 3000 [default: the configured room's]
    #[arg(long, value_name = "N", value_parser = rate, allow_negative_numbers = true)]
    pub(crate) rate: Option<Rate>,
    /// `overflow`: newcomers go straight in while nobody waits [default: the configured room's, or line]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Let in up to so many percent more, to make up for visitors who don't come [default: the configured room's, or none]
    #[arg(long, value_name = "PERCENT", value_parser = oversubscription, allow_negative_numbers = true)]
    pub(crate) oversubscribe: Option<Oversubscription>,
    /// At most so many visitors are in the shop at once; 2k is 2000 [default: the configured room's, or any number]
    #[arg(long, value_name = "N", value_parser = active_visitors, allow_negative_numbers = true)]
    pub(crate) active_visitors: Option<u32>,
    /// How long they do something there, on average: most for less, a few for much longer [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = time::between("1s", "12h"))]
    pub(crate) stay: Option<Duration>,
    /// How long their session lasts after that, when they do nothing more [default: the configured room's, or 20m]
    #[arg(long, value_name = "DURATION", value_parser = time::between("1m", "12h"))]
    pub(crate) idle: Option<Duration>,
    /// How long a session lasts at most [default: the configured room's, or 2h]
    #[arg(long, value_name = "DURATION", value_parser = time::between("1m", "12h"))]
    pub(crate) session: Option<Duration>,
    /// For how many of a hundred the shop ends the session when they are done, so that it doesn't last for --idle [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    pub(crate) shop_ends: Option<f64>,
    /// No guard says who is in the shop, so everybody counts for --session
    #[arg(long)]
    pub(crate) no_guard: bool,
    /// The room opens so long after the first visitor comes; until then people join and wait
    #[arg(long, value_name = "DURATION", value_parser = time::between("1s", "7d"))]
    pub(crate) opens_after: Option<Duration>,
    /// How many of a hundred come before it opens, evenly; the others come as --arrivals says, from the opening on
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    pub(crate) early: Option<f64>,
    /// What you do, and how long after the first visitor: "10m set-rate 6k", "15m release 500", "20m pause", "25m on", "30m close",
    /// "30m close --after 5k" or "40m end"; repeatable
    #[arg(long, value_name = "ORDER")]
    pub(crate) order: Vec<TimedOrder>,
    /// Region of the limits [default: the configured room's, or us-east-1]
    #[arg(long, conflicts_with = "local", value_parser = Region::named, hide = !KNOWS_AWS)]
    pub(crate) region: Option<Region>,
    /// CloudFront answers visitors, instead of API Gateway [default: as the configured room]
    #[arg(long, conflicts_with = "local", hide = !KNOWS_AWS)]
    pub(crate) edge: bool,
    /// How many of a hundred leave while they wait [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    pub(crate) give_up: Option<f64>,
    /// How many of a hundred wait, and do not come when it is their turn [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    pub(crate) never_enter: Option<f64>,
    /// How fast the shop answers while it is well; with it the throttle acts
    #[arg(long, value_name = "DURATION", value_parser = time::between("1ms", "1m"))]
    pub(crate) shop_answers_in: Option<Duration>,
    /// How many visitors a minute the shop bears; with twice as many it answers four times slower
    #[arg(long, value_name = "N", value_parser = rate, allow_negative_numbers = true)]
    pub(crate) shop_bears: Option<Rate>,
    #[arg(long, value_name = "PLACES", value_parser = places, help = DISORDER, allow_negative_numbers = true)]
    pub(crate) disorder: Option<u64>,
    #[arg(long, value_name = "DURATION", value_parser = time::between("0s", "1h"), help = COUNT_LAG)]
    pub(crate) count_lag: Option<Duration>,
    /// A limit of the account: concurrency, api-requests, api-burst, table-reads or table-writes; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = limit, conflicts_with = "local", hide = !KNOWS_AWS)]
    pub(crate) limit: Vec<(AccountLimit, f64)>,
    /// Take the limits of a new account, in which ten functions may run at the same time
    #[arg(long, conflicts_with = "local", hide = !KNOWS_AWS)]
    pub(crate) new_account: bool,
    /// The same number gives the same visitors [default: 1]
    #[arg(long, value_name = "N", value_parser = number::between(0, u64::MAX), allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
}

impl ScenarioFlags {
    pub(crate) fn request(self) -> ScenarioRequest {
        ScenarioRequest {
            here: self.local,
            visitors: self.visitors,
            arrivals: self.arrivals,
            rate: self.rate,
            mode: self.mode,
            oversubscribe: self.oversubscribe,
            active_visitors: self.active_visitors,
            stay: self.stay,
            idle: self.idle,
            session: self.session,
            shop_ends: self.shop_ends,
            no_guard: self.no_guard,
            opens_after: self.opens_after,
            early: self.early,
            orders: self.order,
            region: self.region,
            edge: self.edge,
            give_up: self.give_up,
            never_enter: self.never_enter,
            shop_answers_in: self.shop_answers_in,
            shop_bears: self.shop_bears,
            disorder: self.disorder,
            count_lag: self.count_lag,
            limits: self.limit,
            new_account: self.new_account,
            seed: self.seed,
        }
    }
}

/// What --find looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sought {
    /// The lowest rate at which the last visitor is released within --within
    Rate,
    /// The limits that this crowd breaks, and what it needs of them
    #[value(hide = !KNOWS_AWS)]
    Quota,
}

fn visitors(text: &str) -> Result<u32, String> {
    rehearse::visitors_up_to(Arrivals::MOST, text)
}

fn active_visitors(text: &str) -> Result<u32, String> {
    rehearse::visitors_up_to(ActiveLimit::MAX, text)
}

fn places(text: &str) -> Result<u64, String> {
    let places = text.parse().ok().filter(|places| *places <= u64::from(Arrivals::MOST));
    places.ok_or_else(|| format!("must be a whole number of places from 0 to {}", Arrivals::MOST))
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| "must be a percentage from 0 to 100, like 15".into())
}

fn oversubscription(text: &str) -> Result<Oversubscription, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<u32>().unwrap_or_default();
    Oversubscription::new(number).map_err(|error| error.to_string())
}

fn limit(text: &str) -> Result<(AccountLimit, f64), String> {
    const EXPECTED: &str = "must be written like concurrency=3000; the names are concurrency, api-requests, api-burst, \
                            table-reads and table-writes";
    let (name, value) = text.split_once('=').ok_or(EXPECTED)?;
    let limit = AccountLimit::ALL.into_iter().find(|limit| limit.short_name() == name).ok_or(EXPECTED)?;
    let value = value.parse::<u32>().ok().filter(|value| *value > 0);
    let refusal = || format!("the value must be a whole number from 1 to {}", u32::MAX);
    Ok((limit, value.ok_or_else(refusal)?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_and_limits_are_checked() {
        assert_eq!((percent("15"), percent("2.5%")), (Ok(15.0), Ok(2.5)));
        for wrong in ["101", "-1", "NaN", "few"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
        assert_eq!(limit("api-burst=9000"), Ok((AccountLimit::ApiBurst, 9000.0)));
        let names = limit("functions=3").unwrap_err();
        assert!(AccountLimit::ALL.iter().all(|limit| names.contains(limit.short_name())), "{names}");
        for wrong in ["concurrency", "functions=3", "concurrency=0", "concurrency=many"] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }
}
