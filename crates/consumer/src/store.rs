use waitroom::ports::{Admissions, LineFront, LineLength, MinuteLog, RoomReader, Slices, StatusBoard, Store};

/// What a consumer needs of a store.
pub trait ConsumerStore:
    Store<Line: LineFront + LineLength, Ledger: RoomReader + Admissions + Slices + StatusBoard + MinuteLog>
{
}

impl<S> ConsumerStore for S where
    S: Store<
            Line: LineFront + LineLength,
            Ledger: RoomReader + Admissions + Slices + StatusBoard + MinuteLog,
        >
{
}
