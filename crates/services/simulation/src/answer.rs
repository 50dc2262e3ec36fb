use std::collections::BTreeMap;
use std::fmt::Write as _;

use aws_model::AccountLimit;
use document::words::{capital, count, number, span, things, things_do};
use serde::Serialize;
use waitroom::Mode;

use crate::outcome::{SimulatedEvent, VisitorCount};
use crate::search::QuotaToRaise;

/// All that went into a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioInputs {
    pub room: Option<String>,
    pub host: &'static str,
    pub region: Option<String>,
    /// `CloudFront` in front, on AWS.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edge: bool,
    pub visitors: u32,
    pub arrivals: String,
    pub rate: u32,
    /// If it is not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oversubscribe_percent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visits: Option<VisitInputs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens_after_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_percent: Option<f64>,
    /// As they are typed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<String>,
    pub give_up_percent: f64,
    pub never_enter_percent: f64,
    pub shop_answers_in_millis: Option<u128>,
    pub shop_bears: Option<u32>,
    pub disorder: u64,
    pub count_lag_seconds: f64,
    /// The account's limits, on AWS.
    pub account: BTreeMap<&'static str, f64>,
    pub seed: u64,
    /// The time that --find rate kept to.
    pub within_seconds: Option<u64>,
}

/// How the shop is used, in a room that limits its active visitors.
#[derive(Clone, Debug, Serialize)]
pub struct VisitInputs {
    pub active_visitors: u32,
    pub stay_seconds: f64,
    pub shop_ends_percent: f64,
    pub idle_seconds: f64,
    pub session_seconds: f64,
    pub no_guard: bool,
}

/// What `simulate` found. Times are in seconds since the first visitor could come.
#[derive(Clone, Debug, Serialize)]
pub struct SimulationAnswer {
    pub scenario: ScenarioInputs,
    #[serde(flatten)]
    pub event: SimulatedEvent,
    /// With --find rate: the rate that was found. `event` is at this rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_rate: Option<u32>,
    /// With --find quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotas: Option<Vec<QuotaToRaise>>,
}

