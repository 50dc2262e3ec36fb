//! The time by the clock of AWS.
//!
//! A change of the valve is in force from an instant that every function compares with its own clock. AWS keeps those
//! right. But the change may be written on a laptop whose clock is wrong. So its instant is taken from the `Date`
//! headers of the ledger's responses.

use std::str;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use clock::SystemClock;
use parking_lot::Mutex;
use waitroom::Timestamp;
use waitroom::ports::Clock;

/// Reads the system clock, and corrects it if the ledger's responses prove that it is wrong. Clones share what they have
/// learnt.
#[derive(Clone, Debug, Default)]
pub(crate) struct LedgerClock(Arc<Mutex<Option<Ahead>>>);

impl LedgerClock {
    pub(crate) fn now(&self) -> Timestamp {
        let learnt = *self.0.lock();
        learnt.map_or_else(|| SystemClock.now(), |ahead| ahead.correct(SystemClock.now()))
    }

    fn learn(&self, newer: Ahead) {
        let mut learnt = self.0.lock();
        *learnt = Some(learnt.and_then(|older| older.and(newer)).unwrap_or(newer));
    }
}

/// By how many milliseconds the ledger's clock is ahead of this machine's: at least, and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ahead {
    least: i64,
    most: i64,
}

impl Ahead {
    /// The bounds from one response. Its date has whole seconds, rounded down, and was written between the two instants.
    fn from_response(sent: Timestamp, received: Timestamp, date: Timestamp) -> Self {
        Self { least: difference(date, received), most: difference(date + Duration::from_secs(1), sent) }
    }

    /// The intersection of both bounds. `None` if they contradict each other, because one of the clocks was set in between.
    fn and(self, other: Self) -> Option<Self> {
        let both = Self { least: self.least.max(other.least), most: self.most.min(other.most) };
        (both.least <= both.most).then_some(both)
    }

    /// The least correction that is consistent with the responses: none, if the system clock may be right.
    fn correct(self, time: Timestamp) -> Timestamp {
        let ahead = if self.least > 0 { self.least } else { self.most.min(0) };
        let by = Duration::from_millis(ahead.unsigned_abs());
        if ahead > 0 { time + by } else { time - by }
    }
}

fn difference(one: Timestamp, other: Timestamp) -> i64 {
    let millis = |time: Timestamp| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    millis(one).saturating_sub(millis(other))
}

/// When the request was sent, by the system clock.
#[derive(Debug)]
struct Sent(Timestamp);

impl Storable for Sent {
    type Storer = StoreReplace<Self>;
}

impl Intercept for LedgerClock {
    fn name(&self) -> &'static str {
        "LedgerClock"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        request: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        request.interceptor_state().store_put(Sent(SystemClock.now()));
        Ok(())
    }

    fn read_after_transmit(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        request: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let date = date.and_then(|date| DateTime::from_str(date, DateTimeFormat::HttpDate).ok());
        let date = date.and_then(|date| u64::try_from(date.to_millis().ok()?).ok());
        if let (Some(&Sent(sent)), Some(date)) = (request.load::<Sent>(), date) {
            self.learn(Ahead::from_response(sent, SystemClock.now(), Timestamp::from_millis(date)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_clock_that_may_be_right_is_not_corrected() {
        // The date 10 s stands for all times from 10.000 s to 10.999 s.
        for (sent, received) in [(10_000, 10_100), (10_900, 11_200), (9_500, 12_000)] {
            let ahead = Ahead::from_response(at(sent), at(received), at(10_000));
            assert_eq!(ahead.correct(at(50_000)), at(50_000), "{ahead:?}");
        }
    }

    #[test]
    fn a_wrong_clock_is_corrected_as_far_as_it_is_certainly_wrong() {
        let slow = Ahead::from_response(at(4_000), at(4_200), at(10_000));
        assert_eq!(slow.correct(at(5_000)), at(10_800));
        let fast = Ahead::from_response(at(60_000), at(60_200), at(10_000));
        assert_eq!(fast.correct(at(61_000)), at(12_000));
    }

    #[test]
    fn more_responses_tell_more_and_a_contradiction_starts_again() {
        let clock = LedgerClock::default();
        let first = Ahead::from_response(at(4_000), at(4_100), at(10_000));
        let second = Ahead::from_response(at(4_500), at(4_600), at(11_000));
        clock.learn(first);
        clock.learn(second);
        assert_eq!(*clock.0.lock(), Some(Ahead { least: 6_400, most: 7_000 }));
        let right_again = Ahead::from_response(at(20_000), at(20_100), at(20_000));
        clock.learn(right_again);
        assert_eq!(*clock.0.lock(), Some(right_again));
    }
}
