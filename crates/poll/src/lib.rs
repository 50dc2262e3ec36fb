//! The questions that are asked all the time: the page's poll, `GET /polling` ("is it my turn?"); what it asks behind an edge while
//! its turn is far, `GET /status` ("how does the line stand?"); and the shop's client check, `GET /client` ("is this visitor
//! admitted?").
//!
//! They only read. On AWS no function runs for them: API Gateway answers from the table, by the mapping
//! templates in `infra/template.yaml`.

mod answers;
mod visitor_state;

use waitroom::ports::{Admissions, Clock, LineStatusReader, PortResult, RoomReader};
use waitroom::{Place, Room};

pub use answers::{ClientAnswer, PollAnswer, StatusAnswer, Wait};
pub use visitor_state::VisitorState;

waitroom::used_ports! {
    /// What polls and client checks need of the ledger.
    pub trait PollLedger: RoomReader + Admissions + LineStatusReader
}

#[derive(Debug)]
pub struct Poll<L, C> {
    ledger: L,
    clock: C,
}

impl<L: PollLedger, C: Clock> Poll<L, C> {
    pub fn new(ledger: L, clock: C) -> Self {
        Self { ledger, clock }
    }

    /// Answers `GET /polling`. `cookies` are the values of the request's `Cookie` headers.
    pub async fn poll<'a>(&self, cookies: impl IntoIterator<Item = &'a str>) -> PortResult<PollAnswer> {
        let room = self.ledger.room().await?;
        let place = place(&room, cookies);
        let visitor = self.visitor(&room, place).await?;
        let line = self.ledger.line_status(&room).await?;
        Ok(PollAnswer::new(&room, &line, visitor))
    }

    /// Answers `GET /status`, the same for everybody.
    pub async fn status(&self) -> PortResult<StatusAnswer> {
        let room = self.ledger.room().await?;
        let line = self.ledger.line_status(&room).await?;
        Ok(StatusAnswer::new(&room, &line, self.clock.now()))
    }

    /// Answers `GET /client`. `cookies` are the values of the request's `Cookie` headers.
    pub async fn client<'a>(&self, cookies: impl IntoIterator<Item = &'a str>) -> PortResult<ClientAnswer> {
        let room = self.ledger.room().await?;
        let place = place(&room, cookies);
        let visitor = self.visitor(&room, place).await?;
        Ok(ClientAnswer::new(&room, place.is_some(), visitor))
    }

    async fn visitor(&self, room: &Room, place: Option<Place>) -> PortResult<VisitorState> {
        let Some(place) = place else { return Ok(VisitorState::Newcomer) };
        let admission = self.ledger.admission(place.token).await?;
        Ok(VisitorState::of(room, admission.as_ref(), self.clock.now()))
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
    use memory::{LineBehaviour, MemoryLedger, MemoryLine};
    use serde_json::{Value, json};
    use waitroom::ports::{Admitted, ConsumerRun, Fault, LineBack, PortError, SliceProgress, Slices, Store};
    use waitroom::{
        Admission, AdmittedBy, LineStatus, SliceId, Ticket, Timestamp, Token, ValveSchedule, fixture,
    };

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000);
    const ADMITTED: &str = "bk_sale=ab12-00112233445566778899aabbccddeeff-7";
    const WAITING: &str = "bk_sale=ab12-f0112233445566778899aabbccddeeff-9";
    const EXPIRED: &str = "bk_sale=ab12-e0112233445566778899aabbccddeeff-3";
    const OLD_EPOCH: &str = "bk_sale=zz99-00112233445566778899aabbccddeeff-7";

    /// A room in which 60 wait, whose line has reached ticket 40.
    fn ledger() -> MemoryLedger {
        let line = MemoryLine::new(|| NOW, 1, LineBehaviour::default());
        let ledger = MemoryLedger::new(line, fixture::room(300), ValveSchedule::LEAD_TIME_IN_ONE_PROCESS);
        let fill = async {
            for number in 1..=60 {
                let token = Token::from_bytes([number; Token::BYTES]);
                let ticket = Ticket::new(number.into()).unwrap();
                ledger.line().join(Place { epoch: "ab12".parse().unwrap(), token, ticket }).await?;
            }
            for (cookie, expires) in [(ADMITTED, NOW + Duration::from_mins(1)), (EXPIRED, NOW)] {
                let ticket = Ticket::new(7).unwrap();
                let admission = Admission { ticket, by: AdmittedBy::Door, at: Timestamp::default(), expires };
                ledger.admit(cookie[13..45].parse().unwrap(), admission).await?;
            }
            let slice = SliceId { plan: 1, index: 0 };
            ledger.take(slice, ConsumerRun(1)).await?;
            ledger.record(slice, SliceProgress { reached: 40, ..SliceProgress::default() }).await
        };
        block_on(fill).unwrap();
        ledger
    }

    /// A ledger that cannot read admissions.
    struct Broken(MemoryLedger);

    impl RoomReader for Broken {
        async fn room(&self) -> PortResult<Arc<Room>> {
            self.0.room().await
        }

        async fn room_now(&self) -> PortResult<Arc<Room>> {
            self.0.room_now().await
        }
    }

    impl Admissions for Broken {
        async fn admission(&self, _: Token) -> PortResult<Option<Admission>> {
            Err(PortError::new("look a visitor up", Fault::Busy, "the disk"))
        }

        async fn admit(&self, token: Token, admission: Admission) -> PortResult<Admitted> {
            self.0.admit(token, admission).await
        }

        async fn takes_admissions(&self) -> PortResult<()> {
            self.0.takes_admissions().await
        }
    }

    impl LineStatusReader for Broken {
        async fn line_status(&self, room: &Room) -> PortResult<LineStatus> {
            self.0.line_status(room).await
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

    fn poll(cookies: &[&str]) -> Value {
        let poll = Poll { ledger: ledger(), clock: Stopped };
        serde_json::to_value(block_on(poll.poll(cookies.iter().copied())).unwrap()).unwrap()
    }

    fn client(cookies: &[&str]) -> Value {
        let poll = Poll { ledger: ledger(), clock: Stopped };
        serde_json::to_value(block_on(poll.client(cookies.iter().copied())).unwrap()).unwrap()
    }

    #[test]
    fn a_poll_knows_newcomers_the_waiting_and_the_admitted() {
        for newcomer in [&[][..], &["a=1"], &[OLD_EPOCH], &[EXPIRED]] {
            assert_eq!(poll(newcomer)["join"], true, "{newcomer:?}");
        }
        let waiting = poll(&["a=1", WAITING]);
        assert_eq!((&waiting["allow"], waiting.get("join")), (&json!(false), None));
        assert_eq!((&waiting["served"], &waiting["waiting"]), (&json!(40), &json!(60)));
        assert_eq!(
            poll(&[ADMITTED]),
            json!({ "allow": true, "origin": "https://shop.example/", "until": 61_000 })
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
    fn a_ledger_that_fails_is_never_not_admitted() {
        let broken = Poll { ledger: Broken(ledger()), clock: Stopped };
        assert!(block_on(broken.poll([ADMITTED])).is_err());
        assert!(block_on(broken.client([ADMITTED])).is_err());
    }
}
