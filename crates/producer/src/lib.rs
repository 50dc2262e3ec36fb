//! The door of the waiting room: `GET /beekeeper`.
//!
//! A newcomer gets a place: a token and a ticket. The browser gets the cookie only after the line has stored the place.
//! A visitor who waits keeps their place. A visitor who is admitted is sent to the shop with a signed pass.
//! Only somebody who opens the room in a window gets a place or a pass.

mod answer;
mod claims;
mod documents;
mod error;
mod guard_report;
mod held_portion;
mod observe;
mod pass_keys;
mod proofs;
mod recent_passes;
mod refusals;
mod request;
mod tokens;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future;
use pass::SecretKeys;
use tokio::sync::Mutex;
use tracing::Span;
use tracing::field::display;
use waitroom::ports::{
    Admissions, Admitted, Clock, EntryCount, Fault, GuardReports, HelpCalls, Keys, LineBack,
    LineStatusReader, NewcomerCount, PermitHolder, Permits, PortError, PortResult, QuietSwitch, RoomReader,
    StatusBoard, Store, TicketCounter, TokenSource, TurnoutCount, within,
};
use waitroom::{
    Admission, AdmittedBy, DoorPermits, Epoch, HelpCall, HelpCode, Place, Refusals, Room, Scheme, SliceId,
    Ticket, TicketBlock, Timestamp, Token,
};

pub use answer::DoorAnswer;
use claims::claims;
pub use error::ProducerError;
pub use guard_report::{LONGEST_REPORT, ReportAnswer};
use held_portion::HeldPortion;
pub use pass::ShownIn;
pub use pass_keys::MakeKeys;
use pass_keys::{KeyStore, PassKeys};
use proofs::Proofs;
use recent_passes::RecentPasses;
pub use refusals::RefusalLog;
use request::CountedPlace;
pub use request::{DoorRequest, PlaceLimit};
pub use tokens::SystemTokens;

waitroom::used_ports! {
    /// What the door needs of a store.
    pub trait ProducerStore: Store<
        Line: TicketCounter + LineBack,
        Ledger: RoomReader + QuietSwitch + Admissions + Permits + NewcomerCount + EntryCount + TurnoutCount
            + HelpCalls + GuardReports + StatusBoard + LineStatusReader + Keys,
    >
}

#[derive(Debug)]
pub struct Producer<S, C, T> {
    store: S,
    clock: C,
    tokens: T,
    scheme: Scheme,
    /// The time that the rate is meant for.
    minute: Duration,
    /// Permits that this door has taken, of the last change of the valve.
    permits: Mutex<HeldPortion>,
    /// Newcomers whom this door has counted in a slot, and who have not come yet.
    newcomers: Mutex<HeldPortion>,
    /// Ticket numbers of one epoch; the next epoch starts at 1 again.
    leases: Mutex<(Option<Epoch>, TicketBlock)>,
    overtaken: Mutex<Option<OvertakenTickets>>,
    /// The version of the quiet room that was woken last, so that a crowd wakes it once.
    woken: Mutex<Option<u64>>,
    keys: PassKeys,
    passes: RecentPasses,
    proofs: Proofs,
    refusals: RefusalLog,
}

/// What a visit leads to within the time that a visitor waits for the door.
enum VisitOutcome {
    Answered(DoorAnswer),
    Joined(Joined),
}

/// The line has stored a place, which its visitor hasn't got yet.
struct Joined {
    room: Arc<Room>,
    place: Place,
    /// Whether they would have gone straight in, had there been room.
    got_no_permit: bool,
}

/// Below which ticket visitors of an epoch were overtaken, as it was at this time.
#[derive(Clone, Copy, Debug)]
struct OvertakenTickets {
    at: Timestamp,
    epoch: Epoch,
    below: u64,
}

