use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use consumer::SliceReport;
use waitroom::{
    Admission, AdmittedBy, LineStatus, Place, Slice, SliceId, Timestamp, Token, Valve, ValveChange,
};

/// Everything that really happened in a run. It is outside the simulated process, so it survives kills.
#[derive(Debug, Default)]
pub struct Observations {
    /// Every token that was generated, whether or not a visitor received it.
    pub tokens: Vec<Token>,
    /// Every visitor who was redirected to the page with a cookie. The room must not lose any of them.
    pub redirected: Vec<Place>,
    /// The cookies that prove their places.
    pub proofs: HashMap<Place, String>,
    /// How often a visitor was told to retry.
    pub told_to_retry: u32,
    /// When the line first delivered each visitor, by token and ticket.
    pub delivered: HashMap<(Token, u64), Timestamp>,
    /// Whom the line delivered at least once in an answer that was lost.
    pub unheard: HashSet<Token>,
    /// Every admission that the store confirmed as new.
    pub confirmed: Vec<(Token, Timestamp)>,
    /// Every slice that a consumer was started for.
    pub slices: BTreeMap<SliceId, Slice>,
    pub reports: Vec<(SliceId, SliceReport)>,
    /// Every change of the valve that held, oldest first.
    pub valves: Vec<ValveChange>,
    /// The status that was published last, which polls read on AWS.
    pub published: Option<LineStatus>,
}

/// The observations of a run, compared with the ledger.
#[derive(Debug)]
pub struct SimOutcome {
    pub redirected: usize,
    pub told_to_retry: u32,
    /// Visitors who got a place and are not admitted.
    pub lost: Vec<Token>,
    /// Visitors whose admission was confirmed as new more than once.
    pub twice: Vec<Token>,
    /// How many each slice admitted.
    pub by_slice: BTreeMap<SliceId, u32>,
    /// How many the door admitted while the room was off.
    pub by_door: u32,
    /// How many the door let straight in, with a permit.
    pub straight: u32,
    /// How many were released, according to the consumers that were not killed.
    pub reported: u32,
    /// How many the store counts as released.
    pub counted: u64,
    /// Tickets in order of admission.
    pub order: Vec<u64>,
    times: Vec<Timestamp>,
    slices: BTreeMap<SliceId, Slice>,
    valves: Vec<ValveChange>,
}

impl Observations {
    /// Notes what the room's schedule says now. A change that was withdrawn before it held is forgotten.
    pub(crate) fn see_valves(&mut self, now: Timestamp, scheduled: impl Iterator<Item = ValveChange>) {
        self.valves.retain(|change| change.from <= now);
        let known = self.valves.last().map(|change| change.from);
        self.valves.extend(scheduled.filter(|change| known.is_none_or(|known| change.from > known)));
    }

    /// `ledger` has the admission of every token that is admitted.
    pub(crate) fn compare_with(&self, ledger: &HashMap<Token, Admission>, counted: u64) -> SimOutcome {
        let mut seen = HashSet::new();
        let confirmed = self.confirmed.iter().map(|(token, _)| *token);
        let twice = confirmed.filter(|token| !seen.insert(*token)).collect();
        let places = self.redirected.iter().map(|place| place.token);
        let lost = places.filter(|token| !ledger.contains_key(token)).collect();
        let mut by_slice = BTreeMap::new();
        let (mut by_door, mut straight) = (0, 0);
        let mut admitted: Vec<_> = ledger.values().collect();
        admitted.sort_by_key(|admission| (admission.at, admission.ticket));
        for admission in &admitted {
            match admission.by {
                AdmittedBy::Slice(slice) => *by_slice.entry(slice).or_default() += 1,
                AdmittedBy::Door => by_door += 1,
                AdmittedBy::Permit => straight += 1,
            }
        }
        let released = admitted.iter().filter(|admission| admission.by != AdmittedBy::Door);
        SimOutcome {
            redirected: self.redirected.len(),
            told_to_retry: self.told_to_retry,
            lost,
            twice,
            by_slice,
            by_door,
            straight,
            counted,
            reported: self.reports.iter().map(|(_, report)| report.released).sum(),
            order: admitted.iter().map(|admission| admission.ticket.get()).collect(),
            times: released.map(|admission| admission.at).collect(),
            slices: self.slices.clone(),
            valves: self.valves.clone(),
        }
    }
}

