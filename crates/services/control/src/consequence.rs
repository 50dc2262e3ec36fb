//! What an order would do to visitors, and what to ask a person before they give it. Most orders have nothing to ask about.

use std::time::Duration;

use document::words;
use pass::{KeyState, PublishedKey};
use waitroom::{
    AuditedChange, ExtraSize, Mode, Notice, Place, Rate, Room, RoomId, RoomState, StockSize, Timestamp,
};

use crate::{ControlError, OperatedRoom, Order, Status, UndoableOrder};

/// What an order would do, as part of a sentence, and the question whether to give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consequence {
    pub told: String,
    pub question: String,
}

/// Whoever was let in lately is a sale's customer if so many were. Fewer may be the operator and friends, who try the room.
const CUSTOMERS: u64 = 10;
/// Who opens a sale gives the order so long before. Earlier, customers of an ordinary day wait for it.
const BEFORE_A_SALE: Duration = Duration::from_hours(1);
/// Whoever joins so long before an opening may have no place by then: browsers and the queue on AWS keep it for a day more.
const LONGEST_WAIT: Duration = Place::MAX_AGE.saturating_sub(Duration::from_hours(24));

impl OperatedRoom {
    /// What to ask about before this order is given to the room as it is now.
    pub async fn consequence(&self, order: &Order) -> Result<Option<Consequence>, ControlError> {
        // Any other order costs no status, and works where it can't be read.
        let Some(asked) = OrderQuestion::about(order) else { return Ok(None) };
        Ok(asked.of(&self.status().await?, self.transport.now()))
    }

    /// What to ask about before this order is taken back from the room as it is now. Here, too, only what is asked about costs a status.
    pub async fn consequence_of_undo(
        &self,
        order: &UndoableOrder,
    ) -> Result<Option<Consequence>, ControlError> {
        match order.reverted {
            AuditedChange::State(_) | AuditedChange::Mode { to: Mode::Observe, .. } => {
                Ok(Consequence::of_undo(order, &self.status().await?, self.transport.now()))
            }
            _ => Ok(None),
        }
    }
}

type Told<'a> = Box<dyn Fn(&Status, Timestamp) -> Option<String> + Send + 'a>;

/// What an order is asked about, and how to tell what it would do to a room with this status. It tells nothing if that is harmless.
struct OrderQuestion<'a> {
    question: String,
    told: Told<'a>,
}

impl<'a> OrderQuestion<'a> {
    /// `None` if nobody is asked about such an order.
    fn about(order: &'a Order) -> Option<Self> {
        Some(match order {
            Order::SetRate { rate } => Self::new("Set this rate?", |status, _| surprise(*rate, status)),
            Order::Release { visitors } => {
                Self::new("Let them in?", |status, _| releasing(*visitors, status))
            }
            Order::On => Self::new("Let them in?", |status, _| {
                let asked =
                    if status.room.observes_once_on() { observing(status) } else { reopening(status) };
                asked.filter(|_| !status.room.releases())
            }),
            Order::OpenAt { at } => {
                Self::new("Let nobody enter until then?", |status, now| opening(status, *at, now))
            }
            Order::Close { notice, then_off } => {
                Self::new("Close the room?", |status, _| closing(status, notice.as_ref(), *then_off))
            }
            Order::CloseAfter { size, .. } => {
                let question = format!("Let {} more in, then end the room?", words::count(size.get().into()));
                Self::new(question, |status, _| Some(selling(status, *size)))
            }
            Order::CloseNever => Self::new("Withdraw the stock too?", |status, _| withdrawing(status)),
            Order::End { .. } => Self::new("End the room?", |status, _| ending(status)),
            Order::Off => {
                Self::new("Turn the room off?", |status, _| letting_all_in(status, "within minutes"))
            }
            Order::Mode { mode: Mode::Observe } => Self::new("Let everybody in?", |status, _| {
                let is_on = status.room.releases();
                letting_all_in(status, if is_on { "within minutes" } else { "once the room is on" })
            }),
            Order::Reset { .. } => Self::new("Empty the line?", |status, _| Some(emptying(status))),
            Order::GuardKey { .. } => {
                Self::new("Make another report key?", |status, _| silencing(&status.room))
            }
            // Written out, so that nobody forgets to ask about another order.
            Order::Status
            | Order::Mode { mode: Mode::Line | Mode::Overflow }
            | Order::Message { .. }
            | Order::Stretch { .. }
            | Order::Pause
            | Order::CloseAt { .. }
            | Order::EndAt { .. }
            | Order::EndNever
            | Order::Rehearse { .. }
            | Order::Undo { .. }
            | Order::History { .. }
            | Order::Minutes { .. }
            | Order::Find { .. }
            | Order::Admit { .. }
            | Order::Keys
            | Order::RotateKeys
            | Order::RotateKeysAhead { .. }
            | Order::DropKey { .. } => return None,
        })
    }

