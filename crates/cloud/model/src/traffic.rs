//! What a room uses of every limit at one moment.

use waitroom::Rate;

use crate::facts::facts;
use crate::visit::{polls_of_line, requests_to_join};
use crate::work::{
    MINUTE_WRITES, POLL_READS, RELEASE_WRITES, SLICE_READS, SLICE_SECONDS, SLICE_WRITES, STATUS_COPIES,
    TURN_READS, consumers, in_flight, leases_per_join, other_functions, producers, slices,
};
use crate::{AccountLimits, Limit, ModelledRoom};

/// What happens in a room at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) joins_per_second: f64,
    pub(crate) waiting: f64,
    /// Visitors released a minute, who then come to the door once more.
    pub(crate) rate: Rate,
    /// It has just begun, so that Lambda has had no time to start more functions.
    pub(crate) is_sudden: bool,
}

/// How much of a limit is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    pub(crate) limit: Limit,
    pub(crate) used: f64,
    pub(crate) available: f64,
}

impl Usage {
    pub(crate) fn is_too_much(&self) -> bool {
        self.used > self.available
    }
}

impl Traffic {
    /// Every limit, with what is used of it.
    pub(crate) fn usage(&self, limits: &AccountLimits, room: &ModelledRoom) -> Vec<Usage> {
        let fixed = &facts().fixed;
        let turns = f64::from(self.rate.get()) / 60.0;
        let polls = polls_of_line(self.waiting, self.rate);
        let visits = self.joins_per_second + turns;
        let requests = self.joins_per_second * requests_to_join(room.further_files) + polls + turns;
        let all_polls = polls + self.joins_per_second;
        let slices = slices(self.rate.get());
        // Every environment reads the room once a second at most, and only when it has a visit.
        let room_reads = producers(visits).min(visits) + slices * SLICE_READS / SLICE_SECONDS;
        let leases = self.joins_per_second * leases_per_join();
        let reads = all_polls * POLL_READS + turns * TURN_READS + room_reads;
        let writes = leases + turns * RELEASE_WRITES + (slices * SLICE_WRITES + MINUTE_WRITES) / 60.0;
        let consumers = consumers(self.rate.get()).max(room.reserved_consumers.into());
        let functions = producers(visits) + consumers + other_functions(room.throttle);
        let usage = |limit, used, available| Usage { limit, used, available };
        let mut all = vec![
            usage(Limit::ApiRequests, requests, limits.api_requests),
            usage(Limit::Concurrency, functions, limits.concurrency),
            usage(Limit::TicketCounter, leases, fixed.key_writes.value),
            usage(Limit::RoomItem, room_reads, fixed.key_reads.value),
            usage(Limit::StatusCopies, all_polls / STATUS_COPIES / 2.0, fixed.key_reads.value),
            usage(Limit::TableReads, reads, limits.table_reads),
            usage(Limit::TableWrites, writes, limits.table_writes),
            usage(Limit::WarmReads, reads, room.warm_reads),
            usage(Limit::WarmWrites, writes, room.warm_writes),
            usage(
                Limit::PageReads,
                self.joins_per_second * (1.0 + f64::from(room.further_files)),
                fixed.object_reads.value,
            ),
            usage(Limit::InFlight, in_flight(self.rate.get()), fixed.messages_in_flight.value),
        ];
        if let Some(own) = room.requests_per_second {
            all.push(usage(Limit::RoomRequests, requests, own));
        }
        if self.is_sudden {
            all.push(usage(Limit::NewEnvironments, producers(visits), fixed.new_environments.value));
        }
        all
    }

    /// The limit that this is too much for: the one that is exceeded most.
    pub(crate) fn exceeds(&self, limits: &AccountLimits, room: &ModelledRoom) -> Option<Limit> {
        let usage = self.usage(limits, room).into_iter().filter(Usage::is_too_much);
        let share = |usage: &Usage| usage.used / usage.available.max(f64::MIN_POSITIVE);
        usage.max_by(|one, other| share(one).total_cmp(&share(other))).map(|usage| usage.limit)
    }
}
