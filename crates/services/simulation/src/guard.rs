//! The guard of a shop in which only so many may be at once: it opens a session for everybody who enters, and tells the room.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use pass::{GuardName, GuardReport, SessionRules};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::{ActiveLimit, KeptReport, Lifetimes, Timestamp};

use crate::arrivals::exponential;

/// How visitors use the shop of a room that limits how many are there at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShopVisits {
    pub limit: ActiveLimit,
    /// How long an admission lasts: whoever doesn't come counts for so long, and a little longer.
    pub admission: Duration,
    /// How long a visitor does something in the shop, on average. Exponentially distributed: most stay for less, a few for much
    /// longer.
    pub stay: Duration,
    /// The part of them whose session the shop ends when they are done. The others leave without a word, and their session lasts
    /// until they have done nothing for too long.
    pub ended: f64,
    /// Whether a guard tells the room who is in the shop.
    pub is_reported: bool,
}

impl ShopVisits {
    pub const STAY: Duration = Duration::from_mins(10);
}

/// A shop's sessions, and what their guard reports of them.
pub(crate) struct SimulatedGuard {
    visits: ShopVisits,
    name: GuardName,
    rng: StdRng,
    /// When each live session ends.
    ends: BinaryHeap<Reverse<Timestamp>>,
    /// How many came whom this window released, and when the last of them did.
    opened: BTreeMap<u64, (u64, Timestamp)>,
    reports: Timestamp,
    /// The most sessions that were live at once, and since when.
    pub(crate) most: (u32, Timestamp),
}

impl SimulatedGuard {
    /// For so long after the shop has ended a session, its visitor still gets what their last page needs.
    const FAREWELL: Duration = Duration::from_secs(30);
    /// How old a pass may be that opens a session, as guards have it by default.
    const PASS: Duration = Duration::from_mins(5);
    const REPORTED_EVERY: Duration = Duration::from_secs(SessionRules::REPORTED_EVERY);

    #[expect(clippy::expect_used, reason = "a text of this program, and a test runs it")]
    pub(crate) fn new(visits: ShopVisits, seed: u64, begin: Timestamp) -> Self {
        Self {
            visits,
            name: "the-simulated-guard".to_owned().try_into().expect("a guard's name"),
            rng: StdRng::seed_from_u64(seed ^ 0x5E55_1075),
            ends: BinaryHeap::new(),
            opened: BTreeMap::new(),
            // Between two runs of the trigger, as a guard that was started at any other time.
            reports: begin + Self::REPORTED_EVERY / 2,
            most: (0, begin),
        }
    }

    /// When the next report is due, if any ever is.
    pub(crate) fn reports(&self) -> Option<Timestamp> {
        self.visits.is_reported.then_some(self.reports)
    }

    /// Opens a session for a visitor whom this window released.
    pub(crate) fn enter(&mut self, window: u64, now: Timestamp) {
        let ShopVisits { limit, stay, ended, .. } = self.visits;
        let stays = stay.mul_f64(exponential(1.0, &mut self.rng));
        let longer = if self.rng.random_bool(ended) { Self::FAREWELL } else { limit.idle };
        self.ends.push(Reverse(now + (stays + longer).min(limit.session)));
        let (opened, last) = self.opened.entry(window).or_insert((0, now));
        (*opened, *last) = (*opened + 1, now);
        let live = self.live(now);
        if live > self.most.0 {
            self.most = (live, now);
        }
    }

    /// How many sessions are live, from now on.
    pub(crate) fn live(&mut self, now: Timestamp) -> u32 {
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= now) {
            self.ends.pop();
        }
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    /// The report that is due now.
    pub(crate) fn report(&mut self, now: Timestamp) -> Option<KeptReport> {
        self.reports().filter(|due| *due <= now)?;
        self.reports = now + Self::REPORTED_EVERY;
        let lifetimes = Lifetimes { admission: self.visits.admission, ..Lifetimes::default() };
        let counted = Duration::from_secs(self.visits.limit.session_rules(lifetimes).counted);
        self.opened.retain(|_, (_, last)| *last + counted > now);
        let report = GuardReport {
            guard: self.name.clone(),
            made: now.as_millis(),
            pass: Self::PASS.as_secs(),
            live: self.live(now).into(),
            opened: self.opened.iter().map(|(window, (opened, _))| (*window, *opened)).collect(),
        };
        Some(KeptReport { report, received: now })
    }
}
