//! The table of docs/local.md: three hours of shops that wanted 1,000 visitors a minute, with the throttle, and with one
//! that believes its first sample and has no floor.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use futures_executor::block_on;
use memory::{LineBehaviour, MemoryLedger, MemoryLine};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use throttle::{Throttle, measure};
use url::Url;
use waitroom::ports::{Clock, Probe, ProbeError, ProbeReply, ThrottleStore};
use waitroom::throttle_rules::{Baseline, Sample, Verdict};
use waitroom::{Timestamp, ValveSchedule, fixture};

const DOCUMENT: &str = include_str!("../../../../../docs/local.md");
const MINUTES: u64 = 180;
const MINUTE: Duration = Duration::from_mins(1);
const WANTED: u32 = 1000;

/// A shop, and who comes to it.
#[derive(Clone, Copy)]
struct ShopModel {
    /// How long it takes to answer when nobody is there, in seconds.
    alone: f64,
    /// How many visitors a minute occupy it fully.
    bears: u32,
    /// It fails from minute 60 on for so many minutes.
    fails_for: u64,
}

/// Clock, room and shop of one run. The clock moves when somebody sleeps.
#[derive(Clone)]
struct Sale {
    now: Arc<Mutex<Timestamp>>,
    ledger: MemoryLedger,
    shop: ShopModel,
    rng: Arc<Mutex<StdRng>>,
}

impl Sale {
    fn minute(&self) -> u64 {
        self.now().as_secs() / 60
    }

    /// The crowd comes in minute 5, after the baseline. A queue grows as its server is occupied.
    fn latency(&self) -> f64 {
        let came = if self.minute() < 5 { 0 } else { self.ledger.kept_room().rate().get() };
        let free = 1.0 - f64::from(came) / f64::from(self.shop.bears);
        self.shop.alone / free.max(0.001)
    }

    fn is_down(&self) -> bool {
        (60..60 + self.shop.fails_for).contains(&self.minute())
    }

    /// Every eleven minutes everything stands still for three seconds: a log is rotated, garbage is collected.
    fn hiccup(&self) -> f64 {
        let is_standing = self.minute() % 11 == 7 && self.now().as_secs() % 60 < 3;
        if is_standing { 0.3 } else { 0.0 }
    }

    /// One request in a hundred waits for a disk.
    fn jitter(&self) -> f64 {
        let mut rng = self.rng.lock();
        let noise = 0.9 + 0.2 * rng.random::<f64>();
        let waits = if rng.random_ratio(1, 100) { 0.2 * rng.random::<f64>() } else { 0.0 };
        self.latency() * noise + self.hiccup() + waits
    }
}

impl Probe for Sale {
    async fn ask(&self, _url: &Url) -> Result<ProbeReply, ProbeError> {
        let took = self.jitter();
        if self.is_down() || took > 5.0 {
            return Err(ProbeError("no answer".into()));
        }
        Ok(ProbeReply { status: 200, location: None, took: Duration::from_secs_f64(took) })
    }
}

impl Clock for Sale {
    fn now(&self) -> Timestamp {
        *self.now.lock()
    }

    async fn sleep_until(&self, until: Timestamp) {
        let mut now = self.now.lock();
        *now = until.max(*now);
    }
}

/// What became of three hours.
#[derive(Debug, Default, PartialEq)]
struct Hours {
    /// Minutes with less than the wanted rate.
    held: u32,
    /// Minutes in which the shop failed, or took more than a second.
    suffering: u32,
    entered: u32,
}

impl Sale {
    fn new(shop: ShopModel) -> Self {
        let now = Arc::new(Mutex::new(Timestamp::default()));
        let clock = now.clone();
        let line = MemoryLine::new(move || *clock.lock(), 1, LineBehaviour::default());
        let ledger = MemoryLedger::new(line, fixture::room(WANTED), ValveSchedule::LEAD_TIME_IN_ONE_PROCESS);
        Self { now, ledger, shop, rng: Arc::new(Mutex::new(StdRng::seed_from_u64(1))) }
    }

    /// Three hours, with something that sets the rate once a minute.
    fn run(&self, mut throttle: impl FnMut()) -> Hours {
        let mut hours = Hours::default();
        for minute in 0..MINUTES {
            *self.now.lock() = Timestamp::default() + MINUTE * u32::try_from(minute).unwrap();
            throttle();
            let rate = self.ledger.kept_room().rate().get();
            hours.held += u32::from(rate < WANTED);
            hours.suffering += u32::from(self.is_down() || self.latency() > 1.0);
            hours.entered += rate;
        }
        hours
    }
}

/// The throttle as it is.
fn with_the_throttle(shop: ShopModel) -> Hours {
    let sale = Sale::new(shop);
    let throttle = Throttle::new(sale.ledger.clone(), sale.clone(), sale.clone(), MINUTE);
    sale.run(|| {
        block_on(throttle.run()).unwrap();
    })
}

/// One that believes its first sample, and knows no floor.
fn with_the_first_sample(shop: ShopModel) -> Hours {
    let sale = Sale::new(shop);
    let mut baseline = None;
    sale.run(|| {
        let room = sale.ledger.kept_room();
        let sample = block_on(measure(&sale, &sale, &room)).sample;
        let well = *baseline.get_or_insert_with(|| Baseline::of(&sample).unwrap());
        let rate = first_verdict(&sample, well).next_rate(room.rate(), room.settings.rate);
        let held = Some(rate).filter(|rate| *rate < room.settings.rate);
        block_on(sale.ledger.hold(held)).unwrap();
    })
}

fn first_verdict(sample: &Sample, well: Baseline) -> Verdict {
    let threshold = well.mean + 3.0 * well.deviation.max(0.05 * well.mean);
    let mean = Baseline::of(sample).map(|baseline| baseline.mean);
    match (Verdict::of(sample, None), mean) {
        (Verdict::Well, Some(mean)) if mean > threshold => Verdict::Slow,
        (verdict, _) => verdict,
    }
}

const SHOPS: [(&str, ShopModel); 5] = [
    ("quiet, 4 ms", ShopModel { alone: 0.004, bears: 20_000, fails_for: 0 }),
    ("quiet, 60 ms", ShopModel { alone: 0.06, bears: 20_000, fails_for: 0 }),
    ("crowded, 4 ms, bears 800 a minute", ShopModel { alone: 0.004, bears: 800, fails_for: 0 }),
    ("crowded, 60 ms, bears 800 a minute", ShopModel { alone: 0.06, bears: 800, fails_for: 0 }),
    ("quiet, 60 ms, fails for ten minutes", ShopModel { alone: 0.06, bears: 20_000, fails_for: 10 }),
];

#[test]
fn the_throttles_table_is_that_of_the_document() {
    let mut table = String::new();
    for (name, shop) in SHOPS {
        let (before, now) = (with_the_first_sample(shop), with_the_throttle(shop));
        writeln!(
            table,
            "| {name} | {} → {} | {} → {} | {} → {} |",
            before.held, now.held, before.suffering, now.suffering, before.entered, now.entered
        )
        .unwrap();
    }
    println!("{table}");
    assert!(DOCUMENT.contains(&table), "docs/local.md has another table than this:\n{table}");
}
