//! The JSON of the answers. On AWS, mapping templates in `infra/template.yaml` write the same JSON; the
//! tests of `stack_template` compare the two.

use serde::Serialize;
use waitroom::{Epoch, LineStatus, Rate, RehearsalMark, Room, RoomState, Stretch, Timestamp};

use crate::VisitorState;

/// The answer of `GET /polling`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PollAnswer {
    /// The page goes to `/beekeeper`, which signs a pass and redirects to the shop.
    Enter {
        allow: bool,
        origin: String,
        /// When the admission expires, for a page in the background. Absent while the room is off.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// While the operator rehearses the event. Pages ignore it.
        #[serde(skip_serializing_if = "Option::is_none")]
        rehearsal: Option<RehearsalMark>,
    },
    Wait(Wait),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are the fields of the answer")]
pub struct Wait {
    allow: bool,
    epoch: Epoch,
    #[serde(rename = "served")]
    reached: u64,
    /// Visitors with lower tickets were overtaken.
    #[serde(rename = "passed")]
    overtaken: u64,
    /// How many places from their turn visitors leave the line.
    disorder: u64,
    rate: Rate,
    waiting: u64,
    state: RoomState,
    /// When a paused room turns on by itself. Pages count down to it, by the clock of the `Date` header.
    #[serde(skip_serializing_if = "Option::is_none")]
    opens: Option<Timestamp>,
    /// How many more are let in before the room ends by itself. Absent in a room without a stock.
    #[serde(skip_serializing_if = "Option::is_none")]
    stock: Option<u32>,
    /// Whether the throttle or a full shop holds the rate down.
    slow: bool,
    /// What the operator says: to those who wait, or to those who come too late.
    message: String,
    /// Where the operator sends those who come too late.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    stretch: Stretch,
    /// Tells the page to ask `/status` while its turn is far.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    edge: bool,
    /// Tells the page of a newcomer to go to `/beekeeper` once, which gives them a place.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    join: bool,
    /// Tells somebody without a place that nobody new can join. Pages ask on, seldom, until the answer says `join`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    late: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rehearsal: Option<RehearsalMark>,
}

impl PollAnswer {
    pub fn new(room: &Room, line: &LineStatus, visitor: VisitorState) -> Self {
        let is_off = room.lets_everybody_through();
        let until = match visitor {
            VisitorState::Admitted { until } if !is_off => Some(until),
            _ => None,
        };
        if until.is_some() || is_off || room.observes() {
            let origin = room.settings.shop.to_string();
            return Self::Enter { allow: true, origin, until, rehearsal: room.rehearsal };
        }
        let is_newcomer = visitor == VisitorState::Newcomer;
        let turned_away = room.turns_away(!is_newcomer);
        let message = if turned_away { room.text_for_latecomers() } else { &room.settings.message };
        Self::Wait(Wait {
            allow: false,
            epoch: room.epoch,
            reached: line.reached,
            overtaken: line.overtaken,
            disorder: line.disorder,
            rate: line.rate,
            waiting: line.waiting,
            state: room.state,
            opens: room.opens,
            stock: room.stock.and(line.left),
            slow: line.slow,
            message: message.to_string(),
            link: room.notice.link.as_ref().filter(|_| turned_away).map(ToString::to_string),
            stretch: room.stretch,
            edge: room.settings.edge,
            join: is_newcomer && room.takes_newcomers(),
            late: is_newcomer && !room.takes_newcomers(),
            rehearsal: room.rehearsal,
        })
    }
}

/// The answer of `GET /status`: how the line stands, the same for everybody who waits. What `/polling` says to one of them who is
/// not admitted, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatusAnswer {
    #[serde(flatten)]
    answer: PollAnswer,
    /// A cache goes on with it while the room does not answer. Pages see how old it is.
    at: Timestamp,
}

impl StatusAnswer {
    pub fn new(room: &Room, line: &LineStatus, now: Timestamp) -> Self {
        Self { answer: PollAnswer::new(room, line, VisitorState::Waiting), at: now }
    }
}