    fn new(
        question: impl Into<String>,
        told: impl Fn(&Status, Timestamp) -> Option<String> + Send + 'a,
    ) -> Self {
        Self { question: question.into(), told: Box::new(told) }
    }

    fn of(self, status: &Status, now: Timestamp) -> Option<Consequence> {
        let Self { question, told } = self;
        Some(Consequence { told: told(status, now)?, question })
    }
}

impl Consequence {
    /// Of an order to a room with this status. Dropping a key has [one of its own](Self::of_dropping).
    pub fn of(order: &Order, status: &Status, now: Timestamp) -> Option<Self> {
        OrderQuestion::about(order)?.of(status, now)
    }

    /// Of taking this order back.
    pub(crate) fn of_undo(order: &UndoableOrder, status: &Status, now: Timestamp) -> Option<Self> {
        let back = order.leads_to(&status.room, now)?;
        Self::of(&order_like(&status.room, &back)?, status, now)
    }

    /// Of dropping this key of a room. `now` is in seconds since 1970.
    pub fn of_dropping(key: &PublishedKey, room: &RoomId, now: u64) -> Self {
        let id = key.jwk.kid();
        let told = match key.state(now) {
            KeyState::Next => {
                format!("{room} has signed no pass with {id}, and goes on with the key that signs")
            }
            KeyState::Retired => {
                format!("shops refuse passes of {room} that {id} has signed, within five minutes")
            }
            KeyState::Signing => format!(
                "{id} signs the passes of {room}: shops refuse those that are out, within five minutes, and the room signs \
                 with another key at once"
            ),
        };
        Self { told, question: "Drop the key?".into() }
    }
}

/// The order that does to visitors what going `back` would, if one asks before that.
fn order_like(room: &Room, back: &Room) -> Option<Order> {
    if back.settings.mode == Mode::Observe && room.settings.mode != Mode::Observe {
        return Some(Order::Mode { mode: Mode::Observe });
    }
    match back.state {
        RoomState::Ended => Some(Order::End { notice: None }),
        RoomState::Off => Some(Order::Off),
        RoomState::Closed if room.takes_newcomers() => {
            Some(Order::Close { notice: None, then_off: back.then_off })
        }
        // Before a pause, the room was closed, and nobody was told that it's over.
        RoomState::Closed if room.state == RoomState::ClosedPaused => None,
        RoomState::On | RoomState::Closed => Some(Order::On),
        RoomState::Paused | RoomState::ClosedPaused => None,
    }
}

