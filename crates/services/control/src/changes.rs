//! What an order changed, a line for each change, for the person who gave it.

use document::words;
use waitroom::{Mode, Room, Timestamp, Turning};

use crate::wording::{extra, then};
use crate::{ChangedRoom, Order};

impl ChangedRoom {
    /// The changes, as in `rate: 60 -> 600, in force in 1 s`. Says so if there are none.
    pub fn told(&self, order: &Order, now: Timestamp) -> Vec<String> {
        let Self { before, after } = self;
        let changes = changes(before, after, self.in_force(), now);
        if !changes.is_empty() {
            return changes;
        }
        vec![format!("nothing changed: {}", already(order, after, now))]
    }

    /// From when on the room releases otherwise, if it does.
    pub fn in_force(&self) -> Option<Timestamp> {
        self.after.changes_valve_from(&self.before)
    }
}

/// What the order asks for, as the room has it already. What a room does by itself is no answer to an order about something else.
fn already(order: &Order, room: &Room, now: Timestamp) -> String {
    let state = || format!("the room is {} already", room.state);
    let ahead = |turning| when(room, turning).map_or_else(state, |at| instant(turning, at, now));
    match order {
        Order::SetRate { .. } => format!("the rate is {} already", room.settings.rate),
        Order::Mode { .. } => format!("the mode is {} already", room.settings.mode),
        Order::Message { text } if text.as_str().is_empty() => "there is no message".into(),
        Order::Message { .. } => "visitors read this already".into(),
        Order::Stretch { .. } => format!("the stretch is {} already", room.stretch),
        Order::CloseNever => "no closing is ahead".into(),
        Order::EndNever => "no end is ahead".into(),
        Order::OpenAt { .. } => ahead(Turning::Opens),
        Order::CloseAt { .. } => ahead(Turning::Closes),
        Order::EndAt { .. } => ahead(Turning::Ends),
        Order::Pause
        | Order::On
        | Order::Close { .. }
        | Order::CloseAfter { .. }
        | Order::End { .. }
        | Order::Off
        | Order::Release { .. }
        | Order::Reset { .. }
        | Order::Rehearse { .. }
        | Order::Undo { .. } => state(),
        // These have replies of their own.
        Order::Status
        | Order::History { .. }
        | Order::Minutes { .. }
        | Order::Find { .. }
        | Order::Admit { .. }
        | Order::Keys
        | Order::RotateKeys
        | Order::RotateKeysAhead { .. }
        | Order::DropKey { .. }
        | Order::GuardKey { .. } => "it is as it was".into(),
    }
}

/// How a room shows one of its settings.
type Shown<'a> = &'a dyn Fn(&Room) -> String;

/// `in_force` is when the valve changes.
fn changes(before: &Room, after: &Room, in_force: Option<Timestamp>, now: Timestamp) -> Vec<String> {
    let with_opening = in_force.is_some_and(|from| after.opens.is_some_and(|opens| from >= opens));
    // Rounded up, so that nobody looks too early.
    let seconds = in_force.map(|from| from.since(now).as_millis().div_ceil(1000).max(1));
    let soon = seconds.map(|seconds| format!(", in force in {seconds} s")).unwrap_or_default();
    let in_force = if with_opening { ", in force when the room opens" } else { &soon };
    let held = after.throttled.filter(|held| *held < after.settings.rate && !with_opening);
    let held = held.map(|held| format!("; the throttle holds {held} for now")).unwrap_or_default();
    // The same number again counts anew.
    let stock = |room: &Room| {
        let is_new = before.stock.is_some() && room.stock != before.stock;
        let again = if is_new { " anew" } else { "" };
        room.stock.map(|stock| format!("{}{again}", words::count(stock.size.get().into())))
    };
    let rows: [(&str, Shown<'_>, &str); 10] = [
        ("rate", &|room| room.settings.rate.to_string(), &format!("{in_force}{held}")),
        ("mode", &|room| room.settings.mode.to_string(), mode_in_force(after, in_force)),
        ("message", &|room| format!("{:?}", room.settings.message.as_str()), ""),
        ("notice", &|room| format!("{:?}", room.notice.text.as_str()), ""),
        ("link", &|room| or_none(room.notice.link.as_ref()), behind_guard(after)),
        ("then", &|room| then(room).unwrap_or("nothing").into(), ""),
        ("stretch", &|room| room.stretch.to_string(), ""),
        ("stock", &|room| or_none(stock(room)), in_force),
        ("release", &|room| or_none(room.extra.map(extra)), in_force),
        ("room", &|room| room.state.to_string(), if with_opening { "" } else { in_force }),
    ];
    rows.into_iter()
        .map(|(what, shown, in_force)| (what, shown(before), shown(after), in_force))
        .filter(|(_, before, after, _)| before != after)
        .map(|(what, before, after, in_force)| format!("{what}: {before} -> {after}{in_force}"))
        .chain(changes_ahead(before, after, now))
        .collect()
}

fn or_none(shown: Option<impl ToString>) -> String {
    shown.map_or_else(|| "none".into(), |shown| shown.to_string())
}

/// What a link to the shop itself needs. Whoever comes too late has no session, and a guard sends them to the room, which shows them the
/// same link again.
fn behind_guard(after: &Room) -> &'static str {
    let shop = after.settings.shop.as_url().host_str();
    match &after.notice.link {
        Some(link) if link.as_url().host_str() == shop => {
            "; behind a guard, its path needs --bypass-path, or latecomers come back to the room"
        }
        _ => "",
    }
}

