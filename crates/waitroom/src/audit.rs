//! The audit trail: who changed what in a room, when, from what to what.
//!
//! Stores write an entry in the same transaction as the change, so there is no change without its entry. They keep the
//! latest [`AuditEntry::KEPT`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    Epoch, Extra, HelpCall, HelpCode, Message, Mode, NothingToUndo, Notice, Rate, RehearsalMark, Room,
    RoomState, Standing, Stock, Stretch, Timestamp,
};

/// One order, one decision of the throttle that changed the rate in force, or the end of a room that has sold its stock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Entries are numbered in sequence, from 1.
    pub number: u64,
    pub at: Timestamp,
    pub who: Author,
    #[serde(flatten)]
    pub change: AuditedChange,
    /// The number of the entry whose change this one took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
}

impl AuditEntry {
    /// How many entries a room keeps.
    pub const KEPT: u16 = 500;

    /// The entry of an order that changes nothing in the room itself.
    pub fn beside_room(number: u64, at: Timestamp, who: Author, change: AuditedChange) -> Self {
        Self { number, at, who, change, undoes: None }
    }
}

/// Who gave an order: a user of this machine, the ARN of AWS credentials, the throttle, the room itself, or a backup in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Author(String);

impl Author {
    /// Without control characters, because the name is shown in terminals.
    pub fn new(name: &str) -> Self {
        Self(name.chars().filter(|character| !character.is_control()).collect())
    }

    pub fn throttle() -> Self {
        Self("throttle".into())
    }

    /// Who does what was to follow.
    pub fn room() -> Self {
        Self("room".into())
    }