impl<S: ProducerStore, C: Clock, T: TokenSource> Producer<S, C, T> {
    /// How long a visitor waits for an answer of the door. On AWS, whoever waits holds one of the functions that the
    /// account may run at once, and the consumers need some too.
    const LONGEST_WAIT: Duration = Duration::from_secs(3);
    /// How long a join retries a busy ticket counter. Less than the door's own time, so that the log names the cause.
    const LONGEST_LEASE: Duration = Duration::from_secs(2);
    /// How long an admission of a room that is off lasts: for the way to the shop, from which a guard may send the visitor
    /// back to the door once. A guard takes a pass for as long. Whoever comes later has skipped the line, if the room is on again.
    const WAY_TO_SHOP: Duration = Duration::from_mins(5);
    /// How long a look at the door waits for the room's first keys. A little less than the door's own time, so that it's answered, and
    /// no attempt is given up that a visitor's would have finished.
    const LONGEST_KEYS: Duration = Duration::from_millis(2800);
    /// How long a visitor waits for what is only written down about them.
    const LONGEST_NOTE: Duration = Duration::from_secs(1);
    /// How long it is cached which tickets were overtaken.
    const FRESH: Duration = Duration::from_secs(1);

    pub fn new(store: S, clock: C, tokens: T, scheme: Scheme) -> Self {
        Self {
            store,
            clock,
            tokens,
            scheme,
            minute: Duration::from_mins(1),
            permits: Mutex::default(),
            newcomers: Mutex::default(),
            leases: Mutex::default(),
            overtaken: Mutex::default(),
            woken: Mutex::default(),
            keys: PassKeys::made_by(|_, proof| SecretKeys::generate(proof)),
            passes: RecentPasses::default(),
            proofs: Proofs::default(),
            refusals: RefusalLog::default(),
        }
    }

    /// Before its first request.
    #[must_use]
    pub fn with_keys_made_by(self, make: MakeKeys) -> Self {
        Self { keys: PassKeys::made_by(make), ..self }
    }

    /// The time that the rate is meant for: a minute, or less in a demonstration.
    #[must_use]
    pub fn with_minute(self, minute: Duration) -> Self {
        Self { minute, ..self }
    }

    /// Reads the room's keys, or creates its first, so that the first visitor does not wait for them.
    pub async fn warm_up(&self) -> Result<(), ProducerError> {
        let room = self.store.ledger().room().await?;
        self.proofs.prover(&self.keys, &self.keys_of(&room)).await;
        self.keys.signer(&self.keys_of(&room)).await.map(drop)
    }

    /// The requests that the door refused lately because it could not answer them.
    pub fn recent_refusals(&self) -> Option<Refusals> {
        self.refusals.recent(self.clock.now())
    }

