//! What to do if a room on this machine isn't reached.

use std::io;
use std::time::Duration;

use control::{SocketError, SocketRoom};
use waitroom::RoomId;

use crate::arguments::LOCAL;
use crate::data;
use crate::exit::{Exit, Failure};

/// What to do if the socket of a room can't be used.
pub(crate) fn advice_for(error: &SocketError) -> String {
    match error.cause.kind() {
        io::ErrorKind::PermissionDenied => {
            "run the command as the user who runs the room, or with sudo".into()
        }
        io::ErrorKind::TimedOut => OF_ONE_THAT_HANGS.into(),
        _ => {
            let start = format!("start it with: beekeeper local {}", typed(&error.room));
            match &*data::running() {
                [] => start,
                running => format!("{}; or {start}", for_a_room_here(running)),
            }
        }
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
}
