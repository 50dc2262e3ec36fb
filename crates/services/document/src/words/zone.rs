//! The time zone of this machine.

use std::env;
use std::fs;
use std::io::ErrorKind;

use jiff::tz::TimeZone;

const LOCALTIME: &str = "/etc/localtime";

/// This machine names a time zone that cannot be read. Taking it for UTC would open a room hours away from what was meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownZone {
    #[error("this machine knows no time zone `{0}`, which the variable TZ names")]
    Variable(String),
    #[error("could not read this machine's time zone from {LOCALTIME}")]
    Localtime,
}

/// The zone that `TZ` names, or else `/etc/localtime`. A machine that has neither is in UTC, as containers are. Rules come from
/// the machine, or from this program if the machine has none.
pub fn local_zone() -> Result<TimeZone, UnknownZone> {
    TimeZone::try_system().or_else(|_| match env::var_os("TZ") {
        Some(name) => Err(UnknownZone::Variable(name.to_string_lossy().into_owned())),
        None => match fs::symlink_metadata(LOCALTIME) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(TimeZone::UTC),
            _ => Err(UnknownZone::Localtime),
        },
    })
}
