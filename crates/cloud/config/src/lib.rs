//! The configuration of a room, on one machine and on AWS.
//!
//! [`RoomConfig`] is defined by one table, in `room_config.rs`. A row is a setting: its key in the configuration file,
//! its type with its bounds, an example, and its parameter in `infra/template.yaml`. From the table come:
//!
//! | | |
//! | --- | --- |
//! | [`RoomConfig::from_entries`] | reads a configuration file; reports every mistake at once |
//! | [`RoomConfig::entries`] | the entries to write into the file |
//! | [`ROWS`] | the settings that a new file explains |
//! | [`RoomConfig::parameters`] | the parameters of the room's stack |
//! | [`SetupProperties::read`] | reads the input of the stack's setup function, every parameter that it is given |
//!
//! To add a setting, add a row to the table, a parameter to `infra/template.yaml`, and the code that uses the field. A
//! test of the crate `cloud` fails if the row and the parameter differ.
//!
//! The crate does not depend on TOML, JSON or YAML: a value from any of them is converted to a [`ConfigValue`].

mod architecture;
mod edge;
mod nearest;
mod number;
mod read;
mod region;
mod room_config;
mod setting;
mod setup_properties;
mod text;
mod value;

pub use architecture::Architecture;
pub use edge::EdgeSetting;
pub use nearest::nearest;
pub use number::{AddressLimit, ChallengeAbove, LogDays, Whole, WindowSeconds};
pub use region::{Region, RegionError, RegionNameError};
pub use room_config::{
    LifetimeMinutes, MostActive, MostSurplus, ROWS, RoomConfig, SETTINGS, SessionMinutes, SettingsTable,
};
pub use setting::{Allowed, Presence, Setting, SettingRow, SettingValue};
pub use setup_properties::SetupProperties;
pub use text::{AccountId, CertificateArn, DomainName, EmailAddress, PageFolder, ProfileName};
pub use value::ConfigValue;
