//! The room's door, as far as it keeps visitors waiting: AWS's limits, and the numbers that its functions have reserved.

use aws_model::Limit;
use page::visitor::AskedFor;
use rand::RngExt;
use rand::rngs::StdRng;
use waitroom::{Ticket, TicketBlock, Timestamp};

use crate::course::whole;
use crate::gate::{GateState, RoomGate};
use crate::room::RoomOnClock;
use crate::scenario::{AwsAccount, Scenario};

/// The limits that refuse requests on AWS.
pub(crate) struct DoorGates {
    /// None behind an edge: `CloudFront` holds nobody back.
    api: Option<GateState>,
    functions: GateState,
    /// The files of the page besides its document.
    further_files: u32,
}

/// What a request did not get past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DoorRefusal {
    TooManyRequests,
    NoFunction,
}

/// The environments of the producer, each with its block of ticket numbers.
pub(crate) struct Producers {
    blocks: Vec<TicketBlock>,
    /// How many joins a second Lambda gives to one of them; `None` on one machine, which has one.
    joins_each: Option<f64>,
    /// How many joined in this second, and in the one before.
    joined: (u32, u32, u32),
}

impl DoorGates {
    pub(crate) const fn refuses_beyond(limit: Limit) -> bool {
        matches!(limit, Limit::ApiRequests | Limit::RoomRequests | Limit::Concurrency)
    }

    pub(crate) fn new(account: &AwsAccount, scenario: &Scenario) -> Self {
        let AwsAccount { limits, room } = account;
        let least = |own: Option<f64>, limit: f64| whole(own.map_or(limit, |own| own.min(limit)));
        let api = RoomGate {
            per_second: least(room.requests_per_second, limits.api_requests),
            burst: least(room.request_burst, limits.api_burst),
        };
        let visits = whole(aws_model::visits_per_second(limits, room, scenario.highest_rate()));
        let functions = RoomGate { per_second: visits, burst: visits };
        let api = (!room.edge.answers()).then(|| GateState::new(api));
        Self { api, functions: GateState::new(functions), further_files: room.further_files }
    }

    /// Whether a request gets its answer, or what it didn't get past.
    pub(crate) fn let_through(&mut self, at: u32, what: AskedFor) -> Result<(), DoorRefusal> {
        // Behind an edge, functions answer polls, too, and the edge answers what is the same for everybody.
        let needs_function = match what {
            AskedFor::Door => true,
            AskedFor::Poll => self.api.is_none(),
            AskedFor::Document | AskedFor::Status => false,
        };
        if self.api.as_mut().is_some_and(|api| !api.lets_through(micros(at))) {
            Err(DoorRefusal::TooManyRequests)
        } else if needs_function && !self.functions.lets_through(micros(at)) {
            Err(DoorRefusal::NoFunction)
        } else {
            Ok(())
        }
    }

    /// They use up the limit, whether or not it lets them through: the page does not ask for them again.
    pub(crate) fn load_further_files(&mut self, at: u32) {
        let Some(api) = &mut self.api else { return };
        for _ in 0..self.further_files {
            api.lets_through(micros(at));
        }
    }
}

impl Producers {
    pub(crate) fn new(account: Option<&AwsAccount>) -> Self {
        let joins_each = account.map(|account| 1.0 / aws_model::environments_per_visit(&account.room));
        Self { blocks: vec![TicketBlock::new()], joins_each, joined: (0, 0, 0) }
    }

    /// A number from the block of any environment.
    pub(crate) fn ticket(
        &mut self,
        room: &RoomOnClock,
        at: u32,
        now: Timestamp,
        rng: &mut StdRng,
    ) -> Option<Ticket> {
        let second = at / 1000;
        let (present, joined, before) = self.joined;
        self.joined = match second - present {
            0 => (second, joined + 1, before),
            1 => (second, 1, joined),
            _ => (second, 1, 0),
        };
        if let Some(joins_each) = self.joins_each {
            let needed = whole(f64::from(self.joined.1.max(self.joined.2)) / joins_each) as usize;
            self.blocks.resize_with(self.blocks.len().max(needed), TicketBlock::new);
        }
        let chosen = rng.random_range(0..self.blocks.len());
        let block = &mut self.blocks[chosen];
        if let Some(ticket) = block.take(now) {
            return Some(ticket);
        }
        let wanted = block.wanted(now);
        let first = room.lease(wanted);
        block.fill(first..first + u64::from(wanted), now);
        block.take(now)
    }
}

/// The instants of gates.
fn micros(at: u32) -> u64 {
    u64::from(at) * 1000
}
