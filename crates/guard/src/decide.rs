//! Decides about each request. It holds no clock, no randomness and no network: those are arguments and ports.

use std::error::Error;
use std::time::Duration;

use http::Method;
use parking_lot::{Mutex, RwLock};
use pass::{Claims, Nonce, Refused, SessionRules, ShownIn, Verifier};

use crate::challenges::Challenges;
use crate::complaints::Complaints;
use crate::exchange::BrowserSecret;
use crate::session::Session;
use crate::target::{self, ReturnPath};
use crate::visitor_cookie::{SentVisitor, Trips};
use crate::{
    Decision, Exchange, GuardAnswer, GuardOutcome, GuardRules, GuardTimes, GuardedRequest, LiveSession,
    LiveSessions, Moment, OneSession, Opening, Reachability, ReachabilityChange, RoomClient, RoomKeys,
    SessionCookie, SessionId, SessionKey, SessionsFault, ToShop, WhenUnreachable, cookie,
};

/// The guard of one shop.
#[derive(Debug)]
pub struct Guard<L, C> {
    rules: GuardRules,
    key: SessionKey,
    sessions: L,
    keys: RoomKeys<C>,
    room: Mutex<Reachability>,
    /// What a room says that counts the active visitors.
    counting: RwLock<Option<SessionRules>>,
    challenges: Challenges,
    complaints: Complaints,
    cookie: String,
    end_cookie: String,
}

/// Why a visitor has to go to the room.
struct SentAway {
    why: GuardOutcome,
    /// The subject whose admission is used up, because their session has ended.
    again: Option<String>,
}

impl From<GuardOutcome> for SentAway {
    fn from(why: GuardOutcome) -> Self {
        Self { why, again: None }
    }
}

impl<L: LiveSessions, C: RoomClient> Guard<L, C> {
    /// Within this time after a visitor was sent for a better pass, one that is no better means that the next won't be either.
    const DOOR_PATIENCE: u64 = 60;
    /// So often in a row somebody without a session is sent to the door for one page. A shop that leads on to another name sends them back
    /// by four redirects, or six if it needs their secret first, and browsers follow twenty.
    const TRIPS: u8 = 3;
    /// Redirects alone take no longer from one trip to the next. Whoever opens the link once more takes a moment, and the page that ends a
    /// circle tries again later than that.
    const ONE_TRIP: u64 = 5;

    pub fn new(rules: GuardRules, key: SessionKey, sessions: L, keys: RoomKeys<C>) -> Self {
        let (cookie, end_cookie) = (cookie::name(&rules), cookie::end_name(&rules));
        let (room, counting) = (Mutex::default(), RwLock::default());
        let (challenges, complaints) = (Challenges::default(), Complaints::default());
        Self { rules, key, sessions, keys, room, counting, challenges, complaints, cookie, end_cookie }
    }

    pub fn rules(&self) -> &GuardRules {
        &self.rules
    }

    pub fn sessions(&self) -> &L {
        &self.sessions
    }

    pub fn keys(&self) -> &RoomKeys<C> {
        &self.keys
    }

    /// What a room that counts the active visitors says of sessions: it replaces what the guard's own rules say. With None they count again,
    /// and a visitor whose session has ended may come back with another pass.
    pub fn follow(&self, room: Option<SessionRules>) {
        *self.counting.write() = room;
    }

    /// What [`Guard::follow`] was told last.
    pub fn followed(&self) -> Option<SessionRules> {
        *self.counting.read()
    }

    fn times(&self) -> GuardTimes {
        let own = self.rules.times;
        self.followed().map_or(own, |room| GuardTimes {
            idle: Duration::from_secs(room.idle),
            session: Duration::from_secs(room.session),
            ..own
        })
    }

    /// Whether everybody is let in now, because the room does not answer and the operator chose so.
    pub fn is_open(&self, now: u64) -> bool {
        self.room.lock().is_open(now)
    }

    /// Asks the room once whether it answers, and takes its keys. For
    /// [`WhenUnreachable::Open`], call this every [`Reachability::EVERY`].
    pub async fn check_room(&self, now: u64) -> Option<ReachabilityChange> {
        let asked = self.keys.refresh(now).await;
        if let Err(error) = &asked
            && self.keys.count() == 0
        {
            let error = error as &dyn Error;
            tracing::warn!(error, "no key of the room is known, so nobody new can enter the shop");
        }
        let answered = asked.as_ref().map_or_else(crate::RoomSilence::is_an_answer, |()| true);
        let change = self.room.lock().note(answered, self.rules.unreachable, now)?;
        if let Err(error) = asked
            && change == ReachabilityChange::Opened
        {
            let error = &error as &dyn Error;
            tracing::error!(
                error,
                "the room does not answer: from now on everybody enters the shop without waiting"
            );
        } else {
            tracing::warn!(
                "the room answers again: from now on nobody enters the shop without a session or a pass"
            );
        }
        Some(change)
    }

