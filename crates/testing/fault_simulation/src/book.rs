use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use consumer::SliceReport;
use waitroom::{Admission, AdmittedBy, Place, Slice, SliceId, Timestamp, Token};

/// What an observer who misses nothing writes down while the room runs; no crash touches it.
#[derive(Debug, Default)]
pub struct Book {
    /// Every token drawn, whether or not a visitor ever got to see it.
    pub drawn: Vec<Token>,
    /// Everybody who was sent to the page with a cookie: these the room must not lose.
    pub redirected: Vec<Place>,
    /// How often a visitor was asked to come again.
    pub turned_away: u32,
    /// Every admission that the store confirmed as new.
    pub confirmed: Vec<(Token, Timestamp)>,
    /// Every slice that a consumer was sent to work on.
    pub slices: BTreeMap<SliceId, Slice>,
    pub reports: Vec<(SliceId, SliceReport)>,
}

/// The book, balanced against the ledger at the end.
#[derive(Debug)]
pub struct Audit {
    pub redirected: usize,
    pub turned_away: u32,
    /// Who got a place and is not admitted.
    pub lost: Vec<Token>,
    /// Whose admission was confirmed as new more than once.
    pub twice: Vec<Token>,
    /// How many each slice admitted.
    pub by_slice: BTreeMap<SliceId, u32>,
    /// How many were let in at the door, while the room was off.
    pub by_door: u32,
    /// What the consumers that lived to tell believe to have released.
    pub reported: u32,
    /// Tickets in order of admission.
    pub order: Vec<u64>,
    times: Vec<Timestamp>,
    slices: BTreeMap<SliceId, Slice>,
}

impl Book {
    /// `ledger` holds the admission of every token drawn that has one.
    pub(crate) fn audit(&self, ledger: &HashMap<Token, Admission>) -> Audit {
        let mut seen = HashSet::new();
        let confirmed = self.confirmed.iter().map(|(token, _)| *token);
        let twice = confirmed.filter(|token| !seen.insert(*token)).collect();
        let places = self.redirected.iter().map(|place| place.token);
        let lost = places.filter(|token| !ledger.contains_key(token)).collect();
        let mut by_slice = BTreeMap::new();
        let mut by_door = 0;
        let mut admitted: Vec<_> = ledger.values().collect();
        admitted.sort_by_key(|admission| (admission.at, admission.ticket));
        for admission in &admitted {
            match admission.by {
                AdmittedBy::Slice(slice) => *by_slice.entry(slice).or_default() += 1,
                AdmittedBy::Door => by_door += 1,
            }
        }
        let released = admitted.iter().filter(|admission| admission.by != AdmittedBy::Door);
        Audit {
            redirected: self.redirected.len(),
            turned_away: self.turned_away,
            lost,
            twice,
            by_slice,
            by_door,
            reported: self.reports.iter().map(|(_, report)| report.released).sum(),
            order: admitted.iter().map(|admission| admission.ticket.get()).collect(),
            times: released.map(|admission| admission.at).collect(),
            slices: self.slices.clone(),
        }
    }
}

impl Audit {
    pub fn released(&self) -> u32 {
        self.by_slice.values().sum()
    }

    /// How many each plan released, and the most that it may have.
    pub fn windows(&self) -> BTreeMap<u64, (u32, u32)> {
        let mut windows = BTreeMap::new();
        for (id, slice) in &self.slices {
            let (released, quota) = windows.entry(id.plan).or_insert((0, 0));
            *released += self.by_slice.get(id).copied().unwrap_or(0);
            *quota += slice.quota;
        }
        windows
    }

    /// Slices that released more than their quota, or that nobody was ever sent to work on.
    pub fn above_plan(&self) -> Vec<SliceId> {
        let above = |(id, released): &(&SliceId, &u32)| {
            self.slices.get(id).is_none_or(|slice| **released > slice.quota)
        };
        self.by_slice.iter().filter(above).map(|(id, _)| *id).collect()
    }

    /// The most people that any one second let in, wherever it begins.
    pub fn largest_second(&self) -> usize {
        let second = Duration::from_secs(1);
        let within_a_second = |(from, start): (usize, &Timestamp)| {
            self.times[from..].partition_point(|at| at.since(*start) < second)
        };
        self.times.iter().enumerate().map(within_a_second).max().unwrap_or(0)
    }
}