/// What is surprising about a new rate: it is more than three times the present one, or more than the shop has ever had. Or it is a
/// tenth of the present one, as without the last zero, and somebody waits.
fn surprise(rate: Rate, status: &Status) -> Option<String> {
    let (room, waiting) = (&status.room, status.line.waiting);
    let (present, highest) = (room.settings.rate, room.highest_rate());
    let factor = f64::from(rate.get()) / f64::from(present.get());
    if factor <= 0.1 {
        let longest = words::time(rate.seconds_for(waiting));
        let who = words::things_do(waiting, "visitor", "wait");
        let less = format!("{rate} a minute is a small part of the present rate of {present}");
        return (waiting > 0).then(|| format!("{less}; {who}, the last of them for {longest} then"));
    }
    let times = format!("{rate} a minute is {} the present rate of {present}", times(factor));
    if rate > highest {
        let record = if present == highest { String::new() } else { format!(" ({highest})") };
        Some(format!("{times}, and more than {} was ever set to{record}", room.settings.room))
    } else {
        (factor > 3.0).then_some(times)
    }
}

/// What is to know of a release that is as large as the rate of ten minutes, or that goes against the throttle. A room that refuses it
/// says so itself.
fn releasing(visitors: ExtraSize, status: &Status) -> Option<String> {
    const MANY_SECONDS: u64 = 600;
    let room = &status.room;
    let seconds = room.rate().seconds_for(visitors.get().into());
    let is_much = seconds > MANY_SECONDS || room.is_throttled();
    (is_much && room.releases()).then(|| {
        let (visitors, rate) = (words::count(visitors.get().into()), words::count(room.rate().get().into()));
        let as_in = words::time(seconds);
        let held = if room.is_throttled() { ", to which the throttle holds it while the shop is slow or fails" } else { "" };
        let name = &room.settings.room;
        format!("{visitors} more would be let into {name} within a minute, beside its {rate} a minute{held}: as many as otherwise in {as_in}")
    })
}

/// `2.5 times`, `10 times`, `1,000 times`.
fn times(factor: f64) -> String {
    let exact = format!("{factor:.1}");
    match exact.strip_suffix(".0") {
        Some("1") => "slightly more than".into(),
        Some(whole) if factor < 10.0 => format!("{whole} times"),
        None if factor < 10.0 => format!("{exact} times"),
        _ => format!("{} times", words::number(factor.round())),
    }
}

/// Whom a room would let in that is over, or may have been until it was paused.
fn reopening(status: &Status) -> Option<String> {
    let (room, waiting) = (&status.room, status.line.waiting);
    let told = match room.state {
        RoomState::Ended => "were told",
        RoomState::ClosedPaused => "may have been told",
        _ => return None,
    };
    (waiting > 0).then(|| {
        format!(
            "{} in {}, which is {}; afterwards also those are let in who {told} that it's over, all within about {}, at {} a minute",
            words::things_do(waiting, "visitor", "wait"),
            room.settings.room,
            room.state,
            words::time(room.rate().seconds_for(waiting)),
            room.rate()
        )
    })
}

/// Whom a room would let in that observes, once it's on.
fn observing(status: &Status) -> Option<String> {
    let name = &status.room.settings.room;
    letting_all_in(
        status,
        &format!("at once, because it observes; for a line, first: `beekeeper mode {name} line`"),
    )
}

/// What an opening ahead would do to those who enter the shop now, if somebody does.
fn opening(status: &Status, at: Timestamp, now: Timestamp) -> Option<String> {
    let until = format!("it opens at {}, {}", words::at(at), words::ahead(at, now));
    if status.room.observes_once_on() {
        let name = &status.room.settings.room;
        return Some(format!(
            "{name} observes: visitors would join and wait until {until}, and then all of them would enter at once; for a line, first: \
             `beekeeper mode {name} line`"
        ));
    }
    if let Some(reopening) = reopening(status) {
        return Some(reopening);
    }
    if let Some(sale) = sale(status, now) {
        return Some(format!("{sale}; nobody would enter until {until}"));
    }
    if at.since(now) > LONGEST_WAIT {
        return Some(format!(
            "{} would keep nobody waiting so long: {until}, and whoever joins before {} loses their place, which lasts two weeks; \
             you can say this later instead",
            status.room.settings.room,
            words::at(at - LONGEST_WAIT)
        ));
    }
    let is_early = at.since(now) > BEFORE_A_SALE;
    let open = open_shop(&status.room).filter(|_| is_early)?;
    Some(format!(
        "{} {open}; from now on visitors would join and wait, and nobody would enter until {until}; you can say this in the hour \
         before instead",
        status.room.settings.room
    ))
}

