//! The two questions that are asked all the time: the page's poll, `GET /polling` ("is it my turn?"), and
//! the shop's client check, `GET /client` ("is this visitor admitted?").
//!
//! Both only read. On AWS no function runs for them: API Gateway answers from the table, by the mapping
//! templates in `infra/template.yaml`.

mod answers;
mod visitor_state;

use waitroom::ports::{Admissions, Clock, LineStatusReader, PortResult, RoomReader};
use waitroom::{Place, Room};

pub use answers::{ClientAnswer, PollAnswer, Wait};
pub use visitor_state::VisitorState;

/// What polls and client checks need from a store.
pub trait PollStore: RoomReader + Admissions + LineStatusReader {}

impl<S: RoomReader + Admissions + LineStatusReader> PollStore for S {}

#[derive(Debug)]
pub struct Poll<S, C> {
    store: S,
    clock: C,
}

impl<S: PollStore, C: Clock> Poll<S, C> {
    pub fn new(store: S, clock: C) -> Self {
        Self { store, clock }
    }

    /// Answers `GET /polling`. `cookies` are the values of the request's `Cookie` headers.
    pub async fn poll<'a>(&self, cookies: impl IntoIterator<Item = &'a str>) -> PortResult<PollAnswer> {
        let room = self.store.room().await?;
        let place = place(&room, cookies);
        let visitor = self.visitor(place).await?;
        let line = self.store.line_status(&room).await?;
        Ok(PollAnswer::new(&room, &line, visitor))
    }

    /// Answers `GET /client`. `cookies` are the values of the request's `Cookie` headers.
    pub async fn client<'a>(&self, cookies: impl IntoIterator<Item = &'a str>) -> PortResult<ClientAnswer> {
        let room = self.store.room().await?;
        let place = place(&room, cookies);
        let visitor = self.visitor(place).await?;
        Ok(ClientAnswer::new(&room, place.is_some(), visitor))
    }

    async fn visitor(&self, place: Option<Place>) -> PortResult<VisitorState> {
        let Some(place) = place else { return Ok(VisitorState::Newcomer) };
        let admission = self.store.admission(place.token).await?;
        Ok(VisitorState::of(admission.as_ref(), self.clock.now()))
    }
}

fn place<'a>(room: &Room, cookies: impl IntoIterator<Item = &'a str>) -> Option<Place> {
    Place::find(&room.settings.room, room.epoch, cookies)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use futures_executor::block_on;
    use serde_json::{Value, json};
    use waitroom::ports::{Admitted, Fault, PortError};
    use waitroom::{
        Admission, AdmittedBy, LinePosition, LineStatus, Rate, Settings, Ticket, Timestamp, Token,
    };

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000);
    const ADMITTED: &str = "bk_sale=ab12-00112233445566778899aabbccddeeff-7";
    const WAITING: &str = "bk_sale=ab12-f0112233445566778899aabbccddeeff-9";
    const EXPIRED: &str = "bk_sale=ab12-e0112233445566778899aabbccddeeff-3";
    const OLD_EPOCH: &str = "bk_sale=zz99-00112233445566778899aabbccddeeff-7";

    #[derive(Clone, Copy)]
    struct Memory {
        is_broken: bool,
    }

    impl RoomReader for Memory {
        async fn room(&self) -> PortResult<Arc<Room>> {
            let (shop, rate) = ("https://shop.example/a".parse().unwrap(), Rate::new(300).unwrap());
            let settings = Settings::new("sale".parse().unwrap(), "Sale".parse().unwrap(), shop, rate);
            let url = "https://room.example".parse().unwrap();
            Ok(Arc::new(Room::new(settings, url, "ab12".parse().unwrap())))
        }

        async fn room_now(&self) -> PortResult<Arc<Room>> {
            self.room().await
        }
    }

    impl Admissions for Memory {
        async fn admission(&self, token: Token) -> PortResult<Option<Admission>> {
            if self.is_broken {
                return Err(PortError::new("look a visitor up", Fault::Busy, "the disk"));
            }
            let expires = match token.to_string().as_bytes()[0] {
                b'0' => NOW + Duration::from_mins(1),
                b'e' => NOW,
                _ => return Ok(None),
            };
            let ticket = Ticket::new(7).unwrap();
            Ok(Some(Admission { ticket, by: AdmittedBy::Door, at: Timestamp::from_millis(0), expires }))
        }

        async fn admit(&self, _: Token, _: Admission) -> PortResult<Admitted> {
            unreachable!("polls only read")
        }

        async fn takes_admissions(&self) -> PortResult<()> {
            unreachable!("polls only read")
        }
    }

    impl LineStatusReader for Memory {
        async fn line_status(&self, room: &Room) -> PortResult<LineStatus> {
            Ok(LineStatus::of(room, LinePosition { served: 4100, passed: 0, disorder: 0 }, 9120))
        }
    }

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> Timestamp {
            NOW
        }

        async fn sleep_until(&self, _: Timestamp) {
            unreachable!("polls do not sleep")
        }
    }

    const POLL: Poll<Memory, Stopped> = Poll { store: Memory { is_broken: false }, clock: Stopped };

    fn poll(cookies: &[&str]) -> Value {
        serde_json::to_value(block_on(POLL.poll(cookies.iter().copied())).unwrap()).unwrap()
    }

    fn client(cookies: &[&str]) -> Value {
        serde_json::to_value(block_on(POLL.client(cookies.iter().copied())).unwrap()).unwrap()
    }

    #[test]
    fn a_poll_knows_newcomers_the_waiting_and_the_admitted() {
        for newcomer in [&[][..], &["a=1"], &[OLD_EPOCH], &[EXPIRED]] {
            assert_eq!(poll(newcomer)["join"], true, "{newcomer:?}");
        }
        let waiting = poll(&["a=1", WAITING]);
        assert_eq!((&waiting["allow"], waiting.get("join")), (&json!(false), None));
        assert_eq!((&waiting["served"], &waiting["waiting"]), (&json!(4100), &json!(9120)));
        assert_eq!(
            poll(&[ADMITTED]),
            json!({ "allow": true, "origin": "https://shop.example/a", "until": 61_000 })
        );
    }

    #[test]
    fn a_client_check_tells_an_unknown_visitor_from_one_who_waits() {
        assert_eq!(client(&[]), json!({ "allow": false, "known": false }));
        assert_eq!(client(&[OLD_EPOCH]), json!({ "allow": false, "known": false }));
        assert_eq!(client(&[EXPIRED]), json!({ "allow": false }));
        assert_eq!(client(&[WAITING]), json!({ "allow": false }));
        assert_eq!(client(&[ADMITTED]), json!({ "allow": true }));
    }

    #[test]
    fn a_store_that_fails_is_never_not_admitted() {
        let broken = Poll { store: Memory { is_broken: true }, clock: Stopped };
        assert!(block_on(broken.poll([ADMITTED])).is_err());
        assert!(block_on(broken.client([ADMITTED])).is_err());
    }
}
