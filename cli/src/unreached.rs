//! What to do if a room on this machine isn't reached.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use control::{SocketError, SocketRoom};
use waitroom::RoomId;

use crate::arguments::{LOCAL, ROOM_FILE};
use crate::data;
use crate::exit::{Exit, Failure};
use crate::flags_file::text_of;

/// The shipped unit: where a package has it, and where it is copied to.
const UNITS: [&str; 2] =
    ["/usr/lib/systemd/system/beekeeper.service", "/etc/systemd/system/beekeeper.service"];

/// What to do if the socket of a room can't be used.
pub(crate) fn advice_for(error: &SocketError) -> String {
    match error.cause.kind() {
        io::ErrorKind::PermissionDenied => {
            "run the command as the user who runs the room, or with sudo".into()
        }
        io::ErrorKind::TimedOut => OF_ONE_THAT_HANGS.into(),
        _ => {
            let has_unit = UNITS.iter().any(|unit| Path::new(unit).exists());
            let service =
                has_unit.then(|| text_of(Path::new(ROOM_FILE), "data")).flatten().map(PathBuf::from);
            let start = start(&error.room, service.as_deref());
            match &*data::running() {
                [] => start,
                running => format!("{}; or {start}", for_a_room_here(running)),
            }
        }
    }
}

/// How to start this room. `service` is the data directory of the one that runs as a service.
fn start(room: &SocketRoom, service: Option<&Path>) -> String {
    let by_hand = format!("start it with: beekeeper local {}", typed(room));
    match service {
        None => by_hand,
        Some(data) if data == room.directory => "start it with: sudo systemctl start beekeeper".into(),
        Some(data) => format!(
            "the room that is a service has --data {}, and starts with: sudo systemctl start beekeeper. For one in {}, {by_hand}",
            data.display(),
            room.directory.display()
        ),
    }
}

/// How `beekeeper local` names a room.
fn typed(room: &SocketRoom) -> String {
    let name = room.name.as_ref();
    let is_usual = |name: &&RoomId| data::directory(None, name).is_ok_and(|usual| usual == room.directory);
    let data = match name.filter(is_usual) {
        Some(_) => None,
        None => Some(format!("--data {}", room.directory.display())),
    };
    let words = [name.map(ToString::to_string), data];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

const OF_ONE_THAT_HANGS: &str = "see what its process does; if it hangs, start it again: everybody keeps their place. Look at the \
                                 room's history before you repeat an order";

/// The error for a room on this machine whose process runs and does not reply.
pub(crate) fn hangs(waited: Duration) -> Failure {
    let text = format!("the room does not answer within {} seconds", waited.as_secs());
    Failure::new(Exit::Failed, text).advising(OF_ONE_THAT_HANGS)
}

/// Advice for a command that should have named a room on this machine.
pub(crate) fn for_a_room_here(running: &[RoomId]) -> String {
    let names: Vec<_> = running.iter().map(RoomId::as_str).collect();
    match *names {
        [] => "for a room on this machine, use --local".into(),
        [only] => format!("for the room {only}, which runs on this machine, use {LOCAL}{only}"),
        _ => format!("use {LOCAL}NAME for one of the rooms that run on this machine: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_cannot_reach_a_room_is_told_what_to_do() {
        let room = SocketRoom::new("/srv/sale").named("sale".parse().unwrap());
        let advice =
            |kind: io::ErrorKind| advice_for(&SocketError { room: room.clone(), cause: kind.into() });
        assert_eq!(
            advice(io::ErrorKind::PermissionDenied),
            "run the command as the user who runs the room, or with sudo"
        );
        assert!(advice(io::ErrorKind::TimedOut).contains("start it again: everybody keeps their place"));
        let start = advice(io::ErrorKind::NotFound);
        assert!(start.ends_with("start it with: beekeeper local sale --data /srv/sale"), "{start}");
    }

    #[test]
    fn a_service_is_named_where_there_is_one() {
        let room = SocketRoom::new("/srv/sale").named("sale".parse().unwrap());
        let of_service = start(&room, Some(Path::new("/srv/sale")));
        assert_eq!(of_service, "start it with: sudo systemctl start beekeeper");
        let other = start(&room, Some(Path::new("/var/lib/beekeeper")));
        assert!(
            other.starts_with("the room that is a service has --data /var/lib/beekeeper, and"),
            "{other}"
        );
        assert!(
            other.ends_with(". For one in /srv/sale, start it with: beekeeper local sale --data /srv/sale"),
            "{other}"
        );
    }
}
