use waitroom::{Mode, RoomState};

/// What only rooms of later versions can do. An order that leads to it [needs](crate::Order::needs) a room that can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    Close,
    End,
    /// Count a [stock](waitroom::Stock).
    Sell,
    /// Release more than the rate allows.
    ReleaseMore,
    /// The mode in which newcomers go straight in while nobody waits.
    Overflow,
    /// The mode in which everybody does.
    Observe,
}

impl Ability {
    pub const ALL: [Self; 6] =
        [Self::Close, Self::End, Self::Sell, Self::ReleaseMore, Self::Overflow, Self::Observe];

    /// What a stack calls it that lists what its functions know.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Close => RoomState::Closed.as_str(),
            Self::End => RoomState::Ended.as_str(),
            Self::Sell => "stock",
            Self::ReleaseMore => "release",
            Self::Overflow => Mode::Overflow.as_str(),
            Self::Observe => Mode::Observe.as_str(),
        }
    }

    /// Completes the sentence "the room is of a version that cannot ...".
    pub const fn told(self) -> &'static str {
        match self {
            Self::Close => "be closed",
            Self::End => "be ended",
            Self::Sell => "count a stock",
            Self::ReleaseMore => "release more than its rate allows",
            Self::Overflow => "let newcomers straight in",
            Self::Observe => "let everybody pass and count them",
        }
    }
}
