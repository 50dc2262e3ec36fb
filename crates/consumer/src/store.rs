use waitroom::ports::{Admissions, LineFront, LineLength, MinuteLog, RoomReader, Slices, StatusBoard};

/// What a consumer needs of a store.
pub trait ConsumerStore:
    RoomReader + LineFront + LineLength + Admissions + Slices + StatusBoard + MinuteLog
{
}

impl<S: RoomReader + LineFront + LineLength + Admissions + Slices + StatusBoard + MinuteLog> ConsumerStore
    for S
{
}
