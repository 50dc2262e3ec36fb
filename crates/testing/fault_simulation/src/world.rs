//! A whole room in one test: visitors, the schedule, the consumers, the shop, a clock and a disk.
//!
//! Everything runs on one thread and on simulated time, in an order that depends only on the seed. Each step runs all
//! tasks until they wait and commits what they asked the store to change. When no task can run, the clock moves to the
//! next wake-up.

use std::collections::HashMap;
use std::collections::btree_map::{BTreeMap, Entry};
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use consumer::{Consumer, SliceOutcome};
use embedded::{Committer, EmbeddedStore, WriteTrouble};
use futures_executor::LocalPool;
use futures_util::FutureExt;
use futures_util::future::{AbortHandle, abortable};
use futures_util::task::LocalSpawnExt;
use memory::{LineBehaviour, MemoryLine};
use parking_lot::Mutex;
use pass::{GuardReport, KeyRecord, PassError, ProofKey, ReportKey, SecretKeys};
use producer::{DoorAnswer, DoorRequest, PlaceLimit, Producer, ProducerError, ReportAnswer};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use simulation::SimClock;
use throttle::Throttle;
use trigger::{Trigger, TriggerCause};
use waitroom::ports::{
    Admissions, Admitted, Clock, ConsumerRun, Dispatch, HelpCalls, HelpDesk, KeyAdmin, KeyBoard, LineLength,
    MinuteLog, PortError, PortResult, RoomAdmin, StatusBoard, TokenSource,
};
use waitroom::{
    Admission, AdmittedBy, Author, HelpCall, HelpCode, KeyOrder, LineStatus, MinuteCount, Place, Rate, Room,
    Scheme, Settings, Slice, Timestamp, Token, ValveSchedule,
};

use crate::faults::{FaultInjector, FaultyPorts, InjectedFault, PortCall};
use crate::shop::SimShop;
use crate::world_store::{WorldLine, WorldStore};
use crate::{Observations, SimDisk, SimOutcome};

/// A simulated room and everything around it, controlled by a test.
pub struct World {
    pub clock: SimClock,
    pub disk: SimDisk,
    pub observations: Arc<Mutex<Observations>>,
    pub shop: SimShop,
    injector: Arc<Mutex<FaultInjector>>,
    rng: StdRng,
    first_room: Room,
    lead_time: Duration,
    /// `None`: visitors wait in the store's own line, which is in order.
    line: Option<MemoryLine>,
    process: Option<SimProcess>,
    next_tick: Timestamp,
    throttled: bool,
    only_scheduled: bool,
}

/// Everything that is lost when the process is killed.
struct SimProcess {
    pool: LocalPool,
    committer: Committer,
    store: WorldStore,
    producer: Arc<Producer<WorldStore, SimClock, SimTokens>>,
    sent: SentSlices,
    consumers: Vec<RunningConsumer>,
}

/// A consumer, and whether it still runs.
struct RunningConsumer {
    handle: AbortHandle,
    runs: Arc<AtomicBool>,
}

/// What the door answered to a request, once it has.
type ReceivedAnswer = Arc<Mutex<Option<Result<DoorAnswer, ProducerError>>>>;

/// Slices for which the trigger has sent a consumer.
#[derive(Clone, Default)]
struct SentSlices(Arc<Mutex<Vec<Slice>>>);

impl Dispatch for SentSlices {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        self.0.lock().push(slice);
        Ok(())
    }
}

#[derive(Clone)]
struct SimTokens {
    rng: Arc<Mutex<StdRng>>,
    observations: Arc<Mutex<Observations>>,
}

impl TokenSource for SimTokens {
    fn token(&self) -> PortResult<Token> {
        let Ok(token) = Token::random(&mut *self.rng.lock());
        self.observations.lock().tokens.push(token);
        Ok(token)
    }
}

