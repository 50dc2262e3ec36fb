use std::collections::BTreeMap;
use std::fmt::Write as _;

use aws_model::AccountLimit;
use serde::Serialize;
use simulation::{QuotaToRaise, SimulatedEvent, VisitorCount, WaitSpread};

use crate::plot::{number, thousands};

/// All that went into a simulation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ScenarioInputs {
    pub(crate) room: Option<String>,
    pub(crate) host: &'static str,
    pub(crate) region: Option<String>,
    pub(crate) visitors: u32,
    pub(crate) arrivals: String,
    pub(crate) rate: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opens_after_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) early_percent: Option<f64>,
    /// As they are typed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) orders: Vec<String>,
    pub(crate) give_up_percent: f64,
    pub(crate) never_enter_percent: f64,
    pub(crate) shop_answers_in_millis: Option<u128>,
    pub(crate) shop_bears: Option<u32>,
    pub(crate) disorder: u64,
    pub(crate) count_lag_seconds: f64,
    /// The account's limits, on AWS.
    pub(crate) account: BTreeMap<&'static str, f64>,
    pub(crate) seed: u64,
    /// The time that --find rate kept to.
    pub(crate) within_seconds: Option<u64>,
}

/// What `simulate` found. Times are in seconds since the first visitor could come.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SimulationAnswer {
    pub(crate) scenario: ScenarioInputs,
    #[serde(flatten)]
    pub(crate) event: SimulatedEvent,
    /// With --find rate: the rate that was found. `event` is at this rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) found_rate: Option<u32>,
    /// With --find quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quotas: Option<Vec<QuotaToRaise>>,
}

impl SimulationAnswer {
    /// Who came and how.
    pub(super) fn crowd(&self) -> String {
        let inputs = &self.scenario;
        let place = match (inputs.host, &inputs.region) {
            (_, Some(region)) => format!("a room on AWS in {region}"),
            (_, None) => "a room on one machine".into(),
        };
        let mut crowd = format!(
            "{} {} {}, to {place} that releases {} a minute.",
            visitors(inputs.visitors.into()),
            if inputs.visitors == 1 { "comes" } else { "come" },
            inputs.arrivals,
            thousands(inputs.rate.into())
        );
        if let Some(after) = inputs.opens_after_seconds {
            let early = inputs
                .early_percent
                .map(|percent| format!(", and {percent}% come before, evenly; the others from then on"));
            let _ = write!(crowd, " It opens after {}{}.", span(after), early.unwrap_or_default());
        }
        if !inputs.orders.is_empty() {
            let _ = write!(crowd, " Orders: {}.", inputs.orders.join(", "));
        }
        crowd
    }

    /// The waits, as a visitor counts them.
    pub(super) fn waits(&self) -> String {
        let (event, count) = (&self.event, self.event.visitors);
        let last = match event.drained_after {
            Some(after) => format!("The last visitor is released after {}.", span(after)),
            None => "Not everybody is released.".into(),
        };
        if count.entered + count.never_entered == 0 {
            return format!("{last} Nobody waits until it is their turn.");
        }
        format!("From their click, {}. {last}", waits(&event.from_link))
    }