    fn keys_of(&self, room: &Room) -> KeyStore<'_, S::Ledger> {
        KeyStore {
            ledger: self.store.ledger(),
            pass_lifetime: room.settings.lifetimes.pass,
            now: self.clock.now(),
        }
    }

    /// Logs why a request cannot be answered, the same on one machine and on AWS, and tells the visitor to retry.
    pub fn refuse(&self, error: &ProducerError) -> DoorAnswer {
        self.refusals.log(self.clock.now(), "/beekeeper", error);
        DoorAnswer::busy()
    }

    /// The answer, or an error if it takes too long. A visitor whose join was not confirmed by then gets a new place when
    /// they come again.
    pub async fn answer(&self, request: &DoorRequest<'_>) -> Result<DoorAnswer, ProducerError> {
        // In a box, because it's large, and programs hold it in others.
        let mut outcome = Box::pin(self.outcome(request));
        let late = ProducerError::Late(Self::LONGEST_WAIT);
        match within(&self.clock, Self::LONGEST_WAIT, outcome.as_mut()).await.ok_or(late)?? {
            VisitOutcome::Answered(answer) => Ok(answer),
            // What is left to do has limits of its own: a place that is stored is always handed out.
            VisitOutcome::Joined(joined) => Ok(self.welcome(&joined, request).await),
        }
    }

    async fn outcome(&self, request: &DoorRequest<'_>) -> Result<VisitOutcome, ProducerError> {
        let room = self.store.ledger().room().await?;
        // For the span of the request, which the program around creates.
        Span::current().record("epoch", display(room.epoch));
        match request.shown {
            ShownIn::Window => {}
            ShownIn::Nothing => {
                self.make_keys(&room).await;
                return Ok(VisitOutcome::Answered(DoorAnswer::look()));
            }
            ShownIn::Frame => return Ok(VisitOutcome::Answered(DoorAnswer::in_frame())),
        }
        let place = Self::place_in(&room, request).filter(|place| !Self::is_used_up(&room, place, request));
        if room.lets_everybody_through() {
            return self.straight_to_shop(&room, place, request).await.map(VisitOutcome::Answered);
        }
        if room.observes() {
            return self.observe(&room, place, request).await.map(VisitOutcome::Answered);
        }
        let Some(place) = place else {
            return self.newcomer(&room, request).await;
        };
        match self.admission(&room, place.token).await? {
            None => self.waiting(&room, place, request).await,
            Some(admission) if room.still_lets_in(&admission, self.clock.now()) => {
                let ticket = self.ticket_for_pass(&room, &place, Some(&admission), request).await;
                let window = window_of(&admission);
                let to_shop = self.to_shop(&room, place.token, ticket, window, request).await?;
                self.count_entry(&room, place.token, &admission).await;
                Ok(VisitOutcome::Answered(to_shop))
            }
            Some(_) => self.newcomer(&room, request).await,
        }
    }

    /// The visitor's admission of this epoch. Whether the place is of this epoch is only what their cookie says.
    async fn admission(&self, room: &Room, token: Token) -> PortResult<Option<Admission>> {
        let admission = self.store.ledger().admission(token).await?;
        Ok(admission.filter(|admission| room.is_of_this_epoch(admission)))
    }

    /// Makes the room's first keys, if that failed at the start. Whoever joins or comes for a pass makes them too, but a room that
    /// nobody has joined yet would not get any, and `beekeeper deploy` would wait for them in vain.
    async fn make_keys(&self, room: &Room) {
        let keys = self.keys_of(room);
        let make = pin!(self.proofs.prover(&self.keys, &keys));
        if within(&self.clock, Self::LONGEST_KEYS, make).await.is_none() {
            tracing::warn!(
                "could not make the room's keys within {:?}; a later request does it",
                Self::LONGEST_KEYS
            );
        }
    }

    /// Whether this visitor's admission is used up: the room counts the active ones, and a guard has sent them back because their
    /// session has ended. It names them by the subject of their pass, which only they, the shop and its guard know.
    fn is_used_up(room: &Room, place: &Place, request: &DoorRequest<'_>) -> bool {
        let is_theirs = |subject: &str| subject == pass::subject(&place.token.to_string());
        room.settings.active.is_some() && request.again.is_some_and(is_theirs)
    }

    fn scheme_for(&self, request: &DoorRequest<'_>) -> Scheme {
        self.scheme.for_browser(request.user_agent)
    }

    fn place_in(room: &Room, request: &DoorRequest<'_>) -> Option<Place> {
        Place::find(&room.settings.room, room.epoch, request.cookies.iter().copied())
    }

    /// Somebody without a place, or with one that is used up.
    async fn newcomer(
        &self,
        room: &Arc<Room>,
        request: &DoorRequest<'_>,
    ) -> Result<VisitOutcome, ProducerError> {
        if !room.takes_newcomers() {
            let answer = DoorAnswer::too_late(room, None);
            return Ok(VisitOutcome::Answered(match Self::place_in(room, request) {
                Some(_) => answer.taking_away(&room.settings.room, self.scheme_for(request)),
                None => answer,
            }));
        }
        match CountedPlace::take(request.limit) {
            Ok(counted) => self.enter_or_join(room, self.tokens.token()?, counted, request).await,
            Err(wait) => Ok(VisitOutcome::Answered(DoorAnswer::too_many(wait))),
        }
    }

    /// Straight in, if nobody waits and there is a permit, or else into the line.
    async fn enter_or_join(
        &self,
        room: &Arc<Room>,
        token: Token,
        counted: CountedPlace<'_>,
        request: &DoorRequest<'_>,
    ) -> Result<VisitOutcome, ProducerError> {
        match self.permit(room).await {
            Some(true) => self.straight_in(room, token, counted, request).await.map(VisitOutcome::Answered),
            permit => {
                let place = Place { epoch: room.epoch, token, ticket: self.ticket(room.epoch).await? };
                counted.store(self.store.line().join(place)).await?;
                let room = Arc::clone(room);
                Ok(VisitOutcome::Joined(Joined { room, place, got_no_permit: permit.is_some() }))
            }
        }
    }

    /// Whether there is a permit. `None` if that shows nothing: newcomers don't go straight in, or do only since a moment ago.
    async fn permit(&self, room: &Room) -> Option<bool> {
        if !room.lets_straight_in() {
            return None;
        }
        // Again, because whoever came may have waited here since the room was read. A second old is soon enough: a change of the doors
        // is in force only later.
        let room = self.store.ledger().room().await.inspect_err(warn_of_unknown_room).ok()?;
        let now = self.clock.now();
        let of = DoorPermits::of(&room, now, self.minute)?;
        let mut held = self.permits.lock().await;
        if held.take(of.since, now) {
            return Some(true);
        }
        match self.store.ledger().take_permits(of, of.portion(), PermitHolder::Door).await {
            Ok(true) => {
                held.keep_rest(of.since, now + of.good_for(), of.portion());
                Some(true)
            }
            Ok(false) => of.are_established(now).then_some(false),
            Err(error) => {
                warn_of_unknown_room(&error);
                Some(false)
            }
        }
    }

    /// Admits a newcomer who has a permit. They get a place without a number in line, so that they can come back.
    async fn straight_in(
        &self,
        room: &Room,
        token: Token,
        counted: CountedPlace<'_>,
        request: &DoorRequest<'_>,
    ) -> Result<DoorAnswer, ProducerError> {
        let admission = room.new_admission(Ticket::FIRST, AdmittedBy::Permit, self.clock.now());
        counted.store(self.store.ledger().admit(token, admission)).await?;
        let to_shop = self.to_shop(room, token, None, None, request).await?;
        Ok(self.with_place(to_shop, room, token, &admission, request).await)
    }

    /// Sends a newcomer to the shop who was admitted without a number in line, with a place, so that they can come back.
    async fn with_place(
        &self,
        to_shop: DoorAnswer,
        room: &Room,
        token: Token,
        admission: &Admission,
        request: &DoorRequest<'_>,
    ) -> DoorAnswer {
        self.refusals.note_join(self.clock.now());
        self.count_entry(room, token, admission).await;
        let place = Place { epoch: room.epoch, token, ticket: admission.ticket };
        to_shop.handing_out(&place, None, &room.settings.room, self.scheme_for(request), request.path)
    }

    /// Hands out a place that the line has stored.
    async fn welcome(&self, joined: &Joined, request: &DoorRequest<'_>) -> DoorAnswer {
        let Joined { room, place, got_no_permit } = joined;
        let keys = self.keys_of(room);
        self.refusals.note_join(keys.now);
        let wake = pin!(self.wake(*got_no_permit));
        let prove = pin!(self.proofs.prove(&self.keys, &keys, place));
        let (woken, proof) = future::join(
            within(&self.clock, Self::LONGEST_WAIT, wake),
            within(&self.clock, Self::LONGEST_KEYS, prove),
        )
        .await;
        if woken.is_none() || proof.is_none() {
            tracing::warn!(
                "a visitor has joined, and doesn't wait until the room is awake, or their place proven"
            );
        }
        let (scheme, path) = (self.scheme_for(request), request.path);
        DoorAnswer::wait(place).handing_out(place, proof.flatten(), &room.settings.room, scheme, path)
    }

    /// Wakes a quiet room, in which nobody is released. If that fails, the trigger's next run does it.
    ///
    /// The room is read after the visitor has joined. It is quiet only from an instant on that everybody knows by then, so
    /// either it is read as quiet here, or a consumer still receives the visitor.
    async fn wake(&self, got_no_permit: bool) {
        let Ok(room) = self.store.ledger().room().await else { return };
        if !room.is_woken_by_join(got_no_permit) {
            return;
        }
        let mut woken = self.woken.lock().await;
        if *woken == Some(room.version) {
            return;
        }
        match self.store.ledger().set_quiet(false).await {
            Ok(()) => *woken = Some(room.version),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "could not wake the room; the next minute does it");
            }
        }
    }

    /// Whether the line has overtaken this ticket. The page asks the same of the poll's `overtaken`, and comes here if so.
    ///
    /// Read at most once a second: every returning visitor needs it, and on AWS it is a single item.
    async fn was_passed(&self, epoch: Epoch, ticket: Ticket) -> PortResult<bool> {
        let mut overtaken = self.overtaken.lock().await;
        let now = self.clock.now();
        let fresh = |known: &OvertakenTickets| {
            known.epoch == epoch && (known.at..known.at + Self::FRESH).contains(&now)
        };
        let known = match overtaken.filter(fresh) {
            Some(known) => known,
            None => OvertakenTickets { at: now, epoch, below: self.store.ledger().reach().await?.overtaken },
        };
        *overtaken = Some(known);
        Ok(ticket.get() < known.below)
    }

    async fn waiting(
        &self,
        room: &Arc<Room>,
        place: Place,
        request: &DoorRequest<'_>,
    ) -> Result<VisitOutcome, ProducerError> {
        if request.asks_for_help && self.is_proven(room, &place, request).await {
            return self.help(room, place).await.map(VisitOutcome::Answered);
        }
        if room.is_over() {
            return Ok(VisitOutcome::Answered(DoorAnswer::too_late(room, Some(&place))));
        }
        // Nobody is in line before them while the doors are open. Nor was whoever went straight in, if their admission was lost: their
        // number is the first one, and is never overtaken.
        let goes_straight_in = room.quiet && room.lets_straight_in();
        if goes_straight_in || self.was_passed(room.epoch, place.ticket).await? {
            // The line may have lost the visitor, although it promises delivery at least once. Or the ledger may
            // have deleted an old admission. So the same token joins again, at the back, with a new ticket. A
            // visitor who made up a ticket gains nothing. If the visitor was not lost, nothing breaks, because
            // admitting is idempotent.
            //
            // Without a proof, both the token and the ticket are what the visitor wrote: somebody else's token may be known by their
            // help code. So such a place gets a new one, and the limit counts it. A place that the room gave out was counted then.
            // Beyond the limit, the visitor keeps waiting with the old place, and the page asks again later. The same goes for a room
            // that takes no newcomers, as whom an invented cookie would let somebody join.
            let is_proven = self.is_proven(room, &place, request).await;
            if !is_proven && !room.takes_newcomers() {
                return Ok(VisitOutcome::Answered(DoorAnswer::wait(&place)));
            }
            let token = if is_proven { place.token } else { self.tokens.token()? };
            let limit = request.limit.filter(|_| !is_proven);
            if let Ok(counted) = CountedPlace::take(limit) {
                return self.enter_or_join(room, token, counted, request).await;
            }
        }
        let scarce = if request.runs_no_script { self.scarce(room, &place).await } else { None };
        Ok(VisitOutcome::Answered(scarce.unwrap_or_else(|| DoorAnswer::wait(&place))))
    }

    /// Says that the line is longer than what is left of the stock, if it is for this place. The waiting page is a file, and says so
    /// itself where it can run. Only for whoever cannot run it, the door reads the status.
    async fn scarce(&self, room: &Room, place: &Place) -> Option<DoorAnswer> {
        room.stock?;
        let status = self.store.ledger().line_status(room).await;
        let status = status.inspect_err(warn_of_unknown_status).ok()?;
        let left = status.scarce_for(place.ticket)?;
        Some(DoorAnswer::scarce(room, left, status.ahead_of(place.ticket)))
    }

    /// Shows a visitor in line the code by which the operator finds them. Nobody without a place of the room's own gets one, so the
    /// room keeps no more codes than places.
    /// Whoever reloads makes the room read, and write once a minute at most.
    async fn help(&self, room: &Room, place: Place) -> Result<DoorAnswer, ProducerError> {
        let at = self.clock.now();
        for code in HelpCode::of(place.token) {
            let call = HelpCall { code, place, at };
            let known = self.store.ledger().call(code).await?;
            let is_kept = known.is_some_and(|known| !call.is_news_after(&known));
            if is_kept || self.store.ledger().note_call(call).await? {
                return Ok(DoorAnswer::help(room, code));
            }
        }
        let taken = "other visitors have all of this one's codes; they are free in an hour";
        Err(PortError::new("give out a help code", Fault::Busy, taken).into())
    }

    /// While the room is off, everybody goes to the shop. A place that the room gave out is admitted too, so that the line does
    /// not release it later. Any other place may be invented: it gets what a visitor without one gets, and counts like it.
    async fn straight_to_shop(
        &self,
        room: &Room,
        place: Option<Place>,
        request: &DoorRequest<'_>,
    ) -> Result<DoorAnswer, ProducerError> {
        if let Some(place) = place
            && let Some(before) = self.own_place(room, &place, request).await
        {
            let ticket = self.ticket_for_pass(room, &place, before.as_ref(), request).await;
            let window = before.as_ref().and_then(window_of);
            let to_shop = self.to_shop(room, place.token, ticket, window, request).await?;
            if let Some(admission) = before.filter(|admission| admission.is_valid(self.clock.now())) {
                self.count_entry(room, place.token, &admission).await;
            }
            return Ok(to_shop);
        }
        match CountedPlace::take(request.limit) {
            Ok(counted) => {
                let to_shop = self.to_shop(room, self.tokens.token()?, None, None, request).await?;
                counted.keep();
                Ok(to_shop)
            }
            Err(wait) => Ok(DoorAnswer::too_many(wait)),
        }
    }

    /// Whether the room that is off gave out this place, and the admission that it had before.
    async fn own_place(
        &self,
        room: &Room,
        place: &Place,
        request: &DoorRequest<'_>,
    ) -> Option<Option<Admission>> {
        let is_proven = self.is_proven(room, place, request).await;
        let find = async {
            match self.admission(room, place.token).await {
                Ok(None) if is_proven => self.straight_out_of_line(room, place).await,
                found => found,
            }
        };
        let before = self.in_short(find).await.and_then(|found| {
            found.unwrap_or_else(|error| {
                // At worst the line releases this visitor later.
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "a visitor goes to the shop while the room is off, and is not recorded as admitted"
                );
                None
            })
        });
        (is_proven || before.is_some()).then_some(before)
    }

    /// Admits somebody from the line for the way to the shop. Returns the admission that they got meanwhile, if they did.
    async fn straight_out_of_line(&self, room: &Room, place: &Place) -> PortResult<Option<Admission>> {
        let now = self.clock.now();
        let expires = now + room.settings.lifetimes.admission.min(Self::WAY_TO_SHOP);
        let admission = Admission { expires, ..room.new_admission(place.ticket, AdmittedBy::Door, now) };
        Ok(match self.store.ledger().admit(place.token, admission).await? {
            Admitted::Now => None,
            Admitted::Before(admission) => Some(admission),
        })
    }

    /// Counts a visitor who came for their pass, unless the door let them in before their turn. Where it matters how many of those
    /// come who are released, only the first time.
    async fn count_entry(&self, room: &Room, token: Token, admission: &Admission) {
        let counts = match admission.by {
            AdmittedBy::Door => false,
            AdmittedBy::Slice(slice) if room.settings.oversubscribe.is_some() => {
                self.comes_first(token, slice).await
            }
            AdmittedBy::Slice(_) | AdmittedBy::Permit => true,
        };
        if counts {
            self.store.ledger().count_entry();
        }
    }

    /// Whether somebody comes for the first time, which is noted. If it can't be, they go to the shop all the same, and a few more
    /// are released for it.
    async fn comes_first(&self, token: Token, slice: SliceId) -> bool {
        match self.in_short(self.store.ledger().note_came(token, slice)).await {
            Some(Ok(is_first)) => is_first,
            Some(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "a visitor came for their pass, and was not counted");
                false
            }
            None => false,
        }
    }

    /// Writes something down about a visitor. `None` if it takes too long: they don't wait for that.
    async fn in_short<R>(&self, call: impl Future<Output = R>) -> Option<R> {
        let done = within(&self.clock, Self::LONGEST_NOTE, pin!(call)).await;
        if done.is_none() {
            tracing::warn!("a visitor passes uncounted, because it takes too long to write it down");
        }
        done
    }

    async fn is_proven(&self, room: &Room, place: &Place, request: &DoorRequest<'_>) -> bool {
        let cookies = request.cookies.iter().copied();
        let proofs: Vec<&str> = Place::find_proofs(&room.settings.room, cookies).collect();
        self.proofs.is_proven(&self.keys, &self.keys_of(room), place, &proofs).await
    }

    /// The ticket to sign into the pass: the one that was admitted from the line, or else the one in the cookie, if it is
    /// proven. Without a proof it is whatever the visitor wrote there.
    async fn ticket_for_pass(
        &self,
        room: &Room,
        place: &Place,
        admission: Option<&Admission>,
        request: &DoorRequest<'_>,
    ) -> Option<Ticket> {
        match admission {
            Some(Admission { ticket, by: AdmittedBy::Slice(_), .. }) => Some(*ticket),
            _ => self.is_proven(room, place, request).await.then_some(place.ticket),
        }
    }

    async fn to_shop(
        &self,
        room: &Room,
        token: Token,
        ticket: Option<Ticket>,
        window: Option<u64>,
        request: &DoorRequest<'_>,
    ) -> Result<DoorAnswer, ProducerError> {
        let keys = self.keys_of(room);
        let signer = self.keys.signer(&keys).await?;
        let claims = claims(room, token, ticket, window, request.nonce(), keys.now);
        Ok(match self.passes.sign(claims, &signer)? {
            Some(pass) => DoorAnswer::found(room.settings.shop.with_pass(&pass)),
            None => DoorAnswer::too_many(Duration::ZERO),
        })
    }

    /// The next ticket. Only one task leases a block at a time, so that tickets are given out in order.
    async fn ticket(&self, epoch: Epoch) -> PortResult<Ticket> {
        let until = self.clock.now() + Self::LONGEST_LEASE;
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
            let out = format!("the counter is at {first}, and the largest ticket is {}", Ticket::MAX);
            PortError::new("give out a ticket", Fault::Broken, out)
        })
    }

    async fn lease(&self, count: u32, until: Timestamp) -> PortResult<u64> {
        let mut pause = Duration::from_millis(20);
        loop {
            match self.store.line().lease(count).await {
                // A lease whose answer was lost leaves a gap in the tickets. Gaps are harmless.
                Err(error) if error.fault != Fault::Broken && self.clock.now() + pause < until => {
                    self.clock.sleep_until(self.clock.now() + pause).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
                done => return done,
            }
        }
    }
}

/// The window that released a visitor, if one did.
fn window_of(admission: &Admission) -> Option<u64> {
    match admission.by {
        AdmittedBy::Slice(slice) => Some(slice.plan),
        AdmittedBy::Door | AdmittedBy::Permit => None,
    }
}

fn warn_of_unknown_status(error: &PortError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, "a visitor in line isn't told that the line may be longer than what is left");
}

/// Somebody joins the line who might have gone straight in.
fn warn_of_unknown_room(error: &PortError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, "a newcomer joins the line, because it is not known whether there is room");
}
