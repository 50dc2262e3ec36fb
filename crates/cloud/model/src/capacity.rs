//! How large a crowd a room bears.

use serde::{Serialize, Serializer};
use waitroom::Rate;

use crate::traffic::Traffic;
use crate::visit::longest_wait_minutes;
use crate::{AccountLimits, Limit, ModelledRoom};

/// The most of something, and the limit that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bound {
    pub most: u64,
    pub limit: Limit,
}

/// How large a crowd a room bears in an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// How many visitors can join a second while `crowd` wait already.
    pub joins_per_second: Bound,
    pub crowd: u64,
    /// How many can wait at the same time, while as many join as are released.
    pub waiting: Bound,
    /// How many visitors a minute can come, wait [`WAIT_MINUTES`](crate::WAIT_MINUTES) and go, for as long as it takes.
    pub kept_up: Bound,
    /// How many a minute can be released from a line of `crowd` visitors that nobody joins.
    pub released: Bound,
}

/// The most of each, and the limits apart, so that a script finds a number under a plain name.
#[derive(Serialize)]
struct CapacityFields<T> {
    joins_per_second: T,
    waiting: T,
    rate: T,
    released_per_minute: T,
}

impl Capacity {
    fn fields<T>(&self, of: impl Fn(Bound) -> T) -> CapacityFields<T> {
        CapacityFields {
            joins_per_second: of(self.joins_per_second),
            waiting: of(self.waiting),
            rate: of(self.kept_up),
            released_per_minute: of(self.released),
        }
    }
}

impl Serialize for Capacity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct CapacityJson {
            #[serde(flatten)]
            most: CapacityFields<u64>,
            crowd: u64,
            limits: CapacityFields<Limit>,
        }
        let most = self.fields(|bound| bound.most);
        CapacityJson { most, crowd: self.crowd, limits: self.fields(|bound| bound.limit) }
            .serialize(serializer)
    }
}

impl Capacity {
    /// The crowd for which joins are counted if nobody said how many are expected.
    pub const USUAL_CROWD: u64 = 100_000;

    pub fn of(limits: &AccountLimits, room: &ModelledRoom, crowd: u64) -> Self {
        let waiting = number(crowd).min(most_who_wait(room.rate));
        let largest = u64::from(Rate::MAX.get());
        let at =
            |rate: u64| u32::try_from(rate).ok().and_then(|rate| Rate::new(rate).ok()).unwrap_or(Rate::MIN);
        let exceeds = |traffic: Traffic| traffic.exceeds(limits, room);
        Self {
            joins_per_second: most(1_000_000, Limit::NewEnvironments, |joins| {
                exceeds(
                    Traffic::of_line(number(joins), waiting, room.rate, room.edge.answers()).suddenly(room),
                )
            }),
            crowd,
            waiting: most(whole(most_who_wait(room.rate)), Limit::Retention, |people| {
                let joins_per_second = f64::from(room.rate.get()) / 60.0;
                exceeds(Traffic::of_line(joins_per_second, number(people), room.rate, room.edge.answers()))
            }),
            kept_up: most(largest, Limit::LargestRate, |rate| {
                exceeds(Traffic::kept_up(at(rate), room.edge.answers()))
            }),
            released: most(largest, Limit::LargestRate, |rate| {
                let waiting = number(crowd).min(most_who_wait(at(rate)));
                exceeds(Traffic::of_line(0.0, waiting, at(rate), room.edge.answers()))
            }),
        }
    }
}

/// Visitors further back than this lose their place before it is their turn.
fn most_who_wait(rate: Rate) -> f64 {
    f64::from(rate.get()) * longest_wait_minutes()
}

