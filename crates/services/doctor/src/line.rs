//! The state of the room and of its line.

use control::{Status, wording};
use document::words;
use waitroom::{Room, RoomState, Slowdown, Stretch, Timestamp, Turning};

use crate::{DoctorCheck, Examined};

const ROOM: &str = "room";
const CROWD: &str = "crowd";
/// Most of those who would wait longer leave.
const LONG_WAIT_MINUTES: u64 = 60;

pub(crate) fn check(examined: &Examined) -> Vec<DoctorCheck> {
    let status = match &examined.status {
        Ok(Some(status)) => status,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![examined.failed(ROOM, error)],
    };
    let (room, line) = (&status.room, &status.line);
    let who = &examined.as_typed;
    let rate = wording::rate(status);
    let (joined, waiting) = (wording::joined(status), line.waiting);
    let fact = format!("{}, rate {rate}, {joined} joined, {waiting} waiting", state(room, examined.now()));
    let mut checks = vec![of_state(status, fact, who)];
    if room.rehearsal.is_some() {
        let text = "a rehearsal is under way, or was left behind: its visitors are in the line";
        let advice = format!("when it is over, empty the line: beekeeper reset {who}");
        checks.push(DoctorCheck::problem(ROOM, text, advice));
    } else if room.opens.is_some() && status.joined > 0 && waiting == 0 {
        checks.push(DoctorCheck::warning(
            ROOM,
            format!("numbers do not begin at 1: {joined} joined before, such as for a test"),
            format!("for an empty line: beekeeper reset {who}"),
        ));
    }
    if room.observes_once_on() && room.state != RoomState::Off {
        checks.push(DoctorCheck::warning(
            ROOM,
            "the room observes: while it's on, everybody passes to the shop, at no rate",
            format!("for a line: beekeeper mode {who} line"),
        ));
    }
    if room.stretch != Stretch::USUAL {
        let text = format!("pages poll {} times less often than usual", room.stretch);
        checks.push(DoctorCheck::warning(
            ROOM,
            text,
            format!("unless you want that: beekeeper stretch {who} 1"),
        ));
    }
    if !room.settings.message.as_str().is_empty() {
        let text = format!("the page shows the message {:?}", room.settings.message.as_str());
        checks.push(DoctorCheck::ok(ROOM, text));
    }
    checks.extend(long_wait(examined));
    checks
}

/// What the room's state means for the event. `fact` says it, with the numbers of the line.
fn of_state(status: &Status, fact: String, who: &str) -> DoctorCheck {
    match (status.room.state, status.room.opens) {
        // Its operator turned it off, as days before a sale, and a room that is off has no opening that this could spoil.
        (RoomState::Off, _) => {
            DoctorCheck::ok(ROOM, format!("{fact}: everybody goes straight to the shop until you turn it on"))
        }
        (RoomState::Paused, None) => DoctorCheck::warning(
            ROOM,
            format!("{fact}: visitors join, and nobody is released"),
            format!("let it open by itself: beekeeper on {who} --at TIME; or now: beekeeper on {who}"),
        ),
        (RoomState::Closed | RoomState::ClosedPaused | RoomState::Ended, _) => DoctorCheck::warning(
            ROOM,
            format!("{fact}: nobody new can join"),
            format!("let people join again: beekeeper on {who}; or at a time: beekeeper on {who} --at TIME"),
        ),
        (RoomState::On, _) | (RoomState::Paused, Some(_)) => match status.room.slowdown() {
            Some(Slowdown::Throttle | Slowdown::Both) => DoctorCheck::warning(
                ROOM,
                fact,
                format!("look at the shop: beekeeper status {who} shows what the throttle found"),
            ),
            Some(Slowdown::FullShop) => DoctorCheck::warning(
                ROOM,
                fact,
                "if the shop bears more visitors, raise active_visitors in the configuration file, and deploy the room or start it again",
            ),
            None => DoctorCheck::ok(ROOM, fact),
        },
    }
}

