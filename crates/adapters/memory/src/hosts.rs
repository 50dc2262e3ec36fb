//! Where the messages of a line lie.

use std::collections::{BTreeMap, VecDeque};

use waitroom::{Epoch, Place, Ticket, Timestamp, Token};

use crate::join_times::JoinTimes;

/// The messages on one host, by their rank: who joined first has the lowest.
pub(crate) struct LineHost {
    pub(crate) speed: f64,
    /// Those that nobody has received, in order. Millions may lie here.
    fresh: VecDeque<FreshMessage>,
    /// Those that were received before, and those that are no visitors.
    returned: BTreeMap<u64, LineMessage>,
}

/// A place, and its rank, in few bytes.
#[derive(Clone, Copy)]
struct FreshMessage {
    token: Token,
    ticket: Ticket,
    epoch: Epoch,
    rank: u32,
}

const _: () = assert!(size_of::<FreshMessage>() <= 32, "ten million of them are 320 MB");

#[derive(Clone)]
pub(crate) struct LineMessage {
    /// The visitor, or the message's text if it is not one.
    pub(crate) visitor: Result<Place, String>,
    pub(crate) joined: Timestamp,
    /// How often it was received.
    pub(crate) receipts: u32,
}

impl LineHost {
    pub(crate) fn new() -> Self {
        Self { speed: 1.0, fresh: VecDeque::new(), returned: BTreeMap::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.fresh.len() + self.returned.len()
    }

    pub(crate) fn clear(&mut self) {
        self.fresh.clear();
        self.returned.clear();
    }

    /// The rank of the first message.
    pub(crate) fn first(&self) -> Option<u64> {
        let fresh = self.fresh.front().map(|message| message.rank.into());
        let returned = self.returned.first_key_value().map(|(rank, _)| *rank);
        fresh.into_iter().chain(returned).min()
    }

    pub(crate) fn push(&mut self, rank: u32, visitor: Place) {
        let Place { epoch, token, ticket } = visitor;
        if self.fresh.len() == self.fresh.capacity() {
            // Twice as much, as usual, would be hundreds of megabytes for nothing.
            self.fresh.reserve_exact(64.max(self.fresh.len() / 8));
        }
        self.fresh.push_back(FreshMessage { token, ticket, epoch, rank });
    }

    pub(crate) fn put_back(&mut self, rank: u64, message: LineMessage) {
        self.returned.insert(rank, message);
    }

    /// Takes the first message.
    pub(crate) fn pop(&mut self, times: &JoinTimes) -> Option<(u64, LineMessage)> {
        let first = self.first()?;
        if let Some(returned) = self.returned.remove(&first) {
            return Some((first, returned));
        }
        let FreshMessage { token, ticket, epoch, rank } = self.fresh.pop_front()?;
        let visitor = Ok(Place { epoch, token, ticket });
        Some((first, LineMessage { visitor, joined: times.of(rank), receipts: 0 }))
    }
}
