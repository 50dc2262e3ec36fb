//! One visitor: joins, loads the page, polls as the page does, and enters when it is their turn.

use std::time::Duration;

use page::line::{TURN_SHOWN, is_passed, retry_in};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};
use url::Url;

use super::cookies::VisitorCookies;
use super::crowd::VisitorCrowd;
use super::notes::{NotedPlace, VisitNote};
use super::polled::PolledLine;
use super::wire::{VisitAnswer, VisitFault, VisitRoute};

/// The page asks the door at most so often whether it was passed by.
const PASSED_CHECK: Duration = Duration::from_mins(2);
/// Larger than any redirect that a shop needs.
const MOST_REDIRECTS: usize = 5;

pub(super) struct RehearsalVisitor<'a> {
    crowd: &'a VisitorCrowd,
    index: usize,
    cookies: VisitorCookies,
    rng: StdRng,
}

/// Where the door sent a visitor.
enum SentTo {
    Page(Url),
    Shop(Url),
}

impl<'a> RehearsalVisitor<'a> {
    pub(super) fn new(crowd: &'a VisitorCrowd, index: usize) -> Self {
        let rng = StdRng::seed_from_u64(crowd.plan.seed.rotate_left(32) ^ index as u64);
        Self { crowd, index, cookies: VisitorCookies::default(), rng }
    }

    pub(super) async fn visit(mut self) {
        let shop = match self.join().await {
            SentTo::Shop(shop) => {
                self.note(|visit| visit.is_unadmitted = true);
                shop
            }
            SentTo::Page(page) => {
                // A browser without the page cannot poll. It would show its own error, and the visitor would reload.
                self.insist(VisitRoute::Page, &page, |answer| (answer.status == 200).then_some(())).await;
                match self.wait_and_enter().await {
                    Some(shop) => shop,
                    None => return,
                }
            }
        };
        self.note(|visit| visit.has_entered = true);
        if self.crowd.plan.enters_shop {
            self.enter_shop(shop).await;
        }
    }

    async fn join(&mut self) -> SentTo {
        let door = self.crowd.door();
        let base = door.clone();
        let sent = self.insist(VisitRoute::Join, &door, |answer| sent_to(&base, answer)).await;
        if let Some(place) = self.cookies.place() {
            let since = self.crowd.now();
            let noted = NotedPlace { ticket: place.ticket.get(), token: place.token, since };
            self.note(|visit| visit.place = Some(noted));
        }
        sent
    }

    /// Polls until it is this visitor's turn, and then until the door lets them in. None if the place is lost.
    async fn wait_and_enter(&mut self) -> Option<Url> {
        let place = self.cookies.place()?;
        let ticket = place.ticket.get();
        let (mut failures, mut passed_check) = (0, None::<Instant>);
        let mut heard = None::<(PolledLine, Instant)>;
        loop {
            let polled = match self.poll().await {
                Ok(polled) => polled,
                Err(fault) => {
                    self.failed(VisitRoute::Poll, fault);
                    failures += 1;
                    let usual = heard.as_ref().map(|(polled, at)| polled.usual_wait(ticket, at.elapsed()));
                    let random = self.rng.random();
                    self.pause(retry_in(failures, usual.unwrap_or_default(), random)).await;
                    continue;
                }
            };
            failures = 0;
            if polled.allow {
                let now = self.crowd.now();
                let admitted = polled.until.map(|until| until - self.crowd.plan.admission);
                self.note(|visit| {
                    visit.called = visit.called.or(Some(now));
                    visit.admitted = admitted.or(visit.admitted);
                    // The polls of a room that is off do not say how long an admission lasts.
                    visit.is_unadmitted = visit.admitted.is_none();
                });
                self.pause(TURN_SHOWN).await;
                if let Some(shop) = self.ask_door().await {
                    return Some(shop);
                }
                self.pause(polled.next_poll(ticket, 1.0)).await;
                // The door sent the browser to the page again, which begins anew.
                heard = None;
                continue;
            }
            if polled.join || polled.epoch != Some(place.epoch) {
                self.note(|visit| visit.is_lost = true);
                return None;
            }
            let may_check = passed_check.is_none_or(|last| last.elapsed() > PASSED_CHECK);
            if polled.line().is_some_and(|line| is_passed(ticket, &line)) && may_check {
                passed_check = Some(Instant::now());
                if let Some(shop) = self.ask_door().await {
                    return Some(shop);
                }
            }
            let random = self.rng.random();
            let wait = polled.next_poll(ticket, random);
            heard = Some((polled, Instant::now()));
            self.pause(wait).await;
        }
    }

