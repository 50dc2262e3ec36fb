//! The store of a simulated room: a line and a ledger, with faults before both.

use std::time::Duration;

use embedded::EmbeddedStore;
use memory::MemoryLine;
use waitroom::ports::{Delivery, LineBack, LineFront, LineLength, PortResult, Receipt, Store, TicketCounter};
use waitroom::{IssuedTickets, Place};

use crate::faults::FaultyPorts;

#[derive(Clone, Debug)]
pub(crate) struct WorldStore {
    pub(crate) line: FaultyPorts<WorldLine>,
    pub(crate) ledger: FaultyPorts<EmbeddedStore>,
}

impl Store for WorldStore {
    type Line = FaultyPorts<WorldLine>;
    type Ledger = FaultyPorts<EmbeddedStore>;

    fn line(&self) -> &Self::Line {
        &self.line
    }

    fn ledger(&self) -> &Self::Ledger {
        &self.ledger
    }
}

/// Where visitors wait.
#[derive(Clone, Debug)]
pub(crate) enum WorldLine {
    /// In the file of the ledger. That line is in order.
    InFile(EmbeddedStore),
    /// In a line outside, as on AWS.
    Outside(MemoryLine),
}

/// The same call to whichever line it is.
macro_rules! forward {
    ($line:ident.$($call:tt)*) => {
        match $line {
            Self::InFile(line) => line.$($call)*.await,
            Self::Outside(line) => line.$($call)*.await,
        }
    };
}

impl TicketCounter for WorldLine {
    async fn lease(&self, count: u32) -> PortResult<u64> {
        forward!(self.lease(count))
    }
}

impl LineBack for WorldLine {
    async fn join(&self, visitor: Place) -> PortResult<()> {
        forward!(self.join(visitor))
    }
}

impl LineFront for WorldLine {
    async fn receive(&self, most: u32, patience: Duration) -> PortResult<Vec<Delivery>> {
        forward!(self.receive(most, patience))
    }

    async fn keep(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        forward!(self.keep(receipts))
    }

    async fn hand_back(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        forward!(self.hand_back(receipts))
    }

    async fn remove(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        forward!(self.remove(receipts))
    }

    async fn bury(&self, receipt: Receipt, body: String) -> PortResult<()> {
        forward!(self.bury(receipt, body))
    }
}

impl LineLength for WorldLine {
    async fn waiting(&self) -> PortResult<u64> {
        forward!(self.waiting())
    }

    async fn issued(&self) -> PortResult<IssuedTickets> {
        forward!(self.issued())
    }

    async fn joined(&self) -> PortResult<Option<u64>> {
        forward!(self.joined())
    }
}
