//! A shop that becomes slow when too many visitors come.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::Timestamp;
use waitroom::ports::{Clock, Probe, ProbeError, ProbeReply};

use crate::SimClock;

/// How the shop's latency grows with load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShopLoad {
    /// How long it takes to answer while at most [`Self::bears`] come.
    pub answers_in: Duration,
    /// How many visitors a minute may come before it becomes slower. With twice as many it takes four times as long.
    pub bears: u32,
}

impl ShopLoad {
    /// Longer than this, nobody waits for an answer.
    const GIVEN_UP: Duration = Duration::from_mins(1);
    /// Two requests of the same minute differ by this part of the latency at most.
    const NOISE: f64 = 0.1;

    /// How long an answer takes while so many come a minute.
    pub fn latency(self, came: u32) -> Duration {
        let load = f64::from(came) / f64::from(self.bears.max(1));
        self.answers_in.mul_f64(load.max(1.0).powi(2)).min(Self::GIVEN_UP)
    }
}

/// The shop of one simulation. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct LoadedShop {
    clock: SimClock,
    load: ShopLoad,
    state: Arc<Mutex<ShopState>>,
}

#[derive(Debug)]
struct ShopState {
    rng: StdRng,
    /// How many came in each of the last seconds, newest last.
    came: VecDeque<(u64, u32)>,
}

impl LoadedShop {
    pub(crate) fn new(clock: SimClock, load: ShopLoad, seed: u64) -> Self {
        let state = ShopState { rng: StdRng::seed_from_u64(seed), came: VecDeque::new() };
        Self { clock, load, state: Arc::new(Mutex::new(state)) }
    }

    /// A visitor comes now.
    pub(crate) fn enter(&self) {
        let second = self.clock.now().as_secs();
        let mut state = self.state.lock();
        match state.came.back_mut() {
            Some((at, came)) if *at == second => *came += 1,
            _ => state.came.push_back((second, 1)),
        }
    }

    fn latency_at(&self, now: Timestamp) -> Duration {
        let mut state = self.state.lock();
        while state.came.front().is_some_and(|(at, _)| at + 60 <= now.as_secs()) {
            state.came.pop_front();
        }
        let came = state.came.iter().map(|(_, came)| came).sum();
        let noise = 1.0 + ShopLoad::NOISE * (2.0 * state.rng.random::<f64>() - 1.0);
        self.load.latency(came).mul_f64(noise)
    }
}

impl Probe for LoadedShop {
    async fn ask(&self, _url: &url::Url) -> Result<ProbeReply, ProbeError> {
        Ok(ProbeReply { status: 200, location: None, took: self.latency_at(self.clock.now()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shop_is_slower_only_above_what_it_bears() {
        let shop = ShopLoad { answers_in: Duration::from_millis(200), bears: 600 };
        let millis = [0, 600, 1200, 1_000_000].map(|came| shop.latency(came).as_millis());
        assert_eq!(millis, [200, 200, 800, 60_000]);
    }
}