    async fn poll(&mut self) -> Result<PolledLine, VisitFault> {
        let answer = self.ask(VisitRoute::Poll, &self.crowd.polling()).await?;
        if answer.status != 200 {
            return Err(VisitFault::Status(answer.status));
        }
        let polled: PolledLine = serde_json::from_slice(&answer.body).map_err(|_| VisitFault::Unreadable)?;
        self.crowd.check_mark(polled.rehearsal).await;
        Ok(polled)
    }

    /// Goes to the door with the place. Where the shop is, if the door lets the visitor in.
    async fn ask_door(&mut self) -> Option<Url> {
        let (door, before) = (self.crowd.door(), self.cookies.place());
        let sent = self.insist(VisitRoute::Enter, &door, |answer| sent_to(&door, answer)).await;
        if self.cookies.place() != before {
            self.note(|visit| visit.is_lost = true);
        }
        match sent {
            SentTo::Shop(shop) => {
                let ticket = before.map(|place| place.ticket.get());
                if self.crowd.ticket_of_pass(&shop) != ticket {
                    self.note(|visit| visit.has_other_pass = true);
                }
                Some(shop)
            }
            SentTo::Page(_) => None,
        }
    }

    async fn enter_shop(&mut self, mut at: Url) {
        for _ in 0..MOST_REDIRECTS {
            let answer = match self.ask(VisitRoute::Shop, &at).await {
                Ok(answer) => answer,
                Err(fault) => return self.failed(VisitRoute::Shop, fault),
            };
            let leads_on = (300..400).contains(&answer.status);
            let next = answer.location.filter(|_| leads_on).and_then(|next| at.join(&next).ok());
            match next {
                Some(next) => at = next,
                None if answer.status < 400 => return,
                None => return self.failed(VisitRoute::Shop, VisitFault::Status(answer.status)),
            }
        }
        self.failed(VisitRoute::Shop, VisitFault::Unreadable);
    }

    /// Requests until the answer can be used, with the pauses of the page that says "one moment".
    async fn insist<T>(
        &mut self,
        route: VisitRoute,
        url: &Url,
        read: impl Fn(&VisitAnswer) -> Option<T>,
    ) -> T {
        let mut failures = 0;
        loop {
            let fault = match self.ask(route, url).await {
                Ok(answer) => match read(&answer) {
                    Some(read) => return read,
                    None if answer.status == 200 || answer.location.is_some() => VisitFault::Unreadable,
                    None => VisitFault::Status(answer.status),
                },
                Err(fault) => fault,
            };
            self.failed(route, fault);
            self.note(|visit| visit.was_refused = matches!(fault, VisitFault::Status(429 | 500..)));
            failures += 1;
            let random = self.rng.random();
            self.pause(retry_in(failures, 0.0, random)).await;
        }
    }

    async fn ask(&mut self, route: VisitRoute, url: &Url) -> Result<VisitAnswer, VisitFault> {
        self.crowd.hold_if_stopped().await;
        let answer = self.crowd.wire.get(url, &mut self.cookies).await?;
        self.crowd.notes().measured(route, answer.took);
        Ok(answer)
    }

    async fn pause(&self, millis: f64) {
        sleep(Duration::from_secs_f64((millis / 1000.0).max(0.0))).await;
    }

    fn failed(&self, route: VisitRoute, fault: VisitFault) {
        self.crowd.notes().failed(route, fault);
    }

    fn note(&self, change: impl FnOnce(&mut VisitNote)) {
        if let Some(visit) = self.crowd.notes().visits.get_mut(self.index) {
            change(visit);
        }
    }
}

/// Where the door's redirect leads: to the page of the room, or with a pass to the shop.
fn sent_to(door: &Url, answer: &VisitAnswer) -> Option<SentTo> {
    if !(300..400).contains(&answer.status) {
        return None;
    }
    let mut to = door.join(answer.location.as_deref()?).ok()?;
    if to.query_pairs().any(|(name, _)| name == waitroom::WebUrl::PASS_PARAMETER) {
        return Some(SentTo::Shop(to));
    }
    let is_page = to.origin() == door.origin() && to.path().contains("/wait/");
    to.set_fragment(None);
    Some(if is_page { SentTo::Page(to) } else { SentTo::Shop(to) })
}
