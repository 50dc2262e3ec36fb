//! What a crowd of a given size can expect.

use serde::Serialize;

use crate::facts::facts;
use crate::traffic::{environments_per_visit, visits_per_second};
use crate::{AccountLimits, Bound, Capacity, EventCosts, ModelledRoom};

/// A crowd that comes at one moment, and is released at the room's rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlook {
    pub visitors: u64,
    /// How many can join a second when nearly all have joined, and wait.
    pub joins_per_second: Bound,
    /// How many seconds it takes at least until all have joined. None if they never do.
    pub joined_after: Option<u64>,
    /// How many are refused at first if all open the link in the same instant. They come again at random, within a minute.
    pub refused_at_first: u64,
    /// How many can wait.
    pub waiting: Bound,
    /// How many minutes the last of them waits.
    pub last_waits_minutes: u64,
    pub dollars: f64,
    /// The same if a fifth of them reload, and a fifth open a second tab.
    pub dollars_with_reloads: f64,
    /// Behind an edge: `dollars` without what `CloudFront`'s free tier takes off, if the account uses it for nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars_after_free_tier: Option<f64>,
}

impl Outlook {
    /// Beyond this, the crowd meets many refusals before it has joined.
    pub const LONG_JOIN: u64 = 3 * 60;
    /// Beyond this, most of those at the end will have left.
    pub const LONG_WAIT: u64 = 60;

    pub fn of(limits: &AccountLimits, room: &ModelledRoom, visitors: u64) -> Self {
        let Capacity { joins_per_second, waiting, .. } = Capacity::of(limits, room, visitors);
        let last_waits_minutes = visitors.div_ceil(room.rate.get().into());
        // Some wait hardly at all and some to the end: half of that on average.
        #[expect(clippy::cast_precision_loss, reason = "a number of minutes")]
        let average = last_waits_minutes as f64 / 2.0;
        let costs = EventCosts::of(room, visitors, average);
        Self {
            visitors,
            joins_per_second,
            joined_after: (joins_per_second.most > 0).then(|| visitors.div_ceil(joins_per_second.most)),
            refused_at_first: visitors.saturating_sub(taken_at_once(limits, room)),
            waiting,
            last_waits_minutes,
            dollars: costs.dollars,
            dollars_with_reloads: costs.dollars_with_reloads,
            dollars_after_free_tier: costs.dollars_after_free_tier,
        }
    }

    pub fn joins_slowly(&self) -> bool {
        self.joined_after.is_none_or(|seconds| seconds > Self::LONG_JOIN)
    }

    pub fn is_too_large(&self) -> bool {
        self.visitors > self.waiting.most
    }

    pub fn waits_long(&self) -> bool {
        self.last_waits_minutes > Self::LONG_WAIT
    }
}

/// How many visitors the door takes at the same moment: as many as API Gateway does, and behind an edge, which holds nobody back,
/// as many as Lambda starts functions for.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of requests")]
fn taken_at_once(limits: &AccountLimits, room: &ModelledRoom) -> u64 {
    let taken = if room.edge.answers() {
        let functions = visits_per_second(limits, room, room.rate) * environments_per_visit(room);
        functions.min(facts().fixed.new_environments.value)
    } else {
        room.request_burst.map_or(limits.api_burst, |own| own.min(limits.api_burst))
    };
    taken as u64
}

#[cfg(test)]
mod tests {
    use waitroom::Rate;

    use super::*;

    fn outlook(limits: &AccountLimits, rate: u32, visitors: u64) -> Outlook {
        Outlook::of(limits, &ModelledRoom::new(Rate::new(rate).unwrap()), visitors)
    }

    #[test]
    fn a_crowd_that_fits_joins_within_a_minute() {
        let outlook = outlook(&AccountLimits::default_in("us-east-1"), 3000, 150_000);
        assert!(!outlook.joins_slowly() && !outlook.is_too_large() && !outlook.waits_long(), "{outlook:?}");
        assert!(outlook.joined_after < Some(60) && outlook.last_waits_minutes == 50, "{outlook:?}");
        assert!((5.0..25.0).contains(&outlook.dollars), "{outlook:?}");
        assert_eq!(outlook.refused_at_first, 145_000, "all but a burst");
    }

    #[test]
    fn a_new_account_takes_a_large_crowd_slowly() {
        let outlook = outlook(&AccountLimits::of_new_account("us-east-1"), 300, 150_000);
        assert!(outlook.joins_slowly() && outlook.waits_long(), "{outlook:?}");
        assert_eq!(outlook.last_waits_minutes, 500);
    }

    #[test]
    fn a_room_with_a_limit_of_its_own_refuses_more_of_a_crowd_at_first() {
        let limits = AccountLimits::default_in("us-east-1");
        let refused = |request_burst| {
            let room = ModelledRoom { request_burst, ..ModelledRoom::new(Rate::new(3000).unwrap()) };
            Outlook::of(&limits, &room, 20_000).refused_at_first
        };
        assert_eq!([None, Some(500.0), Some(9000.0)].map(refused), [15_000, 19_500, 15_000]);
    }

    #[test]
    fn behind_an_edge_functions_say_how_many_are_refused_at_first() {
        let refused = |concurrency| {
            let limits = AccountLimits { concurrency, ..AccountLimits::default_in("us-east-1") };
            let room = ModelledRoom::new(Rate::new(3000).unwrap()).behind_edge();
            let outlook = Outlook::of(&limits, &room, 20_000);
            assert!(outlook.dollars_after_free_tier < Some(outlook.dollars), "{outlook:?}");
            outlook.refused_at_first
        };
        assert_eq!(refused(20_000.0), 19_000, "Lambda starts a thousand");
        // Consumers, the trigger and the edge's copies need some.
        assert!((19_900..20_000).contains(&refused(100.0)), "{}", refused(100.0));
    }

    #[test]
    fn nobody_costs_and_waits_nothing() {
        let outlook = outlook(&AccountLimits::default_in("us-east-1"), 300, 0);
        assert_eq!((outlook.joined_after, outlook.last_waits_minutes), (Some(0), 0));
        assert_eq!(outlook.refused_at_first, 0);
        assert!(outlook.dollars < 0.01);
    }
}