    /// Calls [`Guard::check_room`] until the room's keys are known. For ever, if the room's silence opens the shop.
    pub async fn watch_room(&self) {
        let mut ticks = tokio::time::interval(Reachability::EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while self.keys.count() == 0 || self.rules.unreachable != WhenUnreachable::Closed {
            ticks.tick().await;
            if let Ok(moment) = Moment::now() {
                self.check_room(moment.now).await;
            }
        }
    }

    /// Whether this request reaches the shop, or else what the guard answers.
    pub async fn decide(&self, request: &GuardedRequest<'_>, moment: Moment) -> Decision {
        self.hear_of_end(request, moment.now).await;
        if self.rules.bypass.covers(request) || self.challenges.lets_in(request, moment.now) {
            return Decision::Enter(ToShop::default());
        }
        let pass = target::pass(request.target);
        if let Some((session, value)) = self.session(request, moment.now)
            && self.is_live(&session, moment.now).await
        {
            return enter(request, pass, session, SessionCookie::new(&self.cookie, value));
        }
        // A page of another site may embed the door, and so fetch a pass of its visitor.
        let is_arrival = request.method == Method::GET && request.shown() == ShownIn::Window;
        match pass.filter(|_| is_arrival) {
            Some(pass) => match self.exchange(request, pass, moment).await {
                Ok(answer) => Decision::Answer(answer),
                Err(away) => self.send_away(request, moment, &away),
            },
            None => self.send_away(request, moment, &GuardOutcome::Sent.into()),
        }
    }

    /// The shop has ended this visitor's session. It is over [`LiveSession::FAREWELL`] seconds later.
    pub async fn end(&self, visitor: &ToShop, now: u64) {
        if let (Some(subject), Some(id)) = (&visitor.subject, visitor.session)
            && let Err(error) = self.sessions.end(subject, id, now).await
        {
            complain(&error);
        }
    }

    /// For a web server that reads the shop's answer while the guard doesn't: with this value of a `Set-Cookie` header, the browser's
    /// next request tells the guard that the shop has ended the session. It names the session and not the visitor, because a visitor
    /// who comes back has another one.
    pub fn end_cookie(&self, visitor: &ToShop) -> Option<String> {
        let id = visitor.session?;
        Some(cookie::set(&self.rules, &self.end_cookie, &id.to_string(), cookie::REMEMBERED))
    }

    /// The shop's word counts for requests that need no session too: they may be all that the last page of a visitor makes.
    async fn hear_of_end(&self, request: &GuardedRequest<'_>, now: u64) {
        let mut named = cookie::sent(request.headers, &self.end_cookie).peekable();
        if named.peek().is_none() {
            return;
        }
        if let Some((session, _)) = self.session(request, now)
            && named.any(|id| id.parse() == Ok(session.id))
        {
            self.end(&visitor(session), now).await;
        }
    }

    /// A session that the guard wrote, and that has not lasted too long, and the cookie's value.
    fn session<'a>(&'a self, request: &GuardedRequest<'a>, now: u64) -> Option<(Session, &'a str)> {
        let cookies = cookie::sent(request.headers, &self.cookie);
        Session::find(cookies, &self.key, &self.rules.name, self.times().session, now)
    }

    fn longest(&self, session: &Session) -> u64 {
        session.end(self.times().session)
    }

    /// The session as it lives on after a request.
    fn live(&self, session: &Session, now: u64) -> LiveSession {
        const MINUTE: u64 = 60;
        let idle = now.saturating_add(self.times().idle.as_secs());
        let until = idle.checked_next_multiple_of(MINUTE).unwrap_or(idle).min(self.longest(session));
        let Session { id, opened, .. } = *session;
        LiveSession { id, pass: opened, exchange: None, opened, until, window: None, ended: None }
    }

    async fn is_live(&self, session: &Session, now: u64) -> bool {
        let kept = self.sessions.keep(&session.subject, self.live(session, now), now).await;
        kept.unwrap_or_else(|error| {
            // Nobody loses a session because the store is away.
            complain(&error);
            true
        })
    }

