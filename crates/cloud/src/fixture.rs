use config::{AddressLimit, ConfigValue, EdgeSetting, RoomConfig, SettingValue};
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

/// That of a room with a firewall in front of its edge.
pub(crate) fn edge_config() -> RoomConfig {
    RoomConfig {
        edge: Some(EdgeSetting::Yes),
        door_requests_per_address: Some(AddressLimit::from_value(ConfigValue::Number(5000)).unwrap()),
        ..room_config("sale")
    }
}
