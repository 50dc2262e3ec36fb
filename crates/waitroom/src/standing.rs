use crate::{Extra, Notice, RoomState, Stock, Timestamp, Turning};

/// How the operator left a room: its state, what follows by itself, and what those read who come too late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub state: RoomState,
    pub opens: Option<Timestamp>,
    pub closes: Option<Timestamp>,
    pub ends: Option<Timestamp>,
    pub then_off: bool,
    pub stock: Option<Stock>,
    pub extra: Option<Extra>,
    pub notice: Notice,
}

impl Standing {
    /// In this state, of which nothing follows.
    pub fn of(state: RoomState) -> Self {
        let (opens, closes, ends, stock, extra) = (None, None, None, None, None);
        Self { state, opens, closes, ends, then_off: false, stock, extra, notice: Notice::default() }
    }

    /// What it turns to by itself, in order of time.
    pub(crate) fn ahead(&self) -> impl Iterator<Item = (Turning, Timestamp)> + use<> {
        Turning::in_order([self.opens, self.closes, self.ends])
    }

    /// When anything of it is next another.
    fn changes_next(&self) -> Option<Timestamp> {
        next_change([self.opens, self.closes, self.ends], self.extra)
    }

    /// Lets this happen.
    fn follow(&mut self, turning: Turning) {
        match turning {
            Turning::Opens => self.turn(RoomState::On),
            // A pause stays one: nobody is released without an order.
            Turning::Closes if self.state == RoomState::Paused => self.turn(RoomState::ClosedPaused),
            Turning::Closes => self.turn(RoomState::Closed),
            Turning::Ends => self.turn(RoomState::Ended),
        }
    }

    /// Turns to this state. What cannot follow from there is forgotten.
    pub(crate) fn turn(&mut self, state: RoomState) {
        self.state = state;
        self.opens = None;
        self.forget();
    }

    /// As it is at `now`.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        self.forget();
        self.extra = self.extra.filter(|extra| extra.until > now);
        while let Some((turning, _)) = self.ahead().next().filter(|(_, at)| *at <= now) {
            self.follow(turning);
        }
        self
    }

    /// The stock is sold: it ends.
    pub(crate) fn sold_out(&self) -> Option<Self> {
        self.stock?;
        let mut ended = self.clone();
        ended.turn(RoomState::Ended);
        Some(ended)
    }

    /// Nobody waits any more in a closed room that was to turn off then.
    pub(crate) fn turned_off(&self) -> Option<Self> {
        let is_due = self.then_off && self.state == RoomState::Closed;
        is_due.then(|| {
            let mut off = self.clone();
            off.turn(RoomState::Off);
            off
        })
    }

    /// Only a paused room opens, only one that newcomers may join closes, and what is over or off neither ends nor has a stock.
    /// Where nobody is released, nobody is beyond the rate, and whoever turns the room on means the rate.
    /// Nobody comes too late to a room that neither turns away nor will.
    fn forget(&mut self) {
        let is_done = matches!(self.state, RoomState::Ended | RoomState::Off);
        if self.state != RoomState::Paused {
            self.opens = None;
        }
        if !self.state.switches().joins {
            self.closes = None;
        }
        if is_done {
            (self.ends, self.stock) = (None, None);
        }
        if !self.state.switches().releases {
            self.extra = None;
        }
        let is_closed = matches!(self.state, RoomState::Closed | RoomState::ClosedPaused);
        self.then_off &= is_closed || self.closes.is_some();
        let will_turn_away = self.closes.is_some() || self.ends.is_some() || self.stock.is_some();
        if !self.state.turns_newcomers_away() && !will_turn_away {
            self.notice = Notice::default();
        }
    }

    /// What follows by itself, and from when.
    pub(crate) fn follows(&self) -> impl Iterator<Item = (Timestamp, Self)> {
        let next = |before: &Self| {
            let at = before.changes_next()?;
            Some((at, before.clone().at(at)))
        };
        std::iter::successors(next(self), move |(_, before)| next(before))
    }

    /// In the words of the replies to orders: the state, and what `other` does not have.
    pub(crate) fn told_beside(&self, other: &Self) -> String {
        let known = other.details();
        let details = self.details().into_iter().filter(|detail| !known.contains(detail));
        // Another order of the same size counts anew.
        let stock =
            self.stock.filter(|_| self.stock != other.stock).map(|stock| format!("stock {}", stock.size));
        std::iter::once(self.state.to_string()).chain(stock).chain(details).collect::<Vec<_>>().join(", ")
    }

    /// How many more than the rate are released than `before`. `None` if anything else differs.
    pub(crate) fn told_of_extra(&self, before: &Self) -> Option<String> {
        let is_all = self.extra != before.extra && Self { extra: before.extra, ..self.clone() } == *before;
        let told = |extra: Option<Extra>| extra.map_or("none".into(), |extra| extra.told());
        is_all.then(|| format!("release: {} -> {}", told(before.extra), told(self.extra)))
    }

    /// How the stock differs from `before`, and what else is new. `None` if the state differs too, or something else went.
    pub(crate) fn told_of_stock(&self, before: &Self) -> Option<String> {
        let (old, new) = (before.details(), self.details());
        if self.state != before.state || self.stock == before.stock || old.iter().any(|it| !new.contains(it))
        {
            return None;
        }
        let told = |stock: Option<Stock>| stock.map_or("none".into(), |stock| stock.size.to_string());
        let anew = if before.stock.is_some() && self.stock.is_some() { " anew" } else { "" };
        let stock = format!("stock: {} -> {}{anew}", told(before.stock), told(self.stock));
        let added = new.into_iter().filter(|detail| !old.contains(detail));
        Some(std::iter::once(stock).chain(added).collect::<Vec<_>>().join(", "))
    }

    fn details(&self) -> Vec<String> {
        let instants = self.ahead().map(|(turns, at)| format!("{turns} {at}"));
        let Notice { text, link } = &self.notice;
        let text = Some(text.as_str()).filter(|text| !text.is_empty());
        self.extra
            .map(|extra| extra.told())
            .into_iter()
            .chain(instants)
            .chain(self.then_off.then(|| "then off".to_owned()))
            .chain(text.map(|text| format!("notice {text:?}")))
            .chain(link.as_ref().map(|link| format!("link {link}")))
            .collect()
    }
}

/// When a room is next another by itself: at the first of its turnings, or when a release beyond the rate is over.
pub(crate) fn next_change(turnings: [Option<Timestamp>; 3], extra: Option<Extra>) -> Option<Timestamp> {
    turnings.into_iter().flatten().chain(extra.map(|extra| extra.until)).min()
}
