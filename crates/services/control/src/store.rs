use waitroom::ports::{
    AuditTrail, KeyAdmin, LineLength, MinuteLog, Plans, RoomAdmin, RoomReader, StatusBoard, ThrottleStore,
};

/// The ports that [`execute`](crate::execute) uses.
pub trait OperatorStore:
    RoomReader + StatusBoard + LineLength + Plans + ThrottleStore + RoomAdmin + AuditTrail + MinuteLog + KeyAdmin
{
}

impl<S> OperatorStore for S where
    S: RoomReader
        + StatusBoard
        + LineLength
        + Plans
        + ThrottleStore
        + RoomAdmin
        + AuditTrail
        + MinuteLog
        + KeyAdmin
{
}
