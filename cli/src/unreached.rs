//! What to do if a room on this machine isn't reached.

use std::io;
use std::path::Path;
use std::time::Duration;

use control::{SocketError, SocketFailure, SocketRoom};
use embedded::EmbeddedStore;
use rooms::{ConfigFolder, data};
use waitroom::RoomId;

use crate::arguments::LOCAL;
use crate::exit::{Exit, Failure};
use crate::service_room::{START, ServiceRoom, USUAL_DATA};

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
            let (service, is_there) = (ServiceRoom::of_this_machine(), may_be_started(&error.room));
            let advice = unreached(&error.room, service.as_ref(), is_there);
            match &*data::running() {
                [] => advice,
                running => format!("{advice}; or {}", for_a_room_here(running)),
            }
        }
        SocketFailure::Unanswered(cause) if cause.kind() == io::ErrorKind::TimedOut => {
            then_look(OF_ONE_THAT_HANGS.into())
        }
        SocketFailure::Unanswered(_) => {
            let start = start(&error.room, ServiceRoom::of_this_machine().as_ref());
            then_look(format!("if it doesn't run any more, {start}; everybody keeps their place"))
        }
        SocketFailure::NotUnderstood(_) => then_look(
            "use the same version of beekeeper as the room; or start the room again with this one, and everybody keeps their \
             place"
                .into(),
        ),
    }
}

/// Whether a room has been where one was looked for, or is configured to be. Any other would be a demonstration.
fn may_be_started(room: &SocketRoom) -> bool {
    let is_configured =
        |name: &RoomId| ConfigFolder::of_this_user().is_ok_and(|folder| folder.path(name).exists());
    EmbeddedStore::is_in(&room.directory) || (is_usual(room) && room.name.as_ref().is_some_and(is_configured))
}

/// What to do if no room runs where one was looked for.
fn unreached(room: &SocketRoom, service: Option<&ServiceRoom>, is_there: bool) -> String {
    let other = service.filter(|service| service.data != room.directory);
    let question = other.and_then(|other| other.asked_about(room.name.as_ref()));
    if is_there || (service.is_some() && other.is_none()) {
        let start = start(room, service);
        return match (question, other) {
            (Some(question), _) => format!("{question}; or {start}"),
            (None, Some(other)) => format!("{start}; {}", other.place()),
            (None, None) => start,
        };
    }
    // Its file can't be read, or isn't there: what the service logs says what is wrong.
    if service.is_none() && room.directory == Path::new(USUAL_DATA) {
        return format!(
            "start the service: {START}; if it doesn't stay up: sudo journalctl --unit beekeeper --lines 10"
        );
    }
    question.unwrap_or_else(|| {
        let usual = || format!("a service keeps its room in {USUAL_DATA}");
        let place = other.map_or_else(usual, ServiceRoom::place);
        let ask =
            if is_usual(room) { "name its folder with --data DIR" } else { "see whether --data is right" };
        format!("there is no room in {}: {ask}; {place}", room.directory.display())
    })
}

/// How to start this room on this machine again.
pub(crate) fn starting(room: &SocketRoom) -> String {
    start(room, ServiceRoom::of_this_machine().as_ref())
}

fn start(room: &SocketRoom, service: Option<&ServiceRoom>) -> String {
    if service.is_some_and(|service| service.data == room.directory) {
        return format!("start it with: {START}");
    }
    match &room.name {
        Some(name) if is_usual(room) => format!("start it as before, such as: beekeeper local {name}"),
        _ => "start it as before, such as: beekeeper local --config FILE".into(),
    }
}

/// Whether this is where `beekeeper local` keeps a room of this name, unless somebody names another folder.
fn is_usual(room: &SocketRoom) -> bool {
    let usual = room.name.as_ref().and_then(|name| data::directory(None, name).ok());
    usual.is_some_and(|usual| usual == room.directory)
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
pub(crate) fn or_here(advice: Option<&str>, named: Option<&RoomId>) -> String {
    let service = ServiceRoom::of_this_machine().filter(ServiceRoom::has_run);
    let question = service.and_then(|service| service.asked_about(named));
    let here = for_a_room_here(&data::running());
    let told = [question, advice.map(str::to_owned), Some(here)];
    told.into_iter().flatten().collect::<Vec<_>>().join("; or ")
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
        let unanswered = SocketFailure::Unanswered;
        assert_eq!(
            advice(SocketFailure::Unreached(io::ErrorKind::PermissionDenied.into())),
            "run the command as the user who runs the room, or with sudo"
        );
        let start = advice(SocketFailure::Unreached(io::ErrorKind::NotFound.into()));
        assert!(
            start.starts_with("there is no room in /srv/sale: see whether --data is right; a service"),
            "{start}"
        );
        let hangs = advice(unanswered(io::ErrorKind::TimedOut.into()));
        assert!(hangs.contains("start it again: everybody keeps their place"), "{hangs}");
        let ended = advice(unanswered(io::ErrorKind::UnexpectedEof.into()));
        assert!(
            ended.starts_with(
                "if it doesn't run any more, start it as before, such as: beekeeper local --config"
            ),
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
        let told = |room: &SocketRoom, is_there| unreached(room, Some(&service), is_there);
        let of_service = at("/var/lib/beekeeper", "sale");
        assert_eq!(told(&of_service, true), "start it with: sudo systemctl start beekeeper");
        assert_eq!(told(&of_service, false), told(&of_service, true), "it has never been started");
        let forgot = told(&at("/home/anna/.local/share/beekeeper/sale", "sale"), false);
        assert!(
            forgot.starts_with("do you mean the service sale? ") && !forgot.contains("start it"),
            "{forgot}"
        );
        assert!(forgot.ends_with("--data /var/lib/beekeeper"), "{forgot}");
        let unnamed = told(&SocketRoom::new("/srv/other"), true);
        assert!(
            unnamed.starts_with("do you mean the service sale? ")
                && unnamed.ends_with("; or start it as before, such as: beekeeper local --config FILE"),
            "{unnamed}"
        );
        assert_eq!(
            told(&at("/srv/summer", "summer"), true),
            "start it as before, such as: beekeeper local --config FILE; the service sale has --data /var/lib/beekeeper"
        );
        let elsewhere = told(&at("/srv/summer", "summer"), false);
        assert!(
            elsewhere
                .ends_with("see whether --data is right; the service sale has --data /var/lib/beekeeper"),
            "{elsewhere}"
        );
    }

    #[test]
    fn nobody_is_sent_to_the_folder_of_a_service_from_there() {
        let told = unreached(&SocketRoom::new(USUAL_DATA), None, false);
        assert_eq!(
            told,
            "start the service: sudo systemctl start beekeeper; if it doesn't stay up: sudo journalctl --unit beekeeper --lines 10"
        );
    }

    /// With a shop of its own or not: a command that doesn't name its file would open a demonstration to its visitors.
    #[test]
    fn no_advice_begins_a_demonstration() {
        for is_there in [true, false] {
            let told =
                unreached(&SocketRoom::new("/srv/other").named("sale".parse().unwrap()), None, is_there);
            assert!(!told.contains("local sale") && !told.contains("local --data"), "{told}");
        }
    }
}
