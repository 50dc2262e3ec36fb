//! What a line knows, and how it chooses whom it delivers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::ports::{Delivery, Receipt};
use waitroom::{Place, Timestamp};

use crate::LineBehaviour;
use crate::hosts::{LineHost, LineMessage};
use crate::join_times::JoinTimes;

pub(crate) struct LineState {
    pub(crate) behaviour: LineBehaviour,
    pub(crate) rng: StdRng,
    pub(crate) hosts: Vec<LineHost>,
    speeds_until: Timestamp,
    in_flight: BTreeMap<u64, InFlight>,
    /// Until when each delivery is hidden.
    hidden: BTreeSet<(Timestamp, u64)>,
    /// When, and whom, a third receipt has put behind all others.
    pub(crate) moved_back: Vec<(Timestamp, Place)>,
    next_rank: u32,
    pub(crate) join_times: JoinTimes,
    /// How many have joined in this epoch.
    pub(crate) joined: u64,
    pub(crate) dead_letters: Vec<String>,
    next_delivery: u64,
    /// The counts of the last while, oldest first.
    counts: VecDeque<(Timestamp, u64)>,
    /// How many ticket numbers somebody could get so far.
    pub(crate) leased: u64,
    pub(crate) leased_at: Timestamp,
}

pub(crate) struct InFlight {
    until: Timestamp,
    pub(crate) host: usize,
    pub(crate) rank: u64,
    pub(crate) message: LineMessage,
}

impl LineState {
    /// AWS: "a message received three times or more and not deleted is moved to the back of the queue".
    const RECEIPTS: u32 = 3;
    /// How long a host stays slow or fast.
    const SPEEDS_LAST: Duration = Duration::from_secs(20);
    /// How many hosts a receive asks at most.
    const ASKED: usize = 3;

    pub(crate) fn new(seed: u64, behaviour: LineBehaviour) -> Self {
        Self {
            behaviour,
            rng: StdRng::seed_from_u64(seed),
            hosts: (0..behaviour.hosts.max(1)).map(|_| LineHost::new()).collect(),
            speeds_until: Timestamp::default(),
            in_flight: BTreeMap::new(),
            hidden: BTreeSet::new(),
            moved_back: Vec::new(),
            next_rank: 0,
            join_times: JoinTimes::default(),
            joined: 0,
            dead_letters: Vec::new(),
            next_delivery: 0,
            counts: VecDeque::new(),
            leased: 0,
            leased_at: Timestamp::default(),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        let visible: usize = self.hosts.iter().map(LineHost::len).sum();
        (visible + self.in_flight.len()) as u64
    }

    pub(crate) fn lose_all(&mut self) {
        self.in_flight.clear();
        self.hidden.clear();
        self.hosts.iter_mut().for_each(LineHost::clear);
    }

    pub(crate) fn begin_epoch(&mut self) -> u64 {
        let lost = self.len();
        self.lose_all();
        self.counts.clear();
        (self.joined, self.leased) = (0, 0);
        lost
    }

    /// The rank behind everybody.
    pub(crate) fn take_rank(&mut self) -> u32 {
        let rank = self.next_rank;
        self.next_rank += 1;
        rank
    }

    /// The last number that was reserved. After each block, some numbers are nobody's.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "far fewer tickets than a float can count"
    )]
    pub(crate) fn last_ticket(&self) -> u64 {
        (self.leased as f64 / (1.0 - self.behaviour.unused)) as u64
    }

    pub(crate) fn note_count(&mut self, now: Timestamp) {
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

    /// The number that the line tells, which is as old as its behaviour says.
    pub(crate) fn known_count(&self, now: Timestamp) -> u64 {
        let known = self.counts.front().filter(|(at, _)| *at + self.behaviour.count_lag <= now);
        known.map_or(0, |(_, count)| *count)
    }

    /// Who was received long ago and not removed can be received again.
    fn return_hidden(&mut self, now: Timestamp) {
        while let Some(&(until, delivery)) = self.hidden.first()
            && until <= now
        {
            self.hidden.pop_first();
            let Some(InFlight { host, mut rank, message, .. }) = self.in_flight.remove(&delivery) else {
                continue;
            };
            if message.receipts >= Self::RECEIPTS {
                rank = self.take_rank().into();
                self.moved_back.extend(message.visitor.as_ref().ok().map(|visitor| (now, *visitor)));
            }
            self.hosts[host].put_back(rank, message);
        }
    }

    /// Hides deliveries until then.
    pub(crate) fn hide_until(&mut self, until: Timestamp, receipts: &[Receipt]) {
        for receipt in receipts {
            let Ok(delivery) = receipt.0.parse() else { continue };
            let Some(found) = self.in_flight.get_mut(&delivery) else { continue };
            self.hidden.remove(&(found.until, delivery));
            found.until = until;
            self.hidden.insert((until, delivery));
        }
    }

    pub(crate) fn take_from_flight(&mut self, receipt: &Receipt) -> Option<InFlight> {
        let delivery = receipt.0.parse().ok()?;
        let found = self.in_flight.remove(&delivery)?;
        self.hidden.remove(&(found.until, delivery));
        Some(found)
    }

    fn change_speeds(&mut self, now: Timestamp) {
        if now < self.speeds_until {
            return;
        }
        self.speeds_until = now + Self::SPEEDS_LAST;
        for host in &mut self.hosts {
            host.speed = 0.5_f64.powi(self.rng.random_range(0..6));
        }
    }

    /// The host whose first visitor has waited longest, and that visitor's rank.
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
        let (rank, mut message) = self.hosts[host].pop(&self.join_times)?;
        message.receipts += 1;
        let delivery = self.next_delivery;
        self.next_delivery += 1;
        let until = now + Delivery::HIDDEN_FOR;
        let (visitor, joined) = (message.visitor.clone(), Some(message.joined));
        self.in_flight.insert(delivery, InFlight { until, host, rank, message });
        self.hidden.insert((until, delivery));
        Some(Delivery { receipt: Receipt(delivery.to_string()), visitor, joined })
    }

    pub(crate) fn receive(&mut self, most: usize, now: Timestamp) -> Vec<Delivery> {
        self.return_hidden(now);
        self.change_speeds(now);
        let free = self.behaviour.most_in_flight.saturating_sub(self.in_flight.len());
        let most = most.min(free);
        let mut received = Vec::new();
        for _ in 0..self.rng.random_range(1..=Self::ASKED) {
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