/// That customers enter the shop without a line, if they do.
fn open_shop(room: &Room) -> Option<&'static str> {
    if room.lets_everybody_through() {
        Some("is off, so everybody enters the shop")
    } else if room.releases() && room.lets_straight_in() {
        Some("lets newcomers straight into the shop")
    } else {
        None
    }
}

/// A sale that is under way: whom the room serves at this moment. A rehearsal ends with a reset, so whom it released does not
/// count as released in this epoch; and a room that is marked for one refuses the order itself.
fn sale(status: &Status, now: Timestamp) -> Option<String> {
    let room = &status.room;
    let lately = status.windows_lately(now).map(|window| window.released).sum::<u64>().min(status.released);
    let is_served = status.released > 0 && (status.line.waiting > 0 || lately >= CUSTOMERS);
    (room.releases() && room.rehearsal.is_none() && is_served).then(|| {
        let name = &room.settings.room;
        match status.line.waiting {
            0 => format!(
                "{name} is on, and let {} in within this window and the one before",
                words::things(lately, "visitor")
            ),
            waiting => format!("{name} is on, and {} to enter", words::things_do(waiting, "visitor", "wait")),
        }
    })
}

/// Nothing of a room that is closed already, nor if only the words for those who come too late change.
fn closing(status: &Status, notice: Option<&Notice>, then_off: bool) -> Option<String> {
    let (room, waiting) = (&status.room, status.line.waiting);
    let only_tells = notice.is_some() && !then_off && room.state.turns_newcomers_away();
    if only_tells || room.state == RoomState::Closed {
        return None;
    }
    let begins = if room.releases() { "" } else { "from now on " };
    let let_in = if waiting == 0 {
        "nobody waits".to_owned()
    } else {
        let takes = words::time(room.rate().seconds_for(waiting));
        let who = words::things_do(waiting, "visitor", "wait");
        format!("{who}, and {begins}would be let in within about {takes}, at {} a minute", room.rate())
    };
    let then = if then_off { "; then everybody would go straight to the shop" } else { "" };
    Some(format!("nobody new could join {}, which is {}; {let_in}{then}", room.settings.room, room.state))
}

fn selling(status: &Status, size: StockSize) -> String {
    let (room, waiting, size) = (&status.room, status.line.waiting, u64::from(size.get()));
    let wait = words::things_do(waiting, "visitor", "wait");
    let enough = match waiting.saturating_sub(size) {
        0 if waiting == 0 => "nobody waits".to_owned(),
        0 => format!("{wait}, and there is enough for them"),
        beyond => {
            format!("{wait}, and the last {} of them will be told that it's over", words::count(beyond))
        }
    };
    let instead = room.stock.map_or_else(String::new, |stock| {
        let before = words::count(stock.size.get().into());
        format!("; that counts anew, in place of the {before} ordered before")
    });
    format!(
        "{} more would be let into {}, which is {}, and then it would end; {enough}{instead}",
        words::count(size),
        room.settings.room,
        room.state
    )
}

/// Nothing of a room without a stock.
fn withdrawing(status: &Status) -> Option<String> {
    let stock = status.room.stock?;
    let left = status
        .line
        .left
        .map_or_else(String::new, |left| format!(" ({} are left)", words::count(left.into())));
    Some(format!(
        "the stock of {}{left} would be withdrawn from {}, which then lets in everybody who waits; `beekeeper close --after` orders \
         another",
        words::count(stock.size.get().into()),
        status.room.settings.room
    ))
}

