use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use waitroom::ports::Admissions;
use waitroom::{Admission, AdmittedBy, Place, Timestamp};

use crate::{Stage, until};

/// How many visitors join concurrently.
const AT_ONCE: usize = 8;

/// AWS says that a queue's count is right about a minute after the last change.
const COUNTED_WITHIN: Duration = Duration::from_mins(5);

/// Visitors who joined and received a place.
#[derive(Debug)]
pub struct JoinedCrowd {
    places: Vec<HeldPlace>,
    in_line: u64,
    counted_after: Duration,
}

/// A place, and when the request for it was sent and answered.
#[derive(Clone, Copy, Debug)]
struct HeldPlace {
    place: Place,
    asked: Instant,
    given: Instant,
}

/// What happened to the visitors of a crowd.
#[derive(Clone, Debug)]
pub struct CrowdReport {
    /// How many visitors the slices of each plan admitted.
    pub windows: BTreeMap<u64, usize>,
    /// When each visitor was admitted, in ascending order.
    pub times: Vec<Timestamp>,
    /// Nine in ten visitors were admitted at most this many places before or after their turn. The others are
    /// ignored: on a busy machine a batch may arrive too late to be released, and the line delivers it again.
    pub displaced: usize,
    /// The most visitors who joined within two seconds. Tickets need not follow the order of arrival within that
    /// time.
    pub at_once: usize,
}

impl CrowdReport {
    /// For each admission after `after` and up to `until`: how long after `after` it was.
    pub fn delays(&self, after: Timestamp, until: Timestamp) -> Vec<Duration> {
        let between = self.times.iter().filter(|&&at| after < at && at <= until);
        between.map(|at| at.since(after)).collect()
    }
}

impl fmt::Display for CrowdReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { windows, times, displaced, at_once } = self;
        write!(f, "{} admitted, in windows {windows:?}; ", times.len())?;
        write!(f, "nine in ten at most {displaced} places from their turn, where {at_once} joined at once")
    }
}

impl JoinedCrowd {
    /// Lets `size` visitors join an empty line, each in a browser of their own.
    pub fn join(stage: &Stage, size: usize) -> Result<Self> {
        let (client, left) = (stage.client(), AtomicUsize::new(size));
        let join = || -> Result<Vec<HeldPlace>> {
            let mut places = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            {
                let asked = Instant::now();
                let cookie = client.join();
                let value = cookie.split_once('=').map(|(_, value)| value).unwrap_or_default();
                places.push(HeldPlace { place: value.parse()?, asked, given: Instant::now() });
            }
            Ok(places)
        };
        let mut places = thread::scope(|scope| -> Result<Vec<HeldPlace>> {
            let joining: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(join)).collect();
            let mut all = Vec::new();
            for one in joining {
                all.extend(one.join().map_err(|_| anyhow::anyhow!("somebody got no answer"))??);
            }
            Ok(all)
        })?;
        places.sort_by_key(|held| held.place.ticket);
        let expected = size as u64..=(size + client.refused_joins()) as u64;
        let mut in_line = 0;
        let counted_after = until("the queue counts everybody", COUNTED_WITHIN, || {
            in_line = stage.messages("LineUrl")?;
            Ok(expected.contains(&in_line))
        })?;
        Ok(Self { places, in_line, counted_after })
    }

    /// How long after the last join the queue counted everybody.
    pub fn counted_after(&self) -> Duration {
        self.counted_after
    }

    /// How many are in the line: these visitors, and whoever was put there after the door had refused them.
    pub fn in_line(&self) -> u64 {
        self.in_line
    }

    /// How many of these visitors are admitted.
    pub fn admitted(&self, stage: &Stage) -> Result<usize> {
        Ok(self.admissions(stage)?.into_iter().flatten().count())
    }

    fn admissions(&self, stage: &Stage) -> Result<Vec<Option<Admission>>> {
        let look = |held: &HeldPlace| stage.ask(|| stage.store().admission(held.place.token));
        self.places.iter().map(look).collect()
    }

    /// Looks up every visitor's admission. An error if one is lost, or if two have the same token or ticket.
    pub fn account(&self, stage: &Stage) -> Result<CrowdReport> {
        let tokens: BTreeSet<_> = self.places.iter().map(|held| held.place.token.to_string()).collect();
        let tickets: BTreeSet<_> = self.places.iter().map(|held| held.place.ticket).collect();
        let joined = self.places.len();
        ensure!((tokens.len(), tickets.len()) == (joined, joined), "two have the same token or ticket");

        let mut admitted = Vec::new();
        for (rank, (held, admission)) in self.places.iter().zip(self.admissions(stage)?).enumerate() {
            let admission = admission.with_context(|| format!("ticket {} is lost", held.place.ticket))?;
            ensure!(admission.ticket == held.place.ticket, "another's ticket");
            admitted.push((admission.at, rank, admission.by));
        }
        let mut windows = BTreeMap::new();
        for (_, _, by) in &admitted {
            if let AdmittedBy::Slice(slice) = by {
                *windows.entry(slice.plan).or_default() += 1;
            }
        }
        admitted.sort_by_key(|&(at, rank, _)| (at, rank));
        let mut displaced: Vec<_> =
            admitted.iter().enumerate().map(|(turn, (_, rank, _))| turn.abs_diff(*rank)).collect();
        displaced.sort_unstable();
        let at_once = self.places.iter().map(|one| self.asked_around(one)).max();
        Ok(CrowdReport {
            windows,
            times: admitted.iter().map(|&(at, _, _)| at).collect(),
            displaced: displaced.get(joined * 9 / 10).copied().unwrap_or(0),
            at_once: at_once.unwrap_or(0),
        })
    }

    /// How many visitors sent their request between this one's request and two seconds after its answer.
    fn asked_around(&self, one: &HeldPlace) -> usize {
        let around = one.asked..=one.given + Duration::from_secs(2);
        self.places.iter().filter(|other| around.contains(&other.asked)).count()
    }
}
