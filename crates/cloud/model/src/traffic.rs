//! What a room uses of every limit at one moment.

use waitroom::Rate;

use crate::edge_copies::EdgeCopies;
use crate::facts::facts;
use crate::hot_items::most_on_one;
use crate::visit::{VisitPolls, WAIT_MINUTES, requests_of_join};
use crate::work::{
    CAME_WRITES, EDGE_POLL_READS, MINUTE_WRITES, POLL_READS, RELEASE_WRITES, SLICE_READS, SLICE_SECONDS,
    SLICE_WRITES, STATUS_COPIES, TURN_READS, in_flight, leases_per_join, other_functions, producers, slices,
};
use crate::{AccountLimits, Limit, ModelledRoom};

/// What happens in a room in one second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    pub joins_per_second: f64,
    /// The first one of every visitor included.
    pub polls_per_second: f64,
    /// Polls that an edge answers.
    pub shared_polls_per_second: f64,
    /// Visitors whose turn it is, and who come to the door once more.
    pub turns_per_second: f64,
    pub releases_per_second: f64,
    /// All requests that were refused.
    pub refused_per_second: f64,
    /// Those of them that came to the door, and for which no function was free.
    pub refused_visits_per_second: f64,
    /// How many visitors a minute the consumers are to release.
    pub rate: Rate,
    /// How many environments of the producer Lambda has had the time to start; `None` if all that are needed.
    pub started: Option<f64>,
}

/// How much of a limit is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    pub limit: Limit,
    pub used: f64,
    pub available: f64,
}

impl Usage {
    pub(crate) fn is_too_much(&self) -> bool {
        self.used > self.available
    }

    /// The part of the limit that is used; more than 1 is too much.
    pub fn share(&self) -> f64 {
        self.used / self.available.max(f64::MIN_POSITIVE)
    }
}

impl Traffic {
    /// So many join a second while so many wait, and the line moves at this rate.
    pub(crate) fn of_line(joins_per_second: f64, waiting: f64, rate: Rate, has_edge: bool) -> Self {
        let polls = VisitPolls::of_line(waiting, rate, has_edge);
        Self {
            joins_per_second,
            polls_per_second: joins_per_second + polls.own,
            shared_polls_per_second: polls.shared,
            turns_per_second: f64::from(rate.get()) / 60.0,
            releases_per_second: f64::from(rate.get()) / 60.0,
            refused_per_second: 0.0,
            refused_visits_per_second: 0.0,
            rate,
            started: None,
        }
    }

    /// All who join do so at once. Lambda has had no time to start functions for them, but has started the others of an edge.
    pub(crate) fn suddenly(self, room: &ModelledRoom) -> Self {
        // The door, and the page's first poll.
        let newcomers = producers(2.0 * self.joins_per_second, room.times);
        let started = if room.edge.answers() { self.producers(room) - newcomers } else { 0.0 };
        Self { started: Some(started), ..self }
    }

    /// Visitors come at this rate, wait [`WAIT_MINUTES`] and go.
    pub fn kept_up(rate: Rate, has_edge: bool) -> Self {
        let per_minute = f64::from(rate.get());
        Self::of_line(per_minute / 60.0, per_minute * f64::from(WAIT_MINUTES), rate, has_edge)
    }

    /// How many environments of the producer this needs.
    pub fn producers(&self, room: &ModelledRoom) -> f64 {
        producers(self.asked_of_functions(room) + self.refused_visits_per_second, room.times)
    }

    /// The requests that a function answers: visits to the door, and behind an edge also polls and whatever it keeps.
    fn asked_of_functions(&self, room: &ModelledRoom) -> f64 {
        let reads = if room.edge.answers() { self.polls_per_second } else { 0.0 };
        self.joins_per_second + self.turns_per_second + reads + EdgeCopies::per_second(room).all()
    }

