//! Handlers take a line and a ledger as one handle, so the ledger has the ports of its line too.

use std::time::Duration;

use waitroom::ports::{Delivery, LineBack, LineFront, LineLength, PortResult, Receipt, TicketCounter};
use waitroom::{IssuedTickets, Place};

use crate::{AdmissionTable, MemoryLedger};

impl<A: AdmissionTable> TicketCounter for MemoryLedger<A> {
    async fn lease(&self, count: u32) -> PortResult<u64> {
        self.line.lease(count).await
    }
}

impl<A: AdmissionTable> LineBack for MemoryLedger<A> {
    async fn join(&self, visitor: Place) -> PortResult<()> {
        self.line.join(visitor).await
    }
}

impl<A: AdmissionTable> LineFront for MemoryLedger<A> {
    async fn receive(&self, most: u32, patience: Duration) -> PortResult<Vec<Delivery>> {
        self.line.receive(most, patience).await
    }

    async fn keep(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.line.keep(receipts).await
    }

    async fn hand_back(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.line.hand_back(receipts).await
    }

    async fn remove(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.line.remove(receipts).await
    }

    async fn bury(&self, receipt: Receipt, body: String) -> PortResult<()> {
        self.line.bury(receipt, body).await
    }
}

impl<A: AdmissionTable> LineLength for MemoryLedger<A> {
    async fn waiting(&self) -> PortResult<u64> {
        self.line.waiting().await
    }

    async fn issued(&self) -> PortResult<IssuedTickets> {
        self.line.issued().await
    }

    async fn joined(&self) -> PortResult<Option<u64>> {
        self.line.joined().await
    }
}