/// Nothing of a room in which nobody waits, or that lets everybody through already.
fn letting_all_in(status: &Status, when: &str) -> Option<String> {
    let (room, waiting) = (&status.room, status.line.waiting);
    let name = &room.settings.room;
    let all = if waiting == 1 { "" } else { "all of them " };
    (waiting > 0 && !room.lets_everybody_through()).then(|| {
        format!("{} in {name}, and {all}would enter {when}", words::things_do(waiting, "visitor", "wait"))
    })
}

fn emptying(status: &Status) -> String {
    let (name, waiting) = (&status.room.settings.room, status.line.waiting);
    let who = words::things(waiting, "visitor");
    let places = if waiting == 1 { "place" } else { "places" };
    format!("{who} would lose their {places} in {name}, and numbers start again at 1")
}

/// Nothing of a room whose guards have no report key yet.
fn silencing(room: &Room) -> Option<String> {
    room.report_key.is_some().then(|| {
        format!(
            "the guards of {} would report nothing until each has the new key; once the shop is full, nobody is let in until then",
            room.settings.room
        )
    })
}

/// Nothing of a room that is over already.
fn ending(status: &Status) -> Option<String> {
    let room = &status.room;
    let told = match status.line.waiting {
        0 => "nobody waits".to_owned(),
        waiting => {
            format!("{}, and will be told that it's over", words::things_do(waiting, "visitor", "wait"))
        }
    };
    (!room.is_over()).then(|| {
        let (name, state) = (&room.settings.room, room.state);
        format!("nobody would be let into {name} any more, which is {state}; {told}; nobody loses a place")
    })
}

#[cfg(test)]
mod tests {
    use pass::{KeyRecord, PrivateKey};

    use super::*;
    use crate::WindowCount;
    use crate::example::suffering;

    const NOW: Timestamp = Timestamp::from_millis(1_804_244_400_000);

    fn told(order: &Order, status: &Status) -> String {
        Consequence::of(order, status, NOW).unwrap().told
    }

    #[test]
    fn the_question_about_a_stock_says_for_how_many_it_is_too_small() {
        let mut status = suffering();
        let name = status.room.settings.room.clone();
        let order = Order::CloseAfter { size: 5000.try_into().unwrap(), notice: None };
        let mut asked = |waiting| {
            status.line.waiting = waiting;
            told(&order, &status)
        };
        assert_eq!(
            asked(8000),
            format!(
                "5,000 more would be let into {name}, which is on, and then it would end; 8,000 visitors wait, and the last \
                 3,000 of them will be told that it's over"
            )
        );
        assert!(asked(800).ends_with("; 800 visitors wait, and there is enough for them"));
        assert!(asked(0).ends_with("; nobody waits"));
        status.room.sell(700.try_into().unwrap());
        let asked = Consequence::of(&order, &status, NOW).unwrap();
        assert!(asked.told.ends_with("; that counts anew, in place of the 700 ordered before"), "{asked:?}");
        assert_eq!(asked.question, "Let 5,000 more in, then end the room?");
    }

    /// `close --never` is what one is told to say before an end at another time.
    #[test]
    fn withdrawing_a_stock_with_the_closing_is_asked_about() {
        let mut status = suffering();
        assert_eq!(Consequence::of(&Order::CloseNever, &status, NOW), None, "only a time");
        status.room.sell(5000.try_into().unwrap());
        status.line.left = Some(1800);
        let asked = told(&Order::CloseNever, &status);
        assert!(asked.starts_with("the stock of 5,000 (1,800 are left) would be withdrawn"), "{asked}");
    }

    #[test]
    fn whatever_turns_an_observing_room_on_says_that_all_enter_at_once() {
        let mut status = suffering();
        (status.line.waiting, status.room.state) = (4000, RoomState::Paused);
        assert_eq!(Consequence::of(&Order::On, &status, NOW), None, "a line goes on");
        status.room.settings.mode = Mode::Observe;
        let asked = told(&Order::On, &status);
        assert!(
            asked.contains("4,000 visitors wait") && asked.contains("all of them would enter at once"),
            "{asked}"
        );
        let at = NOW + Duration::from_mins(10);
        let ahead = told(&Order::OpenAt { at }, &status);
        assert!(
            ahead.contains("then all of them would enter at once; for a line, first: `beekeeper mode"),
            "{ahead}"
        );
        status.room.state = RoomState::On;
        assert_eq!(Consequence::of(&Order::On, &status, NOW), None, "they enter already");
    }

