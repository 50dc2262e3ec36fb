use waitroom::ports::{Admissions, LineFront, LineLength, MinuteLog, RoomReader, Slices, StatusBoard, Store};

waitroom::used_ports! {
    /// What a consumer needs of a store.
    pub trait ConsumerStore: Store<
        Line: LineFront + LineLength,
        Ledger: RoomReader + Admissions + Slices + StatusBoard + MinuteLog,
    >
}
