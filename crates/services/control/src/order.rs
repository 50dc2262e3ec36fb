use std::time::Duration;

use pass::{KeyRecord, ReportKeyDigest};
use serde::{Deserialize, Serialize};
use waitroom::{
    Epoch, ExtraSize, HelpCode, Message, Mode, Notice, Rate, RehearsalMark, StockSize, Stretch, Timestamp,
};

use crate::Ability;

/// What an operator tells a room to do. In JSON: `{"order": "set-rate", "rate": 600}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub enum Order {
    /// Changes nothing.
    Status,
    SetRate {
        rate: Rate,
    },
    /// So many more than the rate allows are released within a minute, and then it's the rate again.
    Release {
        visitors: ExtraSize,
    },
    /// Whether newcomers go straight in: never, while nobody waits, or always.
    Mode {
        mode: Mode,
    },
    /// An empty text removes the message.
    Message {
        text: Message,
    },
    /// Makes pages poll less often.
    Stretch {
        factor: Stretch,
    },
    /// Visitors join, and nobody is released.
    Pause,
    /// Visitors join and are released.
    On,
    /// Visitors join, and are released from this instant on. Not a field of `on`: a room that does not know it must refuse
    /// the order, and not turn on at once.
    OpenAt {
        at: Timestamp,
    },
    /// Nobody new joins, and whoever waits is let in. `notice` replaces what those read who come too late; without one it stays.
    /// With `then_off`, the room turns off when everybody who waited was let in; without, that stays as it was. A room that turns
    /// newcomers away already gets the notice and nothing else, so that another text lets nobody in.
    Close {
        #[serde(default)]
        notice: Option<Notice>,
        #[serde(default)]
        then_off: bool,
    },
    /// The same, from this instant on.
    CloseAt {
        at: Timestamp,
        #[serde(default)]
        notice: Option<Notice>,
        #[serde(default)]
        then_off: bool,
    },
    /// So many more are let in, and then the room ends. Newcomers may join as before. Counts anew if it is given again.
    CloseAfter {
        size: StockSize,
        #[serde(default)]
        notice: Option<Notice>,
    },
    /// Withdraws a closing ahead, `then_off` and a stock.
    CloseNever,
    /// Nobody is let in any more, but for those who were released before.
    End {
        #[serde(default)]
        notice: Option<Notice>,
    },
    /// The same, from this instant on.
    EndAt {
        at: Timestamp,
        #[serde(default)]
        notice: Option<Notice>,
    },
    /// Withdraws an end ahead.
    EndNever,
    /// The door sends every visitor straight to the shop.
    Off,
    /// Empties the line and starts this epoch. Ends a rehearsal.
    Reset {
        epoch: Epoch,
    },
    /// Marks the room for a rehearsal, if it is on, its line is empty, and no other rehearsal was left in it.
    Rehearse {
        mark: RehearsalMark,
    },
    /// Takes an order back: the one with this number in the audit trail, if it is the [last](crate::UndoableOrder::last).
    Undo {
        number: u64,
    },
    /// Reads the latest entries of the audit trail, at most this many. Changes nothing.
    History {
        most: u16,
    },
    /// Reads the history of the line from this instant on. Changes nothing.
    Minutes {
        since: Timestamp,
    },
    /// Reads how the visitor stands who has this code. Changes nothing.
    Find {
        code: HelpCode,
    },
    /// Lets the visitor in who has this code.
    Admit {
        code: HelpCode,
    },
    /// Reads which keys sign passes. Changes nothing.
    Keys,
    /// Signs with another key, once everybody has had time to read it.
    RotateKeys,
    /// The same, after the other key was published for so many seconds. Not a field of `rotate-keys`: a room that does not know
    /// it must refuse the order, and not sign with the key too early.
    RotateKeysAhead {
        seconds: u32,
    },
    /// Unpublishes the key whose id begins with this, at once.
    DropKey {
        id: String,
    },
    /// From now on, the shop's guards report with the key that has this digest. The key itself is told to nobody but them.
    GuardKey {
        digest: ReportKeyDigest,
    },
}

impl Order {
    /// Another key, after at least this lead time. A room of an earlier version knows only the usual one.
    pub fn rotate_keys(lead_time: Duration) -> Self {
        match u32::try_from(lead_time.as_secs()) {
            Ok(seconds) if lead_time > KeyRecord::LEAD_TIME => Self::RotateKeysAhead { seconds },
            _ => Self::RotateKeys,
        }
    }

    /// What only rooms of later versions can do, if it leads to that. A room on one machine refuses such an order, because it cannot
    /// read it. On AWS, whoever gives the order has to ask.
    pub fn needs(&self) -> Option<Ability> {
        match self {
            Self::Close { .. } | Self::CloseAt { .. } => Some(Ability::Close),
            Self::End { .. } | Self::EndAt { .. } => Some(Ability::End),
            Self::CloseAfter { .. } => Some(Ability::Sell),
            Self::Release { .. } => Some(Ability::ReleaseMore),
            Self::Mode { mode: Mode::Overflow } => Some(Ability::Overflow),
            Self::Mode { mode: Mode::Observe } => Some(Ability::Observe),
            // Written out, so that nobody forgets to ask this of another order.
            Self::Mode { mode: Mode::Line }
            | Self::Status
            | Self::SetRate { .. }
            | Self::Message { .. }
            | Self::Stretch { .. }
            | Self::Pause
            | Self::On
            | Self::OpenAt { .. }
            | Self::CloseNever
            | Self::EndNever
            | Self::Off
            | Self::Reset { .. }
            | Self::Rehearse { .. }
            | Self::Undo { .. }
            | Self::History { .. }
            | Self::Minutes { .. }
            | Self::Find { .. }
            | Self::Admit { .. }
            | Self::Keys
            | Self::RotateKeys
            | Self::RotateKeysAhead { .. }
            | Self::DropKey { .. }
            | Self::GuardKey { .. } => None,
        }
    }

    /// Whether it only reads, so that it does no harm to give it again.
    pub fn changes_nothing(&self) -> bool {
        match self {
            Self::Status | Self::History { .. } | Self::Minutes { .. } | Self::Find { .. } | Self::Keys => {
                true
            }
            Self::SetRate { .. }
            | Self::Release { .. }
            | Self::Mode { .. }
            | Self::Message { .. }
            | Self::Stretch { .. }
            | Self::Pause
            | Self::On
            | Self::OpenAt { .. }
            | Self::Close { .. }
            | Self::CloseAt { .. }
            | Self::CloseAfter { .. }
            | Self::CloseNever
            | Self::End { .. }
            | Self::EndAt { .. }
            | Self::EndNever
            | Self::Off
            | Self::Reset { .. }
            | Self::Rehearse { .. }
            | Self::Undo { .. }
            | Self::Admit { .. }
            | Self::RotateKeys
            | Self::RotateKeysAhead { .. }
            | Self::DropKey { .. }
            | Self::GuardKey { .. } => false,
        }
    }
}
