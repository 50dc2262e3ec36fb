use std::future::Future;
use std::time::Duration;

use waitroom::ports::{
    ActiveVisitors, Admissions, AuditTrail, EntryCount, HelpCalls, HelpDesk, KeyAdmin, Keys, LineBack,
    LineFront, LineLength, LineStatusReader, MinuteLog, NewcomerCount, Permits, Plans, QuietSwitch,
    Rescheduling, RoomReader, Slices, StatusBoard, StockCount, Store, ThrottleStore, TicketCounter,
    TurnoutCount,
};
use waitroom::{Room, Timestamp};

waitroom::used_ports! {
    /// All ports of a line.
    pub trait LinePorts: TicketCounter + LineBack + LineFront + LineLength
}

waitroom::used_ports! {
    /// All ports of a ledger.
    pub trait LedgerPorts:
        RoomReader
        + QuietSwitch
        + Rescheduling
        + Admissions
        + Permits
        + NewcomerCount
        + StockCount
        + HelpCalls
        + HelpDesk
        + Plans
        + Slices
        + StatusBoard
        + LineStatusReader
        + Keys
        + KeyAdmin
        + ThrottleStore
        + AuditTrail
        + EntryCount
        + TurnoutCount
        + ActiveVisitors
        + MinuteLog
}

/// A new room for one clause, and what a test needs beyond the ports.
pub trait Fixture: Sized {
    type Store: Store<Line: LinePorts, Ledger: LedgerPorts>;

    /// For how long this line hides visitors who were received; of an emulator's queue, shorter than of a room's.
    const HIDDEN_FOR: Duration;

    /// A new room with an empty line.
    fn new() -> impl Future<Output = Self>;

    /// A new room with a message in its line that is not a visitor.
    fn with_stray_message(body: &str) -> impl Future<Output = Self>;

    fn store(&self) -> &Self::Store;

    fn line(&self) -> &<Self::Store as Store>::Line {
        self.store().line()
    }

    fn ledger(&self) -> &<Self::Store as Store>::Ledger {
        self.store().ledger()
    }

    /// Changes the room as the operator would.
    fn change_room(&self, change: impl FnOnce(&mut Room) + Send + 'static) -> impl Future<Output = ()>;

    /// The store's time.
    fn now(&self) -> Timestamp;

    fn wait_until(&self, at: Timestamp) -> impl Future<Output = ()>;

    /// Waits until visitors who were received and not removed are delivered again.
    fn wait_for_redelivery(&self) -> impl Future<Output = ()> {
        self.wait_until(self.now() + Self::HIDDEN_FOR)
    }
}