/// What the room is, and what it does by itself.
fn state(room: &Room, now: Timestamp) -> String {
    let ahead = room.ahead().map(|(turns, at)| {
        let link = if turns == Turning::Opens { " until it" } else { "," };
        format!("{link} {turns} at {}, {}", words::at(at), words::ahead(at, now))
    });
    let extra = room.extra.map(|extra| format!(", releases {}", wording::extra(extra)));
    let stock =
        room.stock.map(|stock| format!(", ends after a stock of {}", words::count(stock.size.get().into())));
    let beside = extra.into_iter().chain(stock).collect::<String>();
    format!("{}{}{beside}", room.state, ahead.collect::<String>())
}

/// On AWS the account's limits are compared with the crowd, and this with them.
fn long_wait(examined: &Examined) -> Option<DoctorCheck> {
    let visitors = examined.visitors.filter(|_| examined.is_here())?;
    let rate = examined.room.settings.rate;
    let minutes = visitors.div_ceil(rate.get().into());
    let fact = format!(
        "at {} a minute, the last of {} people waits {}",
        words::count(rate.get().into()),
        words::count(visitors),
        words::time(minutes * 60)
    );
    Some(if minutes > LONG_WAIT_MINUTES {
        let advice = "raise the rate if the shop can serve more, and tell people how long it takes";
        DoctorCheck::warning(CROWD, fact, advice)
    } else {
        DoctorCheck::ok(CROWD, fact)
    })
}

#[cfg(test)]
mod tests {
    use control::{ControlError, example};
    use waitroom::{LineReach, LineStatus, Rate};

    use super::*;
    use crate::CheckResult;
    use crate::examined::configured;

    #[test]
    fn a_room_that_observes_is_none_that_is_ready_for_a_sale() {
        let warned = |state| {
            let (mut examined, mut status) = (configured(None), example::suffering());
            (status.room.settings.mode, status.room.state) = (waitroom::Mode::Observe, state);
            examined.status = Ok(Some(status));
            check(&examined).iter().any(|check| check.found.contains("everybody passes to the shop"))
        };
        assert!(warned(RoomState::On) && warned(RoomState::Paused) && !warned(RoomState::Off));
    }

    #[test]
    fn a_room_that_does_not_answer_is_a_problem() {
        let mut examined = configured(None);
        assert!(check(&examined).is_empty(), "before the first deployment");
        examined.status = Err(ControlError::Unreached("not authorized".into()));
        let checks = check(&examined);
        assert_eq!((checks.len(), checks[0].result), (1, CheckResult::Problem));
        assert_eq!(checks[0].found, "not authorized");
        assert_eq!(checks[0].advice.as_deref(), Some("ask for the permission"));
    }

    #[test]
    fn a_release_beyond_the_rate_is_told_as_what_was_ordered() {
        let mut room = example::suffering().room;
        let until = Timestamp::from_millis(1_804_244_400_000);
        room.extra = Some(waitroom::Extra { visitors: 50.try_into().unwrap(), until });
        assert_eq!(
            state(&room, Timestamp::default()),
            format!("on, releases 50 more until {}", words::at(until))
        );
    }

    #[test]
    fn a_line_that_moves_slower_is_told_with_what_to_do_about_the_cause() {
        let advice = |throttled: Option<u32>, while_full: Option<u32>| {
            let mut status = example::suffering();
            let rate = |rate: Option<u32>| rate.map(|rate| Rate::new(rate).unwrap());
            (status.room.throttled, status.room.while_full) = (rate(throttled), rate(while_full));
            status.room.stretch = Stretch::USUAL;
            status.line = LineStatus::of(&status.room, LineReach::default(), 9, None);
            let checked = of_state(&status, String::new(), "sale");
            (checked.result, checked.advice.unwrap_or_default())
        };
        assert_eq!(advice(None, None), (CheckResult::Ok, String::new()));
        let (result, throttle) = advice(Some(60), None);
        assert_eq!(result, CheckResult::Warning);
        assert!(throttle.ends_with("beekeeper status sale shows what the throttle found"), "{throttle}");
        assert_eq!(advice(Some(60), Some(40)), (result, throttle), "a shop that is slow comes first");
        let (result, full) = advice(None, Some(40));
        assert_eq!(result, CheckResult::Warning);
        assert!(full.contains("active_visitors") && !full.contains("throttle"), "{full}");
    }
}
