use waitroom::ports::{
    ActiveVisitors, Admissions, AuditTrail, HelpDesk, KeyAdmin, LineLength, MinuteLog, NewcomerCount, Plans,
    RoomAdmin, RoomReader, StatusBoard, StockCount, Store, ThrottleStore,
};

waitroom::used_ports! {
    /// The ports that [`execute`](crate::execute) uses.
    pub trait OperatorStore: Store<Line: LineLength, Ledger: OperatorLedger>
}

waitroom::used_ports! {
    /// Those of the ledger, for orders that need no line.
    pub trait OperatorLedger:
        RoomReader + StatusBoard + StockCount + Admissions + HelpDesk + Plans + ThrottleStore + RoomAdmin + AuditTrail + MinuteLog + NewcomerCount + KeyAdmin + ActiveVisitors
}
