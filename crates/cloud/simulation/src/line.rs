//! A line that behaves like a standard queue of SQS. No emulator does.
//!
//! - Visitors lie on several hosts. Each host keeps its own in order. A receive asks a few hosts, and some are slower than
//!   others for a while. So visitors are delivered out of order, up to [`LineBehaviour::disorder`] places from their turn.
//! - The count is the one of a while ago. In a rush it is far too low.
//! - Some ticket numbers were reserved, and nobody got them.
//! - Some messages are delivered again after they were removed.
//! - Who was received three times and not removed goes to the back.
//! - While too many messages are in flight, a receive returns nobody.
//!
//! Like SQS, the line is outside of the process: a kill or a power cut changes nothing in it. The counter of tickets and
//! the published status are here too, because on AWS they outlive a process as well.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::ports::{Clock, Delivery, LineBack, LineFront, LineLength, PortResult, Receipt, TicketCounter};
use waitroom::{BATCH, Epoch, IssuedTickets, LineStatus, Place, Ticket, Timestamp, Token};

use crate::SimClock;

/// How a line differs from one that is in order.
#[derive(Clone, Copy, Debug)]
pub struct LineBehaviour {
    /// On how many hosts the visitors lie.
    pub hosts: usize,
    /// A visitor is delivered before at most this many who joined earlier, and after at most this many who joined later.
    pub disorder: u64,
    /// The count is as old as this.
    pub count_lag: Duration,
    /// The share of the ticket numbers that nobody gets: those that producers reserve and drop.
    pub unused: f64,
    /// The share of removed messages that are delivered once more.
    pub duplicates: f64,
    /// While this many messages are in flight, nobody is delivered.
    pub most_in_flight: usize,
}

impl Default for LineBehaviour {
    /// In order, with an exact count.
    fn default() -> Self {
        Self {
            hosts: 16,
            disorder: 0,
            count_lag: Duration::ZERO,
            unused: 0.0,
            duplicates: 0.0,
            most_in_flight: Self::SQS_IN_FLIGHT,
        }
    }
}

impl LineBehaviour {
    /// The limit of a standard queue. Beyond it, long polling returns nothing instead of an error.
    pub const SQS_IN_FLIGHT: usize = 120_000;
}

/// A handle to the line. Clones share it.
#[derive(Clone)]
pub struct SimLine {
    clock: SimClock,
    state: Arc<Mutex<LineState>>,
}

struct LineState {
    behaviour: LineBehaviour,
    rng: StdRng,
    hosts: Vec<LineHost>,
    speeds_until: Timestamp,
    in_flight: BTreeMap<u64, InFlight>,
    /// Until when each delivery is hidden.
    hidden: BTreeSet<(Timestamp, u64)>,
    /// When, and whom, a third receipt has put behind all others.
    moved_back: Vec<(Timestamp, Place)>,
    next_position: u32,
    next_delivery: u64,
    /// The counts of the last while, oldest first.
    counts: VecDeque<(Timestamp, u64)>,
    /// How many ticket numbers somebody could get so far.
    leased: u64,
    leased_at: Timestamp,
    published: Option<LineStatus>,
}

/// The messages on one host, by their position in the order in which visitors joined.
struct LineHost {
    speed: f64,
    /// Those that nobody has received, in order. Millions may lie here.
    fresh: VecDeque<FreshMessage>,
    /// Those that were received before.
    returned: BTreeMap<u64, SimMessage>,
}

/// A place, and its position, in few bytes.
#[derive(Clone, Copy)]
struct FreshMessage {
    token: Token,
    ticket: Ticket,
    epoch: Epoch,
    position: u32,
}

#[derive(Clone, Copy)]
struct SimMessage {
    visitor: Place,
    /// How often it was received.
    receipts: u32,
}

impl LineHost {
    fn len(&self) -> usize {
        self.fresh.len() + self.returned.len()
    }

    fn first(&self) -> Option<u64> {
        let fresh = self.fresh.front().map(|message| message.position.into());
        let returned = self.returned.first_key_value().map(|(position, _)| *position);
        fresh.into_iter().chain(returned).min()
    }

    fn push(&mut self, position: u32, visitor: Place) {
        let Place { epoch, token, ticket } = visitor;
        if self.fresh.len() == self.fresh.capacity() {
            // Twice as much, as usual, would be hundreds of megabytes for nothing.
            self.fresh.reserve_exact(64.max(self.fresh.len() / 8));
        }
        self.fresh.push_back(FreshMessage { token, ticket, epoch, position });
    }