impl SimulationAnswer {
    /// Who came and how.
    pub(crate) fn crowd(&self) -> String {
        let inputs = &self.scenario;
        let place = match (inputs.host, &inputs.region) {
            (_, Some(region)) if inputs.edge => format!("a room behind CloudFront on AWS in {region}"),
            (_, Some(region)) => format!("a room on AWS in {region}"),
            (_, None) => "a room on one machine".into(),
        };
        let mut crowd = format!(
            "{} {}, to {place} that releases {} a minute.",
            things_do(inputs.visitors.into(), "visitor", "come"),
            inputs.arrivals,
            count(inputs.rate.into())
        );
        if inputs.mode == Some(Mode::Overflow) {
            crowd.push_str(" While nobody waits, newcomers go straight in.");
        }
        if let Some(percent) = inputs.oversubscribe_percent {
            let _ =
                write!(crowd, " Up to {percent}% more are released, to make up for those who don't come.");
        }
        if let Some(visits) = &inputs.visits {
            crowd.push_str(&visits.told());
        }
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

    /// Whether it holds. If not: what breaks, when, for how many, and what to do.
    pub(crate) fn verdict(&self) -> String {
        let event = &self.event;
        let VisitorCount { came, refused, still_waiting, too_late, .. } = event.visitors;
        // An end leaves people outside whom the operator wants outside.
        let has_ended = too_late > 0 && event.drained_after.is_none();
        let for_how_many = match refused {
            0 => "nobody is refused".to_owned(),
            1 => format!("1 of {} is refused at least once", things(came, "visitor")),
            _ => format!("{} of {} are refused at least once", count(refused), things(came, "visitor")),
        };
        let verdict = if let Some(limit) = event.first_to_break {
            let broken = event.limits.iter().find(|used| used.limit == limit);
            let after = span(as_f64(broken.and_then(|used| used.broke_after).unwrap_or(0) as u64));
            let (name, advice) = (limit.name(), limit.advice());
            match (refused, broken.is_some_and(|used| used.refuses)) {
                (0, true) => format!(
                    "It holds, barely: after {after} more come in a second than a limit allows, {name}, and its burst takes \
                     them: nobody is refused. To be safe, {advice}."
                ),
                (0, false) => format!(
                    "It doesn't hold: after {after} a limit is exceeded, {name}, and AWS would refuse requests, which is \
                     not simulated. What to do: {advice}."
                ),
                _ => format!(
                    "It doesn't hold: after {after} a limit is exceeded, {name}, and {for_how_many}. What to do: {advice}."
                ),
            }
        } else if refused > 0 {
            let advice = if self.scenario.edge {
                AccountLimit::Concurrency.advice()
            } else {
                format!("{}, or raise request_burst if the room has one", AccountLimit::ApiBurst.advice())
            };
            format!(
                "It holds, but {for_how_many}: no limit is exceeded in any second, and too many come at the same moment. What to do: \
                 {advice}."
            )
        } else if (event.drained_after.is_some() || has_ended) && still_waiting == 0 {
            let too_late = match (too_late, event.sold_out_after) {
                (0, None) => String::new(),
                (0, Some(after)) => format!(" It's sold out after {}.", span(after)),
                (_, Some(after)) => format!(
                    " It's sold out after {}, and {} of {} too late.",
                    span(after),
                    count(too_late),
                    things_do(came, "visitor", "come")
                ),
                (_, None) => format!(
                    " {} too late: the room is closed or ended by then.",
                    capital(&things_do(too_late, "visitor", "come"))
                ),
            };
            return format!("It holds: {for_how_many}.{too_late}");
        } else {
            "It doesn't hold.".into()
        };
        if (event.drained_after.is_none() && !has_ended) || still_waiting > 0 {
            // They may wait because they were refused, and a higher rate does not help them.
            let advice = match event.shop {
                _ if refused > 0 || event.first_to_break.is_some() => "",
                Some(shop) if shop.full_for > 0 => " Let more visitors into the shop at once.",
                _ => " Raise the rate.",
            };
            let wait = if still_waiting == 1 { "waits" } else { "wait" };
            let still = capital(&things(still_waiting, "visitor"));
            return format!("{verdict} {still} still {wait} when the simulation ends.{advice}");
        }
        verdict
    }

    /// What --find found.
    pub(crate) fn findings(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let (Some(rate), Some(within)) = (self.found_rate, self.scenario.within_seconds) {
            found.push(format!(
                "A rate of {} a minute is enough: everybody is released within {}.",
                count(rate.into()),
                span(as_f64(within))
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
}

impl VisitInputs {
    /// How many are in the shop, and for how long each counts.
    fn told(&self) -> String {
        let Self { active_visitors, stay_seconds, shop_ends_percent, .. } = *self;
        let idle = span(self.idle_seconds);
        let how = if self.no_guard {
            format!(
                "no guard says when they leave, so everybody counts for {}, the length of a session",
                span(self.session_seconds)
            )
        } else if shop_ends_percent <= 0.0 {
            format!("their sessions last for {idle} more")
        } else if shop_ends_percent >= 100.0 {
            "then the shop ends their sessions".into()
        } else {
            format!(
                "the shop ends {shop_ends_percent}% of their sessions then, and the others last for {idle} more"
            )
        };
        format!(
            " At most {} are in the shop at once. They stay for {} on average; {how}.",
            count(active_visitors.into()),
            span(stay_seconds)
        )
    }
}

/// What has to be raised, and how.
fn to_raise(quota: &QuotaToRaise) -> String {
    let needed = quota
        .needed
        .map_or_else(|| "too few for this crowd".into(), |needed| format!("{} are needed", number(needed)));
    let (name, has) = (capital(quota.name), number(quota.available));
    format!("{name}: {has} are allowed, {needed}. What to do: {}.", quota.advice)
}

#[expect(clippy::cast_precision_loss, reason = "less than 2^52 visitors, requests and seconds")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
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
}
