//! One visitor: a browser that visits the room over HTTP, and what it sees.

use std::time::Duration;

use page::cookies::CookieJar;
use page::visitor::{AskedFor, Heard, PageMoment, PagePlace, Step, Tab};
use page::{PollText, Polled};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};
use url::Url;
use waitroom::Place;

use crate::crowd::Crowd;
use crate::notes::{NotedPlace, VisitNote};
use crate::wire::{VisitAnswer, VisitFault, VisitRoute};

/// Larger than any redirect that a shop needs.
const MOST_REDIRECTS: usize = 5;

/// [`Tab`] decides what the browser asks for, and when. This sends it, and notes what it hears.
pub(crate) struct HttpVisit<'a> {
    crowd: &'a Crowd,
    index: usize,
    cookies: CookieJar,
    tab: Tab,
    /// The address of the page, once the door has sent the visitor there.
    page: Url,
    begun: Instant,
    rng: StdRng,
}

/// Where the door sends a visitor.
enum SentTo {
    Page(Url),
    Shop(Url),
    /// Nowhere: nobody new can join, or nobody is let in any more.
    TooLate,
}

impl<'a> HttpVisit<'a> {
    pub(crate) fn new(crowd: &'a Crowd, index: usize) -> Self {
        let rng = StdRng::seed_from_u64(crowd.plan.seed.rotate_left(32) ^ index as u64);
        let (cookies, tab, page) = (CookieJar::default(), Tab::default(), crowd.door());
        Self { crowd, index, cookies, tab, page, begun: Instant::now(), rng }
    }

    pub(crate) async fn visit(mut self) {
        let mut step = Step::FIRST;
        loop {
            sleep(Duration::from_secs_f64((step.after / 1000.0).max(0.0))).await;
            let heard = match step.ask.what {
                AskedFor::Door => match self.ask_door().await {
                    Some(SentTo::Shop(shop)) => return self.enter(shop).await,
                    Some(SentTo::TooLate) => return self.note(|visit| visit.came_too_late = true),
                    Some(SentTo::Page(page)) => Some(self.open(page)),
                    None => None,
                },
                AskedFor::Document => self.load_page().await,
                AskedFor::Poll => match self.poll().await {
                    Some(Polled::TurnedAway { .. }) => {
                        return self.note(|visit| visit.came_too_late = true);
                    }
                    // A browser would join again. Here nobody should have to.
                    Some(polled) if !self.tab.is_known(&polled) => {
                        return self.note(|visit| visit.is_lost = true);
                    }
                    polled => polled.map(Heard::Poll),
                },
                AskedFor::Status => self.ask_status().await,
            };
            let moment = PageMoment::watched(self.begun.elapsed().as_secs_f64() * 1000.0);
            let heard = heard.unwrap_or(Heard::Refused);
            step = self.tab.hear(step.ask, heard, moment, &mut || self.rng.random());
        }
    }

    async fn ask_door(&mut self) -> Option<SentTo> {
        let (door, before) = (self.crowd.door(), self.cookies.place());
        let route = if before.is_none() { VisitRoute::Join } else { VisitRoute::Enter };
        let sent = self.ask(route, &door, |answer| sent_to(&door, answer)).await?;
        let (place, since) = (self.cookies.place(), self.crowd.now());
        self.note(|visit| {
            visit.is_lost |= before.is_some() && place != before;
            let noted = |place| {
                let Place { ticket, token, .. } = place;
                NotedPlace { ticket: ticket.get(), token, since }
            };
            visit.place = visit.place.or(place.map(noted));
        });
        if let SentTo::Shop(shop) = &sent {
            let passed = self.crowd.ticket_of_pass(shop);
            self.note(|visit| match before {
                Some(place) => visit.has_other_pass |= passed != Some(place.ticket.get()),
                None => visit.is_unadmitted = true,
            });
        }
        Some(sent)
    }

    /// Goes where the door's redirect leads. The page reads its place from the fragment, which is not sent.
    fn open(&mut self, mut page: Url) -> Heard {
        let place = page.fragment().and_then(PagePlace::in_fragment);
        page.set_fragment(None);
        self.page = page;
        Heard::Page(place)
    }

    /// A browser without the page cannot poll. It would show its own error, and the visitor would reload.
    async fn load_page(&mut self) -> Option<Heard> {
        let page = self.page.clone();
        self.ask(VisitRoute::Page, &page, |answer| (answer.status == 200).then_some(Heard::Document)).await
    }

    /// What an edge says may be of before the rehearsal began, so it need not have the mark.
    async fn ask_status(&mut self) -> Option<Heard> {
        let crowd = self.crowd;
        crowd.hold_if_stopped().await;
        let answered = crowd.wire.get_shared(&crowd.status()).await;
        self.used(VisitRoute::Status, answered, |answer| {
            let (text, now) = (poll_text(answer)?, crowd.now());
            Some(Heard::Status { polled: text.polled(now)?, age: text.age(now) })
        })
    }

