//! The rooms of an operator: where they are configured, where those on this machine are kept, and how each does.

mod backup;
mod config_file;
mod config_folder;
mod config_rules;
mod custom_page;
pub mod data;
mod list;
mod restore;
mod stopped_room;

pub use backup::{UnfinishedBackup, back_up, file_exists};
pub use config_file::{changes, read as read_config};
pub use config_folder::{ConfigFolder, UnknownRoom};
pub use config_rules::{is_the_room, refuse_another_region, unchanged_room};
pub use custom_page::custom_page;
pub use list::{ConfiguredRoom, Deployed, ListedLine, ListedRoom, PATIENCE, RoomHere, listed};
pub use restore::{FileInPlace, RoomFile};
pub use stopped_room::StoppedRoom;
