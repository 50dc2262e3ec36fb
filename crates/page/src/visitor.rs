//! What a browser does in a room, from the link to the shop: what it asks for next, when, and what it shows meanwhile. Without
//! clock, chance, storage and network: those are arguments. All times are in milliseconds.
//!
//! `site/visitor.js` is the same for the page itself, with [`crate::line`]'s twin. Both are held to the visits in
//! `site/test/visitor-cases.json`, and to each other on random ones.

use std::time::Duration;

use waitroom::{Epoch, Ticket};

use crate::line::{
    MINUTE, PageForecast, TURN_SHOWN, forecast, idle_poll, is_far, is_overtaken, next_poll,
    poll_around_opening, retry_in,
};
use crate::polled::{Polled, ToldWaiting};

/// A browser's tab in a room: the place in the page's URL, what outlives a reload, and what does not. Whoever follows millions
/// of tabs keeps these fields in fewer bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tab {
    pub place: Option<PagePlace>,
    pub kept: TabMemory,
    pub page: OpenPage,
}

/// What the page knows of a visitor's place: `#<epoch>-<ticket>`, the fragment of the door's redirect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePlace {
    pub epoch: Epoch,
    pub ticket: u64,
}

/// What a tab keeps over reloads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TabMemory {
    /// How often it went to the door since a poll last confirmed its place, because it was the visitor's turn.
    pub turns: u8,
    /// … and for another reason. Prevents a redirect loop.
    pub other_trips: u8,
    /// When it last asked the door because the line has overtaken it.
    pub asked_door: Option<f64>,
}

/// What a page knows until it is reloaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpenPage {
    pub heard: Option<LastAnswer>,
    /// Whether it has given the door time to learn of a reset.
    pub has_awaited_door: bool,
    /// Whether it shows that the visitor may enter.
    pub is_held: bool,
    /// When it last heard its own answer, and not what an edge says to all.
    pub own_at: f64,
}

/// When the page last heard of the room, from when that was, in what time it was worth asking again, and the operator's stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastAnswer {
    pub at: f64,
    pub said_at: f64,
    pub expected: PageForecast,
    pub stretch: f64,
}

/// What a browser asks the room for, and how often in a row that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    pub what: AskedFor,
    pub refusals: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedFor {
    Door,
    Document,
    Poll,
    /// How the line stands: what an edge says to everybody.
    Status,
}

/// What a browser hears. Whom the door sends to the shop, nothing more is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Heard {
    /// 429, any 5xx, nothing in [`Tab::PATIENCE`], or an answer that cannot be used.
    Refused,
    /// The door's redirect to the page, with the place in its fragment.
    Page(Option<PagePlace>),
    Document,
    Poll(Polled),
    /// What an edge says to everybody who waits, and how old that is.
    Status {
        polled: Polled,
        age: f64,
    },
}

/// When a browser hears it, and in what state it is then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageMoment {
    /// By a clock that may begin at any time.
    pub now: f64,
    /// Whether the browser keeps cookies and storage.
    pub keeps: bool,
    /// Whether nobody looks at the page.
    pub is_hidden: bool,
}

/// What a browser does next: what it asks for, and after which time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub ask: Ask,
    pub after: f64,
    /// What the page shows from now on, if that changes.
    pub shows: Option<PageShows>,
}

/// What the page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageShows {
    /// It looks for the visitor's place.
    Finding,
    /// The place in line, and when the turn comes.
    Line,
    /// It is the visitor's turn, and the page goes to the door.
    Turn,
    /// It is the visitor's turn, and they have to press a button.
    Held,
    /// The browser does not keep the place.
    Blocked,
    /// Nobody new can join.
    Closed,
    /// Nobody is let in any more.
    Ended,
}

impl PagePlace {
    /// From the fragment of the page's URL, without its `#`. As in `place` of `site/line.js`.
    pub fn in_fragment(fragment: &str) -> Option<Self> {
        let (epoch, ticket) = fragment.split_once('-')?;
        let ticket: Ticket = ticket.parse().ok().filter(|_| ticket.len() <= 16)?;
        Some(Self { epoch: epoch.parse().ok()?, ticket: ticket.get() })
    }
}

impl PageMoment {
    /// Of a browser that keeps cookies, with somebody in front of it.
    pub const fn watched(now: f64) -> Self {
        Self { now, keeps: true, is_hidden: false }
    }
}

impl Step {
    /// Somebody follows the link to the room.
    pub const FIRST: Self = Self::at_once(AskedFor::Door);

    const fn at_once(what: AskedFor) -> Self {
        Self { ask: Ask { what, refusals: 0 }, after: 0.0, shows: None }
    }