    async fn poll(&mut self) -> Option<Polled> {
        let polling = self.crowd.polling();
        let text = self.ask(VisitRoute::Poll, &polling, poll_text).await?;
        self.crowd.check_mark(text.rehearsal).await;
        let now = self.crowd.now();
        let polled = text.polled(now);
        match polled {
            Some(Polled::Enter) => {
                let admitted = text.until.map(|until| until - self.crowd.plan.admission);
                self.note(|visit| {
                    visit.called = visit.called.or(Some(now));
                    visit.admitted = admitted.or(visit.admitted);
                    // The polls of a room that is off do not say how long an admission lasts.
                    visit.is_unadmitted = visit.admitted.is_none();
                });
            }
            Some(_) => {}
            None => self.failed(VisitRoute::Poll, VisitFault::Unreadable),
        }
        polled
    }

    async fn enter(mut self, mut shop: Url) {
        self.note(|visit| visit.has_entered = true);
        if !self.crowd.plan.enters_shop {
            return;
        }
        for _ in 0..MOST_REDIRECTS {
            let leads_to = |answer: &VisitAnswer| (answer.status < 400).then(|| redirect(&shop, answer));
            let Some(next) = self.ask(VisitRoute::Shop, &shop, leads_to).await else { return };
            match self.goes_on(&shop, next) {
                Ok(Some(next)) => shop = next,
                Ok(None) => return,
                Err(fault) => return self.failed(VisitRoute::Shop, fault),
            }
        }
        self.failed(VisitRoute::Shop, VisitFault::Unreadable);
    }

    /// Where somebody goes on to, or None if they are there. A guard that binds passes to browsers sends each through the room's door
    /// once more. Nobody goes to another room: it shows no mark of ours, and may have customers.
    fn goes_on(&self, from: &Url, next: Option<Url>) -> Result<Option<Url>, VisitFault> {
        let Some(next) = next else {
            // Whom the door lets in no more, it shows a page of its own.
            return if self.crowd.own_door(from).is_some() { Err(VisitFault::SentBack) } else { Ok(None) };
        };
        match self.crowd.own_door(&next) {
            Some(door) => Ok(Some(door)),
            None if next.path().ends_with("/beekeeper") => Err(VisitFault::OtherRoom),
            None if next.path().contains("/wait/") => Err(VisitFault::SentBack),
            None => Ok(Some(next)),
        }
    }

    /// Requests a URL, and reads the answer. If it cannot be used, the fault is noted.
    async fn ask<T>(
        &mut self,
        route: VisitRoute,
        url: &Url,
        read: impl FnOnce(&VisitAnswer) -> Option<T>,
    ) -> Option<T> {
        self.crowd.hold_if_stopped().await;
        let answered = self.crowd.wire.get(url, &mut self.cookies).await;
        self.used(route, answered, read)
    }

