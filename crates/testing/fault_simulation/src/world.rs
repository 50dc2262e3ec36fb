//! A whole room in one test: visitors, the schedule, the consumers, the shop, a clock and a disk.
//!
//! Everything runs on one thread and on simulated time, in an order that follows from the seed alone. A
//! step is: let everybody run until they wait, commit what they asked the store to change, and when
//! nobody can go on, move the clock to the next one who sleeps.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use consumer::{Consumer, SliceOutcome};
use embedded::{Committer, EmbeddedStore};
use futures_executor::LocalPool;
use futures_util::FutureExt;
use futures_util::future::{AbortHandle, abortable};
use futures_util::task::LocalSpawnExt;
use parking_lot::Mutex;
use producer::{DoorAnswer, DoorRequest, Method, Producer, ProducerError};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use throttle::{SamplePurpose, Throttle};
use trigger::Trigger;
use waitroom::ports::{Admissions, Claimant, Clock, Dispatch, LineLength, PortResult, TokenSource};
use waitroom::{Place, Rate, Room, Scheme, Settings, Slice, Timestamp, Token};

use crate::faults::{Call, Faults, Sky, Weathered};
use crate::shop::SimShop;
use crate::{Audit, Book, SimClock, SimDisk};

type WorldStore = Weathered<EmbeddedStore>;

/// The world, as its tests steer it.
pub struct World {
    pub clock: SimClock,
    pub disk: SimDisk,
    pub book: Arc<Mutex<Book>>,
    pub shop: SimShop,
    sky: Arc<Mutex<Switchable>>,
    rng: StdRng,
    first_room: Room,
    process: Option<SimProcess>,
    next_tick: Timestamp,
    throttled: bool,
}

/// What dies when the process is killed.
struct SimProcess {
    pool: LocalPool,
    committer: Committer,
    store: WorldStore,
    producer: Arc<Producer<WorldStore, SimClock, Tokens>>,
    sent: Sent,
    consumers: Vec<Worker>,
}

/// A consumer, and whether it still lives.
struct Worker {
    handle: AbortHandle,
    lives: Arc<AtomicBool>,
}

/// Slices for which the trigger wants a consumer.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<Slice>>>);

impl Dispatch for Sent {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        self.0.lock().push(slice);
        Ok(())
    }
}

/// The weather, which a test may change at any time.
struct Switchable(Box<dyn Sky>);

impl Sky for Switchable {
    fn next(&mut self, call: Call) -> (Faults, Duration) {
        self.0.next(call)
    }
}

#[derive(Clone)]
struct Tokens {
    rng: Arc<Mutex<StdRng>>,
    book: Arc<Mutex<Book>>,
}

impl TokenSource for Tokens {
    fn token(&self) -> PortResult<Token> {
        let Ok(token) = Token::random(&mut *self.rng.lock());
        self.book.lock().drawn.push(token);
        Ok(token)
    }
}

impl World {
    const MINUTE: Duration = Duration::from_mins(1);

    pub fn new(seed: u64, rate: u32) -> Self {
        let settings = Settings::new(
            "sale".parse().expect("a room's name"),
            "Sale".parse().expect("a title"),
            "https://shop.example/sale".parse().expect("a URL"),
            Rate::new(rate).expect("a rate"),
        );
        let url = "https://room.example/prod".parse().expect("a valid URL");
        let epoch = "ab12".parse().expect("four characters");
        let start = Timestamp::from_millis(1_700_000_000_000);
        let mut world = Self {
            clock: SimClock::at(start),
            disk: SimDisk::default(),
            book: Arc::default(),
            shop: SimShop::default(),
            sky: Arc::new(Mutex::new(Switchable(Box::new(|_| (Faults::Fine, Duration::ZERO))))),
            rng: StdRng::seed_from_u64(seed),
            first_room: Room::new(settings, url, epoch),
            process: None,
            next_tick: start,
            throttled: false,
        };
        world.boot();
        world
    }

    /// From now on the ports behave like this.
    pub fn set_sky(&mut self, sky: impl FnMut(Call) -> (Faults, Duration) + Send + 'static) {
        self.sky.lock().0 = Box::new(sky);
    }

    pub fn clear_sky(&mut self) {
        self.set_sky(|_| (Faults::Fine, Duration::from_millis(4)));
    }

    /// Runs the throttle with the schedule, too.
    #[must_use]
    pub fn with_throttle(mut self) -> Self {
        self.throttled = true;
        self
    }