    const fn poll(after: f64, shows: PageShows) -> Self {
        Self { after, shows: Some(shows), ..Self::at_once(AskedFor::Poll) }
    }
}

impl Tab {
    /// The page gives up a poll after this time.
    pub const PATIENCE: Duration = Duration::from_secs(20);
    /// An edge has its answer by then, or it has none.
    pub const EDGE_PATIENCE: Duration = Duration::from_secs(3);
    /// Who was overtaken asks the door at most so often.
    const DOOR_ASKED_WITHIN: f64 = 2.0 * MINUTE;
    /// Whom the door sends back more often than that at their turn is held.
    const MOST_TURNS: u8 = 2;
    /// An edge whose room does not answer goes on with what it said last. Pages believe it for so long.
    const BELIEVED_FOR: f64 = 2.0 * MINUTE;
    /// Behind an edge, a page asks for its own answer at least so often: the operator may have let its visitor in by hand.
    const OWN_ANSWER_WITHIN: f64 = 10.0 * MINUTE;

    /// What follows from what the browser hears of what it asked for. `chance` is drawn, from 0 to 1, once where a pause is.
    pub fn hear(
        &mut self,
        ask: Ask,
        heard: Heard,
        moment: PageMoment,
        chance: &mut impl FnMut() -> f64,
    ) -> Step {
        let step = match heard {
            Heard::Refused => self.refused(ask, moment.now, chance()),
            Heard::Page(place) => {
                (self.place, self.page) = (place, OpenPage::default());
                Step::at_once(AskedFor::Document)
            }
            Heard::Document => Step { shows: Some(PageShows::Finding), ..Step::at_once(AskedFor::Poll) },
            Heard::Poll(polled) => {
                self.page.own_at = moment.now;
                self.polled(polled, 0.0, moment, chance)
            }
            Heard::Status { polled, age } if self.has_nothing_to_ask(&polled, age, moment.now) => {
                self.polled(polled, age, moment, chance)
            }
            Heard::Status { .. } => Step::at_once(AskedFor::Poll),
        };
        if let Some(shows) = step.shows {
            self.page.is_held = shows == PageShows::Held;
        }
        step
    }

    /// Whether a poll's answer is about this tab's place: it is still valid, or needed no more.
    pub fn is_known(&self, polled: &Polled) -> bool {
        match polled {
            Polled::Enter => true,
            Polled::Join { .. } | Polled::TurnedAway { .. } => false,
            Polled::Wait(told) => self.place.is_some_and(|place| place.epoch == told.epoch),
        }
    }

    /// Whether what an edge says to everybody who waits is all that there is to know for this visitor.
    fn has_nothing_to_ask(&self, polled: &Polled, age: f64, now: f64) -> bool {
        match (polled, self.place) {
            (Polled::Wait(told), Some(place)) => {
                let is_news = self.page.heard.is_none_or(|heard| now - age >= heard.said_at);
                told.epoch == place.epoch
                    && age <= Self::BELIEVED_FOR
                    && is_news
                    && is_far(place.ticket, &told.line, age)
            }
            _ => false,
        }
    }

    fn refused(&self, ask: Ask, now: f64, random: f64) -> Step {
        if ask.what == AskedFor::Status && ask.refusals > 0 {
            // An edge that has no answer twice is gone. Once may be a busy room, which must not get everybody's own polls then.
            return Step::at_once(AskedFor::Poll);
        }
        let ask = Ask { refusals: ask.refusals.saturating_add(1), ..ask };
        let heard = self.page.heard.filter(|_| matches!(ask.what, AskedFor::Poll | AskedFor::Status));
        // The time between two polls, if the room answered now: shorter and shorter, because the turn comes nearer.
        let usual = heard.map_or(0.0, |LastAnswer { at, expected, stretch, .. }| {
            next_poll(&expected.later(now - at), stretch, 0.5)
        });
        Step { ask, after: retry_in(ask.refusals.into(), usual, random), shows: None }
    }

    /// `age`: how old what an edge says is.
    fn polled(
        &mut self,
        polled: Polled,
        age: f64,
        moment: PageMoment,
        chance: &mut impl FnMut() -> f64,
    ) -> Step {
        match (polled, self.place) {
            (Polled::Enter, _) => self.enter(moment, chance),
            (Polled::TurnedAway { is_over, stretch }, _) => {
                // If it goes on after all, a poll says so: who has a place has it again, and others join.
                (self.kept.turns, self.kept.other_trips) = (0, 0);
                let shows = if is_over { PageShows::Ended } else { PageShows::Closed };
                self.idle(shows, stretch, moment, chance)
            }
            (Polled::Wait(told), Some(place)) if told.epoch == place.epoch => {
                self.wait(place.ticket, &told, age, moment, chance)
            }
            (Polled::Wait(ToldWaiting { epoch, stretch, .. }) | Polled::Join { epoch, stretch }, _) => {
                self.rejoin(epoch, stretch, moment, chance)
            }
        }
    }