    /// Who puts a backup in the place of a room's file.
    pub fn restore() -> Self {
        Self("restore".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What was changed, from what to what. An order may set what was already set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum AuditedChange {
    Rate {
        from: Rate,
        to: Rate,
    },
    Mode {
        from: Mode,
        to: Mode,
    },
    Message {
        from: Message,
        to: Message,
    },
    State(Box<StateChange>),
    Stretch {
        from: Stretch,
        to: Stretch,
    },
    Reset {
        from: Epoch,
        to: Epoch,
    },
    /// The rate in force, which the throttle changed.
    Throttle {
        from: Rate,
        to: Rate,
    },
    /// A rehearsal began, with this mark. A reset ends it.
    Rehearsal {
        to: RehearsalMark,
    },
    /// Another key was asked for, in place of the one with this id.
    KeyRotation {
        from: String,
    },
    /// The key with this id was unpublished.
    KeyDrop {
        from: String,
    },
    /// A visitor was let in by hand: the one with this number in line, who asked for help under this code.
    LetIn {
        ticket: u64,
        code: HelpCode,
    },
    /// So many were let in as the [stock](Stock) allowed, and the room has ended.
    SoldOut {
        stock: u32,
    },
    /// The shop's guards got another report key: this is how its digest begins.
    GuardKey {
        to: String,
    },
}

/// A row for each part of a [`Standing`] that an entry may leave out: its name there, and its names before and after the change.
macro_rules! state_change {
    ($($part:ident: $type:ty, $from:ident $to:ident;)*) => {
        /// How the operator left the room before and after an order. What it has none of is left out.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub struct StateChange {
            pub from: RoomState,
            pub to: RoomState,
            $(
                #[serde(default, skip_serializing_if = "is_default")]
                $from: $type,
                #[serde(default, skip_serializing_if = "is_default")]
                $to: $type,
            )*
        }

        impl StateChange {
            pub fn new(before: Standing, after: Standing) -> Self {
                Self { from: before.state, to: after.state, $($from: before.$part, $to: after.$part,)* }
            }

            pub fn before(&self) -> Standing {
                Standing { state: self.from, $($part: self.$from.clone(),)* }
            }

            pub fn after(&self) -> Standing {
                Standing { state: self.to, $($part: self.$to.clone(),)* }
            }
        }
    };
}

state_change! {
    opens: Option<Timestamp>, from_opens to_opens;
    closes: Option<Timestamp>, from_closes to_closes;
    ends: Option<Timestamp>, from_ends to_ends;
    then_off: bool, from_then_off to_then_off;
    stock: Option<Stock>, from_stock to_stock;
    extra: Option<Extra>, from_extra to_extra;
    notice: Notice, from_notice to_notice;
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl StateChange {
    /// How a room that stands like this stands after the change. `None` unless it stands as before the change, or as that has become by
    /// itself since: at an instant ahead, by selling its stock, or because nobody waited any more. What would have come about after
    /// the change too is not taken from it: a room that sold its stock stays ended if the change left it that stock.
    fn applied_to(&self, standing: &Standing) -> Option<Standing> {
        let (before, after) = (self.before(), self.after());
        let followed = before.follows().map(|(at, followed)| (followed, after.clone().at(at)));
        let as_it_stands = std::iter::once((before.clone(), after.clone())).chain(followed);
        let mut gone_on = as_it_stands.flat_map(|(known, wanted)| {
            let sold = known.sold_out().map(|ended| {
                let also = wanted.sold_out().filter(|_| wanted.stock == known.stock);
                (ended, also.unwrap_or_else(|| wanted.clone()))
            });
            let off =
                known.turned_off().map(|off| (off, wanted.turned_off().unwrap_or_else(|| wanted.clone())));
            [Some((known, wanted)), sold, off].into_iter().flatten()
        });
        gone_on.find(|(known, _)| known == standing).map(|(_, wanted)| wanted)
    }
}

impl AuditedChange {
    /// Of the visitor with this call.
    pub fn let_in(call: &HelpCall) -> Self {
        Self::LetIn { ticket: call.place.ticket.get(), code: call.code }
    }

    /// Whether a person ordered it for the whole room, even if nothing [takes it back](Self::reverted).
    pub fn is_order(&self) -> bool {
        self.reverted() != Err(NothingToUndo::NoOrder)
    }

    /// Whether there is a difference.
    pub fn is_change(&self) -> bool {
        match self {
            Self::Rate { from, to } | Self::Throttle { from, to } => from != to,
            Self::Mode { from, to } => from != to,
            Self::Message { from, to } => from != to,
            Self::State(change) => change.before() != change.after(),
            Self::Stretch { from, to } => from != to,
            Self::Reset { from, to } => from != to,
            Self::Rehearsal { .. }
            | Self::KeyRotation { .. }
            | Self::KeyDrop { .. }
            | Self::LetIn { .. }
            | Self::SoldOut { .. }
            | Self::GuardKey { .. } => true,
        }
    }

    /// What changes the room back, or why nothing does.
    pub fn reverted(&self) -> Result<Self, NothingToUndo> {
        match self.clone() {
            Self::Rate { from, to } => Ok(Self::Rate { from: to, to: from }),
            Self::Mode { from, to } => Ok(Self::Mode { from: to, to: from }),
            Self::Message { from, to } => Ok(Self::Message { from: to, to: from }),
            Self::State(change) => Ok(Self::State(StateChange::new(change.after(), change.before()).into())),
            Self::Stretch { from, to } => Ok(Self::Stretch { from: to, to: from }),
            Self::Reset { .. } => Err(NothingToUndo::Reset),
            Self::Rehearsal { .. } => Err(NothingToUndo::Rehearsal),
            Self::KeyRotation { .. } | Self::KeyDrop { .. } => Err(NothingToUndo::Keys),
            Self::GuardKey { .. } => Err(NothingToUndo::GuardKey),
            // The throttle would decide the same again, and the room does by itself what it must. Who was let in by hand stays in.
            Self::Throttle { .. } | Self::SoldOut { .. } | Self::LetIn { .. } => Err(NothingToUndo::NoOrder),
        }
    }

    /// Sets what this changes, if the room still has the value before it. Returns whether it did.
    pub fn apply(&self, room: &mut Room) -> bool {
        fn set<T: Clone + PartialEq>(value: &mut T, from: &T, to: &T) -> bool {
            let is_as_before = value == from;
            if is_as_before {
                value.clone_from(to);
            }
            is_as_before
        }
        match self {
            Self::Rate { from, to } => set(&mut room.settings.rate, from, to),
            Self::Mode { from, to } => set(&mut room.settings.mode, from, to),
            Self::Message { from, to } => set(&mut room.settings.message, from, to),
            Self::State(change) => {
                let now = room.standing();
                let wanted = change.applied_to(&now).filter(|wanted| *wanted != now);
                wanted.map(|wanted| room.leave(wanted)).is_some()
            }
            Self::Stretch { from, to } => set(&mut room.stretch, from, to),
            // Nothing that changes the room back.
            Self::Reset { .. }
            | Self::Throttle { .. }
            | Self::Rehearsal { .. }
            | Self::KeyRotation { .. }
            | Self::KeyDrop { .. }
            | Self::LetIn { .. }
            | Self::SoldOut { .. }
            | Self::GuardKey { .. } => false,
        }
    }

    pub fn subject(&self) -> AuditSubject {
        match self {
            Self::Rate { .. } => AuditSubject::Rate,
            Self::Mode { .. } => AuditSubject::Mode,
            Self::Message { .. } => AuditSubject::Message,
            Self::State(_) => AuditSubject::State,
            Self::Stretch { .. } => AuditSubject::Stretch,
            Self::Reset { .. } => AuditSubject::Reset,
            Self::Throttle { .. } => AuditSubject::Throttle,
            Self::Rehearsal { .. } => AuditSubject::Rehearsal,
            Self::KeyRotation { .. } | Self::KeyDrop { .. } => AuditSubject::Keys,
            Self::LetIn { .. } => AuditSubject::LetIn,
            Self::SoldOut { .. } => AuditSubject::SoldOut,
            Self::GuardKey { .. } => AuditSubject::GuardKey,
        }
    }
}

/// In the words of the replies to orders.
impl fmt::Display for AuditedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate { from, to } => write!(f, "rate: {from} -> {to}"),
            Self::Mode { from, to } => write!(f, "mode: {from} -> {to}"),
            Self::Message { from, to } => write!(f, "message: {:?} -> {:?}", from.as_str(), to.as_str()),
            Self::State(change) => {
                let (before, after) = (change.before(), change.after());
                if let Some(told) = after.told_of_extra(&before).or_else(|| after.told_of_stock(&before)) {
                    return f.write_str(&told);
                }
                write!(f, "room: {} -> {}", before.told_beside(&after), after.told_beside(&before))
            }
            Self::Stretch { from, to } => write!(f, "stretch: {from} -> {to}"),
            Self::Reset { from, to } => write!(f, "reset, epoch: {from} -> {to}"),
            Self::Throttle { from, to } => write!(f, "rate in force: {from} -> {to}"),
            Self::Rehearsal { to } => write!(f, "rehearsal begun, with the mark {to}"),
            Self::KeyRotation { from } => write!(f, "keys: rotated, from {from}"),
            Self::KeyDrop { from } => write!(f, "keys: dropped {from}"),
            Self::LetIn { ticket, code } => write!(f, "let in by hand: number {ticket}, code {code}"),
            Self::SoldOut { stock } => write!(f, "sold out: {stock} let in, room: ended"),
            Self::GuardKey { to } => write!(f, "report key of the guards: another, {to}…"),
        }
    }
}

