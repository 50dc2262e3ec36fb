//! What to do if a room on this machine isn't reached.

use std::io;
use std::time::Duration;

use control::{SocketError, SocketFailure, SocketRoom};
use rooms::data;
use waitroom::RoomId;

use crate::arguments::LOCAL;
use crate::exit::{Exit, Failure};
use crate::service_room::{self, ServiceRoom};

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
            let elsewhere = elsewhere(&error.room, ServiceRoom::of_this_machine().as_ref());
            match &*data::running() {
                [] => elsewhere,
                running => format!("{}; or {elsewhere}", for_a_room_here(running)),
            }
        }
        SocketFailure::Unanswered(cause) if cause.kind() == io::ErrorKind::TimedOut => {
            then_look(OF_ONE_THAT_HANGS.into())
        }
        SocketFailure::Unanswered(_) => {
            let start = start(&error.room, ServiceRoom::of_this_machine().as_ref());
            then_look(format!("if it doesn't run any more, start it with: {start}; everybody keeps their place"))
        }
        SocketFailure::NotUnderstood(_) => then_look(
            "use the same version of beekeeper as the room; or start the room again with this one, and everybody keeps their \
             place"
                .into(),
        ),
    }
}

/// What to do if no room runs where one was looked for.
fn elsewhere(room: &SocketRoom, service: Option<&ServiceRoom>) -> String {
    let starting = format!("start it with: {}", start(room, service));
    let Some(service) = service.filter(|service| service.data != room.directory) else { return starting };
    match (service.asked_about(room.name.as_ref()), &room.name) {
        // A room of that name would be a demonstration.
        (Some(question), Some(name)) if *name == service.name => question,
        (Some(question), _) => format!("{question}; or {starting}"),
        (None, _) => {
            let ServiceRoom { name, data } = service;
            format!("{starting}; the service {name} has --data {}", data.display())
        }
    }
}

/// How to start this room on this machine.
pub(crate) fn starting(room: &SocketRoom) -> String {
    start(room, ServiceRoom::of_this_machine().as_ref())
}

fn start(room: &SocketRoom, service: Option<&ServiceRoom>) -> String {
    if service.is_some_and(|service| service.data == room.directory) {
        return service_room::START.into();
    }
    format!("beekeeper local {}", typed(room))
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

/// Advice for a command that should have named a room on this machine, or named one that isn't found.
#[cfg(feature = "aws")]
pub(crate) fn or_here(advice: &str, named: Option<&RoomId>) -> String {
    let advice = format!("{advice}; or {}", for_a_room_here(&data::running()));
    match ServiceRoom::of_this_machine().and_then(|service| service.asked_about(named)) {
        Some(question) => format!("{question}; or {advice}"),
        None => advice,
    }
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
        let service = ServiceRoom { name: "sale".parse().unwrap(), data: "/var/lib/beekeeper".into() };
        let at = |directory: &str, name: &str| SocketRoom::new(directory).named(name.parse().unwrap());
        let told = |room: SocketRoom| elsewhere(&room, Some(&service));
        assert_eq!(told(at("/var/lib/beekeeper", "sale")), "start it with: sudo systemctl start beekeeper");
        let forgot = told(at("/home/anna/.local/share/beekeeper/sale", "sale"));
        assert!(
            forgot.starts_with("do you mean the service sale? ") && !forgot.contains("start it"),
            "{forgot}"
        );
        assert!(forgot.ends_with("--data /var/lib/beekeeper"), "{forgot}");
        let unnamed = told(SocketRoom::new("/srv/other"));
        assert!(
            unnamed.starts_with("do you mean the service sale? ")
                && unnamed.ends_with("; or start it with: beekeeper local --data /srv/other"),
            "{unnamed}"
        );
        assert_eq!(
            told(at("/srv/summer", "summer")),
            "start it with: beekeeper local summer --data /srv/summer; the service sale has --data /var/lib/beekeeper"
        );
    }
}
