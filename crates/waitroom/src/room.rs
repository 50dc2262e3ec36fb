use std::sync::Arc;

use pass::ReportKeyDigest;
use serde::{Deserialize, Serialize};

use url::Url;

use crate::standing::next_change;
use crate::{
    ActiveLimit, Admission, AdmittedBy, Epoch, Extra, ExtraSize, Message, Mode, Notice, Rate, RehearsalMark,
    RoomState, Settings, Slowdown, Standing, Stock, StockSize, Stretch, Ticket, Timestamp, Turning, Turnout,
    ValveSchedule, WebUrl,
};

/// A room as the ledger stores it: the operator's settings, and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    pub settings: Settings,
    /// The room's own URL, under which its routes are. It is also the issuer of its passes.
    pub url: WebUrl,
    pub epoch: Epoch,
    /// When its epoch began, by the clock that is farthest behind of those that admit visitors. `None` in a room that was never reset,
    /// or was before this was kept.
    #[serde(default)]
    pub epoch_began: Option<Timestamp>,
    pub state: RoomState,
    /// When a paused room turns on by itself. Stores keep the room as it was ordered, and return it as it is [`Room::at`]
    /// the time of reading. So nothing has to run at this instant.
    #[serde(default)]
    pub opens: Option<Timestamp>,
    /// When newcomers get no place any more.
    #[serde(default)]
    pub closes: Option<Timestamp>,
    /// When nobody is let in any more.
    #[serde(default)]
    pub ends: Option<Timestamp>,
    /// Whether a closed room turns off when everybody who waited was let in.
    #[serde(default)]
    pub then_off: bool,
    /// How many more are let in before it ends by itself.
    #[serde(default)]
    pub stock: Option<Stock>,
    /// How many more than the rate it releases, and until when.
    #[serde(default)]
    pub extra: Option<Extra>,
    /// What those read who come too late.
    #[serde(default)]
    pub notice: Notice,
    /// The rate that the throttle allows, while it holds the room down.
    pub throttled: Option<Rate>,
    /// How many came of those who were released, in a room that oversubscribes: as many more are released. `None` while that
    /// isn't known.
    #[serde(default)]
    pub turnout: Option<Turnout>,
    /// How many a minute it lately let in, while the shop has as many active visitors as it may.
    #[serde(default)]
    pub while_full: Option<Rate>,
    /// By which the shop's guards show that they may report.
    #[serde(default)]
    pub report_key: Option<ReportKeyDigest>,
    /// Whether nobody waits, and has not for a while. Nothing runs then but the trigger, until somebody joins.
    #[serde(default)]
    pub quiet: bool,
    /// The highest rate that the operator has ever set. `None` if it was never changed.
    #[serde(default)]
    pub highest_rate: Option<Rate>,
    /// What consumers may release, and from when.
    #[serde(default)]
    pub valves: ValveSchedule,
    /// The factor by which pages poll less often.
    #[serde(default)]
    pub stretch: Stretch,
    /// While the operator rehearses the event, and until the `reset` that ends it.
    #[serde(default)]
    pub rehearsal: Option<RehearsalMark>,
    /// Counts the changes, so that two concurrent changes cannot overwrite each other.
    pub version: u64,
}

impl Room {
    /// A difference in percent that is not worth another window.
    const LEAST_SURPLUS: u32 = 2;
    /// A difference in percent that pages need not show.
    const LEAST_NEWS: u32 = 5;

    pub fn new(settings: Settings, url: WebUrl, epoch: Epoch) -> Self {
        // Nobody can wait in a new room, so its doors need not wait for that.
        let quiet = settings.mode != Mode::Line;
        Self {
            settings,
            url,
            epoch,
            epoch_began: None,
            state: RoomState::On,
            opens: None,
            closes: None,
            ends: None,
            then_off: false,
            stock: None,
            extra: None,
            notice: Notice::default(),
            throttled: None,
            turnout: None,
            while_full: None,
            report_key: None,
            quiet,
            highest_rate: None,
            valves: ValveSchedule::default(),
            stretch: Stretch::USUAL,
            rehearsal: None,
            version: 0,
        }
    }

    /// How the operator left it.
    pub fn standing(&self) -> Standing {
        let Self { state, opens, closes, ends, then_off, stock, extra, ref notice, .. } = *self;
        Standing { state, opens, closes, ends, then_off, stock, extra, notice: notice.clone() }
    }

    pub(crate) fn leave(&mut self, standing: Standing) {
        let Standing { state, opens, closes, ends, then_off, stock, extra, notice } = standing;
        (self.state, self.opens, self.closes, self.ends) = (state, opens, closes, ends);
        (self.then_off, self.stock, self.extra, self.notice) = (then_off, stock, extra, notice);
    }

