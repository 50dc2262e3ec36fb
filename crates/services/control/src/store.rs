use waitroom::ports::{
    AuditTrail, KeyAdmin, LineLength, MinuteLog, Plans, RoomAdmin, RoomReader, StatusBoard, Store,
    ThrottleStore,
};

/// The ports that [`execute`](crate::execute) uses.
pub trait OperatorStore: Store<Line: LineLength, Ledger: OperatorLedger> {}

impl<S: Store<Line: LineLength, Ledger: OperatorLedger>> OperatorStore for S {}

/// Those of the ledger, for orders that need no line.
pub trait OperatorLedger:
    RoomReader + StatusBoard + Plans + ThrottleStore + RoomAdmin + AuditTrail + MinuteLog + KeyAdmin
{
}

impl<L> OperatorLedger for L where
    L: RoomReader + StatusBoard + Plans + ThrottleStore + RoomAdmin + AuditTrail + MinuteLog + KeyAdmin
{
}