    /// It is the visitor's turn: goes to the door, unless nobody looks or the door keeps sending the visitor back.
    fn enter(&mut self, moment: PageMoment, chance: &mut impl FnMut() -> f64) -> Step {
        if moment.is_hidden || self.kept.turns > Self::MOST_TURNS {
            return self.idle(PageShows::Held, 1.0, moment, chance);
        }
        if moment.keeps {
            self.kept.turns = self.kept.turns.saturating_add(1);
        }
        let after = if self.page.is_held { 0.0 } else { TURN_SHOWN };
        Step { after, shows: Some(PageShows::Turn), ..Step::at_once(AskedFor::Door) }
    }

    /// The visitor has no place, or one that is no longer valid. The door gives a new one; if it did not, the page says why.
    fn rejoin(
        &mut self,
        epoch: Epoch,
        stretch: f64,
        moment: PageMoment,
        chance: &mut impl FnMut() -> f64,
    ) -> Step {
        let is_expired = self.place.is_some_and(|place| place.epoch == epoch);
        let trips = self.kept.other_trips;
        // On AWS, a door may learn of a reset, or that newcomers may join again, a second later than the polls. Until then it sends
        // visitors back with the old place, or without one.
        if moment.keeps && !is_expired && trips == 1 && !self.page.has_awaited_door {
            self.page.has_awaited_door = true;
            let expected = PageForecast::without_place(0.0);
            self.page.heard = Some(LastAnswer { at: moment.now, said_at: moment.now, expected, stretch });
            return Step::poll(next_poll(&expected, stretch, chance()), PageShows::Finding);
        }
        if !moment.keeps || trips > u8::from(!is_expired) {
            return self.idle(PageShows::Blocked, stretch, moment, chance);
        }
        // The visitor was admitted and did not enter in time. A new place waits until somebody looks at the page: otherwise a
        // forgotten tab would join again and again.
        if is_expired && moment.is_hidden {
            return self.idle(PageShows::Finding, stretch, moment, chance);
        }
        self.kept.other_trips = trips.saturating_add(1);
        Step::at_once(AskedFor::Door)
    }

    fn wait(
        &mut self,
        ticket: u64,
        told: &ToldWaiting,
        age: f64,
        moment: PageMoment,
        chance: &mut impl FnMut() -> f64,
    ) -> Step {
        let ToldWaiting { ref line, opens_in, stretch, has_edge, .. } = *told;
        let now = moment.now;
        let is_opening = opens_in > 0.0;
        let in_line = forecast(ticket, line);
        let in_line = PageForecast { ask_in: (in_line.ask_in - age).max(0.0), ..in_line };
        let until_opening = PageForecast::without_place(in_line.ask_in + opens_in);
        let expected = if is_opening { until_opening } else { in_line };
        self.page.heard = Some(LastAnswer { at: now, said_at: now - age, expected, stretch });
        (self.kept.turns, self.kept.other_trips) = (0, 0);
        // A browser that keeps nothing could not tell when it asked last.
        let is_due = self.kept.asked_door.is_none_or(|at| (now - at).abs() > Self::DOOR_ASKED_WITHIN);
        if moment.keeps && is_due && is_overtaken(ticket, line) {
            self.kept.asked_door = Some(now);
            self.kept.other_trips = 1;
            return Step { shows: Some(PageShows::Line), ..Step::at_once(AskedFor::Door) };
        }
        let after = if is_opening {
            poll_around_opening(opens_in, &in_line, stretch, chance())
        } else {
            next_poll(&in_line, stretch, chance())
        };
        let moves = (after - opens_in.max(0.0)).max(0.0);
        let is_own_due = now + after - self.page.own_at > Self::OWN_ANSWER_WITHIN;
        let is_shared = has_edge && !is_own_due && is_far(ticket, line, moves + age);
        let what = if is_shared { AskedFor::Status } else { AskedFor::Poll };
        Step { after, shows: Some(PageShows::Line), ..Step::at_once(what) }
    }

    /// Nothing is expected of the room, so the page asks seldom.
    fn idle(
        &mut self,
        shows: PageShows,
        stretch: f64,
        moment: PageMoment,
        chance: &mut impl FnMut() -> f64,
    ) -> Step {
        let expected = PageForecast::without_place(f64::INFINITY);
        self.page.heard = Some(LastAnswer { at: moment.now, said_at: moment.now, expected, stretch });
        Step::poll(idle_poll(stretch, chance()), shows)
    }
}
