//! The door of the waiting room, both ways: `GET /beekeeper`.
//!
//! A newcomer gets a token and a ticket; only when the line has the token does the browser get the cookie.
//! Whoever waits keeps their place. Whoever is admitted is sent on to the shop with a signed pass.

mod answer;
mod request;
mod signing;
mod tokens;

use std::time::Duration;

use pass::PassError;
use tokio::sync::Mutex;
use waitroom::ports::{
    Admissions, Admitted, Clock, Fault, Keys, LineBack, PortError, PortResult, RoomReader, StatusBoard,
    TicketCounter, TokenSource,
};
use waitroom::{
    Admission, AdmittedBy, Epoch, Place, Room, RoomState, Scheme, Ticket, TicketBlock, Timestamp, Token,
};

pub use answer::DoorAnswer;
pub use request::{DoorRequest, Method};
use signing::{Signing, claims};
pub use tokens::SystemTokens;

/// Why a visitor could not be answered. They get [`DoorAnswer::busy`]; the operator gets this.
#[derive(Debug, thiserror::Error)]
pub enum ProducerError {
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Pass(#[from] PassError),
}

/// What the door needs of a store.
pub trait ProducerStore: RoomReader + TicketCounter + LineBack + Admissions + StatusBoard + Keys {}

impl<S: RoomReader + TicketCounter + LineBack + Admissions + StatusBoard + Keys> ProducerStore for S {}

#[derive(Debug)]
pub struct Producer<S, C, T> {
    store: S,
    clock: C,
    tokens: T,
    scheme: Scheme,
    /// Numbers of one epoch: another one counts from the beginning again.
    leases: Mutex<(Option<Epoch>, TicketBlock)>,
    passed: Mutex<Option<Passed>>,
    signing: Signing,
}

/// How far the line of an epoch had come at this time.
#[derive(Clone, Copy, Debug)]
struct Passed {
    at: Timestamp,
    epoch: Epoch,
    served: u64,
}

impl<S: ProducerStore, C: Clock, T: TokenSource> Producer<S, C, T> {
    /// How long a join waits for a counter that is throttled before the visitor is asked to come again.
    const PATIENCE: Duration = Duration::from_secs(20);
    /// For how long it is good enough to know how far the line had come.
    const FRESH: Duration = Duration::from_secs(1);

    pub fn new(store: S, clock: C, tokens: T, scheme: Scheme) -> Self {
        Self {
            store,
            clock,
            tokens,
            scheme,
            leases: Mutex::default(),
            passed: Mutex::default(),
            signing: Signing::default(),
        }
    }

    /// Finds the signing keys, or makes the room's first, before the first visitor has to wait for it.
    pub async fn warm_up(&self) -> Result<(), ProducerError> {
        self.signing.signer(&self.store, self.clock.now()).await.map(drop)
    }

    pub async fn answer(&self, request: &DoorRequest<'_>) -> Result<DoorAnswer, ProducerError> {
        let room = self.store.room().await?;
        let place = Place::find(&room.settings.room, room.epoch, request.cookies.iter().copied());
        if room.state == RoomState::Off {
            return self.straight_on(&room, place, request).await;
        }
        let Some(place) = place else {
            return self.newcomer(&room, request).await;
        };
        match self.store.admission(place.token).await? {
            None => self.waiting(&room, place, request).await,
            Some(admission) if admission.is_valid(self.clock.now()) => {
                self.to_shop(&room, place.token, waited(&admission)).await
            }
            Some(_) => self.newcomer(&room, request).await,
        }
    }

    async fn newcomer(&self, room: &Room, request: &DoorRequest<'_>) -> Result<DoorAnswer, ProducerError> {
        if request.only_looks() {
            return Ok(DoorAnswer::look());
        }
        self.join(room, self.tokens.token()?).await
    }

    /// Puts the token in line and, once the line has it, hands the place to the browser.
    async fn join(&self, room: &Room, token: Token) -> Result<DoorAnswer, ProducerError> {
        let place = Place { epoch: room.epoch, token, ticket: self.ticket(room.epoch).await? };
        self.store.join(place).await?;
        Ok(DoorAnswer::wait(&place).handing_out(&place, &room.settings.room, self.scheme))
    }

    /// Whether the line is past this ticket by more than two minutes' worth.
    async fn was_passed(&self, room: &Room, ticket: Ticket) -> PortResult<bool> {
        // By the rate in force, which is the one that the page knows: it comes here when it finds itself passed.
        let two_minutes = 2 * u64::from(room.rate().get());
        Ok(self.served(room.epoch).await? > ticket.get().saturating_add(two_minutes))
    }