    /// Starts the process on whatever the disk holds.
    pub fn boot(&mut self) {
        let clock = self.clock.clone();
        let (store, committer) =
            EmbeddedStore::on(self.disk.open(), self.first_room.clone(), move || clock.now())
                .expect("the store opens on whatever a crash leaves behind");
        let store = Weathered::new(store, self.clock.clone(), self.sky.clone(), self.book.clone());
        let tokens = Tokens {
            rng: Arc::new(Mutex::new(StdRng::seed_from_u64(self.rng.next_u64()))),
            book: self.book.clone(),
        };
        let producer = Producer::new(store.clone(), self.clock.clone(), tokens, Scheme::Https);
        self.process = Some(SimProcess {
            pool: LocalPool::new(),
            committer,
            store,
            producer: Arc::new(producer),
            sent: Sent::default(),
            consumers: Vec::new(),
        });
    }

    /// kill -9: whatever was under way is gone; what was written stays.
    pub fn kill(&mut self) {
        self.disk.kill();
        self.process = None;
    }

    /// The power fails: what was not synced may be gone as well.
    pub fn lose_power(&mut self) {
        self.kill();
        self.disk.lose_power(&mut self.rng);
    }

    /// Kills one consumer that is at work, and says whether there was one. The rest of the process lives on.
    pub fn kill_a_consumer(&mut self) -> bool {
        let consumers = &mut self.process().consumers;
        consumers.retain(|consumer| consumer.lives.load(Ordering::Relaxed));
        let Some(last) = consumers.len().checked_sub(1) else { return false };
        let unlucky = self.rng.random_range(0..=last);
        self.process().consumers.swap_remove(unlucky).handle.abort();
        true
    }

    /// Starts `n` visitors at this moment.
    pub fn join(&mut self, n: usize) {
        for _ in 0..n {
            self.visit(None);
        }
    }

    /// One request to the door, with or without a place.
    pub fn visit(&mut self, place: Option<Place>) {
        let (producer, book) = (self.process().producer.clone(), self.book.clone());
        self.spawn(async move {
            let cookie = place.map(|place| format!("bk_sale={place}"));
            let cookies: Vec<_> = cookie.iter().map(String::as_str).collect();
            let request = DoorRequest { method: Method::Get, cookies: &cookies, sec_purpose: None };
            let answer = producer.answer(&request).await;
            let set_cookie = answer.as_ref().ok().and_then(|answer| answer.set_cookie.as_deref());
            let pair = set_cookie.and_then(|cookie| cookie.split(';').next()?.strip_prefix("bk_sale="));
            match pair.and_then(|value| value.parse().ok()) {
                Some(place) => book.lock().redirected.push(place),
                None if answer.is_err() => book.lock().turned_away += 1,
                None => {}
            }
        });
    }

    /// Asks the door and waits for its answer, at most a minute.
    pub fn ask(&mut self, request: &DoorRequest<'_>) -> Result<DoorAnswer, ProducerError> {
        let producer = self.process().producer.clone();
        let method = request.method;
        let cookies: Vec<_> = request.cookies.iter().map(ToString::to_string).collect();
        let sec_purpose = request.sec_purpose.map(ToOwned::to_owned);
        let answered = Arc::new(Mutex::new(None));
        let answer = answered.clone();
        self.spawn(async move {
            let cookies: Vec<_> = cookies.iter().map(String::as_str).collect();
            let request = DoorRequest { method, cookies: &cookies, sec_purpose: sec_purpose.as_deref() };
            let given = producer.answer(&request).await;
            *answer.lock() = Some(given);
        });
        for _ in 0..600 {
            self.settle();
            if let Some(answer) = answered.lock().take() {
                return answer;
            }
            self.run(Duration::from_millis(100));
        }
        unreachable!("the door answers within a minute")
    }

    /// Changes the room as the operator would, now.
    pub fn change_room(&mut self, change: impl FnOnce(&mut Room) + Send + 'static) {
        let store = self.process().store.inner().clone();
        self.spawn(async move {
            // A disk that is full refuses the operator too.
            let _ = store.change_room("change the room", change).await;
        });
    }

    /// Empties the line and begins a new epoch, as the operator would, now.
    pub fn reset(&mut self, epoch: &str) {
        let store = self.process().store.inner().clone();
        let epoch = epoch.parse().expect("four characters");
        self.spawn(async move { drop(store.reset(epoch).await) });
    }

    pub fn set_rate(&mut self, per_minute: u32) {
        let rate = Rate::new(per_minute).expect("within bounds");
        self.change_room(move |room| room.settings.rate = rate);
    }

