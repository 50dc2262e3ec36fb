use page::line::PageForecast;
use page::visitor::{LastAnswer, OpenPage, PagePlace, Tab, TabMemory};
use waitroom::Epoch;

use crate::course::MaybeAt;

/// How far a visit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VisitStage {
    /// Their page knows nothing of the line yet.
    Coming,
    Waiting,
    /// Their page knows that it is their turn, and goes to the door.
    Called,
    Entered,
    /// Their turn came, and they did not come.
    NeverEntered,
    GaveUp,
    /// The room was closed when they came, or ended before their turn. They leave.
    TooLate,
}

/// One of up to ten million, so in few bytes. What they do next is in the agenda.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedVisitor {
    /// In milliseconds since the beginning, like all instants here.
    pub(crate) arrived: u32,
    pub(crate) joined: MaybeAt,
    /// When they leave if it is not their turn by then. From their turn on, when their page learned of it.
    leaves_or_learned: MaybeAt,
    pub(crate) stage: VisitStage,
    pub(crate) was_refused: bool,
    /// In which time everybody asks, in tenths of a second.
    within: u16,
    /// 0: none yet.
    ticket: u32,
    /// When a poll was last answered, and in what time it was worth asking again.
    heard: MaybeAt,
    ask_in: f32,
    asked_door: MaybeAt,
    /// When their page last heard its own answer, and not what an edge says to all.
    own_at: u32,
}

const _: () = assert!(size_of::<SimulatedVisitor>() <= 36, "ten million of them are 360 MB");

impl SimulatedVisitor {
    pub(crate) fn new(arrived: u32) -> Self {
        Self {
            arrived,
            joined: MaybeAt::NEVER,
            leaves_or_learned: MaybeAt::NEVER,
            stage: VisitStage::Coming,
            was_refused: false,
            within: 0,
            ticket: 0,
            heard: MaybeAt::NEVER,
            ask_in: 0.0,
            asked_door: MaybeAt::NEVER,
            own_at: 0,
        }
    }

    /// What the visitor's browser keeps. No simulated room is reset, and its door lets in whomever a poll has called. So nobody
    /// goes there in vain, and their trips need not be counted. What an edge says is never older than what their page knows.
    pub(crate) fn tab(&self, epoch: Epoch) -> Tab {
        let heard = self.heard.get().map(|at| LastAnswer {
            at: at.into(),
            said_at: at.into(),
            expected: PageForecast {
                within: 100.0 * f64::from(self.within),
                ..PageForecast::without_place(self.ask_in.into())
            },
            stretch: 1.0,
        });
        Tab {
            place: (self.ticket > 0).then(|| PagePlace { epoch, ticket: self.ticket.into() }),
            kept: TabMemory { asked_door: self.asked_door.get().map(f64::from), ..TabMemory::default() },
            page: OpenPage { heard, own_at: self.own_at.into(), ..OpenPage::default() },
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an instant is a number of milliseconds, a pause needs no more digits, and no page waits for an hour"
    )]
    pub(crate) fn keep(&mut self, tab: &Tab) {
        let Tab { place, kept, page } = tab;
        self.ticket = place.map_or(0, |place| u32::try_from(place.ticket).unwrap_or(u32::MAX));
        self.asked_door = kept.asked_door.map_or(MaybeAt::NEVER, |at| MaybeAt::at(at as u32));
        self.heard = page.heard.map_or(MaybeAt::NEVER, |heard| MaybeAt::at(heard.at as u32));
        self.own_at = page.own_at as u32;
        if let Some(LastAnswer { expected, .. }) = page.heard {
            self.ask_in = expected.ask_in as f32;
            self.within = (expected.within / 100.0) as u16;
        }
    }

    /// Their page says when it is their turn. They leave at this instant, if it is not their turn by then.
    pub(crate) fn wait(&mut self, leaves: MaybeAt) {
        (self.stage, self.leaves_or_learned) = (VisitStage::Waiting, leaves);
    }

    /// Whether they leave: nobody does who knows that it is their turn.
    pub(crate) fn leaves_by(&self, at: u32) -> bool {
        self.stage == VisitStage::Waiting && self.leaves_or_learned.get().is_some_and(|leaves| at >= leaves)
    }