/// The same keys in every world, because making them would take longer than the rest of a simulation.
fn keys_of_every_world(number: u64, proof: Option<ProofKey>) -> Result<SecretKeys, PassError> {
    static KEYS: Mutex<BTreeMap<u64, SecretKeys>> = Mutex::new(BTreeMap::new());
    let mut keys = KEYS.lock();
    let known = match keys.entry(number) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(SecretKeys::generate(None)?),
    };
    Ok(SecretKeys { signing: known.signing.clone(), proof: proof.unwrap_or_else(|| known.proof.clone()) })
}

impl World {
    const MINUTE: Duration = Duration::from_mins(1);
    const CALL_TAKES: Duration = Duration::from_millis(4);

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
            observations: Arc::default(),
            shop: SimShop::default(),
            injector: Arc::new(Mutex::new(Box::new(|_| (InjectedFault::None, Duration::ZERO)))),
            rng: StdRng::seed_from_u64(seed),
            first_room: Room::new(settings, url, epoch),
            lead_time: ValveSchedule::LEAD_TIME_IN_ONE_PROCESS,
            line: None,
            process: None,
            next_tick: start,
            throttled: false,
            only_scheduled: false,
        };
        world.boot();
        world
    }

    /// From now on this injector decides about faults.
    pub fn set_faults(
        &mut self,
        injector: impl FnMut(PortCall) -> (InjectedFault, Duration) + Send + 'static,
    ) {
        *self.injector.lock() = Box::new(injector);
    }

    /// From now on this happens to these calls, and nothing to the others. Each of them takes a little while.
    pub fn inject(&mut self, fault: InjectedFault, mut hits: impl FnMut(PortCall) -> bool + Send + 'static) {
        self.set_faults(move |call| (if hits(call) { fault } else { InjectedFault::None }, Self::CALL_TAKES));
    }

    pub fn clear_faults(&mut self) {
        self.inject(InjectedFault::None, |_| false);
    }

    /// Visitors wait in a line that behaves like this, and not in the store's own, which is in order.
    #[must_use]
    pub fn with_line(mut self, behaviour: LineBehaviour) -> Self {
        let clock = self.clock.clone();
        self.line = Some(MemoryLine::new(move || clock.now(), self.rng.next_u64(), behaviour));
        self.kill();
        self.boot();
        self
    }

    /// Orders are in force as late as on AWS, where functions read the room.
    #[must_use]
    pub fn with_lead_time_of_functions(mut self) -> Self {
        self.lead_time = ValveSchedule::LEAD_TIME_OF_FUNCTIONS;
        self.kill();
        self.boot();
        self
    }

    /// Also runs the throttle every minute.
    #[must_use]
    pub fn with_throttle(mut self) -> Self {
        self.throttled = true;
        self
    }

    #[must_use]
    pub fn without_throttle(mut self) -> Self {
        self.throttled = false;
        self
    }

    /// Only the schedule starts the trigger, as it is on AWS after a change that the trigger itself has made.
    #[must_use]
    pub fn with_scheduled_trigger(mut self) -> Self {
        self.only_scheduled = true;
        self
    }

    /// Starts the process with the data that is on the disk.
    pub fn boot(&mut self) {
        let (clock, disk) = (self.clock.clone(), self.disk.clone());
        let open = move || disk.open();
        let (store, committer) =
            EmbeddedStore::on(open, self.lead_time, self.first_room.clone(), move || clock.now())
                .expect("the store opens after every crash");
        let line = self.line.clone().map_or_else(|| WorldLine::InFile(store.clone()), WorldLine::Outside);
        let store = WorldStore { line: self.faulty(line), ledger: self.faulty(store) };
        let tokens = SimTokens {
            rng: Arc::new(Mutex::new(StdRng::seed_from_u64(self.rng.next_u64()))),
            observations: self.observations.clone(),
        };
        let producer = Producer::new(store.clone(), self.clock.clone(), tokens, Scheme::Https);
        let producer = producer.with_keys_made_by(keys_of_every_world);
        self.process = Some(SimProcess {
            pool: LocalPool::new(),
            committer,
            store,
            producer: Arc::new(producer),
            sent: SentSlices::default(),
            consumers: Vec::new(),
        });
        self.see_valves();
    }

    fn faulty<P: Sync>(&self, ports: P) -> FaultyPorts<P> {
        FaultyPorts::new(ports, self.clock.clone(), self.injector.clone(), self.observations.clone())
    }

    fn see_valves(&mut self) {
        let (room, now) = (self.room(), self.clock.now());
        let scheduled = [room.valve_at(Timestamp::default())]
            .into_iter()
            .chain(room.valves.all_after(Timestamp::default()));
        self.observations.lock().see_valves(now, scheduled);
    }

    /// Like kill -9: running tasks are lost, data that was written to the disk stays.
    pub fn kill(&mut self) {
        self.disk.kill();
        self.process = None;
    }

    /// Like a power cut: running tasks are lost, and data that was not synced may be lost as well.
    pub fn lose_power(&mut self) {
        self.kill();
        self.disk.lose_power(&mut self.rng);
    }

    /// Lets time pass while no process runs. The schedule begins when the next process runs, as it does in a real one.
    pub fn stay_down(&mut self, time: Duration) {
        self.clock.advance_to(self.clock.now() + time);
        self.next_tick = self.clock.now();
    }

    /// The clock says an earlier time from now on, as one does that was ahead and is put right.
    pub fn set_clock_back(&mut self, by: Duration) {
        self.clock.set_back(by);
        // The schedule runs no later for it.
        self.next_tick = self.next_tick - by;
    }

    /// Kills one running consumer and returns whether there was one. The process goes on.
    pub fn kill_one_consumer(&mut self) -> bool {
        let consumers = &mut self.process().consumers;
        consumers.retain(|consumer| consumer.runs.load(Ordering::Relaxed));
        let Some(last) = consumers.len().checked_sub(1) else { return false };
        let index = self.rng.random_range(0..=last);
        self.process().consumers.swap_remove(index).handle.abort();
        true
    }

    /// Starts `n` visitors now.
    pub fn join(&mut self, n: usize) {
        for _ in 0..n {
            self.visit(None);
        }
    }

    /// One request to the door, with or without a place.
    pub fn visit(&mut self, place: Option<Place>) {
        let (producer, observations) = (self.process().producer.clone(), self.observations.clone());
        self.spawn(async move {
            let proof = place.and_then(|place| observations.lock().proofs.get(&place).cloned());
            let cookies = [place.map(|place| format!("bk_sale={place}")), proof];
            let cookies: Vec<_> = cookies.iter().flatten().map(String::as_str).collect();
            let request = DoorRequest { cookies: &cookies, ..DoorRequest::GET };
            let answer = producer.answer(&request).await;
            let pair = |set: &Option<String>| Some(set.as_deref()?.split(';').next()?.to_owned());
            let place = answer.as_ref().ok().and_then(|answer| pair(&answer.set_cookie));
            match place.and_then(|pair| pair.strip_prefix("bk_sale=")?.parse().ok()) {
                Some(place) => {
                    let mut observations = observations.lock();
                    observations.redirected.push(place);
                    let proof = answer.as_ref().ok().and_then(|answer| pair(&answer.set_proof));
                    observations.proofs.extend(proof.map(|proof| (place, proof)));
                }
                None if answer.is_err() => observations.lock().told_to_retry += 1,
                None => {}
            }
        });
    }

    /// Sends a request to the door and waits for the answer, at most a minute.
    pub fn request(&mut self, request: &DoorRequest<'_>) -> Result<DoorAnswer, ProducerError> {
        self.limited_request(request, None)
    }

    /// The same, for a client with a limit.
    pub fn limited_request(
        &mut self,
        request: &DoorRequest<'_>,
        limit: Option<&'static dyn PlaceLimit>,
    ) -> Result<DoorAnswer, ProducerError> {
        let (_, received) = self.send(request, limit);
        for _ in 0..600 {
            self.run_until_idle();
            if let Some(answer) = received.lock().take() {
                return answer;
            }
            self.run(Duration::from_millis(100));
        }
        unreachable!("the door answers within a minute")
    }

    /// The same, but the client closes the connection after this time: nobody works on the request any more.
    pub fn interrupted_request(
        &mut self,
        request: &DoorRequest<'_>,
        limit: Option<&'static dyn PlaceLimit>,
        after: Duration,
    ) {
        let (work, received) = self.send(request, limit);
        self.run(after);
        work.abort();
        self.run_until_idle();
        assert!(received.lock().is_none(), "it was answered before");
    }

    fn send(
        &mut self,
        request: &DoorRequest<'_>,
        limit: Option<&'static dyn PlaceLimit>,
    ) -> (AbortHandle, ReceivedAnswer) {
        let producer = self.process().producer.clone();
        let DoorRequest { shown, asks_for_help, runs_no_script, .. } = *request;
        let cookies: Vec<_> = request.cookies.iter().map(ToString::to_string).collect();
        let texts = [request.nonce, request.again, request.path];
        let [nonce, again, path] = texts.map(|text| text.map(ToOwned::to_owned));
        let received = Arc::new(Mutex::new(None));
        let answer = received.clone();
        let work = self.spawn(async move {
            let cookies: Vec<_> = cookies.iter().map(String::as_str).collect();
            let (nonce, again, path) = (nonce.as_deref(), again.as_deref(), path.as_deref());
            let cookies = &cookies;
            let asked = DoorRequest { shown, cookies, nonce, again, limit, path, ..DoorRequest::GET };
            let request = DoorRequest { asks_for_help, runs_no_script, ..asked };
            let result = producer.answer(&request).await;
            *answer.lock() = Some(result);
        });
        (work, received)
    }

    /// A guard's report arrives at the room, which may fail to keep it.
    pub fn report(&mut self, key: &ReportKey, report: &GuardReport) -> Arc<Mutex<Option<ReportAnswer>>> {
        let body = serde_json::to_vec(report).expect("a report is JSON");
        self.report_text(key.as_str(), body)
    }

    /// The same, of anything that somebody sends with this key.
    pub fn report_text(&mut self, key: &str, body: Vec<u8>) -> Arc<Mutex<Option<ReportAnswer>>> {
        let (producer, key) = (self.process().producer.clone(), key.to_owned());
        let told = Arc::new(Mutex::new(None));
        let answer = told.clone();
        self.spawn(async move {
            *answer.lock() = producer.take_report(Some(&key), ready(body)).await.ok();
        });
        told
    }

    /// Changes the room as the operator would, now.
    pub fn change_room(&mut self, change: impl FnOnce(&mut Room) + Send + 'static) {
        let store = self.store();
        self.spawn(async move {
            // If the disk is full, the operator's change fails too.
            let _ = store.change_room("change the room", None, change).await;
        });
    }

    /// The call for help with this code.
    pub fn help_call(&mut self, code: HelpCode) -> Option<HelpCall> {
        let store = self.store();
        futures_executor::block_on(store.call(code)).expect("the file is read")
    }

    /// Lets whoever called for help in by hand, as the operator would, now.
    pub fn let_in(&mut self, call: HelpCall) -> Option<Admitted> {
        let (store, at) = (self.store(), self.clock.now());
        let expires = at + Duration::from_hours(1);
        let admission = Admission { ticket: call.place.ticket, by: AdmittedBy::Door, at, expires };
        let answer = Arc::new(Mutex::new(None));
        let answered = answer.clone();
        self.spawn(async move {
            *answered.lock() = Some(store.let_in(call, admission, Author::new("operator")).await);
        });
        self.run(Duration::from_secs(1));
        let answer = answer.lock().take();
        answer.expect("an answer within a second").expect("a disk that works")
    }

    /// Empties the line and starts a new epoch, as the operator would, now.
    pub fn reset(&mut self, epoch: &str) {
        let store = self.store();
        let epoch = epoch.parse().expect("four characters");
        self.spawn(async move { drop(store.start_epoch(epoch, Author::new("operator")).await) });
    }

    /// The published keys, as they are now.
    pub fn key_record(&mut self) -> KeyRecord {
        let store = self.store();
        futures_executor::block_on(store.key_record()).expect("the record is read")
    }

    /// Changes the keys as the operator would, now.
    pub fn order_keys(&mut self, order: KeyOrder) {
        let store = self.store();
        self.spawn(async move {
            // The order may be refused, and then nothing is changed.
            let _ = store.order_keys(order, Author::new("operator")).await;
        });
    }

    pub fn set_rate(&mut self, per_minute: u32) {
        let rate = Rate::new(per_minute).expect("within bounds");
        self.change_room(move |room| room.settings.rate = rate);
    }

    /// Runs the trigger now, in addition to the schedule.
    pub fn fire_trigger(&mut self) -> AbortHandle {
        self.start_trigger(TriggerCause::Minute)
    }

    fn start_trigger(&mut self, cause: TriggerCause) -> AbortHandle {
        let sent = self.process().sent.clone();
        let (dispatch, store) = (self.faulty(sent), self.process().store.clone());
        let trigger = Trigger::new(store, self.clock.clone(), dispatch, Self::MINUTE);
        self.spawn(async move { drop(trigger.run(cause).await) })
    }

    fn sweep(&mut self) {
        let store = self.store();
        self.spawn(async move { drop(store.sweep().await) });
    }

    fn run_throttle(&mut self) {
        let ledger = self.process().store.ledger.clone();
        let throttle = Throttle::new(ledger, self.clock.clone(), self.shop.clone(), Self::MINUTE);
        self.spawn(async move { drop(throttle.run().await) });
    }

    /// Lets time pass, with the schedule running every minute. Tasks that are due exactly at the end do not run
    /// yet.
    pub fn run(&mut self, time: Duration) {
        let until = self.clock.now() + time;
        loop {
            self.run_until_idle();
            let wake = self.clock.next_wake().map_or(self.next_tick, |wake| wake.min(self.next_tick));
            if wake >= until {
                break;
            }
            self.clock.advance_to(wake);
            if wake == self.next_tick {
                self.next_tick = self.next_tick + Self::MINUTE;
                self.fire_trigger();
                self.sweep();
                if self.throttled {
                    self.run_throttle();
                }
            }
        }
        self.clock.advance_to(until);
        self.run_until_idle();
    }

    /// Lets time pass until nobody waits any more, at most `minutes`.
    pub fn drain(&mut self, minutes: u32) {
        for _ in 0..minutes {
            self.run(Self::MINUTE);
            if self.waiting() == 0 {
                // A little longer, for visitors who were received and will be delivered again.
                self.run(2 * Self::MINUTE);
                return;
            }
        }
    }

    /// Repeats until there is nothing to commit: runs all tasks until they wait, then commits.
    fn run_until_idle(&mut self) {
        loop {
            self.process().pool.run_until_stalled();
            let sent = std::mem::take(&mut *self.process().sent.0.lock());
            for slice in &sent {
                self.start_consumer(*slice);
            }
            let committed = self.process().committer.commit_pending();
            let valve_changed = self.store().valve_changed().now_or_never().is_some();
            if valve_changed {
                self.see_valves();
                if !self.only_scheduled {
                    self.start_trigger(TriggerCause::Change);
                }
            }
            match committed {
                Ok(0) if sent.is_empty() && !valve_changed => return,
                Ok(_) => {}
                // The disk failed. The next call retries.
                Err(_) => drop(self.process().committer.reopen()),
            }
        }
    }

    /// Reopens the database after the disk failed. In a real process the committer's thread does so every second.
    pub fn reopen(&mut self) {
        self.process().committer.reopen().expect("the disk works again");
    }

    fn start_consumer(&mut self, slice: Slice) {
        let consumer_run = ConsumerRun(self.rng.random());
        let observations = self.observations.clone();
        observations.lock().slices.insert(slice.id, slice);
        let consumer = Consumer::new(self.process().store.clone(), self.clock.clone());
        let runs = Arc::new(AtomicBool::new(true));
        let still_runs = runs.clone();
        let handle = self.spawn(async move {
            if let Ok(SliceOutcome::Done(report)) = consumer.run(slice, consumer_run).await {
                observations.lock().reports.push((slice.id, report));
            }
            still_runs.store(false, Ordering::Relaxed);
        });
        self.process().consumers.push(RunningConsumer { handle, runs });
    }

    fn spawn(&mut self, work: impl Future<Output = ()> + 'static) -> AbortHandle {
        let (work, handle) = abortable(work);
        let pool = self.process().pool.spawner();
        pool.spawn_local(work.map(|_done_or_killed| ())).expect("the pool lives as long as the process");
        handle
    }

    fn process(&mut self) -> &mut SimProcess {
        self.process.as_mut().expect("the process was started with boot")
    }

    /// The store without faults.
    fn store(&mut self) -> EmbeddedStore {
        self.process().store.ledger.inner().clone()
    }

    /// Loses everybody in the simulated line, which no line should do.
    pub fn lose_line(&mut self) {
        self.line.as_ref().expect("a simulated line").lose_all();
    }

    /// Who lost their turn: whom the simulated line has put behind all others before they were admitted, because they were
    /// received three times and not removed. Without those of whom a consumer never heard, because the line's answer was lost.
    pub fn moved_back(&self) -> Vec<Place> {
        let observations = self.observations.lock();
        let admitted: HashMap<_, _> = observations.confirmed.iter().copied().collect();
        let mut moved = self.line.as_ref().expect("a simulated line").moved_back();
        moved.retain(|(at, visitor)| {
            let waited = admitted.get(&visitor.token).is_none_or(|admitted| admitted > at);
            waited && !observations.unheard.contains(&visitor.token)
        });
        moved.into_iter().map(|(_, visitor)| visitor).collect()
    }

    /// The places of those who were redirected to the page, in the order in which they were.
    pub fn places(&self) -> Vec<Place> {
        self.observations.lock().redirected.clone()
    }

    /// How many are in the line.
    pub fn waiting(&mut self) -> u64 {
        if let Some(line) = &self.line {
            return line.len();
        }
        let store = self.store();
        futures_executor::block_on(store.waiting()).expect("answered from memory")
    }

    /// The status of the line, as polls see it.
    pub fn status(&mut self) -> LineStatus {
        // With a line that counts late, polls read copies, as on AWS.
        let published = self.observations.lock().published.filter(|_| self.line.is_some());
        published.unwrap_or_else(|| self.store().status())
    }

    pub fn write_trouble(&mut self) -> Option<WriteTrouble> {
        self.store().write_trouble()
    }

    pub fn room(&mut self) -> Arc<Room> {
        let store = self.store();
        futures_executor::block_on(waitroom::ports::RoomReader::room(&store)).expect("answered from memory")
    }

    /// How many have joined, wait, and were released in this epoch, as the operator sees it.
    pub fn counts(&mut self) -> (u64, u64, u64) {
        let store = self.store();
        let counts = async {
            let joined = store.joined().await?.unwrap_or_default();
            Ok::<_, PortError>((joined, store.waiting().await?, store.progress().await?.released))
        };
        futures_executor::block_on(counts).expect("answered from memory")
    }

    /// The whole history of the line.
    pub fn minutes(&mut self) -> Vec<MinuteCount> {
        let store = self.store();
        let records = futures_executor::block_on(store.minutes(Timestamp::default()));
        MinuteCount::from_records(&records.expect("the history can be read"), Timestamp::default())
    }

    /// Compares the observations with the ledger.
    pub fn outcome(&mut self) -> SimOutcome {
        let store = self.store();
        let observations = self.observations.lock();
        let mut ledger = HashMap::new();
        for token in &observations.tokens {
            let found = futures_executor::block_on(store.admission(*token)).expect("the ledger can be read");
            ledger.extend(found.map(|admission| (*token, admission)));
        }
        let progress = futures_executor::block_on(store.progress()).expect("progress is in memory");
        observations.compare_with(&ledger, progress.released)
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("now", &self.clock.now()).finish_non_exhaustive()
    }
}