/// The largest number up to `end` that exceeds no limit. Whatever exceeds one, exceeds it with larger numbers too, except that
/// polls come in whole numbers; so it may be off by as much as one poll of a visitor.
fn most(end: u64, at_the_end: Limit, exceeds: impl Fn(u64) -> Option<Limit>) -> Bound {
    let Some(mut limit) = exceeds(end) else { return Bound { most: end, limit: at_the_end } };
    let (mut fits, mut too_many) = (0, end);
    while too_many - fits > 1 {
        let middle = fits + (too_many - fits) / 2;
        match exceeds(middle) {
            None => fits = middle,
            Some(exceeded) => (too_many, limit) = (middle, exceeded),
        }
    }
    Bound { most: fits, limit }
}

#[expect(clippy::cast_precision_loss, reason = "a number of people, far below 2^52")]
fn number(people: u64) -> f64 {
    people as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of people")]
fn whole(people: f64) -> u64 {
    people as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(rate: u32) -> ModelledRoom {
        ModelledRoom::new(Rate::new(rate).unwrap())
    }

    #[test]
    fn an_account_with_the_usual_limits_takes_2500_joins_a_second_while_150000_wait() {
        let capacity = Capacity::of(&AccountLimits::default_in("us-east-1"), &room(1000), 150_000);
        let joins = capacity.joins_per_second;
        assert!(joins.most >= 2500 && joins.limit == Limit::ApiRequests, "{capacity:?}");
        assert!(capacity.waiting.most > 1_000_000, "{capacity:?}");
        assert!(
            capacity.kept_up.limit == Limit::StatusCopies && capacity.kept_up.most < 270_000,
            "{capacity:?}"
        );
        let released = capacity.released;
        assert!(released.most > capacity.kept_up.most, "a line that stands sends less: {capacity:?}");
    }

    #[test]
    fn a_newer_region_bears_a_quarter() {
        // So that the table ends neither.
        let room = ModelledRoom { warm_reads: 24_000.0, ..room(300) };
        let usual = Capacity::of(&AccountLimits::default_in("eu-central-1"), &room, 0);
        let newer = Capacity::of(&AccountLimits::default_in("eu-central-2"), &room, 0);
        let is_quarter = |usual: Bound, newer: Bound| newer.most.abs_diff(usual.most / 4) <= usual.most / 50;
        assert!(is_quarter(usual.joins_per_second, newer.joins_per_second), "{usual:?} {newer:?}");
        assert!(is_quarter(usual.kept_up, newer.kept_up), "{usual:?} {newer:?}");
    }

    #[test]
    fn an_account_with_ten_functions_is_ended_by_them() {
        let capacity = Capacity::of(&AccountLimits::of_new_account("us-east-1"), &room(300), 10_000);
        let Capacity { joins_per_second, kept_up, released, .. } = capacity;
        assert_eq!((joins_per_second.limit, joins_per_second.most), (Limit::Concurrency, 50), "{capacity:?}");
        assert_eq!(kept_up.limit, Limit::Concurrency, "{capacity:?}");
        assert!(kept_up.most < 2000 && released.most <= 3000, "{capacity:?}");
    }

    #[test]
    fn the_door_cannot_use_what_is_reserved_for_consumers() {
        let mut limits = AccountLimits::default_in("us-east-1");
        limits.concurrency = 112.0;
        let joins = |reserved_consumers| {
            let room = ModelledRoom { reserved_consumers, ..room(300) };
            Capacity::of(&limits, &room, 0).joins_per_second.most
        };
        assert!((80..90).contains(&(joins(0) - joins(10))), "each function serves ten visits a second");
    }

    #[test]
    fn an_account_with_raised_limits_is_ended_by_the_next_one() {
        let mut limits = AccountLimits::default_in("us-east-1");
        limits.api_requests = 400_000.0;
        limits.concurrency = 20_000.0;
        let of = |room: &ModelledRoom| Capacity::of(&limits, room, 0);
        assert_eq!(of(&room(1000)).joins_per_second.limit, Limit::PageReads);
        assert_eq!(of(&room(1000)).kept_up.limit, Limit::StatusCopies);
        let warm = ModelledRoom { warm_reads: 900_000.0, warm_writes: 400_000.0, ..room(1000) };
        assert_eq!(of(&warm).kept_up.limit, Limit::TableReads);
        limits.table_reads = 900_000.0;
        let most = Capacity::of(&limits, &warm, 0).kept_up;
        assert_eq!(most, Bound { most: u64::from(Rate::MAX.get()), limit: Limit::LargestRate });
    }

    #[test]
    fn behind_an_edge_functions_end_what_api_gateway_ended() {
        let usual = AccountLimits::default_in("us-east-1");
        let alone = Capacity::of(&usual, &room(1000), 150_000);
        let behind = Capacity::of(&usual, &room(1000).behind_edge(), 150_000);
        let joins = behind.joins_per_second;
        assert!(
            joins.limit == Limit::Concurrency && joins.most > 3 * alone.joins_per_second.most / 2,
            "{behind:?}"
        );
        assert!(behind.waiting.most > alone.waiting.most, "{alone:?} {behind:?}");
        let newer = AccountLimits::default_in("eu-central-2");
        assert_eq!(
            Capacity::of(&newer, &room(1000).behind_edge(), 150_000).joins_per_second,
            joins,
            "no API"
        );
    }

    /// Each of them needs a function for the door and one for their page's first poll, and Lambda starts a thousand in ten seconds.
    #[test]
    fn five_thousand_a_second_join_an_edge_in_an_account_with_1050_functions() {
        let joins = |concurrency, warm_reads| {
            let limits = AccountLimits { concurrency, ..AccountLimits::default_in("us-east-1") };
            let room = ModelledRoom { warm_reads, reserved_consumers: 10, ..room(1000).behind_edge() };
            Capacity::of(&limits, &room, 150_000).joins_per_second
        };
        assert_eq!(joins(1050.0, 24_000.0), Bound { most: 5000, limit: Limit::NewEnvironments });
        assert_eq!(joins(1020.0, 24_000.0).limit, Limit::Concurrency);
        assert_eq!(joins(1050.0, 12_000.0).limit, Limit::StatusCopies);
        assert_eq!(joins(20_000.0, 24_000.0).most, 5000, "nothing raises it");
    }

    #[test]
    fn ten_million_wait_behind_an_edge_in_an_account_with_3000_functions() {
        let waiting = |concurrency, warm_reads| {
            let limits = AccountLimits { concurrency, ..AccountLimits::default_in("us-east-1") };
            Capacity::of(&limits, &ModelledRoom { warm_reads, ..room(1000).behind_edge() }, 0).waiting
        };
        assert_eq!(waiting(1000.0, 12_000.0).limit, Limit::StatusCopies);
        assert_eq!(waiting(1000.0, 60_000.0).limit, Limit::Concurrency);
        assert!(waiting(1000.0, 60_000.0).most < 10_000_000);
        assert!(waiting(3000.0, 60_000.0).most > 10_000_000, "{:?}", waiting(3000.0, 60_000.0));
    }

    #[test]
    fn a_rooms_own_limit_and_a_page_of_many_files_leave_less() {
        let limits = AccountLimits::default_in("us-east-1");
        let joins = |room: &ModelledRoom| Capacity::of(&limits, room, 0).joins_per_second;
        let own = ModelledRoom { requests_per_second: Some(600.0), ..room(300) };
        assert_eq!(joins(&own).limit, Limit::RoomRequests);
        assert!(joins(&own).most < 200);
        let files = ModelledRoom { further_files: 11, ..room(300) };
        assert!(
            joins(&files).most < joins(&room(300)).most / 4,
            "as the page was before it was one document"
        );
    }

    #[test]
    fn the_json_has_numbers_and_their_limits() {
        let capacity = Capacity::of(&AccountLimits::of_new_account("us-east-1"), &room(300), 100);
        let json = serde_json::to_value(capacity).unwrap();
        assert_eq!(json["joins_per_second"], capacity.joins_per_second.most);
        assert_eq!(json["rate"], capacity.kept_up.most);
        assert_eq!((&json["crowd"], &json["limits"]["rate"]), (&100.into(), &"concurrency".into()));
    }
}
