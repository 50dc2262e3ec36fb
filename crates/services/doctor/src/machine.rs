//! What a room on one machine needs of that machine.

use control::RunningRoom;

use crate::{DoctorCheck, Examined};

const MACHINE: &str = "machine";
const MEGABYTE: u64 = 1 << 20;
/// A place takes 46 bytes on disk when it is written. Until pages are written anew, several copies lie there.
const BYTES_OF_A_VISITOR: u64 = 500;
/// Somebody may gain from taking places in front of so many people.
const WORTH_LIMITING: u64 = 10_000;

pub(crate) async fn check(examined: &Examined) -> Vec<DoctorCheck> {
    let Some(socket) = examined.socket() else { return Vec::new() };
    let Some(running) = socket.check().await else {
        let text = "the room runs a version that does not say how it was started";
        return vec![DoctorCheck::warning(
            MACHINE,
            text,
            "start it again with this program; everybody keeps their place",
        )];
    };
    judge(&running, examined.visitors, examined.has_no_public_url())
}

fn judge(running: &RunningRoom, visitors: Option<u64>, is_private: bool) -> Vec<DoctorCheck> {
    let mut checks = vec![disk(running, visitors.unwrap_or_default())];
    let (connections, usual) = (running.connections, RunningRoom::USUAL_CONNECTIONS);
    checks.push(if connections < usual / 2 {
        DoctorCheck::warning(
            MACHINE,
            format!("the room accepts {connections} connections at once instead of {usual}: it may not open more files"),
            "raise the limit of open files: LimitNOFILE=65536 in its unit, or ulimit -n 65536 before it is started",
        )
    } else {
        DoctorCheck::ok(MACHINE, format!("the room accepts {connections} connections at once"))
    });
    if running.version != env!("CARGO_PKG_VERSION") {
        let (room, own) = (&running.version, env!("CARGO_PKG_VERSION"));
        let text = format!("the room runs version {room}, and this program is {own}");
        checks.push(DoctorCheck::warning(MACHINE, text, "start the room again with this program"));
    }
    if is_private {
        let text = "the room's URL is one of this machine: nobody else can open it";
        let advice = "for a real event, start it with --url, behind a web server: docs/hosting.md";
        checks.push(DoctorCheck::warning(MACHINE, text, advice));
    } else if let Some(places) = running.join_limit {
        checks.push(DoctorCheck::ok(MACHINE, format!("one address may take {places} places a minute")));
    } else if visitors.is_some_and(|visitors| visitors >= WORTH_LIMITING) {
        checks.push(DoctorCheck::warning(
            MACHINE,
            "nothing limits how many places one address takes",
            "start the room with --trust-proxy and --join-limit: docs/hosting.md#a-limit-of-joins",
        ));
    }
    checks
}

/// Whether places can be written, and a backup.
fn disk(running: &RunningRoom, visitors: u64) -> DoctorCheck {
    if let Some(error) = &running.unwritable {
        let text = format!("the room cannot write to its file, so nobody can join: {error}");
        return DoctorCheck::problem(
            MACHINE,
            text,
            "free some space: the room then goes on by itself. If there is space, check the disk",
        );
    }
    let (Some(free), Some(size)) = (running.free, running.size) else {
        return DoctorCheck::not_checked(
            MACHINE,
            "the room can write to its file; the system does not say how much is free",
        );
    };
    let crowd = visitors.saturating_mul(BYTES_OF_A_VISITOR);
    let text = format!(
        "the room can write to its file of {} MB; {} MB are free",
        size.div_ceil(MEGABYTE),
        free / MEGABYTE
    );
    if free < crowd + 16 * MEGABYTE {
        let needed = (crowd / MEGABYTE) + 16;
        return DoctorCheck::problem(
            MACHINE,
            text,
            format!("free some space: the crowd needs up to {needed} MB"),
        );
    }
    // A backup needs twice the size.
    if free < 2 * (size + crowd) + 16 * MEGABYTE {
        return DoctorCheck::warning(MACHINE, text, "free some space: it is too little for a backup");
    }
    DoctorCheck::ok(MACHINE, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CheckResult;

    fn running() -> RunningRoom {
        RunningRoom {
            version: env!("CARGO_PKG_VERSION").into(),
            connections: RunningRoom::USUAL_CONNECTIONS,
            join_limit: None,
            throttle: false,
            demo_visitors: 0,
            unwritable: None,
            free: Some(1 << 30),
            size: Some(4 << 20),
        }
    }

    fn results(running: &RunningRoom, visitors: Option<u64>) -> Vec<CheckResult> {
        judge(running, visitors, false).into_iter().map(|check| check.result).collect()
    }

    #[test]
    fn a_disk_that_is_full_or_soon_will_be_is_found() {
        use CheckResult::{Ok, Problem, Warning};
        let of = |free, visitors| results(&RunningRoom { free: Some(free), ..running() }, visitors)[0];
        assert_eq!(of(1 << 30, Some(100_000)), Ok);
        assert_eq!(of(20 << 20, None), Warning, "no backup");
        assert_eq!(of(10 << 20, None), Problem);
        assert_eq!(of(100 << 20, Some(1_000_000)), Problem, "a million places");
        let broken = RunningRoom { unwritable: Some("no space left".into()), ..running() };
        assert_eq!(results(&broken, None)[0], Problem);
        let unknown = results(&RunningRoom { free: None, ..running() }, None)[0];
        assert_eq!(unknown, CheckResult::NotChecked);
    }

    #[test]
    fn a_room_that_accepts_few_connections_or_any_number_of_places_is_warned_of() {
        use CheckResult::{Ok, Warning};
        assert_eq!(results(&running(), Some(9_999)), [Ok, Ok]);
        assert_eq!(results(&running(), Some(10_000)), [Ok, Ok, Warning]);
        let limited = RunningRoom { join_limit: Some(20), connections: 924, ..running() };
        assert_eq!(results(&limited, Some(10_000)), [Ok, Warning, Ok]);
        let old = RunningRoom { version: "0.0.1".into(), ..running() };
        assert_eq!(results(&old, None), [Ok, Ok, Warning]);
    }
}
