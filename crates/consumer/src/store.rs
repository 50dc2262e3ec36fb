use waitroom::ports::{
    Admissions, LineFront, LineLength, MinuteLog, Permits, RoomReader, Slices, StatusBoard, StockCount, Store,
};

waitroom::used_ports! {
    /// What a consumer needs of a store.
    pub trait ConsumerStore: Store<
        Line: LineFront + LineLength,
        Ledger: RoomReader + Admissions + Permits + StockCount + Slices + StatusBoard + MinuteLog,
    >
}