    /// Takes the first message.
    fn pop(&mut self) -> Option<(u64, SimMessage)> {
        let first = self.first()?;
        if let Some(returned) = self.returned.remove(&first) {
            return Some((first, returned));
        }
        let FreshMessage { token, ticket, epoch, .. } = self.fresh.pop_front()?;
        Some((first, SimMessage { visitor: Place { epoch, token, ticket }, receipts: 0 }))
    }
}

struct InFlight {
    until: Timestamp,
    host: usize,
    position: u64,
    message: SimMessage,
}

impl SimLine {
    /// AWS: "a message received three times or more and not deleted is moved to the back of the queue".
    const RECEIPTS: u32 = 3;
    /// How long a host stays slow or fast.
    const SPEEDS_LAST: Duration = Duration::from_secs(20);
    /// How many hosts a receive asks at most.
    const ASKED: usize = 3;

    pub fn new(clock: SimClock, seed: u64, behaviour: LineBehaviour) -> Self {
        let host = || LineHost { speed: 1.0, fresh: VecDeque::new(), returned: BTreeMap::new() };
        let state = LineState {
            behaviour,
            rng: StdRng::seed_from_u64(seed),
            hosts: (0..behaviour.hosts.max(1)).map(|_| host()).collect(),
            speeds_until: Timestamp::default(),
            in_flight: BTreeMap::new(),
            hidden: BTreeSet::new(),
            moved_back: Vec::new(),
            next_position: 0,
            next_delivery: 0,
            counts: VecDeque::new(),
            leased: 0,
            leased_at: Timestamp::default(),
            published: None,
        };
        Self { clock, state: Arc::new(Mutex::new(state)) }
    }

    /// How many messages there really are.
    pub fn len(&self) -> u64 {
        self.state.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Loses everybody who waits.
    pub fn lose_all(&self) {
        let mut state = self.state.lock();
        state.in_flight.clear();
        state.hidden.clear();
        for host in &mut state.hosts {
            host.fresh.clear();
            host.returned.clear();
        }
    }

    /// When, and whom, a third receipt has put behind all others.
    pub fn moved_back(&self) -> Vec<(Timestamp, Place)> {
        self.state.lock().moved_back.clone()
    }

    /// The status that was published last, which polls read.
    pub fn published(&self) -> Option<LineStatus> {
        self.state.lock().published
    }

    /// Publishes a status, as a store does.
    pub fn publish(&self, status: LineStatus) {
        self.state.lock().published = Some(status);
    }
}

impl LineState {
    fn len(&self) -> u64 {
        let visible: usize = self.hosts.iter().map(LineHost::len).sum();
        (visible + self.in_flight.len()) as u64
    }