    #[test]
    fn the_question_says_who_is_let_in_and_who_is_not() {
        let close = |then_off| Order::Close { notice: None, then_off };
        let mut status = suffering();
        (status.line.waiting, status.room.throttled) = (1200, None);
        let name = status.room.settings.room.clone();
        assert_eq!(
            told(&close(true), &status),
            format!(
                "nobody new could join {name}, which is on; 1,200 visitors wait, and would be let in within about 2 min, at 600 a \
                 minute; then everybody would go straight to the shop"
            )
        );
        (status.line.waiting, status.room.state) = (1, RoomState::Paused);
        assert!(told(&close(false), &status).contains("1 visitor waits, and from now on would be let in"));
        status.line.waiting = 0;
        assert!(told(&close(false), &status).ends_with("which is paused; nobody waits"));
        status.room.state = RoomState::Closed;
        assert_eq!(Consequence::of(&close(false), &status, NOW), None);
    }

    #[test]
    fn the_question_says_how_many_would_not_be_let_in() {
        let end = Order::End { notice: None };
        let mut status = suffering();
        status.line.waiting = 3000;
        let asked = told(&end, &status);
        assert!(
            asked.contains("which is on; 3,000 visitors wait, and will be told that it's over"),
            "{asked}"
        );
        let emptied = told(&Order::Reset { epoch: "cd34".parse().unwrap() }, &status);
        assert!(emptied.starts_with("3,000 visitors would lose their places in "), "{emptied}");
        status.line.waiting = 0;
        assert!(told(&end, &status).contains("; nobody waits; "));
    }

    #[test]
    fn letting_those_in_who_were_told_that_it_is_over_is_asked_about() {
        let mut status = suffering();
        (status.line.waiting, status.room.throttled) = (3000, None);
        let asked = |status: &Status| Consequence::of(&Order::On, status, NOW).map(|asked| asked.told);
        status.room.state = RoomState::Ended;
        assert_eq!(
            asked(&status).unwrap(),
            "3,000 visitors wait in spring-sale, which is ended; afterwards also those are let in who were told that it's over, \
             all within about 5 min, at 600 a minute"
        );
        let later = Order::OpenAt { at: NOW + Duration::from_mins(5) };
        assert_eq!(Some(told(&later, &status)), asked(&status));
        status.room.state = RoomState::ClosedPaused;
        assert!(asked(&status).unwrap().contains("are let in who may have been told that it's over"));
        for state in [RoomState::Paused, RoomState::Closed] {
            status.room.state = state;
            assert_eq!(asked(&status), None, "they were told to wait");
        }
        (status.room.state, status.line.waiting) = (RoomState::Ended, 0);
        assert_eq!(asked(&status), None, "nobody waits");
    }

    #[test]
    fn observing_lets_in_whoever_waits_so_it_is_asked_about_as_off_is() {
        let mut status = suffering();
        status.line.waiting = 9000;
        let observe = Order::Mode { mode: Mode::Observe };
        let name = status.room.settings.room.clone();
        let at_once = format!("9,000 visitors wait in {name}, and all of them would enter within minutes");
        assert_eq!(told(&observe, &status), at_once);
        assert_eq!(told(&Order::Off, &status), at_once);
        status.room.state = RoomState::Paused;
        assert!(told(&observe, &status).ends_with("would enter once the room is on"));
        for mode in [Mode::Line, Mode::Overflow] {
            assert_eq!(Consequence::of(&Order::Mode { mode }, &status, NOW), None, "they keep waiting");
        }
        status.line.waiting = 0;
        assert_eq!(Consequence::of(&observe, &status, NOW), None, "nobody waits");
    }