/// From when on newcomers go straight in, or do no more. `at_once` if the valve changes with the order.
fn mode_in_force<'a>(after: &Room, at_once: &'a str) -> &'a str {
    match after.settings.mode {
        Mode::Overflow if !after.quiet => {
            "; newcomers go straight in once hardly anybody has waited for a minute"
        }
        Mode::Observe => "; within seconds, everybody passes while the room is on",
        Mode::Line | Mode::Overflow => at_once,
    }
}

/// What changes about the states that follow by themselves. What has happened already is in the state.
fn changes_ahead(before: &Room, after: &Room, now: Timestamp) -> Vec<String> {
    // What visitors see of each, and whether it has happened.
    let turnings = [
        (Turning::Opens, "until then visitors join and wait", after.releases()),
        (Turning::Closes, "from then on nobody new joins", !after.takes_newcomers()),
        (Turning::Ends, "from then on nobody is let in", after.is_over()),
    ];
    let lines = turnings.into_iter().filter_map(|(turns, seen, has_happened)| {
        match (when(before, turns), when(after, turns)) {
            (before, Some(at)) if before != Some(at) => {
                let instead =
                    before.map(|before| format!(" (not at {})", words::at(before))).unwrap_or_default();
                Some(format!("{}{instead}; {seen}", instant(turns, at, now)))
            }
            (Some(before), None) if !has_happened => {
                Some(format!("no longer {turns} at {}", words::at(before)))
            }
            _ => None,
        }
    });
    lines.collect()
}

fn when(room: &Room, turns: Turning) -> Option<Timestamp> {
    room.ahead().find(|(other, _)| *other == turns).map(|(_, at)| at)
}

fn instant(turns: Turning, at: Timestamp, now: Timestamp) -> String {
    format!("{turns} at {}, {}", words::at(at), words::ahead(at, now))
}

#[cfg(test)]
mod tests {
    use waitroom::{Rate, RoomState};

    use super::*;
    use crate::example::suffering;

    const OPENS: Timestamp = Timestamp::from_millis(1_804_244_400_000);

    fn room() -> Room {
        suffering().room
    }

    fn opening_room() -> Room {
        let mut room = room();
        room.open_at(OPENS);
        room
    }

    fn said(before: &Room, after: &Room, in_force: Option<Timestamp>) -> Vec<String> {
        let now = OPENS - std::time::Duration::from_hours(76);
        changes(before, after, in_force, now)
    }