impl SimOutcome {
    /// By slices.
    pub fn released(&self) -> u32 {
        self.by_slice.values().sum()
    }

    /// How many each plan released, and its quota.
    pub fn windows(&self) -> BTreeMap<u64, (u32, u32)> {
        let mut windows = BTreeMap::new();
        for (id, slice) in &self.slices {
            let (released, quota) = windows.entry(id.plan).or_insert((0, 0));
            *released += self.by_slice.get(id).copied().unwrap_or(0);
            *quota += slice.quota;
        }
        windows
    }

    /// Slices that released more than their quota, or for which no consumer was started.
    pub fn above_quota(&self) -> Vec<SliceId> {
        let above = |(id, released): &(&SliceId, &u32)| {
            self.slices.get(id).is_none_or(|slice| **released > slice.quota)
        };
        self.by_slice.iter().filter(above).map(|(id, _)| *id).collect()
    }

    /// Of each stock by whose plans somebody was released: its size, and how many took from it.
    pub fn stocks(&self) -> BTreeMap<u64, (u32, u32)> {
        let mut stocks = BTreeMap::new();
        for (id, released) in &self.by_slice {
            let planned_under = self.slices.get(id).map(|slice| slice.valve_from);
            let valve = self.valves.iter().find(|change| Some(change.from) == planned_under);
            if let Some(stock) = valve.and_then(|change| change.valve.stock()) {
                stocks.entry(stock.order).or_insert((stock.size.get(), 0)).1 += released;
            }
        }
        stocks
    }

    /// How many were released from one instant until before another.
    pub fn released_between(&self, from: Timestamp, until: Timestamp) -> usize {
        self.times.iter().filter(|at| (from..until).contains(at)).count()
    }

    /// The first time from a change of the valve until a release in which more were released than the rates in force
    /// allow and one batch for each slice. The quota of a window is rounded up, which is one visitor.
    pub fn above_rate(&self) -> Option<String> {
        let next =
            self.valves.iter().skip(1).map(|change| change.from).chain([Timestamp::from_millis(u64::MAX)]);
        let rate = |change: &ValveChange| change.valve.rate().map(|rate| u128::from(rate.get()));
        let slices = self.valves.iter().filter_map(rate).map(|rate| rate.div_ceil(1000)).max().unwrap_or(0);
        let spans: Vec<_> = self
            .valves
            .iter()
            .zip(next)
            .enumerate()
            .map(|(index, (change, end))| {
                let then = self.valves[index..].iter().find_map(rate).unwrap_or(0);
                // A time in which nobody is released makes up for what the window before was ahead: a batch of each slice.
                let most = if change.valve == Valve::Closed { slices * 10 * 60_000 } else { u128::MAX };
                (change.from, end, then, most)
            })
            .collect();
        for (index, (from, ..)) in spans.iter().enumerate() {
            let first = self.times.partition_point(|at| at < from);
            for (released, until) in self.times[first..].iter().enumerate() {
                let allowed: u128 = spans[index..]
                    .iter()
                    .map(|(start, end, rate, most)| {
                        ((*end).min(*until).since(*start).as_millis() * rate).min(*most)
                    })
                    .sum();
                let released = released as u128 + 1;
                if released * 60_000 > allowed + slices * (10 + 1) * 60_000 {
                    let seconds = until.since(*from).as_secs_f64();
                    let allowed = allowed / 60_000;
                    return Some(format!("{released} of {allowed} in the {seconds} s from {from:?} on"));
                }
            }
        }
        None
    }

    /// The most visitors released within any second.
    pub fn largest_second(&self) -> usize {
        let second = Duration::from_secs(1);
        let within_a_second = |(from, start): (usize, &Timestamp)| {
            self.times[from..].partition_point(|at| at.since(*start) < second)
        };
        self.times.iter().enumerate().map(within_a_second).max().unwrap_or(0)
    }
}