    /// Makes a session of a pass. An error says why the visitor has to go to the room instead.
    ///
    /// In a room that counts the active visitors, an admission is good for one session, or whoever has left the shop would come back
    /// while another has their place.
    async fn exchange(
        &self,
        request: &GuardedRequest<'_>,
        pass: &str,
        Moment { now, random }: Moment,
    ) -> Result<GuardAnswer, SentAway> {
        let claims = self.verify(pass, now).await.map_err(GuardOutcome::PassRefused)?;
        if self.followed().is_some() && self.sessions.has_ended(&claims.sub, now) {
            return Err(SentAway { why: GuardOutcome::SessionEnded, again: Some(claims.sub) });
        }
        let sent = self.sent(request);
        if self.rules.binds
            && let Err(answer) = self.check_nonce(request, &claims, sent.as_ref(), Moment { now, random })
        {
            return Ok(answer);
        }
        let browser = sent.as_ref().and_then(|sent| sent.browser);
        // Whoever came to the room first gets their secret now. Without one, the first session would keep out its own visitor if the
        // answer that opens it got lost.
        if self.rules.one_session == OneSession::First && browser.is_none() {
            return Err(GuardOutcome::SentForNonce.into());
        }
        let Claims { sub: subject, queue_position: number, window, iat, .. } = claims;
        // Not before its pass was signed, by a clock that is ahead: if the store is lost, the cookie says which passes are used.
        let session = Session { id: SessionId::from_bytes(random), subject, number, opened: now.max(iat) };
        let exchange = Some(Exchange::of(pass, browser));
        let live = LiveSession { pass: iat, exchange, opened: now, window, ..self.live(&session, now) };
        match self.sessions.open(&session.subject, live, self.rules.one_session, now).await {
            Ok(Opening::Opened | Opening::Repeated) => {}
            Ok(Opening::Used) => return Err(GuardOutcome::PassUsed.into()),
            Ok(Opening::Taken) => return Ok(GuardAnswer::page(GuardOutcome::Taken)),
            Err(error) => {
                complain(&error);
                return Ok(GuardAnswer::page(GuardOutcome::Unavailable));
            }
        }
        let asked_for = sent.and_then(|sent| sent.path).or_else(|| ReturnPath::new(request.target));
        let path = asked_for.unwrap_or_else(ReturnPath::root).to_string();
        let set_cookie = Some(self.set_session(&session, now));
        Ok(GuardAnswer::redirect(302, path, set_cookie, GuardOutcome::Exchanged))
    }

    async fn verify(&self, pass: &str, now: u64) -> Result<Claims, Refused> {
        let claims = self.keys.verify(pass, now).await?;
        let oldest = claims.iat.saturating_add(self.rules.times.pass.as_secs());
        if now < oldest.saturating_add(Verifier::LEEWAY) { Ok(claims) } else { Err(Refused::Expired) }
    }

    /// Whether the pass was made for this browser. Otherwise the browser goes through the door once, which signs its nonce.
    fn check_nonce(
        &self,
        request: &GuardedRequest<'_>,
        claims: &Claims,
        sent: Option<&SentVisitor>,
        moment: Moment,
    ) -> Result<(), GuardAnswer> {
        let ours = sent.and_then(|sent| sent.browser).map(BrowserSecret::nonce);
        if ours.is_some() && ours == claims.nonce {
            return Ok(());
        }
        if Self::is_just_asked(sent, None, moment.now) && claims.nonce.is_none() {
            tracing::error!(
                room = self.rules.room,
                "the room signed no nonce into a pass; it needs a Beekeeper that does, or the guard no binding"
            );
            return Err(GuardAnswer::page(GuardOutcome::NoNonce));
        }
        Err(self.to_door(request, moment, &GuardOutcome::SentForNonce.into()))
    }

    /// Whether they were sent through the door just now: for a new place, in place of this subject's, or else for a better pass.
    fn is_just_asked(sent: Option<&SentVisitor>, again: Option<&str>, now: u64) -> bool {
        let asked = sent.filter(|sent| sent.again.as_deref() == again).and_then(|sent| sent.asked);
        asked.is_some_and(|asked| now.abs_diff(asked) < Self::DOOR_PATIENCE)
    }

    /// This trip to the door, and those for the same page just before it. After a circle, each further try is one trip.
    fn trips(&self, request: &GuardedRequest<'_>, now: u64) -> Trips {
        let sent = self.sent(request).filter(|sent| sent.path == ReturnPath::new(request.target));
        let trips = sent.and_then(|sent| sent.trips);
        let count = match trips {
            Some(Trips { last, count }) if now.abs_diff(last) < Self::ONE_TRIP => count,
            Some(Trips { last, count: Self::TRIPS.. }) if now.abs_diff(last) < Self::DOOR_PATIENCE => {
                Self::TRIPS - 1
            }
            _ => 0,
        };
        Trips { last: now, count: count.saturating_add(1) }
    }

    /// What the guard remembers of a visitor whom it sent to the room.
    fn sent(&self, request: &GuardedRequest<'_>) -> Option<SentVisitor> {
        cookie::sent(request.headers, &self.cookie).find_map(SentVisitor::read)
    }