    #[test]
    fn a_release_is_asked_about_if_it_is_large_or_against_the_throttle() {
        let mut status = suffering();
        let mut asked = |visitors, throttled: Option<u32>| {
            status.room.throttled = throttled.map(|rate| Rate::new(rate).unwrap());
            let order = Order::Release { visitors: ExtraSize::new(visitors).unwrap() };
            Consequence::of(&order, &status, NOW).map(|asked| asked.told)
        };
        assert_eq!(asked(6000, None), None, "ten minutes of 600");
        let large = "9,000 more would be let into spring-sale within a minute, beside its 600 a minute: as many as otherwise \
                     in 15 min";
        assert_eq!(asked(9000, None).as_deref(), Some(large));
        let held = "beside its 60 a minute, to which the throttle holds it while the shop is slow or fails: as many as otherwise in 1 s";
        assert!(asked(1, Some(60)).unwrap().ends_with(held));
        status.room.state = RoomState::Paused;
        let order = Order::Release { visitors: ExtraSize::MAX };
        assert_eq!(Consequence::of(&order, &status, NOW), None, "it is refused");
    }

    /// A room that is on, with so many released in this epoch, released in the last windows, and waiting.
    fn served(released: u64, lately: u64, waiting: u64) -> Status {
        let mut status = suffering();
        let window = WindowCount { released: lately, start: NOW, end: NOW, ..status.windows[0] };
        (status.released, status.line.waiting, status.windows) = (released, waiting, vec![window]);
        status
    }

    #[test]
    fn shutting_an_open_shop_long_before_its_sale_is_asked_about() {
        let mut status = served(0, 0, 0);
        let asked = |status: &Status, ahead| opening(status, NOW + ahead, NOW);
        let days = Duration::from_hours(50);
        assert_eq!(asked(&status, days), None, "whoever comes waits already");
        let told = asked(&status, Duration::from_hours(20 * 24)).unwrap();
        assert!(told.contains(", in 20 d, and whoever joins before "), "{told}");
        status.room.state = RoomState::Off;
        let told = asked(&status, days).unwrap();
        assert!(told.starts_with("spring-sale is off, so everybody enters the shop; from now on"), "{told}");
        assert!(told.contains(", in 2 d 2 h; "), "{told}");
        assert_eq!(asked(&status, BEFORE_A_SALE), None, "the usual time");
        status.room.state = RoomState::On;
        status.room.settings.mode = Mode::Overflow;
        for quiet in [true, false] {
            status.room.quiet = quiet;
            let told = asked(&status, days).unwrap();
            assert!(
                told.starts_with("spring-sale lets newcomers straight into the shop; from now on"),
                "{told}"
            );
            assert_eq!(asked(&status, BEFORE_A_SALE), None, "quiet: {quiet}");
        }
        status.room.state = RoomState::Paused;
        assert_eq!(asked(&status, days), None, "nobody enters anyway");
        let sale = asked(&served(4090, 300, 9120), Duration::from_mins(5)).unwrap();
        assert!(
            sale.contains("9,120 visitors wait to enter; nobody would enter until it opens at "),
            "{sale}"
        );
    }

    #[test]
    fn only_a_sale_is_asked_about() {
        let sale = |status: &Status| sale(status, NOW);
        assert!(
            sale(&served(4090, 300, 9120)).unwrap().ends_with(" is on, and 9,120 visitors wait to enter")
        );
        let fast = sale(&served(4090, 300, 0)).unwrap();
        assert!(fast.ends_with("let 300 visitors in within this window and the one before"), "{fast}");
        assert_eq!(sale(&served(0, 500, 0)), None, "a rehearsal that has just ended");
        assert_eq!(sale(&served(1, 500, 0)), None, "its operator, who looks at the page once more");
        assert_eq!(sale(&served(4090, 0, 0)), None, "an event that is over");
        let mut quiet = served(4090, 300, 0);
        quiet.windows[0].end = NOW - Duration::from_hours(2);
        quiet.windows[0].start = quiet.windows[0].end - Duration::from_mins(1);
        assert_eq!(sale(&quiet), None, "its last window ended long ago");
        let mut rehearsed = served(40, 40, 40);
        rehearsed.room.rehearsal = Some("abcdefgh01234567".parse().unwrap());
        assert_eq!(sale(&rehearsed), None, "the room refuses");
        let mut paused = served(4090, 300, 9120);
        paused.room.state = RoomState::Paused;
        assert_eq!(sale(&paused), None, "nobody enters anyway");
    }

