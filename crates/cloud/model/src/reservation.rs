//! How many functions an account keeps for releasing, so that visitors at the door cannot take them all.
//!
//! A reservation is a limit too: Lambda starts no more consumers than are reserved. And it lessens what all other functions
//! of the account share. So a room reserves enough for its rate, with room for an order that raises it, or nothing.

use serde::Serialize;
use waitroom::Rate;

use crate::facts::facts;
use crate::work::SLICE_VISITORS;

/// The functions that are kept for releasing. They are not available to any other function, also while they do not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reservation {
    pub consumers: u32,
    pub triggers: u32,
    /// Runs of the throttle: none if it's off.
    pub throttles: u32,
}

/// The account has too few functions that could be reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReservationTooLarge {
    pub needed: u32,
    /// How many functions without a reservation may run at the same time, if this room reserves none.
    pub unreserved: u32,
    /// How many of them AWS does not let anybody reserve.
    pub kept: u32,
}

impl Reservation {
    /// One that the schedule starts, and one that an order starts.
    pub const TRIGGERS: u32 = 2;

    /// A run ends after two and a half minutes at the latest, and one starts each minute.
    pub const THROTTLES: u32 = 3;

    /// Two for each slice, because the consumers of a window start while those of the window before still run.
    const CONSUMERS_PER_SLICE: u32 = 2;

    /// Small rooms reserve more than that, because their rate is often raised to a multiple.
    const LEAST_CONSUMERS: u32 = 10;

    /// What a room of this rate needs.
    pub fn for_rate(rate: Rate) -> Self {
        let consumers =
            (Self::CONSUMERS_PER_SLICE * rate.get().div_ceil(SLICE_VISITORS)).max(Self::LEAST_CONSUMERS);
        Self::of_consumers(consumers)
    }

    /// What `deploy` reserves for this rate in an account in which so many functions may run: nothing if it does not fit.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of functions")]
    pub fn that_fits(rate: Rate, concurrency: f64) -> Self {
        Self::for_rate(rate).check(concurrency as u32).unwrap_or(Self::of_consumers(0))
    }

    /// A reservation of so many consumers, without the throttle.
    pub fn of_consumers(consumers: u32) -> Self {
        Self { consumers, triggers: if consumers == 0 { 0 } else { Self::TRIGGERS }, throttles: 0 }
    }

    /// The same in a room whose throttle is on, or not: a flood at the door must not keep it from measuring the shop.
    #[must_use]
    pub fn with_throttle(self, is_on: bool) -> Self {
        Self { throttles: if is_on && self.consumers > 0 { Self::THROTTLES } else { 0 }, ..self }
    }

    pub fn functions(self) -> u32 {
        self.consumers + self.triggers + self.throttles
    }

    /// The largest rate that it is enough for.
    pub fn largest_rate(self) -> u32 {
        (self.consumers / Self::CONSUMERS_PER_SLICE * SLICE_VISITORS).min(Rate::MAX.get())
    }

    /// An error if it does not fit an account in which so many functions without a reservation may run.
    pub fn check(self, unreserved: u32) -> Result<Self, ReservationTooLarge> {
        let (needed, kept) = (self.functions(), kept_unreserved());
        if needed + kept <= unreserved {
            Ok(self)
        } else {
            Err(ReservationTooLarge { needed, unreserved, kept })
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a hundred")]
fn kept_unreserved() -> u32 {
    facts().fixed.unreserved_concurrency.value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn for_rate(rate: u32) -> Reservation {
        Reservation::for_rate(Rate::new(rate).unwrap())
    }

    #[test]
    fn a_room_reserves_twice_its_slices_and_no_fewer_than_ten() {
        let consumers = [1, 300, 5000, 5001, 20_000, 270_000].map(|rate| for_rate(rate).consumers);
        assert_eq!(consumers, [10, 10, 10, 12, 40, 540]);
        let largest = [10, 12, 540].map(|consumers| Reservation::of_consumers(consumers).largest_rate());
        assert_eq!(largest, [5000, 6000, 270_000]);
        for rate in [1, 999, 1000, 1001, 269_999, 270_000] {
            assert!(for_rate(rate).largest_rate() >= rate, "{rate}");
        }
    }

    #[test]
    fn a_hundred_functions_stay_unreserved() {
        assert_eq!(for_rate(300).check(112), Ok(for_rate(300)));
        let too_large = ReservationTooLarge { needed: 12, unreserved: 111, kept: 100 };
        assert_eq!(for_rate(300).check(111), Err(too_large));
        assert!(for_rate(300).check(10).is_err(), "a new account");
        assert!(for_rate(270_000).check(1000).is_ok());
        let fits = |concurrency| Reservation::that_fits(Rate::new(300).unwrap(), concurrency).consumers;
        assert_eq!([10.0, 111.0, 112.0].map(fits), [0, 0, 10]);
    }

    #[test]
    fn no_reservation_is_none_of_triggers_and_throttles_either() {
        let functions =
            |consumers, throttle| Reservation::of_consumers(consumers).with_throttle(throttle).functions();
        assert_eq!([functions(0, false), functions(0, true)], [0, 0]);
        assert_eq!([functions(10, false), functions(10, true)], [12, 15]);
    }
}
