//! What a visitor is told when they ask: "is it my turn?" and, at the shop, "did they wait?".

use serde::Serialize;

use crate::{Admission, Epoch, LineStatus, Rate, Room, Stretch, Timestamp};

/// Where a visitor stands, as their cookie and the ledger tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitorState {
    /// No cookie of this room and epoch came along, or one whose claim has ended.
    Stranger,
    Waiting,
    /// They may enter, and come back for another pass until then.
    Admitted {
        until: Timestamp,
    },
}

impl VisitorState {
    /// The standing of somebody with a well-formed cookie.
    pub fn of(admission: Option<&Admission>, now: Timestamp) -> Self {
        match admission {
            None => Self::Waiting,
            Some(admission) if admission.is_valid(now) => Self::Admitted { until: admission.expires },
            Some(_) => Self::Stranger,
        }
    }
}

/// The answer of `GET /polling`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PollAnswer {
    /// The page goes to `/beekeeper`, which signs a pass and sends the visitor on.
    Enter {
        allow: bool,
        origin: String,
        /// When the claim ends, for a page that nobody looks at. Nothing while the room is off.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    Wait(Wait),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "this is the JSON that pages read")]
pub struct Wait {
    allow: bool,
    epoch: Epoch,
    served: u64,
    rate: Rate,
    waiting: u64,
    open: bool,
    paused: bool,
    /// The throttle holds the line back for a moment.
    slow: bool,
    message: String,
    stretch: Stretch,
    /// The page goes to `/beekeeper` once, which gives a place to whoever has none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    join: bool,
}

impl PollAnswer {
    pub fn new(room: &Room, line: &LineStatus, standing: VisitorState) -> Self {
        let until = match standing {
            VisitorState::Admitted { until } if room.open => Some(until),
            _ => None,
        };
        if until.is_some() || !room.open {
            return Self::Enter { allow: true, origin: room.settings.shop.to_string(), until };
        }
        Self::Wait(Wait {
            allow: false,
            epoch: room.epoch,
            served: line.served,
            rate: line.rate,
            waiting: line.waiting,
            open: room.open,
            paused: room.paused,
            slow: line.slow,
            message: room.settings.message.to_string(),
            stretch: room.stretch,
            join: standing == VisitorState::Stranger,
        })
    }
}

/// The answer of `GET /client`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClientAnswer {
    allow: bool,
    /// False when no cookie came along: the browser kept it back, and only the pass can tell.
    #[serde(skip_serializing_if = "Clone::clone")]
    known: bool,
}

impl ClientAnswer {
    /// `known` says whether a well-formed cookie came along.
    pub fn new(room: &Room, known: bool, standing: VisitorState) -> Self {
        Self { allow: matches!(standing, VisitorState::Admitted { .. }) || !room.open, known }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{AdmittedBy, Settings, Ticket};

    fn room() -> Room {
        let mut settings = Settings::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example/a".parse().unwrap(),
            Rate::new(300).unwrap(),
        );
        settings.message = "It's \"on\"".parse().unwrap();
        Room::new(settings, "https://room.example".parse().unwrap(), "ab12".parse().unwrap())
    }

    fn poll(room: &Room, standing: VisitorState) -> serde_json::Value {
        let line = LineStatus::of(room, 4100, 9120);
        serde_json::to_value(PollAnswer::new(room, &line, standing)).unwrap()
    }

    fn client(room: &Room, known: bool, standing: VisitorState) -> serde_json::Value {
        serde_json::to_value(ClientAnswer::new(room, known, standing)).unwrap()
    }

    fn admitted() -> VisitorState {
        VisitorState::Admitted { until: Timestamp::from_millis(7) }
    }

    #[test]
    fn who_waits_is_told_how_the_line_stands() {
        let mut expected = json!({
            "allow": false, "epoch": "ab12", "served": 4100, "rate": 300, "waiting": 9120,
            "open": true, "paused": false, "slow": false, "message": "It's \"on\"", "stretch": 1,
        });
        assert_eq!(poll(&room(), VisitorState::Waiting), expected);
        expected["join"] = true.into();
        assert_eq!(poll(&room(), VisitorState::Stranger), expected);
    }

    #[test]
    fn the_admitted_may_enter_and_so_may_everybody_while_the_room_is_off() {
        let mut enter = json!({ "allow": true, "origin": "https://shop.example/a", "until": 7 });
        assert_eq!(poll(&room(), admitted()), enter);
        enter.as_object_mut().unwrap().remove("until");
        let off = Room { open: false, ..room() };
        for standing in [VisitorState::Stranger, VisitorState::Waiting, admitted()] {
            assert_eq!(poll(&off, standing), enter);
        }
    }

    #[test]
    fn the_shop_is_told_whether_somebody_waited() {
        assert_eq!(client(&room(), true, admitted()), json!({ "allow": true }));
        assert_eq!(client(&room(), true, VisitorState::Waiting), json!({ "allow": false }));
        assert_eq!(client(&room(), false, VisitorState::Stranger), json!({ "allow": false, "known": false }));
        let off = Room { open: false, ..room() };
        assert_eq!(client(&off, true, VisitorState::Waiting), json!({ "allow": true }));
    }

    #[test]
    fn a_claim_that_has_ended_makes_a_stranger() {
        let at = Timestamp::from_millis;
        let admission =
            Admission { ticket: Ticket::new(1).unwrap(), by: AdmittedBy::Door, at: at(0), expires: at(100) };
        assert_eq!(VisitorState::of(None, at(50)), VisitorState::Waiting);
        assert_eq!(VisitorState::of(Some(&admission), at(99)), VisitorState::Admitted { until: at(100) });
        assert_eq!(VisitorState::of(Some(&admission), at(100)), VisitorState::Stranger);
    }
}