/// What an order or the throttle changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditSubject {
    Rate,
    Mode,
    Message,
    State,
    Stretch,
    Reset,
    Throttle,
    Rehearsal,
    /// The entry does not come from the room: see [`KeyOrder`](crate::KeyOrder).
    Keys,
    /// Nor does this one: see [`HelpDesk`](crate::ports::HelpDesk).
    LetIn,
    /// By the room itself.
    SoldOut,
    GuardKey,
}

/// What a store needs to write an entry with a change of the room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditNote {
    pub who: Author,
    pub subject: AuditSubject,
    /// The number of the entry that is taken back.
    pub undoes: Option<u64>,
}

impl AuditNote {
    pub fn new(who: Author, subject: AuditSubject) -> Self {
        Self { who, subject, undoes: None }
    }

    /// The note of a change by the throttle.
    pub fn throttle() -> Self {
        Self::new(Author::throttle(), AuditSubject::Throttle)
    }

    /// The note of the end that a stock leads to.
    pub fn sold_out() -> Self {
        Self::new(Author::room(), AuditSubject::SoldOut)
    }

    /// The entry for the change from `before` to `after`. `None` if the throttle did not change the rate in force, if another
    /// rehearsal was under way, if the room did not end, and about keys and single visitors, who are not in the room.
    pub fn entry(&self, number: u64, at: Timestamp, before: &Room, after: &Room) -> Option<AuditEntry> {
        let change = match self.subject {
            AuditSubject::Rate => AuditedChange::Rate { from: before.settings.rate, to: after.settings.rate },
            AuditSubject::Mode => AuditedChange::Mode { from: before.settings.mode, to: after.settings.mode },
            AuditSubject::Message => AuditedChange::Message {
                from: before.settings.message.clone(),
                to: after.settings.message.clone(),
            },
            AuditSubject::State => {
                AuditedChange::State(StateChange::new(before.standing(), after.standing()).into())
            }
            AuditSubject::Stretch => AuditedChange::Stretch { from: before.stretch, to: after.stretch },
            AuditSubject::Reset => AuditedChange::Reset { from: before.epoch, to: after.epoch },
            AuditSubject::Throttle => {
                AuditedChange::Throttle { from: before.shop_rate(), to: after.shop_rate() }
            }
            AuditSubject::Rehearsal if before.rehearsal.is_some() => return None,
            AuditSubject::Rehearsal => AuditedChange::Rehearsal { to: after.rehearsal? },
            AuditSubject::SoldOut if !after.is_over() || before.is_over() => return None,
            AuditSubject::SoldOut => AuditedChange::SoldOut { stock: before.stock?.size.get() },
            AuditSubject::GuardKey => {
                AuditedChange::GuardKey { to: after.report_key.as_ref()?.short().to_owned() }
            }
            AuditSubject::Keys | AuditSubject::LetIn => return None,
        };
        if self.subject == AuditSubject::Throttle && !change.is_change() {
            return None;
        }
        // An undo that found another value changed nothing, so it took nothing back.
        let undoes = self.undoes.filter(|_| change.is_change());
        Some(AuditEntry { number, at, who: self.who.clone(), change, undoes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn room() -> Room {
        fixture::room(60)
    }

    const OPENS: Timestamp = Timestamp::from_millis(1_804_244_400_000);

    fn rate(per_minute: u32) -> Rate {
        Rate::new(per_minute).unwrap()
    }

    fn changed() -> Room {
        let mut room = room();
        room.settings.rate = rate(600);
        room.settings.message = "More \"beer\"".parse().unwrap();
        room.open_at(OPENS);
        room.stretch = Stretch::MAX;
        room.epoch = "cd34".parse().unwrap();
        room.throttled = Some(rate(30));
        room.rehearsal = Some("abcdefghijkmnpqr".parse().unwrap());
        room
    }

    fn entry(subject: AuditSubject) -> AuditEntry {
        let note = AuditNote::new(Author::new("anna"), subject);
        note.entry(3, Timestamp::from_millis(1000), &room(), &changed()).unwrap()
    }

    fn state_change(before: &Room, after: &Room) -> AuditedChange {
        let note = AuditNote::new(Author::new("anna"), AuditSubject::State);
        note.entry(1, OPENS, before, after).unwrap().change
    }

    #[test]
    fn an_entry_says_from_what_to_what() {
        let rows = [
            (AuditSubject::Rate, "rate: 60 -> 600"),
            (AuditSubject::Message, r#"message: "" -> "More \"beer\"""#),
            (AuditSubject::State, "room: on -> paused, opens 2027-03-05 11:00:00 UTC"),
            (AuditSubject::Stretch, "stretch: 1 -> 12"),
            (AuditSubject::Reset, "reset, epoch: ab12 -> cd34"),
            (AuditSubject::Throttle, "rate in force: 60 -> 30"),
            (AuditSubject::Rehearsal, "rehearsal begun, with the mark abcdefghijkmnpqr"),
        ];
        for (subject, expected) in rows {
            assert_eq!(entry(subject).change.to_string(), expected);
            assert_eq!(entry(subject).change.subject(), subject);
        }
    }

    #[test]
    fn a_rehearsal_that_did_not_begin_has_no_entry() {
        let note = AuditNote::new(Author::new("anna"), AuditSubject::Rehearsal);
        let during_another = note.entry(3, Timestamp::default(), &changed(), &changed());
        let not_on = note.entry(3, Timestamp::default(), &room(), &room());
        assert_eq!((during_another, not_on), (None, None));
    }

    #[test]
    fn an_entry_has_this_json_and_reads_back() {
        let mut undo = entry(AuditSubject::Rate);
        undo.undoes = Some(2);
        let json = serde_json::to_string(&undo).unwrap();
        let expected = r#"{"number":3,"at":1000,"who":"anna","what":"rate","from":60,"to":600,"undoes":2}"#;
        assert_eq!(json, expected);
        let code = "7K3M-Q01X".parse().unwrap();
        let let_in = AuditedChange::LetIn { ticket: 8214, code };
        assert_eq!(let_in.to_string(), "let in by hand: number 8214, code 7K3M-Q01X");
        let let_in = AuditEntry::beside_room(4, Timestamp::default(), Author::new("anna"), let_in);
        for entry in [undo, entry(AuditSubject::Reset), entry(AuditSubject::State), let_in] {
            let json = serde_json::to_string(&entry).unwrap();
            assert_eq!(serde_json::from_str::<AuditEntry>(&json).unwrap(), entry, "{json}");
        }
    }

    #[test]
    fn an_opening_is_in_the_entry() {
        let opens = entry(AuditSubject::State);
        let json = serde_json::to_string(&opens).unwrap();
        assert!(
            json.ends_with(r#""what":"state","from":"on","to":"paused","to_opens":1804244400000}"#),
            "{json}"
        );
        let earlier = r#"{"number":1,"at":0,"who":"anna","what":"state","from":"on","to":"paused"}"#;
        let earlier: AuditEntry = serde_json::from_str(earlier).unwrap();
        assert_eq!(
            serde_json::to_string(&earlier.change).unwrap(),
            r#"{"what":"state","from":"on","to":"paused"}"#
        );
        // An opening that is moved or withdrawn is a change.
        let to = |change: &dyn Fn(&mut Room)| {
            let (before, mut after) = (changed(), changed());
            change(&mut after);
            state_change(&before, &after)
        };
        let (moved, withdrawn) =
            (to(&|room| room.open_at(Timestamp::default())), to(&|room| room.turn(RoomState::Paused)));
        assert!(moved.is_change() && withdrawn.is_change());
        assert_eq!(withdrawn.to_string(), "room: paused, opens 2027-03-05 11:00:00 UTC -> paused");
    }

    #[test]
    fn an_entry_tells_only_what_changes() {
        let (mut before, mut after) = (changed(), changed());
        before.ends = Some(OPENS);
        (after.ends, after.closes, after.then_off) = (Some(OPENS), Some(OPENS), true);
        after.notice.text = "Sold out".parse().unwrap();
        let expected =
            r#"room: paused -> paused, closes 2027-03-05 11:00:00 UTC, then off, notice "Sold out""#;
        assert_eq!(state_change(&before, &after).to_string(), expected);
    }

    #[test]
    fn an_opening_is_taken_back_also_after_it_has_come() {
        let ordered = entry(AuditSubject::State).change;
        let mut open = changed();
        open.turn(RoomState::On);
        assert!(!ordered.reverted().unwrap().apply(&mut open), "the room is on again already");
        let before = Room { state: RoomState::Off, ..room() };
        let reverted = state_change(&before, &changed()).reverted().unwrap();
        assert!(reverted.apply(&mut open));
        assert_eq!(open.state, RoomState::Off);
        let mut paused = changed();
        paused.turn(RoomState::Paused);
        assert!(!reverted.apply(&mut paused), "somebody withdrew it");
    }

    #[test]
    fn a_stock_is_in_the_entry_and_is_taken_back_also_after_it_was_sold() {
        let mut selling = room();
        selling.sell(5000.try_into().unwrap());
        let note = AuditNote::new(Author::new("anna"), AuditSubject::State);
        let ordered = note.entry(1, OPENS, &room(), &selling).unwrap();
        assert_eq!(ordered.change.to_string(), "stock: none -> 5000");
        let json = serde_json::to_string(&ordered).unwrap();
        assert!(json.ends_with(r#""from":"on","to":"on","to_stock":{"size":5000,"order":1}}"#), "{json}");
        assert_eq!(serde_json::from_str::<AuditEntry>(&json).unwrap(), ordered);
        let mut again = Room { version: 7, ..selling.clone() };
        again.sell(5000.try_into().unwrap());
        assert_eq!(state_change(&selling, &again).to_string(), "stock: 5000 -> 5000 anew");

        let mut told = selling.clone();
        told.notice.text = "Sold out".parse().unwrap();
        let with_text = state_change(&room(), &told).to_string();
        assert_eq!(with_text, r#"stock: none -> 5000, notice "Sold out""#);
        told.closes = Some(OPENS);
        let withdrawn = state_change(&told, &room()).to_string();
        assert!(
            withdrawn.starts_with("room: on, stock 5000, closes "),
            "more goes than the stock: {withdrawn}"
        );

        let mut ended = selling.clone();
        ended.sell_out(selling.stock.unwrap());
        let sold_out = AuditNote::sold_out().entry(2, OPENS, &selling, &ended).unwrap();
        let json = r#"{"number":2,"at":1804244400000,"who":"room","what":"sold-out","stock":5000}"#;
        assert_eq!(serde_json::to_string(&sold_out).unwrap(), json);
        assert_eq!(sold_out.change.to_string(), "sold out: 5000 let in, room: ended");
        assert_eq!(sold_out.change.reverted(), Err(NothingToUndo::NoOrder));
        assert_eq!(sold_out.change.subject(), AuditSubject::SoldOut);
        assert_eq!(AuditNote::sold_out().entry(2, OPENS, &selling, &selling), None, "another stock is sold");
        assert!(ordered.change.reverted().unwrap().apply(&mut ended));
        assert_eq!(ended.standing(), room().standing());
    }

    #[test]
    fn what_went_on_for_another_reason_stays_when_an_order_is_taken_back() {
        let taken_back = |before: &Room, after: &Room, mut now: Room| {
            let reverted = state_change(before, after).reverted().unwrap();
            reverted.apply(&mut now).then(|| now.standing())
        };
        let mut selling = room();
        selling.sell(5000.try_into().unwrap());
        selling.notice.text = "Gone".parse().unwrap();
        let ending = Room { ends: Some(OPENS), ..selling.clone() };
        let sold = |room: &Room| {
            let mut ended = room.clone();
            ended.sell_out(room.stock.unwrap());
            ended
        };
        assert_eq!(taken_back(&selling, &ending, sold(&ending)), None, "nothing of the end is left");
        let mut told = selling.clone();
        told.notice.text = "Sold out".parse().unwrap();
        assert_eq!(taken_back(&selling, &told, sold(&told)), Some(sold(&selling).standing()));

        let ended = |room: &Room| {
            let mut ended = room.clone();
            ended.leave(room.standing().at(OPENS));
            ended
        };
        let paused = Room { state: RoomState::Paused, ..ending.clone() };
        assert_eq!(taken_back(&ending, &paused, ended(&paused)), None, "the pause did not end it");
        assert_eq!(taken_back(&selling, &ending, ended(&ending)), None, "the stock may have ended it");
        let ending = Room { ends: Some(OPENS), ..room() };
        assert_eq!(taken_back(&room(), &ending, ended(&ending)), Some(room().standing()));

        let closed = Room { state: RoomState::Closed, then_off: true, ..room() };
        let mut told = closed.clone();
        told.notice.text = "Sold out".parse().unwrap();
        let off = |room: &Room| {
            let mut off = room.clone();
            off.set_quiet(true);
            off
        };
        assert_eq!(off(&told).state, RoomState::Off);
        assert_eq!(taken_back(&closed, &told, off(&told)), None, "a text closes no shop");
        assert_eq!(taken_back(&room(), &told, off(&told)), Some(room().standing()));
        let stays_closed = Room { then_off: false, ..closed.clone() };
        assert_eq!(taken_back(&stays_closed, &closed, off(&closed)), Some(stays_closed.standing()));
    }

    #[test]
    fn an_order_is_taken_back_unless_the_value_is_another_one() {
        let subjects =
            [AuditSubject::Rate, AuditSubject::Message, AuditSubject::State, AuditSubject::Stretch];
        let mut back = changed();
        for subject in subjects {
            let reverted = entry(subject).change.reverted().unwrap();
            assert!(reverted.apply(&mut back), "{subject:?}");
            assert!(!reverted.apply(&mut back), "{subject:?} a second time");
        }
        let kept = changed();
        assert_eq!(
            back,
            Room { epoch: kept.epoch, throttled: kept.throttled, rehearsal: kept.rehearsal, ..room() }
        );
        for (subject, why) in [
            (AuditSubject::Reset, NothingToUndo::Reset),
            (AuditSubject::Throttle, NothingToUndo::NoOrder),
            (AuditSubject::Rehearsal, NothingToUndo::Rehearsal),
        ] {
            assert_eq!(entry(subject).change.reverted(), Err(why));
            assert!(!entry(subject).change.apply(&mut back));
        }
    }

    #[test]
    fn a_throttle_that_changes_nothing_writes_no_entry_and_an_order_does() {
        let at = Timestamp::from_millis(1000);
        assert_eq!(AuditNote::throttle().entry(1, at, &room(), &room()), None);
        let note = AuditNote { undoes: Some(1), ..AuditNote::new(Author::new("anna"), AuditSubject::Rate) };
        let entry = note.entry(2, at, &room(), &room()).unwrap();
        assert!(!entry.change.is_change());
        assert_eq!(entry.undoes, None, "it took nothing back");
    }

    #[test]
    fn an_order_about_the_keys_has_this_json_and_cannot_be_taken_back() {
        let rows = [
            (
                AuditedChange::KeyRotation { from: "kid".into() },
                r#"{"what":"key-rotation","from":"kid"}"#,
                "keys: rotated, from kid",
            ),
            (
                AuditedChange::KeyDrop { from: "kid".into() },
                r#"{"what":"key-drop","from":"kid"}"#,
                "keys: dropped kid",
            ),
        ];
        for (change, json, text) in rows {
            assert_eq!(serde_json::to_string(&change).unwrap(), json);
            assert_eq!(serde_json::from_str::<AuditedChange>(json).unwrap(), change);
            assert_eq!((change.to_string().as_str(), change.subject()), (text, AuditSubject::Keys));
            assert!(change.is_change() && !change.apply(&mut room()));
            assert_eq!(change.reverted(), Err(NothingToUndo::Keys));
        }
        let note = AuditNote::new(Author::new("anna"), AuditSubject::Keys);
        assert_eq!(note.entry(1, OPENS, &room(), &changed()), None);
    }

    #[test]
    fn an_author_has_no_control_characters() {
        assert_eq!(Author::new("an\u{1b}[31mna\n").as_str(), "an[31mna");
    }
}
