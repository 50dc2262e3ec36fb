//! What to do if a room on this machine isn't reached.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use control::{SocketError, SocketFailure, SocketRoom};
use rooms::data;
use waitroom::RoomId;

use crate::arguments::{LOCAL, ROOM_FILE};
use crate::exit::{Exit, Failure};
use crate::flags_file::text_of;

/// The shipped unit: where a package has it, and where it is copied to.
const UNITS: [&str; 2] =
    ["/usr/lib/systemd/system/beekeeper.service", "/etc/systemd/system/beekeeper.service"];

/// What to do if it isn't known whether an order was carried out.
pub(crate) const LOOK_FIRST: &str = "before you repeat the order, look whether it was carried out: `beekeeper status` says how the \
                                     room is, `beekeeper history` who ordered what";

/// What to do if a room gave no reply.
pub(crate) fn advice_for(error: &SocketError) -> String {
    let then_look =
        |advice: String| if error.may_be_done { format!("{advice}; {LOOK_FIRST}") } else { advice };
    match &error.failure {
        SocketFailure::Unreached(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            "run the command as the user who runs the room, or with sudo".into()
        }
        SocketFailure::Unreached(_) => {
            let start = starting(&error.room);
            match &*data::running() {
                [] => start,
                running => format!("{}; or {start}", for_a_room_here(running)),
            }
        }
        SocketFailure::Unanswered(cause) if cause.kind() == io::ErrorKind::TimedOut => {
            then_look(OF_ONE_THAT_HANGS.into())
        }
        SocketFailure::Unanswered(_) => {
            let start = starting(&error.room);
            then_look(format!("if it doesn't run any more, {start}; everybody keeps their place"))
        }
        SocketFailure::NotUnderstood(_) => then_look(
            "use the same version of beekeeper as the room; or start the room again with this one, and everybody keeps their \
             place"
                .into(),
        ),
    }
}

/// How to start this room on this machine.
fn starting(room: &SocketRoom) -> String {
    let has_unit = UNITS.iter().any(|unit| Path::new(unit).exists());
    let service = has_unit.then(|| text_of(Path::new(ROOM_FILE), "data")).flatten().map(PathBuf::from);
    start(room, service.as_deref())
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

const OF_ONE_THAT_HANGS: &str =
    "see what its process does; if it hangs, start it again: everybody keeps their place";

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
        let advice = |failure| {
            let may_be_done = !matches!(failure, SocketFailure::Unreached(_));
            advice_for(&SocketError { room: room.clone(), failure, may_be_done })
        };
        let (unreached, unanswered) = (SocketFailure::Unreached, SocketFailure::Unanswered);
        assert_eq!(
            advice(unreached(io::ErrorKind::PermissionDenied.into())),
            "run the command as the user who runs the room, or with sudo"
        );
        let start = advice(unreached(io::ErrorKind::NotFound.into()));
        assert!(start.ends_with("start it with: beekeeper local sale --data /srv/sale"), "{start}");
        let hangs = advice(unanswered(io::ErrorKind::TimedOut.into()));
        assert!(hangs.contains("start it again: everybody keeps their place"), "{hangs}");
        let ended = advice(unanswered(io::ErrorKind::UnexpectedEof.into()));
        assert!(
            ended.starts_with("if it doesn't run any more, start it with: beekeeper local sale"),
            "{ended}"
        );
        let other = advice(SocketFailure::NotUnderstood(serde_json::from_str::<u8>("x").unwrap_err()));
        assert!(other.starts_with("use the same version of beekeeper as the room"), "{other}");
        for unsure in [hangs, ended, other] {
            assert!(unsure.ends_with(LOOK_FIRST), "{unsure}");
        }
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