    /// Sends whoever may not enter to the room, if they can go there.
    fn send_away(&self, request: &GuardedRequest<'_>, moment: Moment, away: &SentAway) -> Decision {
        let why = away.why;
        if self.is_open(moment.now) {
            return Decision::Enter(ToShop { outcome: GuardOutcome::EnteredUnguarded, ..ToShop::default() });
        }
        if let GuardOutcome::PassRefused(refused) = why {
            let is_circling = Self::is_just_asked(self.sent(request).as_ref(), None, moment.now);
            self.complaints.log(&self.rules, refused, is_circling, moment.now);
            if is_circling {
                return Decision::Answer(GuardAnswer::page(GuardOutcome::Circling(refused)));
            }
        }
        if let Some(subject) = &away.again
            && Self::is_just_asked(self.sent(request).as_ref(), Some(subject), moment.now)
        {
            self.complaints.log_no_new_place(&self.rules, moment.now);
            return Decision::Answer(GuardAnswer::page(GuardOutcome::NoNewPlace));
        }
        Decision::Answer(match request.shown() {
            // The door would send the frame back with a pass, and the guard would send it to the door again.
            ShownIn::Frame => GuardAnswer::page(GuardOutcome::Framed),
            ShownIn::Nothing => GuardAnswer::page(GuardOutcome::NoPage),
            // A form that was sent too late. Its URL is not remembered, because it is not a page to come back to.
            ShownIn::Window if !request.only_reads() => {
                GuardAnswer::redirect(303, self.rules.door(), None, why)
            }
            ShownIn::Window
                if why == GuardOutcome::Sent && self.trips(request, moment.now).count > Self::TRIPS =>
            {
                self.complaints.log_in_vain(&self.rules, moment.now);
                GuardAnswer::page(GuardOutcome::SentInVain)
            }
            ShownIn::Window => self.to_door(request, moment, away),
        })
    }

    /// Redirects to the room's door, and remembers the page that was asked for. If the visitor comes from the door, with a
    /// pass, the page is remembered already.
    fn to_door(&self, request: &GuardedRequest<'_>, moment: Moment, away: &SentAway) -> GuardAnswer {
        let why = away.why;
        let trips = (why == GuardOutcome::Sent).then(|| self.trips(request, moment.now));
        let is_for_another_pass = matches!(
            why,
            GuardOutcome::PassRefused(_) | GuardOutcome::SessionEnded | GuardOutcome::SentForNonce
        );
        let asked = is_for_another_pass.then_some(moment.now);
        let before = self.sent(request);
        let (browser, path) = before.map_or((None, None), |sent| (sent.browser, sent.path));
        let path = path
            .filter(|_| target::pass(request.target).is_some())
            .or_else(|| ReturnPath::new(request.target));
        let browser = browser.unwrap_or_else(|| BrowserSecret::from_bytes(moment.random));
        let again = away.again.as_ref().map(|subject| format!("{}={subject}", SessionRules::AGAIN));
        let nonce = self.rules.binds.then(|| format!("{}={}", Nonce::PARAMETER, browser.nonce()));
        let query: Vec<_> = again.into_iter().chain(nonce).collect();
        let door = self.rules.door();
        let location = if query.is_empty() { door } else { format!("{door}?{}", query.join("&")) };
        let again = away.again.clone();
        let value = SentVisitor { browser: Some(browser), trips, asked, path, again }.value();
        // A used pass may be that of a second tab. This cookie would replace the session that the first tab just got.
        let set_cookie = (why != GuardOutcome::PassUsed)
            .then(|| cookie::set(&self.rules, &self.cookie, &value, cookie::REMEMBERED));
        GuardAnswer::redirect(302, location, set_cookie, why)
    }

    fn set_session(&self, session: &Session, now: u64) -> String {
        let value = session.seal(&self.key, &self.rules.name);
        cookie::set(
            &self.rules,
            &self.cookie,
            &value,
            Duration::from_secs(self.longest(session).saturating_sub(now)),
        )
    }
}

/// The shop answers; but a URL with a pass is cleaned first, so that nobody copies it.
fn enter(
    request: &GuardedRequest<'_>,
    pass: Option<&str>,
    session: Session,
    cookie: SessionCookie,
) -> Decision {
    if pass.is_some() && request.only_reads() {
        let path = ReturnPath::new(request.target).unwrap_or_else(ReturnPath::root).to_string();
        return Decision::Answer(GuardAnswer::redirect(302, path, None, GuardOutcome::Cleaned));
    }
    Decision::Enter(ToShop { cookie: Some(cookie), ..visitor(session) })
}

fn visitor(session: Session) -> ToShop {
    let Session { id, subject, number, .. } = session;
    let outcome = GuardOutcome::Entered;
    ToShop { subject: Some(subject), number, session: Some(id), cookie: None, outcome }
}

fn complain(error: &SessionsFault) {
    tracing::warn!(error = error as &dyn Error, "the store of live sessions failed");
}