    /// They learn that it is their turn, by their page or because the door lets them in.
    pub(crate) fn learn(&mut self, at: u32) {
        if self.learned().is_none() {
            (self.stage, self.leaves_or_learned) = (VisitStage::Called, MaybeAt::at(at));
        }
    }

    /// When they learned that it is their turn.
    pub(crate) fn learned(&self) -> Option<u32> {
        match self.stage {
            VisitStage::Called | VisitStage::Entered | VisitStage::NeverEntered => {
                self.leaves_or_learned.get()
            }
            VisitStage::Coming | VisitStage::Waiting | VisitStage::GaveUp | VisitStage::TooLate => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use page::visitor::{Ask, AskedFor, Heard, PageMoment};
    use page::{Polled, ToldWaiting};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use waitroom::{LineStatus, Rate};

    use super::*;

    #[test]
    fn whoever_knows_that_it_is_their_turn_does_not_leave() {
        let mut visitor = SimulatedVisitor::new(0);
        assert!(!visitor.leaves_by(u32::MAX), "nothing is known of the line");
        visitor.wait(MaybeAt::at(9_000));
        assert_eq!(
            ([8_999, 9_000].map(|at| visitor.leaves_by(at)), visitor.learned()),
            ([false, true], None)
        );
        visitor.learn(8_000);
        visitor.learn(8_500);
        assert_eq!((visitor.leaves_by(9_000), visitor.learned()), (false, Some(8_000)));
    }

    /// In milliseconds, at most.
    const EDGE_AGE: f64 = 1000.0;

    /// What is kept of a tab has to be enough for whatever a simulated room answers.
    #[test]
    fn whoever_is_kept_in_few_bytes_does_what_their_tab_would_have_done() {
        let epoch = "ab12".parse().unwrap();
        let mut rng = StdRng::seed_from_u64(7);
        for _ in 0..500 {
            let (mut tab, mut visitor) = (Tab::default(), SimulatedVisitor::new(0));
            let has_edge = rng.random_bool(0.5);
            let (mut ask, mut at) = (Ask { what: AskedFor::Door, refusals: 0 }, 0_u32);
            for _ in 0..40 {
                let ticket = rng.random_range(1..100_000);
                let line = LineStatus {
                    reached: rng.random_range(0..ticket),
                    overtaken: if rng.random_bool(0.2) { 200_000 } else { 0 },
                    disorder: 0,
                    waiting: rng.random_range(1..2_000_000),
                    rate: Rate::new(rng.random_range(1..60_000)).unwrap(),
                    slow: false,
                    left: None,
                };
                let opens_in = if rng.random_bool(0.2) { rng.random_range(1.0..10_000_000.0) } else { 0.0 };
                let heard = match ask.what {
                    _ if rng.random_bool(0.3) => Heard::Refused,
                    AskedFor::Door => Heard::Page(Some(PagePlace { epoch, ticket })),
                    AskedFor::Document => Heard::Document,
                    AskedFor::Poll | AskedFor::Status => {
                        let polled =
                            Polled::Wait(ToldWaiting { epoch, line, opens_in, stretch: 1.0, has_edge });
                        if ask.what == AskedFor::Status {
                            Heard::Status { polled, age: rng.random_range(0.0..EDGE_AGE) }
                        } else {
                            Heard::Poll(polled)
                        }
                    }
                };
                let (moment, random) = (PageMoment::watched(at.into()), rng.random::<f64>());
                let mut kept = visitor.tab(epoch);
                let [own, of_kept] =
                    [&mut tab, &mut kept].map(|tab| tab.hear(ask, heard, moment, &mut || random));
                visitor.keep(&kept);
                assert_eq!((own.ask, own.shows), (of_kept.ask, of_kept.shows));
                // The pause after a refused poll follows from what was kept in tenths of a second.
                assert!((own.after - of_kept.after).abs() < 200.0, "{own:?} {of_kept:?}");
                ask = own.ask;
                // No page asks again before an edge has a newer answer.
                at += rng.random_range(1_000..300_000);
            }
        }
    }
}