    /// The last number that was reserved. After each block, some numbers are nobody's.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "far fewer tickets than a float can count"
    )]
    fn last_ticket(&self) -> u64 {
        (self.leased as f64 / (1.0 - self.behaviour.unused)) as u64
    }

    fn note_count(&mut self, now: Timestamp) {
        let len = self.len();
        match self.counts.back_mut() {
            Some((at, count)) if now.since(*at) < Duration::from_millis(100) => *count = len,
            _ => self.counts.push_back((now, len)),
        }
        let lag = self.behaviour.count_lag;
        while self.counts.get(1).is_some_and(|(at, _)| *at + lag <= now) {
            self.counts.pop_front();
        }
    }

    /// Who was received long ago and not removed can be received again.
    fn return_hidden(&mut self, now: Timestamp) {
        while let Some(&(until, delivery)) = self.hidden.first()
            && until <= now
        {
            self.hidden.pop_first();
            let Some(InFlight { host, mut position, message, .. }) = self.in_flight.remove(&delivery) else {
                continue;
            };
            if message.receipts >= SimLine::RECEIPTS {
                position = self.next_position.into();
                self.next_position += 1;
                self.moved_back.push((now, message.visitor));
            }
            self.hosts[host].returned.insert(position, message);
        }
    }

    /// Hides deliveries until then.
    fn hide_until(&mut self, until: Timestamp, receipts: &[Receipt]) {
        for receipt in receipts {
            let Ok(delivery) = receipt.0.parse() else { continue };
            let Some(found) = self.in_flight.get_mut(&delivery) else { continue };
            self.hidden.remove(&(found.until, delivery));
            found.until = until;
            self.hidden.insert((until, delivery));
        }
    }

    fn take_from_flight(&mut self, receipt: &Receipt) -> Option<InFlight> {
        let delivery = receipt.0.parse().ok()?;
        let found = self.in_flight.remove(&delivery)?;
        self.hidden.remove(&(found.until, delivery));
        Some(found)
    }

    fn change_speeds(&mut self, now: Timestamp) {
        if now < self.speeds_until {
            return;
        }
        self.speeds_until = now + SimLine::SPEEDS_LAST;
        for host in &mut self.hosts {
            host.speed = 0.5_f64.powi(self.rng.random_range(0..6));
        }
    }

    /// The host whose first visitor has waited longest, and that visitor's position.
    fn oldest(&self) -> Option<(u64, usize)> {
        let first = |(index, host): (usize, &LineHost)| Some((host.first()?, index));
        self.hosts.iter().enumerate().filter_map(first).min()
    }

    fn any_host(&mut self) -> usize {
        let total: f64 = self.hosts.iter().map(|host| host.speed).sum();
        let mut left = self.rng.random_range(0.0..total);
        let is_chosen = |host: &LineHost| {
            left -= host.speed;
            left < 0.0
        };
        self.hosts.iter().position(is_chosen).unwrap_or(0)
    }

    /// Delivers the first visitor of this host, unless the line is not yet so far.
    fn deliver_from(&mut self, host: usize, now: Timestamp) -> Option<Delivery> {
        let (oldest, _) = self.oldest()?;
        if self.hosts[host].first()? > oldest.saturating_add(self.behaviour.disorder) {
            return None;
        }
        let (position, SimMessage { visitor, receipts }) = self.hosts[host].pop()?;
        let delivery = self.next_delivery;
        self.next_delivery += 1;
        let until = now + Delivery::HIDDEN_FOR;
        let message = SimMessage { visitor, receipts: receipts + 1 };
        self.in_flight.insert(delivery, InFlight { until, host, position, message });
        self.hidden.insert((until, delivery));
        Some(Delivery { receipt: Receipt(delivery.to_string()), visitor: Ok(visitor), joined: None })
    }

    fn receive(&mut self, most: usize, now: Timestamp) -> Vec<Delivery> {
        self.return_hidden(now);
        self.change_speeds(now);
        let free = self.behaviour.most_in_flight.saturating_sub(self.in_flight.len());
        let most = most.min(free);
        let mut received = Vec::new();
        for _ in 0..self.rng.random_range(1..=SimLine::ASKED) {
            let host = self.any_host();
            while received.len() < most {
                let Some(delivery) = self.deliver_from(host, now) else { break };
                received.push(delivery);
            }
        }
        // Like a long poll, a receive goes on until it has asked the hosts of those who have waited longest.
        while received.len() < most {
            let Some((_, host)) = self.oldest() else { break };
            received.extend(self.deliver_from(host, now));
        }
        received
    }
}

impl TicketCounter for SimLine {
    async fn lease(&self, count: u32) -> PortResult<u64> {
        let mut state = self.state.lock();
        let first = state.last_ticket() + 1;
        state.leased += u64::from(count);
        state.leased_at = self.clock.now();
        Ok(first)
    }
}

impl LineBack for SimLine {
    async fn join(&self, visitor: Place) -> PortResult<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let host = state.rng.random_range(0..state.hosts.len());
        state.hosts[host].push(state.next_position, visitor);
        state.next_position += 1;
        state.note_count(self.clock.now());
        Ok(())
    }
}

impl LineFront for SimLine {
    async fn receive(&self, most: u32, _patience: Duration) -> PortResult<Vec<Delivery>> {
        Ok(self.state.lock().receive(most.min(BATCH) as usize, self.clock.now()))
    }

    async fn keep(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.state.lock().hide_until(self.clock.now() + Delivery::HIDDEN_FOR, &receipts);
        Ok(())
    }

    async fn hand_back(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.state.lock().hide_until(self.clock.now(), &receipts);
        Ok(())
    }

    async fn remove(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        for receipt in receipts {
            let Some(InFlight { host, position, message, .. }) = state.take_from_flight(&receipt) else {
                continue;
            };
            if state.behaviour.duplicates > 0.0 && state.rng.random_bool(state.behaviour.duplicates) {
                state.hosts[host].returned.insert(position, message);
            }
        }
        state.note_count(self.clock.now());
        Ok(())
    }

    async fn bury(&self, receipt: Receipt, _body: String) -> PortResult<()> {
        self.remove(vec![receipt]).await
    }
}

impl LineLength for SimLine {
    async fn waiting(&self) -> PortResult<u64> {
        let mut state = self.state.lock();
        let now = self.clock.now();
        state.note_count(now);
        let known = state.counts.front().filter(|(at, _)| *at + state.behaviour.count_lag <= now);
        Ok(known.map_or(0, |(_, count)| *count))
    }

    async fn issued(&self) -> PortResult<IssuedTickets> {
        let state = self.state.lock();
        Ok(IssuedTickets { last: state.last_ticket(), at: state.leased_at })
    }

    async fn joined(&self) -> PortResult<Option<u64>> {
        Ok(None)
    }
}

impl std::fmt::Debug for SimLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimLine").field("len", &self.len()).finish_non_exhaustive()
    }
}