    #[test]
    fn an_opening_is_said_with_what_it_replaces() {
        let soon = OPENS - std::time::Duration::from_hours(76) + std::time::Duration::from_millis(1200);
        let ordered = said(&room(), &opening_room(), Some(soon));
        assert_eq!(ordered[0], "room: on -> paused, in force in 2 s");
        assert!(
            ordered[1].starts_with("opens at 2027-03-05 ") || ordered[1].starts_with("opens at 2027-03-06 ")
        );
        assert!(ordered[1].ends_with(", in 3 d 4 h; until then visitors join and wait"), "{}", ordered[1]);
        let mut later = opening_room();
        later.open_at(OPENS + std::time::Duration::from_hours(1));
        let moved = said(&opening_room(), &later, Some(OPENS + std::time::Duration::from_hours(1)));
        assert!(moved.len() == 1 && moved[0].contains(", in 3 d 5 h (not at 2027-03-0"), "{moved:?}");
        let mut paused = opening_room();
        paused.turn(RoomState::Paused);
        let withdrawn = said(&opening_room(), &paused, None);
        assert!(
            withdrawn.len() == 1 && withdrawn[0].starts_with("no longer opens at 2027-03-0"),
            "{withdrawn:?}"
        );
        assert_eq!(said(&opening_room(), &room(), Some(soon)), ["room: paused -> on, in force in 2 s"]);
        assert_eq!(said(&opening_room(), &opening_room(), None), [""; 0]);
    }

    #[test]
    fn a_rate_that_the_throttle_holds_down_is_said_with_that() {
        let held = Room { throttled: Rate::new(38).ok(), ..room() };
        let mut faster = held.clone();
        faster.settings.rate = Rate::new(900).unwrap();
        assert_eq!(said(&held, &faster, None), ["rate: 600 -> 900; the throttle holds 38 for now"]);
        let mut slower = held.clone();
        slower.settings.rate = Rate::new(30).unwrap();
        assert_eq!(said(&held, &slower, None), ["rate: 600 -> 30"]);
    }

    #[test]
    fn a_link_to_the_shop_is_said_with_what_a_guard_needs() {
        let linked = |link: &str| {
            let mut room = room();
            room.notice.link = Some(link.parse().unwrap());
            room
        };
        let [shop, elsewhere] = ["https://shop.example/next", "https://news.example/next"].map(linked);
        let told = said(&room(), &shop, None).concat();
        assert!(told.starts_with("link: none -> https://shop.example/next; behind a guard, "), "{told}");
        assert!(told.contains("--bypass-path"), "{told}");
        let links = "link: https://shop.example/next -> https://news.example/next";
        assert_eq!(said(&shop, &elsewhere, None), [links]);
        assert_eq!(said(&shop, &room(), None), ["link: https://shop.example/next -> none"]);
    }

    #[test]
    fn an_order_that_changes_nothing_is_answered_about_what_it_says() {
        let unchanged = ChangedRoom { before: opening_room(), after: opening_room() };
        let now = OPENS - std::time::Duration::from_hours(76);
        let message = Order::Message { text: opening_room().settings.message };
        assert_eq!(unchanged.told(&message, now), ["nothing changed: visitors read this already"]);
        let rate = Order::SetRate { rate: opening_room().settings.rate };
        assert_eq!(unchanged.told(&rate, now), ["nothing changed: the rate is 600 already"]);
        let opening = unchanged.told(&Order::OpenAt { at: OPENS }, now);
        assert!(opening[0].starts_with("nothing changed: opens at "), "{opening:?}");
    }

    #[test]
    fn what_a_room_does_by_itself_is_no_answer_to_another_order() {
        let extra = waitroom::Extra { visitors: 50.try_into().unwrap(), until: OPENS };
        let on = Room { extra: Some(extra), closes: Some(OPENS), ends: Some(OPENS), ..room() };
        let unchanged = ChangedRoom { before: on.clone(), after: on };
        let told = |order| unchanged.told(&order, OPENS).concat();
        assert_eq!(told(Order::On), "nothing changed: the room is on already");
        let closing = told(Order::CloseAt { at: OPENS, notice: None, then_off: false });
        assert!(closing.starts_with("nothing changed: closes at ") && !closing.contains(';'), "{closing}");
        assert!(told(Order::EndAt { at: OPENS, notice: None }).starts_with("nothing changed: ends at "));
    }

    #[test]
    fn a_rate_before_an_opening_is_in_force_with_it() {
        let mut faster = opening_room();
        faster.settings.rate = Rate::new(900).unwrap();
        assert_eq!(
            said(&opening_room(), &faster, Some(OPENS)),
            ["rate: 600 -> 900, in force when the room opens"]
        );
        let off = Room { state: RoomState::Off, ..room() };
        assert_eq!(said(&off, &opening_room(), Some(OPENS))[0], "room: off -> paused");
    }
}