    /// Runs the trigger now, whatever the schedule says.
    pub fn fire(&mut self) -> AbortHandle {
        let process = self.process();
        let crew =
            Weathered::new(process.sent.clone(), self.clock.clone(), self.sky.clone(), self.book.clone());
        let store = self.process().store.clone();
        let trigger = Trigger::new(store, self.clock.clone(), crew, Self::MINUTE);
        self.spawn(async move { drop(trigger.run().await) })
    }

    fn sweep(&mut self) {
        let store = self.process().store.inner().clone();
        self.spawn(async move { drop(store.sweep().await) });
    }

    fn measure(&mut self) {
        let store = self.process().store.clone();
        let throttle = Throttle::new(store, self.clock.clone(), self.shop.clone(), Self::MINUTE);
        self.spawn(async move { drop(throttle.run(SamplePurpose::Judge).await) });
    }

    /// Lets time pass, with the schedule firing every minute. What is due at the very end is left for later.
    pub fn run(&mut self, time: Duration) {
        let until = self.clock.now() + time;
        loop {
            self.settle();
            let wake = self.clock.next_wake().map_or(self.next_tick, |wake| wake.min(self.next_tick));
            if wake >= until {
                break;
            }
            self.clock.advance_to(wake);
            if wake == self.next_tick {
                self.next_tick = self.next_tick + Self::MINUTE;
                self.fire();
                self.sweep();
                if self.throttled {
                    self.measure();
                }
            }
        }
        self.clock.advance_to(until);
        self.settle();
    }

    /// Lets the schedule run until nobody waits any more; at most `minutes`.
    pub fn drain(&mut self, minutes: u32) {
        for _ in 0..minutes {
            self.run(Self::MINUTE);
            if self.waiting() == 0 {
                // One more, for those who were received and will be received again.
                self.run(2 * Self::MINUTE);
                return;
            }
        }
    }

    /// Runs everybody until they wait, and commits, until there is nothing to commit.
    fn settle(&mut self) {
        loop {
            self.process().pool.run_until_stalled();
            let sent = std::mem::take(&mut *self.process().sent.0.lock());
            for slice in &sent {
                self.consume(*slice);
            }
            let committed = self.process().committer.commit_pending();
            match committed {
                Ok(0) if sent.is_empty() => return,
                Ok(_) => {}
                // A disk that fails is tried again at the next settling.
                Err(_) => drop(self.process().committer.reopen()),
            }
        }
    }

    /// Opens the database again after the disk failed, as the committer's own thread would in a second.
    pub fn reopen(&mut self) {
        self.process().committer.reopen().expect("the disk works again");
    }

    fn consume(&mut self, slice: Slice) {
        let claimant = Claimant(self.rng.random());
        let book = self.book.clone();
        book.lock().slices.insert(slice.id, slice);
        let consumer = Consumer::new(self.process().store.clone(), self.clock.clone());
        let lives = Arc::new(AtomicBool::new(true));
        let living = lives.clone();
        let handle = self.spawn(async move {
            if let Ok(SliceOutcome::Done(report)) = consumer.run(slice, claimant).await {
                book.lock().reports.push((slice.id, report));
            }
            living.store(false, Ordering::Relaxed);
        });
        self.process().consumers.push(Worker { handle, lives });
    }

    fn spawn(&mut self, work: impl Future<Output = ()> + 'static) -> AbortHandle {
        let (work, handle) = abortable(work);
        let pool = self.process().pool.spawner();
        pool.spawn_local(work.map(|_killed_or_done| ())).expect("the pool lives as long as the process");
        handle
    }

    fn process(&mut self) -> &mut SimProcess {
        self.process.as_mut().expect("the process runs: boot it first")
    }

    pub fn waiting(&mut self) -> u64 {
        let store = self.process().store.inner().clone();
        futures_executor::block_on(store.waiting()).expect("answered from memory")
    }

    pub fn room(&mut self) -> Arc<Room> {
        let store = self.process().store.inner().clone();
        futures_executor::block_on(waitroom::ports::RoomReader::room(&store)).expect("answered from memory")
    }

    /// Balances the book against the ledger.
    pub fn audit(&mut self) -> Audit {
        let store = self.process().store.inner().clone();
        let book = self.book.lock();
        let mut ledger = HashMap::new();
        for token in &book.drawn {
            let found = futures_executor::block_on(store.admission(*token)).expect("the ledger can be read");
            ledger.extend(found.map(|admission| (*token, admission)));
        }
        book.audit(&ledger)
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("now", &self.clock.now()).finish_non_exhaustive()
    }
}
