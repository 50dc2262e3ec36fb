use config::RoomConfig;
use waitroom::Rate;

/// The configuration of a room with this name, for tests.
pub(crate) fn room_config(name: &str) -> RoomConfig {
    RoomConfig::new(
        name.parse().unwrap(),
        "Sale".parse().unwrap(),
        "https://shop.example".parse().unwrap(),
        Rate::new(300).unwrap(),
    )
}