    /// The verdict in three words.
    pub(super) fn verdict_in_short(&self) -> &'static str {
        let event = &self.event;
        let everybody = event.drained_after.is_some() && event.visitors.still_waiting == 0;
        match (event.first_to_break.is_none() && everybody, event.visitors.refused) {
            (true, 0) => "It holds",
            (true, _) => "It holds, but some are refused",
            (false, _) => "It doesn't hold",
        }
    }

    /// Whether it holds. If not: what breaks, when, for how many, and what to do.
    pub(super) fn verdict(&self) -> String {
        let event = &self.event;
        let VisitorCount { came, refused, still_waiting, .. } = event.visitors;
        let for_how_many = match refused {
            0 => "nobody is refused".to_owned(),
            _ => format!("{} of {} are refused at least once", number(refused), visitors(came)),
        };
        let verdict = if let Some(limit) = event.first_to_break {
            let broken = event.limits.iter().find(|used| used.limit == limit);
            let after = span(seconds(broken.and_then(|used| used.broke_after).unwrap_or(0) as u64));
            let (name, advice) = (limit.name(), limit.advice());
            let is_felt = broken.is_some_and(|used| used.refuses) || refused > 0;
            let for_how_many = if is_felt {
                for_how_many
            } else {
                "AWS would refuse requests, which is not simulated".into()
            };
            format!(
                "It doesn't hold: after {after} a limit is exceeded, {name}, and {for_how_many}. What to do: {advice}."
            )
        } else if refused > 0 {
            let advice = AccountLimit::ApiBurst.advice();
            format!(
                "It holds, but {for_how_many}: no limit is exceeded in any second, and too many come at the same moment. What to do: \
                 {advice}, or raise request_burst if the room has one."
            )
        } else if event.drained_after.is_some() && still_waiting == 0 {
            return format!("It holds: {for_how_many}.");
        } else {
            "It doesn't hold.".into()
        };
        if event.drained_after.is_none() || still_waiting > 0 {
            // They may wait because they were refused, and a higher rate does not help them.
            let advice = if refused > 0 || event.first_to_break.is_some() { "" } else { " Raise the rate." };
            let wait = if still_waiting == 1 { "waits" } else { "wait" };
            let still = visitors(still_waiting);
            return format!("{verdict} {still} still {wait} when the simulation ends.{advice}");
        }
        verdict
    }

    /// What --find found.
    pub(super) fn findings(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let (Some(rate), Some(within)) = (self.found_rate, self.scenario.within_seconds) {
            found.push(format!(
                "A rate of {} a minute is enough: everybody is released within {}.",
                thousands(rate.into()),
                span(seconds(within))
            ));
        }
        if let Some(quotas) = &self.quotas {
            // Whoever is refused although no limit breaks is in a warning.
            if quotas.is_empty() && self.event.refused_requests == 0 {
                found.push("No limit has to be raised for this crowd.".into());
            }
            found.extend(quotas.iter().map(to_raise));
        }
        found
    }

    /// The numbers that matter most.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let event = &self.event;
        let count = event.visitors;
        let line = event.longest_line;
        let mut facts = vec![
            (
                "longest line",
                format!("{}, after {}", thousands(line.people.into()), span(seconds(line.after))),
            ),
            ("entered", number(count.entered)),
            ("gave up", number(count.gave_up)),
            ("never entered", number(count.never_entered)),
            ("still waiting", number(count.still_waiting)),
            ("until in line", short_waits(&event.until_in_line)),
            ("then in line", short_waits(&event.waits)),
            ("requests", format!("{} ({} refused)", number(event.requests), number(event.refused_requests))),
        ];
        if !event.costs.is_empty() {
            facts.push(("costs", dollars(event.dollars)));
        }
        facts
    }

    /// What the table of limits does not say.
    pub(super) const ABOUT_LIMITS: &str = "Requests are refused beyond API Gateway's limits and that of the functions. \
                                           The other limits are compared, and refuse nobody here.";

    pub(super) const LIMIT_COLUMNS: [&str; 5] = ["limit", "used", "allowed", "share", "after"];

    /// Each limit in these columns.
    pub(super) fn limits(&self) -> Vec<[String; 5]> {
        let row = |used: &simulation::LimitUse| {
            [
                used.name.to_owned(),
                thousands(used.used.ceil()),
                thousands(used.available),
                format!("{:.0}%", used.share * 100.0),
                span(seconds(used.after as u64)),
            ]
        };
        self.event.limits.iter().map(row).collect()
    }
}

fn visitors(count: u64) -> String {
    format!("{} visitor{}", number(count), if count == 1 { "" } else { "s" })
}

fn waits(of: &WaitSpread) -> String {
    let WaitSpread { median, p95, longest, .. } = *of;
    format!("half wait {} or less, 95% {} or less, the longest {}", span(median), span(p95), span(longest))
}

fn short_waits(of: &WaitSpread) -> String {
    let WaitSpread { median, p95, longest, .. } = *of;
    format!("half {}, 95% {}, the longest {}", span(median), span(p95), span(longest))
}

/// What has to be raised, and how.
fn to_raise(quota: &QuotaToRaise) -> String {
    let needed = quota.needed.map_or_else(
        || "too few for this crowd".into(),
        |needed| format!("{} are needed", thousands(needed)),
    );
    let (name, has) = (capital(quota.name), thousands(quota.available));
    format!("{name}: {has} are allowed, {needed}. What to do: {}.", quota.advice)
}

#[expect(clippy::cast_precision_loss, reason = "less than 2^52 visitors, requests and seconds")]
pub(super) fn seconds(count: u64) -> f64 {
    count as f64
}

pub(super) fn dollars(dollars: f64) -> String {
    format!("${dollars:.2}")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `45 s`, `11 min 42 s`, `3 h 5 min`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most some weeks")]
pub(super) fn span(seconds: f64) -> String {
    match seconds.round() as u64 {
        short @ 0..60 => format!("{short} s"),
        middle @ 60..3600 if middle % 60 == 0 => format!("{} min", middle / 60),
        middle @ 60..3600 => format!("{} min {} s", middle / 60, middle % 60),
        long => format!("{} h {} min", long / 3600, long / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use aws_model::Limit;

    use super::*;

    #[test]
    fn what_nothing_raises_still_says_what_to_do() {
        let limit = Limit::PageReads;
        let mut quota = QuotaToRaise {
            limit,
            name: limit.name(),
            available: 5500.0,
            needed: None,
            advice: "divide the crowd".into(),
        };
        let told = "The reads a second of the page's bucket: 5,500 are allowed, too few for this crowd. \
                    What to do: divide the crowd.";
        assert_eq!(to_raise(&quota), told);
        quota.needed = Some(7000.0);
        assert!(to_raise(&quota).contains("5,500 are allowed, 7,000 are needed. "), "{}", to_raise(&quota));
    }

    #[test]
    fn a_time_is_told_in_the_units_that_fit() {
        let told = [0.4, 59.0, 120.0, 702.3, 11_100.0].map(span);
        assert_eq!(told, ["0 s", "59 s", "2 min", "11 min 42 s", "3 h 5 min"]);
    }
}