    /// Every limit, with what is used of it.
    pub fn usage(&self, limits: &AccountLimits, room: &ModelledRoom) -> Vec<Usage> {
        let fixed = &facts().fixed;
        let (turns, polls) = (self.turns_per_second, self.polls_per_second);
        let visits = self.asked_of_functions(room);
        let requests = self.joins_per_second * requests_of_join(room.further_files)
            + polls
            + self.shared_polls_per_second
            + turns
            + self.refused_per_second;
        let slices = slices(self.rate.get());
        // Every environment reads the room once a second at most, and only when it has a visit.
        let room_reads = producers(visits, room.times).min(visits) + slices * SLICE_READS / SLICE_SECONDS;
        let leases = self.joins_per_second * leases_per_join();
        let edge_copies = EdgeCopies::per_second(room);
        let poll_reads = if room.edge.answers() { EDGE_POLL_READS } else { POLL_READS };
        let reads = polls * poll_reads + turns * TURN_READS + room_reads + edge_copies.reads();
        // A poll's read of a copy is half a unit. All other reads are spread evenly: visitors are many.
        let copies = polls / 2.0 + edge_copies.statuses / 2.0;
        let hottest = f64::from(most_on_one(STATUS_COPIES, room.partitions()));
        let on_one_partition =
            copies * hottest / f64::from(STATUS_COPIES) + (reads - copies) / f64::from(room.partitions());
        let writes = leases
            + self.releases_per_second * RELEASE_WRITES
            + if room.oversubscription.is_some() { turns * CAME_WRITES } else { 0.0 }
            + (slices * SLICE_WRITES + MINUTE_WRITES) / 60.0;
        let wanted = self.producers(room);
        let functions = wanted + room.consumers_at(self.rate) + other_functions(room.throttle);
        let page_reads = if room.edge.answers() {
            edge_copies.files
        } else {
            self.joins_per_second * (1.0 + f64::from(room.further_files))
        };
        let usage = |limit, used, available| Usage { limit, used, available };
        let mut all = vec![
            if room.edge.answers() {
                usage(Limit::EdgeRequests, requests, fixed.edge_requests.value)
            } else {
                usage(Limit::ApiRequests, requests, limits.api_requests)
            },
            usage(Limit::Concurrency, functions, limits.concurrency),
            usage(Limit::TicketCounter, leases, fixed.key_writes.value),
            usage(Limit::RoomItem, room_reads, fixed.key_reads.value),
            usage(Limit::StatusCopies, on_one_partition, fixed.key_reads.value),
            usage(Limit::TableReads, reads, limits.table_reads),
            usage(Limit::TableWrites, writes, limits.table_writes),
            usage(Limit::WarmReads, reads, room.warm_reads),
            usage(Limit::WarmWrites, writes, room.warm_writes),
            usage(Limit::PageReads, page_reads, fixed.object_reads.value),
            usage(Limit::InFlight, in_flight(self.rate.get()), fixed.messages_in_flight.value),
        ];
        // It is the API's.
        if let Some(own) = room.requests_per_second.filter(|_| !room.edge.answers()) {
            all.push(usage(Limit::RoomRequests, requests, own));
        }
        if let Some(started) = self.started {
            let new = (wanted - started).max(0.0);
            all.push(usage(Limit::NewEnvironments, new, fixed.new_environments.value));
        }
        all
    }

    /// The limit that this is too much for: the one that is exceeded most.
    pub(crate) fn exceeds(&self, limits: &AccountLimits, room: &ModelledRoom) -> Option<Limit> {
        let usage = self.usage(limits, room).into_iter().filter(Usage::is_too_much);
        usage.max_by(|one, other| one.share().total_cmp(&other.share())).map(|usage| usage.limit)
    }
}

/// How many requests a second the functions of an account serve, beside the room's other functions at this rate and what an edge
/// keeps for everybody.
pub fn visits_per_second(limits: &AccountLimits, room: &ModelledRoom, rate: Rate) -> f64 {
    let beside = room.consumers_at(rate) + other_functions(room.throttle);
    let copies = producers(EdgeCopies::per_second(room).all(), room.times);
    (limits.concurrency - beside - copies).max(0.0) / environments_per_visit(room)
}

/// How many environments of the producer one visit a second needs.
pub fn environments_per_visit(room: &ModelledRoom) -> f64 {
    producers(1.0, room.times)
}