    fn surprise_at(present: u32, highest: Option<u32>, rate: u32) -> Option<String> {
        let mut status = suffering();
        status.room.settings.rate = Rate::new(present).unwrap();
        status.room.highest_rate = highest.map(|rate| Rate::new(rate).unwrap());
        status.line.waiting = 0;
        surprise(Rate::new(rate).unwrap(), &status)
    }

    #[test]
    fn a_rate_that_lacks_a_zero_is_told_with_the_wait_that_it_means() {
        let mut status = served(4090, 300, 9120);
        status.room.settings.rate = Rate::new(600).unwrap();
        let asked = |status: &Status, rate| {
            let rate = Rate::new(rate).unwrap();
            Consequence::of(&Order::SetRate { rate }, status, NOW).map(|asked| asked.told)
        };
        assert_eq!(asked(&status, 61), None);
        assert_eq!(
            asked(&status, 60).unwrap(),
            "60 a minute is a small part of the present rate of 600; 9,120 visitors wait, the last of them for 2 h 32 min then"
        );
        status.line.waiting = 1;
        assert!(asked(&status, 6).unwrap().ends_with("; 1 visitor waits, the last of them for 10 s then"));
        status.line.waiting = 0;
        assert_eq!(asked(&status, 6), None, "nobody waits");
    }

    #[test]
    fn a_rate_that_looks_like_a_typo_is_named_with_its_factor() {
        for usual in [1, 59, 60] {
            assert_eq!(surprise_at(60, None, usual), None);
        }
        assert_eq!(surprise_at(60, Some(600), 180), None);
        assert_eq!(
            surprise_at(60, Some(600), 181).unwrap(),
            "181 a minute is 3 times the present rate of 60"
        );
        assert_eq!(
            surprise_at(60, Some(600), 601).unwrap(),
            "601 a minute is 10 times the present rate of 60, and more than spring-sale was ever set to (600)"
        );
        assert_eq!(
            surprise_at(60, None, 600).unwrap(),
            "600 a minute is 10 times the present rate of 60, and more than spring-sale was ever set to"
        );
        for (rate, told) in [
            (61, "61 a minute is slightly more than the present rate of 60, and"),
            (150, "150 a minute is 2.5 times the"),
            (1_234, "1234 a minute is 21 times the"),
            (60_000, "60000 a minute is 1,000 times the"),
        ] {
            let surprise = surprise_at(60, None, rate).unwrap();
            assert!(surprise.starts_with(told), "{surprise}");
        }
    }

    #[test]
    fn the_question_about_a_key_says_what_shops_will_do() {
        let mut record = KeyRecord::default();
        for at in [1_774_000_000, 1_774_003_600] {
            record.publish(PrivateKey::generate().unwrap().public().unwrap(), Duration::from_hours(1), at);
        }
        let said = |now: u64| {
            let told = |key| Consequence::of_dropping(key, &"sale".parse().unwrap(), now).told;
            record.keys().iter().map(told).collect::<Vec<_>>()
        };
        let (early, late) = (said(1_774_003_700), said(1_774_004_000));
        assert!(early[0].contains("signs the passes of sale") && early[1].contains("has signed no pass"));
        assert!(
            late[0].starts_with("shops refuse passes of sale") && late[1].contains("another key at once")
        );
    }
}