/// The answer of `GET /client`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClientAnswer {
    allow: bool,
    /// False if the request carried no place: the browser may have kept the cookie back, and only the pass
    /// can prove that the visitor waited.
    #[serde(skip_serializing_if = "Clone::clone")]
    known: bool,
}

impl ClientAnswer {
    /// `known` says whether the request carried a place of this room and epoch.
    pub fn new(room: &Room, known: bool, visitor: VisitorState) -> Self {
        Self {
            allow: matches!(visitor, VisitorState::Admitted { .. }) || room.lets_everybody_through(),
            known,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use waitroom::{LineReach, Notice, Settings, fixture};

    use super::*;

    fn room() -> Room {
        let shop = "https://shop.example/a".parse().unwrap();
        let message = "It's \"on\"".parse().unwrap();
        Room { settings: Settings { shop, message, ..fixture::settings(300) }, ..fixture::room(300) }
    }

    fn poll(room: &Room, visitor: VisitorState) -> serde_json::Value {
        let left = room.stock.map(|_| 200);
        let line = LineStatus::of(room, LineReach { reached: 4100, overtaken: 0, disorder: 300 }, 9120, left);
        serde_json::to_value(PollAnswer::new(room, &line, visitor)).unwrap()
    }

    fn client(room: &Room, known: bool, visitor: VisitorState) -> serde_json::Value {
        serde_json::to_value(ClientAnswer::new(room, known, visitor)).unwrap()
    }

    fn admitted() -> VisitorState {
        VisitorState::Admitted { until: Timestamp::from_millis(7) }
    }

    #[test]
    fn a_waiting_visitor_reads_the_status_of_the_line() {
        let mut expected = json!({
            "allow": false, "epoch": "ab12", "served": 4100, "passed": 0, "disorder": 300, "rate": 300, "waiting": 9120,
            "state": "on", "slow": false, "message": "It's \"on\"", "stretch": 1,
        });
        assert_eq!(poll(&room(), VisitorState::Waiting), expected);
        expected["join"] = true.into();
        assert_eq!(poll(&room(), VisitorState::Newcomer), expected);
    }

    #[test]
    fn a_paused_room_says_when_it_opens() {
        let mut room = room();
        room.open_at(Timestamp::from_millis(1_700_000_600_000));
        let answer = poll(&room, VisitorState::Waiting);
        assert_eq!((&answer["state"], &answer["opens"]), (&json!("paused"), &json!(1_700_000_600_000_u64)));
        assert_eq!(poll(&room, admitted())["allow"], true, "who was admitted before may still enter");
    }

    #[test]
    fn a_room_with_a_stock_says_what_is_left_and_lets_newcomers_join() {
        let mut room = room();
        room.sell(5000.try_into().unwrap());
        for visitor in [VisitorState::Waiting, VisitorState::Newcomer] {
            let answer = poll(&room, visitor);
            assert_eq!((&answer["stock"], &answer["state"]), (&json!(200), &json!("on")));
            assert_eq!(answer.get("join").is_some(), visitor == VisitorState::Newcomer);
        }
        room.turn(RoomState::Ended);
        assert_eq!(poll(&room, VisitorState::Waiting).get("stock"), None);
    }

    #[test]
    fn who_comes_too_late_reads_the_notice_and_does_not_join() {
        let notice = Notice {
            text: "Sold out".parse().unwrap(),
            link: Some("https://shop.example/next".parse().unwrap()),
        };
        for (state, waiting_reads_it) in
            [(RoomState::Closed, false), (RoomState::ClosedPaused, false), (RoomState::Ended, true)]
        {
            let room = Room { state, notice: notice.clone(), ..room() };
            let newcomer = poll(&room, VisitorState::Newcomer);
            assert_eq!((newcomer.get("join"), &newcomer["late"]), (None, &json!(true)), "{state}");
            assert_eq!(
                (&newcomer["state"], &newcomer["message"]),
                (&json!(state.as_str()), &json!("Sold out"))
            );
            assert_eq!(newcomer["link"], "https://shop.example/next");
            let waiting = poll(&room, VisitorState::Waiting);
            assert_eq!((waiting.get("join"), waiting.get("late")), (None, None), "{state}");
            let message = if waiting_reads_it { "Sold out" } else { "It's \"on\"" };
            assert_eq!(
                (&waiting["message"], waiting.get("link").is_some()),
                (&json!(message), waiting_reads_it)
            );
            assert_eq!(poll(&room, admitted())["allow"], true, "who was admitted before may still enter");
            let without = Room { notice: Notice::default(), ..room };
            assert_eq!(
                poll(&without, VisitorState::Newcomer)["message"],
                "It's \"on\"",
                "the room's message"
            );
        }
    }

    #[test]
    fn every_answer_shows_a_rehearsal() {
        let room = Room { rehearsal: Some("abcdefghijkmnpqr".parse().unwrap()), ..room() };
        for visitor in [VisitorState::Newcomer, VisitorState::Waiting, admitted()] {
            assert_eq!(poll(&room, visitor)["rehearsal"], "abcdefghijkmnpqr");
        }
    }

    #[test]
    fn the_admitted_may_enter_and_so_may_everybody_while_the_room_is_off() {
        let mut enter = json!({ "allow": true, "origin": "https://shop.example/a", "until": 7 });
        assert_eq!(poll(&room(), admitted()), enter);
        enter.as_object_mut().unwrap().remove("until");
        let off = Room { state: RoomState::Off, ..room() };
        for visitor in [VisitorState::Newcomer, VisitorState::Waiting, admitted()] {
            assert_eq!(poll(&off, visitor), enter);
        }
    }

    #[test]
    fn everybody_may_pass_a_room_that_observes_and_whoever_was_not_counted_goes_to_the_door() {
        let mut observing = room();
        observing.settings.mode = waitroom::Mode::Observe;
        let mut enter = json!({ "allow": true, "origin": "https://shop.example/a", "until": 7 });
        assert_eq!(poll(&observing, admitted()), enter);
        enter.as_object_mut().unwrap().remove("until");
        for visitor in [VisitorState::Newcomer, VisitorState::Waiting] {
            assert_eq!(poll(&observing, visitor), enter);
            assert_eq!(client(&observing, true, visitor), json!({ "allow": false }));
        }
        observing.state = RoomState::Paused;
        assert_eq!(poll(&observing, VisitorState::Waiting)["allow"], false);
    }

    #[test]
    fn the_status_is_what_a_waiting_visitor_reads_and_when() {
        let line =
            LineStatus::of(&room(), LineReach { reached: 4100, overtaken: 0, disorder: 300 }, 9120, None);
        let status = |room: &Room| {
            serde_json::to_value(StatusAnswer::new(room, &line, Timestamp::from_millis(17))).unwrap()
        };
        let mut expected = poll(&room(), VisitorState::Waiting);
        expected["at"] = 17.into();
        assert_eq!(status(&room()), expected);
        let off = Room { state: RoomState::Off, ..room() };
        assert_eq!(status(&off), json!({ "allow": true, "origin": "https://shop.example/a", "at": 17 }));
    }

    #[test]
    fn a_room_behind_an_edge_says_so_to_everybody_who_waits() {
        let mut room = room();
        assert_eq!(poll(&room, VisitorState::Waiting).get("edge"), None);
        room.settings.edge = true;
        assert_eq!(poll(&room, VisitorState::Waiting)["edge"], true);
        assert_eq!(poll(&room, admitted()).get("edge"), None);
    }

    #[test]
    fn the_client_check_says_who_is_admitted() {
        assert_eq!(client(&room(), true, admitted()), json!({ "allow": true }));
        assert_eq!(client(&room(), true, VisitorState::Waiting), json!({ "allow": false }));
        assert_eq!(client(&room(), false, VisitorState::Newcomer), json!({ "allow": false, "known": false }));
        let off = Room { state: RoomState::Off, ..room() };
        assert_eq!(client(&off, true, VisitorState::Waiting), json!({ "allow": true }));
    }
}