    /// What can be used of an answer. Otherwise the fault is noted.
    fn used<T>(
        &mut self,
        route: VisitRoute,
        answered: Result<VisitAnswer, VisitFault>,
        read: impl FnOnce(&VisitAnswer) -> Option<T>,
    ) -> Option<T> {
        let fault = match answered {
            Ok(answer) => {
                self.crowd.notes().measured(route, answer.took);
                match read(&answer) {
                    Some(read) => return Some(read),
                    None if answer.status == 200 || answer.location.is_some() => VisitFault::Unreadable,
                    None => VisitFault::Status(answer.status),
                }
            }
            Err(fault) => fault,
        };
        self.failed(route, fault);
        self.note(|visit| visit.was_refused = matches!(fault, VisitFault::Status(429 | 500..)));
        None
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

/// Where an answer leads on to.
fn redirect(from: &Url, answer: &VisitAnswer) -> Option<Url> {
    let location = answer.location.as_deref().filter(|_| (300..400).contains(&answer.status))?;
    from.join(location).ok()
}

fn poll_text(answer: &VisitAnswer) -> Option<PollText> {
    serde_json::from_slice(&answer.body).ok().filter(|_| answer.status == 200)
}

/// Where the door's redirect leads: to the page of the room, or with a pass to the shop.
fn sent_to(door: &Url, answer: &VisitAnswer) -> Option<SentTo> {
    // The door has nothing else to show to somebody who opens it in a window.
    if answer.status == 200 {
        return Some(SentTo::TooLate);
    }
    let to = redirect(door, answer)?;
    let has_pass = to.query_pairs().any(|(name, _)| name == waitroom::WebUrl::PASS_PARAMETER);
    let is_page = !has_pass && to.origin() == door.origin() && to.path().contains("/wait/");
    Some(if is_page { SentTo::Page(to) } else { SentTo::Shop(to) })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;

    use waitroom::Timestamp;

    use super::*;
    use crate::crowd::CrowdPlan;

    const MARK: &str = "abcdefghijkmnpqr";
    const ISSUER: &str = "https://wait.example";
    const TOKEN: &str = "00112233445566778899aabbccddeeff";

    /// The door's redirect to the page, with this number.
    fn waits_with(ticket: u64) -> String {
        let place = format!(
            "location: wait/index.html#ab12-{ticket}\r\nset-cookie: bk_sale=ab12-{TOKEN}-{ticket}; Path=/"
        );
        format!("302 Found\r\n{place}\r\ncontent-length: 0\r\n\r\n")
    }

    fn ok(body: &str) -> String {
        format!("200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    fn leads_to(location: &str) -> String {
        format!("302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
    }

    /// What a visitor asks a room that answers so, one after the other, and what they note.
    fn asked(answers: Vec<String>) -> (Vec<String>, VisitNote) {
        let (asked, crowd) = visited(answers, false);
        let visit = crowd.notes().visits[0];
        (asked, visit)
    }

    /// The same of somebody who may follow to the shop, which is at the same place.
    fn visited(answers: Vec<String>, enters_shop: bool) -> (Vec<String>, Arc<Crowd>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let room = format!("http://{}/", listener.local_addr().unwrap());
        let room_thread = thread::spawn(move || {
            let answer = |answer: String| {
                let (mut stream, _) = listener.accept().unwrap();
                let head = BufReader::new(&stream).lines().map(Result::unwrap);
                let head: Vec<_> = head.take_while(|line| !line.is_empty()).collect();
                write!(stream, "HTTP/1.1 {}", answer.replacen("\r\n", "\r\nconnection: close\r\n", 1))
                    .unwrap();
                head[0].split(' ').nth(1).unwrap().to_owned()
            };
            answers.into_iter().map(answer).collect()
        });
        let plan = CrowdPlan {
            room: room.parse().unwrap(),
            host: None,
            mark: Some(MARK.parse().unwrap()),
            times: vec![0],
            seed: 1,
            enters_shop,
            issuer: ISSUER.into(),
            name: "sale".parse().unwrap(),
            admission: Duration::from_hours(1),
        };
        let crowd = Crowd::new(plan, Timestamp::from_millis(1_800_000_000_000)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(HttpVisit::new(&crowd, 0).visit());
        (room_thread.join().unwrap(), crowd)
    }

    #[test]
    fn who_was_overtaken_loads_the_page_again_and_goes_on_with_the_new_number() {
        let waits = |passed| {
            ok(&format!(
                r#"{{"allow":false,"epoch":"ab12","served":5000,"passed":{passed},"disorder":0,"rate":60,"waiting":1000,"state":"on","slow":false,"message":"","stretch":1,"rehearsal":"{MARK}"}}"#
            ))
        };
        let enters =
            ok(&format!(r#"{{"allow":true,"origin":"https://shop.example/","rehearsal":"{MARK}"}}"#));
        let shop = leads_to("https://shop.example/?bk_pass=x");
        let (overtaken, page) = (waits(300), || ok("page"));
        let (asked, visit) =
            asked(vec![waits_with(201), page(), overtaken, waits_with(5011), page(), enters, shop]);
        let again = ["/beekeeper", "/wait/index.html", "/polling"];
        assert_eq!(asked, [&again[..], &again, &["/beekeeper"]].concat());
        assert!(visit.has_entered && visit.is_lost, "a visitor of a rehearsal should keep their number");
        assert_eq!(visit.place.unwrap().ticket, 201);
    }

    /// What is asked of a shop that answers so somebody with a pass, and what goes wrong there.
    fn at_shop(answers: Vec<String>) -> (Vec<String>, Vec<VisitFault>) {
        let answers = [vec![leads_to("/sale?bk_pass=x")], answers].concat();
        let (mut asked, crowd) = visited(answers, true);
        assert_eq!(asked.remove(0), "/beekeeper");
        let faults = crowd.notes().faults.keys().map(|(_, fault)| *fault).collect();
        (asked, faults)
    }

    #[test]
    fn a_guard_may_send_its_visitors_through_the_door_of_their_room_and_through_no_other() {
        let door = leads_to(&format!("{ISSUER}/beekeeper?nonce=n"));
        let again = leads_to("/sale?bk_pass=y");
        let (asked, faults) = at_shop(vec![door, again, leads_to("/sale"), ok("page")]);
        assert_eq!(asked, ["/sale?bk_pass=x", "/beekeeper?nonce=n", "/sale?bk_pass=y", "/sale"]);
        assert!(faults.is_empty(), "{faults:?}");
        let other = leads_to("https://other.example/beekeeper?nonce=n");
        assert_eq!(at_shop(vec![other]), (vec!["/sale?bk_pass=x".into()], vec![VisitFault::OtherRoom]));
    }

    #[test]
    fn who_is_sent_back_to_wait_is_not_in_the_shop() {
        let door = || leads_to("/beekeeper");
        for waits in [leads_to("wait/index.html#ab12-7"), ok("closed")] {
            let (asked, faults) = at_shop(vec![door(), waits]);
            assert_eq!(asked, ["/sale?bk_pass=x", "/beekeeper"]);
            assert_eq!(faults, [VisitFault::SentBack]);
        }
        assert_eq!(at_shop(vec![leads_to("/wait/index.html")]).1, [VisitFault::SentBack]);
    }
}