    /// Asked at most once a second: everybody who comes back wants to know it, and in a table it is one item.
    async fn served(&self, epoch: Epoch) -> PortResult<u64> {
        let mut passed = self.passed.lock().await;
        let now = self.clock.now();
        let fresh =
            |known: &Passed| known.epoch == epoch && (known.at..known.at + Self::FRESH).contains(&now);
        if let Some(known) = passed.filter(fresh) {
            return Ok(known.served);
        }
        let served = self.store.served().await?;
        *passed = Some(Passed { at: now, epoch, served });
        Ok(served)
    }

    async fn waiting(
        &self,
        room: &Room,
        place: Place,
        request: &DoorRequest<'_>,
    ) -> Result<DoorAnswer, ProducerError> {
        if !request.only_looks() && self.was_passed(room, place.ticket).await? {
            // At least once is what lines promise. Should one lose a message all the same, or the visitor
            // have been admitted so long ago that the ledger forgot, the same token joins again, at the
            // back, with the number of that place: a made-up ticket gains nothing, and being wrong costs
            // nothing, since admitting is idempotent.
            return self.join(room, place.token).await;
        }
        Ok(DoorAnswer::wait(&place))
    }

    async fn straight_on(
        &self,
        room: &Room,
        place: Option<Place>,
        request: &DoorRequest<'_>,
    ) -> Result<DoorAnswer, ProducerError> {
        let Some(place) = place else {
            return self.to_shop(room, self.tokens.token()?, None).await;
        };
        if request.only_looks() {
            return self.to_shop(room, place.token, None).await;
        }
        let now = self.clock.now();
        let expires = now + room.settings.lifetimes.claim;
        let admission = Admission { ticket: place.ticket, by: AdmittedBy::Door, at: now, expires };
        let ticket = match self.store.admit(place.token, admission).await {
            Ok(Admitted::Now) => None,
            Ok(Admitted::Before(admission)) => waited(&admission),
            Err(error) => {
                // Off means that everybody goes on. At worst a later consumer counts this visitor.
                tracing::warn!(error = &error as &dyn std::error::Error, "a visitor went on unrecorded");
                None
            }
        };
        self.to_shop(room, place.token, ticket).await
    }

    async fn to_shop(
        &self,
        room: &Room,
        token: Token,
        ticket: Option<Ticket>,
    ) -> Result<DoorAnswer, ProducerError> {
        let now = self.clock.now();
        let signer = self.signing.signer(&self.store, now).await?;
        let pass = signer.sign(&claims(room, token, ticket, now))?;
        Ok(DoorAnswer::shop(room.settings.shop.with_pass(&pass)))
    }

    /// The next number in line. One lease at a time, so that numbers are handed out in order.
    async fn ticket(&self, epoch: Epoch) -> PortResult<Ticket> {
        let until = self.clock.now() + Self::PATIENCE;
        let mut leases = self.leases.lock().await;
        if leases.0 != Some(epoch) {
            *leases = (Some(epoch), TicketBlock::new());
        }
        let leases = &mut leases.1;
        if let Some(ticket) = leases.take(self.clock.now()) {
            return Ok(ticket);
        }
        let count = leases.wanted(self.clock.now());
        let first = self.lease(count, until).await?;
        let now = self.clock.now();
        leases.fill(first..first.saturating_add(count.into()), now);
        leases.take(now).ok_or_else(|| {
            let out = format!("the counter stands at {first}, the largest ticket is {}", Ticket::MAX);
            PortError::new("number a visitor", Fault::Broken, out)
        })
    }

    async fn lease(&self, count: u32, until: Timestamp) -> PortResult<u64> {
        let mut pause = Duration::from_millis(20);
        loop {
            match self.store.lease(count).await {
                // An unsure lease may have left a gap, and a gap harms nobody.
                Err(error) if error.fault != Fault::Broken && self.clock.now() + pause < until => {
                    self.clock.sleep_until(self.clock.now() + pause).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
                done => return done,
            }
        }
    }
}

/// The number with which somebody waited. Whoever came through the door has only the number in their cookie,
/// which is whatever they wrote there: not for us to sign.
fn waited(admission: &Admission) -> Option<Ticket> {
    matches!(admission.by, AdmittedBy::Slice(_)).then_some(admission.ticket)
}