    /// Turns the room to this state. An opening ahead is withdrawn, and whatever cannot follow from there: a closing or an end
    /// ahead stays while the room is on or paused.
    pub fn turn(&mut self, state: RoomState) {
        let mut standing = self.standing();
        standing.turn(state);
        self.leave(standing);
    }

    /// Stops the releases. Newcomers whom the room turned away stay turned away.
    pub fn pause(&mut self) {
        self.turn(self.state.paused());
    }

    /// Pauses the room until it opens by itself.
    pub fn open_at(&mut self, opens: Timestamp) {
        (self.state, self.opens) = (RoomState::Paused, Some(opens));
    }

    /// Lets in so many more from now on, and then ends. An ended room goes on with those who still wait.
    pub fn sell(&mut self, size: StockSize) {
        if self.is_over() {
            self.turn(RoomState::Closed);
        }
        // Every change increases the version by one.
        self.stock = Some(Stock { size, order: self.version + 1 });
    }

    /// Releases so many more than the rate allows, spread over the minute from when on the order is in force.
    pub fn release_more(&mut self, visitors: ExtraSize) {
        self.extra = Some(Extra::ordered(visitors));
    }

    /// Ends, because this stock is sold. Returns whether it was the room's.
    pub fn sell_out(&mut self, stock: Stock) -> bool {
        let ended = self.standing().sold_out().filter(|_| self.stock == Some(stock));
        ended.map(|ended| self.leave(ended)).is_some()
    }

    /// Whether newcomers get a place in the line.
    pub fn takes_newcomers(&self) -> bool {
        self.state.switches().joins
    }

    /// Whether visitors who wait are released.
    pub fn releases(&self) -> bool {
        self.state.switches().releases
    }

    /// Whether everybody goes straight to the shop.
    pub fn lets_everybody_through(&self) -> bool {
        self.state.lets_everybody_through()
    }

    /// Whether nobody is let in any more.
    pub fn is_over(&self) -> bool {
        self.state.is_over()
    }

    /// Whether a visitor who was not admitted reads that they come too late: in an ended room everybody, in a closed one who has
    /// no place.
    pub fn turns_away(&self, has_place: bool) -> bool {
        self.is_over() || (self.state.turns_newcomers_away() && !has_place)
    }

    /// What is told to whom it [turns away](Self::turns_away).
    pub fn text_for_latecomers(&self) -> &Message {
        let Notice { text, .. } = &self.notice;
        if text.as_str().is_empty() { &self.settings.message } else { text }
    }

    /// What a reset does. It ends a rehearsal too.
    pub fn start_epoch(&mut self, epoch: Epoch, began: Timestamp) {
        (self.epoch, self.epoch_began, self.rehearsal) = (epoch, Some(began), None);
    }

    /// Whether whom this room counts from now on are others than those of `before`: of another epoch, or of a rehearsal.
    pub fn counts_apart(&self, before: &Self) -> bool {
        (self.epoch, self.rehearsal) != (before.epoch, before.rehearsal)
    }

    /// What it turns to by itself, in order of time.
    pub fn ahead(&self) -> impl Iterator<Item = (Turning, Timestamp)> + use<> {
        self.standing().ahead()
    }

    /// Whether it becomes another by itself.
    pub fn changes_by_itself(&self) -> bool {
        self.changes_next().is_some()
    }

    /// Every poll asks this, so it reads the fields: a [`Standing`] has a copy of the notice.
    fn changes_next(&self) -> Option<Timestamp> {
        next_change([self.opens, self.closes, self.ends], self.extra)
    }

    /// The room at `now`: with what was to follow by then.
    #[must_use]
    pub fn at(self: Arc<Self>, now: Timestamp) -> Arc<Self> {
        if self.changes_next().is_none_or(|at| at > now) {
            return self;
        }
        let mut room = Self::clone(&self);
        room.settle(now);
        Arc::new(room)
    }

    /// Lets happen what was to follow by `now`. A room that is to open is not quiet until then, because a crowd waits; and one that
    /// has become another is not, because the valve that was scheduled for it asks for plans. Whom the shop bears while it's full says
    /// nothing once nobody is let in: by the time that somebody is, it has emptied.
    pub(crate) fn settle(&mut self, now: Timestamp) {
        let before = self.state;
        self.leave(self.standing().at(now));
        self.extra = self.extra.filter(|extra| extra.is_of_this_time(now));
        self.quiet &= self.opens.is_none() && self.state == before;
        self.while_full = self.while_full.filter(|_| self.releases());
    }

