//! The room, read at most once a second.

use std::sync::Arc;
use std::time::Duration;

use clock::SystemClock;
use tokio::sync::Mutex;
use waitroom::ports::{Clock, PortResult};
use waitroom::{Room, Timestamp};

/// It uses the wall clock, which goes on while Lambda has frozen the function.
#[derive(Debug, Default)]
pub(crate) struct RoomCache(Mutex<Option<(Timestamp, Arc<Room>)>>);

impl RoomCache {
    const MAX_AGE: Duration = Duration::from_secs(1);

    /// Returns the room that was read within the last second, or reads it with `read`. While one caller reads, the
    /// others wait for its result.
    pub(crate) async fn get(&self, read: impl Future<Output = PortResult<Room>>) -> PortResult<Arc<Room>> {
        self.get_at(&SystemClock, Self::MAX_AGE, read).await
    }

    /// Reads the room with `read`, for this caller and for those to come.
    pub(crate) async fn refresh(
        &self,
        read: impl Future<Output = PortResult<Room>>,
    ) -> PortResult<Arc<Room>> {
        self.get_at(&SystemClock, Duration::ZERO, read).await
    }

    async fn get_at(
        &self,
        clock: &impl Clock,
        max_age: Duration,
        read: impl Future<Output = PortResult<Room>>,
    ) -> PortResult<Arc<Room>> {
        let mut cached = self.0.lock().await;
        let now = clock.now();
        if let Some((at, room)) = &*cached
            && (*at..*at + max_age).contains(&now)
        {
            return Ok(room.clone());
        }
        let room = Arc::new(read.await?);
        *cached = Some((now, room.clone()));
        Ok(room)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures_util::{FutureExt, future};
    use waitroom::fixture;
    use waitroom::ports::{Fault, PortError};

    use super::*;

    #[derive(Default)]
    struct TestClock(AtomicU64);

    impl TestClock {
        fn set(&self, millis: u64) {
            self.0.store(millis, Ordering::Relaxed);
        }
    }

    impl Clock for TestClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::Relaxed))
        }

        async fn sleep_until(&self, _: Timestamp) {}
    }

    fn room(version: u64) -> Room {
        Room { version, ..fixture::room(300) }
    }

    /// The version of the room that the cache gives at this time, when the ledger has another.
    fn version_at(cache: &RoomCache, clock: &TestClock, millis: u64, ledger: u64) -> u64 {
        clock.set(millis);
        let read = async { Ok(room(ledger)) };
        cache.get_at(clock, RoomCache::MAX_AGE, read).now_or_never().unwrap().unwrap().version
    }

    #[test]
    fn a_room_is_cached_for_a_second_unless_the_clock_is_set_back() {
        let (cache, clock) = (RoomCache::default(), TestClock::default());
        assert_eq!(version_at(&cache, &clock, 5000, 1), 1);
        assert_eq!(version_at(&cache, &clock, 5999, 2), 1);
        assert_eq!(version_at(&cache, &clock, 6000, 3), 3);
        assert_eq!(version_at(&cache, &clock, 4000, 4), 4);
    }

    #[test]
    fn a_failed_read_is_returned_and_not_cached() {
        let (cache, clock) = (RoomCache::default(), TestClock::default());
        assert_eq!(version_at(&cache, &clock, 5000, 1), 1);
        clock.set(7000);
        let fails = async { Err(PortError::new("read the room", Fault::Busy, "throttled")) };
        assert!(cache.get_at(&clock, RoomCache::MAX_AGE, fails).now_or_never().unwrap().is_err());
        assert_eq!(version_at(&cache, &clock, 7001, 2), 2);
    }

    #[test]
    fn concurrent_callers_share_one_read() {
        let (cache, clock, reads) = (RoomCache::default(), TestClock::default(), AtomicU64::new(0));
        let ask = || {
            cache.get_at(&clock, RoomCache::MAX_AGE, async {
                reads.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ok(room(1))
            })
        };
        let all = future::join_all((0..8).map(|_| ask()));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(runtime.block_on(all).into_iter().all(|room| room.is_ok()));
        assert_eq!(reads.into_inner(), 1);
    }
}