    /// Whether marking the room as quiet, or as awake, changes anything.
    pub fn heeds_quiet(&self, quiet: bool) -> bool {
        self.quiet != quiet || (quiet && self.turns_off_when_quiet())
    }

    /// Nobody has waited for a while, or somebody does. A closed room that nobody waits in has done what it was to do. One that was
    /// paused meanwhile is not quiet, or its doors would take whoever waits for somebody who joins.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet && self.releases();
        if quiet && self.turns_off_when_quiet() {
            self.turn(RoomState::Off);
        }
    }

    /// Whether it turns off as soon as it is marked as quiet.
    pub fn turns_off_when_quiet(&self) -> bool {
        self.then_off && self.state == RoomState::Closed
    }

    /// The rate in force: how many leave the line. As many as the shop is to get, and more while some of them don't come.
    pub fn rate(&self) -> Rate {
        self.shop_rate().increased_by(self.surplus())
    }

    /// How many are to come to the shop: what the operator set, or less while the throttle holds it down.
    pub fn shop_rate(&self) -> Rate {
        self.throttled.map_or(self.settings.rate, |throttled| throttled.min(self.settings.rate))
    }

    /// Whether more may be released for those who don't come. Not while the throttle holds the rate down: what the shop bears comes first.
    /// Nor while pages poll less often: many come so late that they would count as missing.
    pub fn makes_up(&self) -> bool {
        self.settings.oversubscribe.is_some() && !self.is_throttled() && self.stretch == Stretch::USUAL
    }

    /// By how many percent more are released, to make up for those who don't come.
    pub fn surplus(&self) -> u32 {
        self.surplus_for(self.turnout)
    }

    fn surplus_for(&self, turnout: Option<Turnout>) -> u32 {
        match (self.settings.oversubscribe, turnout) {
            (Some(most), Some(turnout)) if self.makes_up() => turnout.missing_percent().min(most.get()),
            _ => 0,
        }
    }

    /// Whether noting this turnout changes anything that is worth another window.
    pub fn heeds_turnout(&self, turnout: Option<Turnout>) -> bool {
        self.turnout.is_some() != turnout.is_some()
            || self.surplus().abs_diff(self.surplus_for(turnout)) > Self::LEAST_SURPLUS
    }

    /// Whether the throttle holds the rate down.
    pub fn is_throttled(&self) -> bool {
        self.shop_rate() < self.settings.rate
    }

    /// How many may be in the shop at once. A rehearsal is of the line, so this doesn't hold it up, even if its visitors go on to the
    /// shop.
    pub fn active_limit(&self) -> Option<&ActiveLimit> {
        self.settings.active.as_ref().filter(|_| self.rehearsal.is_none())
    }

    /// The admission of somebody who is let in now. It is of this epoch, also if the clock says a time before the reset: it was set back
    /// since, or is a little behind the clock of whoever gave the reset.
    pub fn new_admission(&self, ticket: Ticket, by: AdmittedBy, now: Timestamp) -> Admission {
        let at = self.epoch_began.map_or(now, |began| began.max(now));
        Admission { ticket, by, at, expires: now + self.settings.lifetimes.admission }
    }

    /// Whether this admission was made since the last reset. One from before counts as none, also for whoever writes the epoch of today
    /// into the cookie.
    pub fn is_of_this_epoch(&self, admission: &Admission) -> bool {
        self.epoch_began.is_none_or(|began| admission.at >= began)
    }

    /// Whether somebody with this admission may still enter. A limit of active visitors counts on it that nobody comes later than the room
    /// says now.
    pub fn still_lets_in(&self, admission: &Admission, now: Timestamp) -> bool {
        let comes_in_time = admission.at + self.settings.lifetimes.admission > now;
        admission.is_valid(now) && (self.settings.active.is_none() || comes_in_time)
    }

    /// At what rate the line moves: that in force, or what the full shop leaves of it. Pages reckon with it.
    pub fn pace_of_line(&self) -> Rate {
        self.while_full.map_or(self.rate(), |lately| lately.min(self.rate()))
    }

    /// Why the line moves slower than the operator wants, if it does.
    pub fn slowdown(&self) -> Option<Slowdown> {
        match (self.is_throttled(), self.while_full.is_some()) {
            (true, false) => Some(Slowdown::Throttle),
            (false, true) => Some(Slowdown::FullShop),
            (true, true) => Some(Slowdown::Both),
            (false, false) => None,
        }
    }

    /// Whether noting how many a minute the full shop let in makes a difference that pages should show.
    pub fn heeds_full(&self, lately: Option<Rate>) -> bool {
        match (self.while_full, lately) {
            (Some(known), Some(lately)) => {
                let least = u64::from(known.get()) * u64::from(Self::LEAST_NEWS);
                u64::from(known.get().abs_diff(lately.get())) * 100 > least
            }
            (known, lately) => known != lately,
        }
    }

    /// The issuer in this room's passes, as shops compare it: the room's URL without a slash at the end.
    pub fn issuer(&self) -> String {
        self.url.to_string().trim_end_matches('/').to_owned()
    }

    /// Whether whoever is let in is counted as they leave the line: for a stock, or as an active visitor.
    fn counts_in_line(&self) -> bool {
        self.stock.is_some() || self.settings.active.is_some()
    }

    /// Whether newcomers need no place while nobody waits. Where they are counted as they leave the line they do.
    pub fn lets_straight_in(&self) -> bool {
        self.settings.mode == Mode::Overflow && self.takes_newcomers() && !self.counts_in_line()
    }

    /// Whether everybody goes straight in, and is counted. Only while the room is on: what other states say of newcomers holds. And
    /// not where they are counted as they leave the line.
    pub fn observes(&self) -> bool {
        self.state == RoomState::On && self.observes_once_on()
    }

    /// Whether it observes as soon as it is on, which it may be by itself.
    pub fn observes_once_on(&self) -> bool {
        self.settings.mode == Mode::Observe && !self.counts_in_line()
    }

    /// Whether a visitor who has just joined has to wake the room, because no consumer would find them. Where the doors let
    /// newcomers straight in, consumers still look for the last of the line, so only somebody who got no permit wakes the room.
    pub fn is_woken_by_join(&self, got_no_permit: bool) -> bool {
        self.quiet && (got_no_permit || !self.lets_straight_in())
    }

    /// The highest rate that the operator has ever set.
    pub fn highest_rate(&self) -> Rate {
        self.highest_rate.map_or(self.settings.rate, |highest| highest.max(self.settings.rate))
    }

    /// Whether `url` is this room's door or page. A shop with such a URL would send visitors back to the room.
    pub fn is_entered_by(&self, url: &Url) -> bool {
        let own = self.url.as_url();
        let same_server =
            (url.host(), url.port_or_known_default()) == (own.host(), own.port_or_known_default());
        let below = url.path().strip_prefix(own.path().trim_end_matches('/'));
        same_server
            && below.is_some_and(|path| path == "/beekeeper" || path == "/wait" || path.starts_with("/wait/"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Valve, fixture};

    const LEAD_TIME: Duration = ValveSchedule::LEAD_TIME_IN_ONE_PROCESS;

    fn room(url: &str) -> Room {
        Room { url: url.parse().unwrap(), ..fixture::room(100) }
    }

    #[test]
    fn a_room_releases_as_many_more_as_do_not_come_unless_the_shop_is_slow_or_pages_poll_less_often() {
        let mut room = room("https://room.example/");
        let turnout = |came| Some(Turnout { came, released: 1000 });
        assert!(room.heeds_turnout(turnout(800)));
        change(&mut room, |room| room.turnout = turnout(800));
        assert_eq!((room.rate().get(), room.surplus()), (100, 0), "it is not to");
        room.settings.oversubscribe = Some(30.try_into().unwrap());
        assert_eq!((room.rate().get(), room.shop_rate().get(), room.surplus()), (125, 100, 25));
        assert_eq!((room.valve(), room.is_throttled()), (Valve::Open(Rate::new(125).unwrap()), false));
        assert!(!room.heeds_turnout(turnout(790)) && room.heeds_turnout(turnout(780)), "27 and 28 percent");
        assert!(room.heeds_turnout(None) && !room.heeds_turnout(room.turnout));
        room.turnout = turnout(500);
        assert_eq!(room.rate().get(), 130, "no more than it may");
        let stretched = Room { stretch: Stretch::MAX, ..room.clone() };
        assert_eq!((stretched.rate().get(), stretched.surplus()), (100, 0), "pages come late");
        (room.settings.mode, room.quiet) = (Mode::Overflow, true);
        assert_eq!(
            room.valve(),
            Valve::Doors(Rate::new(100).unwrap()),
            "everybody comes who goes straight in"
        );
        room.throttled = Some(Rate::new(50).unwrap());
        assert_eq!((room.rate().get(), room.surplus(), room.is_throttled()), (50, 0, true));
    }

    #[test]
    fn a_line_moves_slower_for_the_throttle_for_a_full_shop_or_for_both() {
        let why = |throttled: Option<u32>, while_full: Option<u32>| {
            let [throttled, while_full] =
                [throttled, while_full].map(|rate| rate.map(|rate| Rate::new(rate).unwrap()));
            let room = Room { throttled, while_full, ..room("https://room.example/") };
            (room.slowdown(), room.pace_of_line().get())
        };
        assert_eq!(why(None, None), (None, 100));
        assert_eq!(why(Some(100), None), (None, 100), "it allows as much as the operator");
        assert_eq!(why(Some(60), None), (Some(Slowdown::Throttle), 60));
        assert_eq!(why(None, Some(40)), (Some(Slowdown::FullShop), 40));
        assert_eq!(why(Some(60), Some(40)), (Some(Slowdown::Both), 40));
    }

    #[test]
    fn a_room_observes_while_it_is_on_and_needs_no_waking() {
        let mut room = room("https://room.example/");
        change(&mut room, |room| room.settings.mode = Mode::Observe);
        assert_eq!(room.valve(), Valve::Open(Rate::new(100).unwrap()), "somebody may wait");
        change(&mut room, |room| room.set_quiet(true));
        change(&mut room, |room| room.settings.rate = Rate::MIN);
        assert_eq!((room.observes(), room.valve()), (true, Valve::Closed));
        change(&mut room, |room| room.settings.mode = Mode::Line);
        assert!(!room.observes() && room.is_woken_by_join(false));
        change(&mut room, |room| room.settings.mode = Mode::Observe);
        for state in RoomState::ALL {
            room.state = state;
            assert_eq!(room.observes(), state == RoomState::On, "{state}");
        }
        room.state = RoomState::On;
        change(&mut room, sell(7));
        assert!(!room.observes(), "who is let in has to be counted");
    }

    /// A change of a room at 50 s, as stores make it.
    fn change(room: &mut Room, change: impl FnOnce(&mut Room)) {
        *room = room.changed(Timestamp::from_millis(50_000), LEAD_TIME, change);
    }

    const OPENS: Timestamp = Timestamp::from_millis(600_000);
    const PAST: Timestamp = Timestamp::from_millis(49_999);
    const BEGAN: Timestamp = Timestamp::from_millis(50_000);
    const CLOSES: Timestamp = Timestamp::from_millis(700_000);
    const ENDS: Timestamp = Timestamp::from_millis(800_000);

    /// The state, and the first letters of what is ahead.
    fn left(room: &Room) -> String {
        let ahead: String = room.ahead().map(|(turns, _)| turns.to_string()[..1].to_owned()).collect();
        if ahead.is_empty() { room.state.to_string() } else { format!("{} {ahead}", room.state) }
    }

    #[test]
    fn every_order_leads_from_every_state_where_the_table_says() {
        type Orders = [(&'static str, fn(&mut Room)); 9];
        type Row = (fn(&mut Room), &'static str);
        let begins: Orders = [
            ("on", |room| room.turn(RoomState::On)),
            ("paused", |room| room.turn(RoomState::Paused)),
            ("paused o", |room| room.open_at(OPENS)),
            ("closed", |room| room.turn(RoomState::Closed)),
            ("closed-paused", |room| room.turn(RoomState::ClosedPaused)),
            ("ended", |room| room.turn(RoomState::Ended)),
            ("off", |room| room.turn(RoomState::Off)),
            ("on ce", |room| (room.closes, room.ends) = (Some(CLOSES), Some(ENDS))),
            ("paused oce", |room| {
                room.open_at(OPENS);
                (room.closes, room.ends) = (Some(CLOSES), Some(ENDS));
            }),
        ];
        // What is ahead stays where it can still follow.
        let rows: [Row; 7] = [
            (|room| room.turn(RoomState::On), "on, on, on, on, on, on, on, on ce, on ce"),
            (|room| room.open_at(PAST), "on, on, on, on, on, on, on, on ce, on ce"),
            (
                Room::pause,
                "paused, paused, paused, closed-paused, closed-paused, closed-paused, paused, paused ce, paused ce",
            ),
            (
                |room| room.open_at(OPENS),
                "paused o, paused o, paused o, paused o, paused o, paused o, paused o, paused oce, paused oce",
            ),
            (
                |room| room.turn(RoomState::Closed),
                "closed, closed, closed, closed, closed, closed, closed, closed e, closed e",
            ),
            (
                |room| room.turn(RoomState::Ended),
                "ended, ended, ended, ended, ended, ended, ended, ended, ended",
            ),
            (|room| room.turn(RoomState::Off), "off, off, off, off, off, off, off, off, off"),
        ];
        for (order, expected) in rows {
            let reached = begins.map(|(begin, begins)| {
                let mut room = room("https://room.example/");
                change(&mut room, begins);
                assert_eq!(left(&room), begin);
                change(&mut room, order);
                let reached = left(&room);
                change(&mut room, |room| room.stretch = Stretch::MAX);
                assert_eq!(left(&room), reached, "from {begin}, and no other order");
                let opened = if room.opens.is_some() { RoomState::On } else { room.state };
                assert_eq!(Arc::new(room.clone()).at(OPENS).state, opened, "from {begin}, by itself");
                releases_as_it_says(&room);
                reached
            });
            assert_eq!(reached.join(", "), expected);
        }
    }

    /// The valve follows the state, also where that changes by itself.
    fn releases_as_it_says(room: &Room) {
        for (seconds, follows) in [(55, "before"), (605, "o"), (705, "c"), (805, "e")] {
            let at = Timestamp::from_millis(seconds * 1000);
            let then = Arc::new(room.clone()).at(at);
            assert_eq!(room.valve_at(at).valve, then.valve(), "{} {follows}: {}", left(room), room.valves);
        }
    }

    #[test]
    fn a_room_opens_closes_and_ends_by_itself_and_a_pause_stays_one() {
        let course = |begin: fn(&mut Room)| {
            let mut room = room("https://room.example/");
            change(&mut room, begin);
            change(&mut room, |room| (room.closes, room.ends) = (Some(CLOSES), Some(ENDS)));
            releases_as_it_says(&room);
            let room = Arc::new(room);
            assert_eq!(room.clone().at(OPENS - Duration::from_millis(1)), room);
            [OPENS, CLOSES, ENDS].map(|at| room.clone().at(at).state.as_str())
        };
        assert_eq!(course(|room| room.open_at(OPENS)), ["on", "closed", "ended"]);
        assert_eq!(course(|room| room.turn(RoomState::On)), ["on", "closed", "ended"]);
        assert_eq!(course(|room| room.turn(RoomState::Paused)), ["paused", "closed-paused", "ended"]);
        assert_eq!(course(|room| room.turn(RoomState::Closed)), ["closed", "closed", "ended"]);
        assert_eq!(course(|room| room.turn(RoomState::Off)), ["off"; 3]);
    }

    #[test]
    fn those_who_come_too_late_read_the_notice_while_there_is_anything_to_come_too_late_for() {
        let mut room = room("https://room.example/");
        let notice = Notice { text: "Sold out".parse().unwrap(), link: None };
        let tell = |room: &mut Room| room.notice = notice.clone();
        change(&mut room, tell);
        assert_eq!(room.notice, Notice::default(), "nobody does in a room that is on");
        change(&mut room, |room| room.ends = Some(ENDS));
        change(&mut room, tell);
        assert_eq!(room.notice, notice);
        for state in [RoomState::Closed, RoomState::ClosedPaused, RoomState::Ended] {
            change(&mut room, |room| room.turn(state));
            assert_eq!(room.notice, notice, "{state}");
            assert_eq!((room.turns_away(false), room.turns_away(true)), (true, state == RoomState::Ended));
            assert_eq!(room.text_for_latecomers().as_str(), "Sold out");
        }
        change(&mut room, |room| room.turn(RoomState::On));
        assert_eq!(room.notice, Notice::default());
        assert_eq!((room.turns_away(false), room.turns_away(true)), (false, false));
    }

    #[test]
    fn a_closed_room_that_nobody_waits_in_turns_off_if_it_was_to() {
        let mut room = room("https://room.example/");
        change(&mut room, |room| (room.closes, room.then_off) = (Some(CLOSES), true));
        change(&mut room, |room| room.set_quiet(true));
        assert_eq!((room.state, room.quiet), (RoomState::On, true), "somebody may still come");
        room = Room::clone(&Arc::new(room).at(CLOSES));
        assert_eq!(room.state, RoomState::Closed);
        assert!(room.heeds_quiet(true), "although it is quiet already");
        change(&mut room, |room| room.turn(RoomState::ClosedPaused));
        change(&mut room, |room| room.set_quiet(true));
        assert_eq!(room.state, RoomState::ClosedPaused, "nobody knows whether anybody waits");
        change(&mut room, |room| room.turn(RoomState::Closed));
        change(&mut room, |room| room.set_quiet(true));
        assert_eq!((room.state, room.then_off), (RoomState::Off, false));
        change(&mut room, |room| room.turn(RoomState::Closed));
        change(&mut room, |room| room.set_quiet(true));
        assert_eq!((room.state, room.quiet), (RoomState::Closed, true), "another closing was not to");
    }

    /// A store makes a reset as any change, so that the room is as it has become by itself. Whoever comes next is released as whoever
    /// came before. Only an opening ahead is scheduled anew, because its plan may be one of the old epoch.
    #[test]
    fn a_reset_is_a_change_that_leaves_the_valve_as_it_is_but_for_an_opening_ahead() {
        let epoch: Epoch = "cd34".parse().unwrap();
        let begins: [fn(&mut Room); 9] = [
            |_| (),
            |room| room.quiet = true,
            |room| (room.settings.mode, room.quiet) = (Mode::Overflow, true),
            |room| room.settings.mode = Mode::Observe,
            |room| room.throttled = Some(Rate::MIN),
            |room| room.release_more(50.try_into().unwrap()),
            |room| room.sell(7.try_into().unwrap()),
            |room| room.rehearsal = Some("abcdefghijkmnpqr".parse().unwrap()),
            |room| (room.closes, room.ends, room.then_off) = (Some(CLOSES), Some(ENDS), true),
        ];
        for begin in begins {
            let mut before = room("https://room.example/");
            change(&mut before, begin);
            let mut after = before.clone();
            change(&mut after, |room| room.start_epoch(epoch, BEGAN));
            let version = before.version + 1;
            let expected = Room { epoch, epoch_began: Some(BEGAN), rehearsal: None, version, ..before };
            assert_eq!(after, expected);
        }
        let mut opening = room("https://room.example/");
        change(&mut opening, |room| room.open_at(OPENS));
        let opened = Arc::new(opening.clone()).at(OPENS);
        let after = opened.changed(OPENS, LEAD_TIME, |room| room.start_epoch(epoch, BEGAN));
        assert_eq!((after.state, after.opens, &after.valves), (RoomState::On, None, &opening.valves));
        let planned = opening.valves.last().unwrap();
        change(&mut opening, |room| room.start_epoch(epoch, BEGAN));
        let (again, opens) = (opening.valves.last().unwrap(), opening.opens);
        assert_eq!((again.valve, opens), (planned.valve, Some(OPENS)), "it still opens");
        assert!(!opening.valves.knows(planned.from) && again.from.since(OPENS) < Duration::from_millis(100));
    }

    /// The valve that is scheduled for then asks for plans, and a consumer for each. Quiet again, it asks for none.
    #[test]
    fn a_quiet_room_that_closes_by_itself_is_awake_until_nobody_was_found() {
        let at = Timestamp::from_millis;
        let mut room = fixture::room(600).changed(at(1000), LEAD_TIME, |room| room.closes = Some(at(60_000)));
        room = room.changed(at(5000), LEAD_TIME, |room| room.set_quiet(true));
        let closed = Arc::new(room).at(at(60_000));
        assert_eq!((closed.state, closed.quiet), (RoomState::Closed, false));
        assert_eq!(closed.valve_at(at(61_000)).valve, closed.valve());
        let quiet = closed.changed(at(200_000), LEAD_TIME, |room| room.set_quiet(true));
        assert_eq!(quiet.valve_at(at(210_000)).valve, Valve::Closed);
        assert!(Arc::new(quiet).at(at(220_000)).quiet, "and stays so");
    }

    /// Otherwise the pages of the next sale would show a wait that is several times too long.
    #[test]
    fn how_fast_a_full_shop_empties_is_forgotten_once_nobody_is_let_in() {
        let at = Timestamp::from_millis;
        for (state, kept) in [(RoomState::On, true), (RoomState::Closed, true), (RoomState::Ended, false)] {
            let full = Room { while_full: Some(Rate::MIN), ..fixture::room(600) };
            let turned = full.changed(at(1000), LEAD_TIME, |room| room.turn(state));
            assert_eq!(turned.while_full.is_some(), kept, "{state}");
        }
    }

    #[test]
    fn an_admission_from_before_a_reset_counts_as_none() {
        let mut room = room("https://room.example/");
        let admitted = |at| {
            let expires = at + Duration::from_hours(1);
            Admission { ticket: Ticket::FIRST, by: AdmittedBy::Door, at, expires }
        };
        let before = admitted(BEGAN - Duration::from_millis(1));
        assert!(room.is_of_this_epoch(&before), "there was no reset");
        change(&mut room, |room| room.start_epoch("cd34".parse().unwrap(), BEGAN));
        assert!(!room.is_of_this_epoch(&before) && room.is_of_this_epoch(&admitted(BEGAN)));
    }

    #[test]
    fn an_admission_after_a_reset_is_of_the_new_epoch_whatever_the_clock_says() {
        let mut room = room("https://room.example/");
        let admitted = |room: &Room, now| room.new_admission(Ticket::FIRST, AdmittedBy::Door, now);
        let [earlier, later] = [BEGAN - Duration::from_secs(5), BEGAN + Duration::from_secs(5)];
        assert_eq!(admitted(&room, earlier).at, earlier, "there was no reset");
        change(&mut room, |room| room.start_epoch("cd34".parse().unwrap(), BEGAN));
        assert_eq!(admitted(&room, later).at, later);
        let admission = admitted(&room, earlier);
        assert_eq!(admission.expires, earlier + room.settings.lifetimes.admission);
        assert!(room.is_of_this_epoch(&admission));
        let put_right = room.changed(earlier + Duration::from_secs(1), LEAD_TIME, |_| ());
        assert!(put_right.is_of_this_epoch(&admission));
    }

    fn sell(size: u32) -> impl FnOnce(&mut Room) {
        move |room| room.sell(StockSize::new(size).unwrap())
    }

    #[test]
    fn a_stock_is_in_force_as_a_change_of_the_valve_is_and_stays_over_a_pause_and_a_closing() {
        let mut room = room("https://room.example/");
        change(&mut room, sell(5000));
        assert_eq!((room.state, room.valves.to_string().as_str()), (RoomState::On, "0=100 51000=100/5000/1"));
        let stock = room.stock;
        change(&mut room, |room| room.settings.rate = Rate::new(60).unwrap());
        assert_eq!(room.valve(), Valve::Limited(Rate::new(60).unwrap(), stock.unwrap()), "it counts on");
        for (order, state) in [
            (Room::pause as fn(&mut Room), "paused"),
            (|room| room.open_at(OPENS), "paused"),
            (|room| room.turn(RoomState::On), "on"),
            (|room| room.turn(RoomState::Closed), "closed"),
            (Room::pause, "closed-paused"),
            (|room| room.start_epoch("cd34".parse().unwrap(), BEGAN), "closed-paused"),
        ] {
            change(&mut room, order);
            assert_eq!((room.state.as_str(), room.stock), (state, stock));
        }
        change(&mut room, sell(5000));
        assert_ne!(room.stock, stock, "another order counts anew");
        for over in [RoomState::Ended, RoomState::Off] {
            let mut room = room.clone();
            change(&mut room, |room| room.turn(over));
            assert_eq!(room.stock, None);
        }
    }

    #[test]
    fn a_room_that_is_sold_out_ends_with_its_notice_and_goes_on_with_more() {
        let mut room = room("https://room.example/");
        change(&mut room, sell(7));
        let notice = Notice { text: "Sold out".parse().unwrap(), link: None };
        change(&mut room, |room| room.notice = notice.clone());
        let of_another_order = Stock { order: 9, ..room.stock.unwrap() };
        assert!(!room.sell_out(of_another_order), "somebody has corrected it");
        let stock = room.stock.unwrap();
        change(&mut room, |room| assert!(room.sell_out(stock)));
        assert_eq!((room.state, &room.notice, room.valve()), (RoomState::Ended, &notice, Valve::Closed));
        change(&mut room, sell(3));
        assert_eq!((room.state, room.stock.unwrap().size.get()), (RoomState::Closed, 3), "nobody new joins");
    }

    #[test]
    fn only_a_paused_room_has_an_opening() {
        for state in RoomState::ALL {
            let mut room = room("https://room.example/");
            change(&mut room, |room| (room.state, room.opens) = (state, Some(OPENS)));
            assert_eq!(room.opens.is_some(), state == RoomState::Paused);
        }
    }

    #[test]
    fn a_room_recognises_its_own_urls() {
        let enters = |room_url: &str, url: &str| room(room_url).is_entered_by(&url.parse().unwrap());
        assert!(enters("https://room.example/prod", "https://room.example/prod/beekeeper?x=1"));
        assert!(enters("https://room.example/prod/", "https://room.example:443/prod/wait/index.html"));
        assert!(enters("http://localhost:8080", "http://localhost:8080/beekeeper"));
        assert!(!enters("https://room.example/prod", "https://room.example/products"));
        assert!(!enters("https://room.example/prod", "https://room.example/beekeeper"));
        assert!(!enters("http://localhost:8080", "http://localhost:8081/beekeeper"));
        assert!(!enters("https://room.example/", "https://shop.example/wait/"));
    }
}
